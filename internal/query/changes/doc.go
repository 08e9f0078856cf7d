// Package changes turns the commit log of a graph into events for clients, as Neo4j's change data capture has them.
//
//	shard.ChangeLog ─ a chunk of commits ─ changelog.Merger ─ Selectors ─ Event ┬ AppendJSON   a line of NDJSON
//	shard.Tx (from=snapshot) ─ vertices, then edges ────────────────────────────┴ Columns      a row of db.cdc.query
//
// A Stream is read in batches. It holds at most one chunk of the log, and neither a lock nor a transaction while it waits: a slow reader costs
// the writers nothing, until the log has dropped what it reads next. Only the copy of a whole graph that a stream may begin with reads in a
// transaction.
//
// The changes of an element in a transaction are one event. The events of a transaction come in an order in which they can be applied one
// after the other: deleted edges, deleted vertices, vertices, edges. Each has a number within its transaction, which no selector changes, and
// a token after it, from which another stream continues. So a client that stores the token with what it makes of the event sees each once.
package changes
