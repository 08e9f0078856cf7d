// Package write applies the mutations of a transaction to the shards of a graph.
//
// A Mutator stages changes until they are committed: vertices and edges in a staging.Writer for each shard, entries of indexes beside them,
// and what it must check at the commit. The transaction's read.Tx shows the changes from then on.
//
//	mutations ─ Prefetch ─┬─ many alike ─ packed columns and lists ─┐
//	  label sets, keys    └─ others ───── delta records ────────────┤
//	                                                                ▼
//	             entries of indexes, counters, expiry ─────► staging.Writer of each shard
//	                                                                │
//	             Verify: ends, required properties, unique keys ────┤
//	                                                                ▼
//	                                                       storage.Commit
//
// # Constraints
//
// What a second owner puts into a unique index goes to Overlay.Duplicates: the transaction may still change the first one. Verify refuses
// what is left. Required properties are checked for all vertices and edges that were touched.
//
// # Over a snapshot
//
// Over a snapshot a Mutator keeps a log of its mutations, with the ids that they got. If others have committed meanwhile, Replay applies the
// log to the present state in a new Mutator and verifies that:
//
//	snapshot 6 ── mutations ──┐ log
//	commits 7, 8              ▼
//	present state 8 ─── Replay(log) ── Verify ── commit 9
//
// # Time
//
// Where a TTL counts from the last write, each write stores its time in a hidden property, whose index finds what is due.
package write
