// Package bulk loads many vertices and edges at a time into the shards of a graph. It has two ways in: a Batch applies
// one shard.Load through a writing transaction, and a Sorter takes the edges of an offline load.
//
// # A batch
//
// One commit holds the rows of a batch, its number and its mark, so a batch that is sent again is skipped.
//
//		shard.Load ─ keys ──► Keys ─── known ──► changes ─┐
//		   columns     │                                  ├─► transaction ─► one commit
//		               └──── unknown ─► new vertices ─► storage bulk
//		   ends ───────► ids ─► new edges, by source ────────┘
//
//	 1. Batch looks up the external keys of all rows together, in key order, in the unique index that is their id space.
//	    Keys caches the answers for the batches that follow; a batch that fails drops them.
//	 2. Rows of new vertices become columns, which a bulk packs without a read. Rows of existing vertices combine with the
//	    old values by the strategy of each column, again column by column where all rows change the same properties.
//	 3. Edges resolve their ends the same way, are sorted by source and by target, and become packed lists. A pairFilter (a
//	    Bloom filter over pairs of ends) tells which edges can't exist yet, so that an upsert reads few lists.
//	 4. What a row does may depend on rows before it: a key twice in a batch, an edge to a vertex of the same batch. The
//	    batch writes its bulks out before it reads anything that they may hold.
//	 5. Batches of one load know which vertices its rows have written (written.go), so a key that repeats is counted, left or
//	    refused. The set is in memory, and each commit stores what it adds, for the process that goes on with the load.
//
// A row that can't be applied is rejected with a code; the rest of the batch goes on.
//
// # An offline load
//
// The Sorter writes each list once, to tables that the shards ingest, and never merges:
//
//	edges ─ Resolve ─► pairs of ids ─► buckets of neighbouring sources, on disk
//	                                      │ sort each in memory
//	                                      ▼
//	                                  out lists ─► tables
//	                                      │ mirror
//	                                      ▼
//	                   buckets of neighbouring targets ─ sort ─► in lists ─► tables
//
// Edges keep the order of their files among those of one pair, so overwrites mean the same as in a batch. A bucket that
// outgrows the memory of a worker splits. Tables of keys that outgrow theirs become runs on disk, in the order of the
// keys' hashes; a batch of look-ups sorts its keys and passes over each run once.
//
// # Owners
//
// The lock of the graph's writer guards Graph and all that hangs on it. Resolve may run on many goroutines; Add and Finish
// run on one.
package bulk
