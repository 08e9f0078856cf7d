// Package shard defines what a graph's shards are asked, and maps ids to shards.
//
// A Store has graphs, a Graph begins transactions, a Tx reads one snapshot. All requests are batches: a request costs an interface call, and
// perhaps a round trip, so there is none for one vertex.
//
//	operators ── Tx ─┬─ Reader    scan, label sets, properties, expand, degrees, edge properties
//	                 ├─ Indexes   look-up, range
//	                 ├─ Composed  what Reader can answer too: step, records of edges, comparisons of vectors
//	                 ├─ Writer    numbers of names, apply, commit, rollback
//	                 └─ Features  what only some backings can do
//
// A backing that only reads writes Reader, and Indexes if it has some; Complete composes the rest. internal/shard/local implements all for
// the shards of one process, internal/shard/remote/gateway for a gateway. A PartTx reads the part of a snapshot that one process has, by the same
// interfaces; the gateway asks every part and merges the answers:
//
//	a read     query ─► gateway.Tx.Expand ─┬─► shard 0: PartTx.Expand ─► view, caches
//	                                       └─► shard 1: PartTx.Expand ─► view, caches
//	a commit   query ─► Tx.Apply, Tx.Commit ─► leader: local.Tx ─► each shard's log ─► all or none
//
// What an optimisation needs is in the request: Seek.Then names the hops that follow a look-up, which another process may answer at once.
//
// A snapshot stays as it was until Commit or Rollback. A Tx that writes sees its own changes; reads may run concurrently, changes may not.
//
// The caller owns what it passes, a request and the memory of the answer (Neighbours, Found, columns), and may reuse both after the call.
// Values and ids in an answer are valid until the transaction ends. What a callback gets (Sink, CellSink) is valid during the call only.
//
// Features are declared. Tx.Features has a typed field for each, nil if it is missing, so that nobody looks for a fast path by a type
// assertion, and a wrapper hands on those that it stands for. FeatureSet has the reasons, and is the same for all transactions of a graph, so
// that a planner can choose by it: no plan needs a feature that the graph lacks. internal/shard/shardtest tests every backing.
package shard
