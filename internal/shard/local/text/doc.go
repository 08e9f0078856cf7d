// Package text keeps the full-text indexes of a graph and searches them.
//
// An index lies in a store of its own, beside the shards: DIR/search/ID (package search). In a cluster, each process that has led it has one,
// which it takes up again when it leads if the queue still has what the index lacks.
//
// # A commit
//
// Each commit queues, in its batches, which vertices and edges it has changed (storage/texts.go). A goroutine of each index follows:
//
//	commit ─ batch: changes, queue +3 ─────────────┐
//	                                               ▼
//	follow: newest snapshot ─ queue from next ─ documents ─ search.Index, mark {next, until}
//	                                                             │ on disk
//	trim:  queue before persisted ◄──────────────────────────────┘
//
// The mark says, by shard, that all changes before next are in the index and none from until on. After a crash the index has an earlier state
// and its mark, and goes on from there. An index that is missing or damaged is built again.
//
// # A search
//
//	Search ─ wait until next has reached the snapshot ─┬─ index without what has changed since ──┬─► hits
//	                                                   └─ that, and the transaction's own, ──────┘
//	                                                      read now, in an index in memory
//
// An index with eventual consistency is searched as it is.
//
// # A check
//
// Check compares the documents of an index with a snapshot. A repair queues what is wrong, so that the index reads it again.
package text
