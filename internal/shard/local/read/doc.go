// Package read answers the requests of transactions from snapshots of a graph's shards.
//
// A Reader reads the shards that a process has: it is what a gateway asks of a part. A Tx embeds it and knows the names, the indexes and
// the counts of the whole graph. Readers counts the transactions of a graph and has what they share.
//
//	         request, a batch of vertices
//	                 │ rows by shard, in the order of their ids
//	   ┌─────────────┴─────────────┐
//	shard 0                     shard 1
//	   │ decoded? (Topology)       │
//	   ├─ yes ─ cache.ListView,    │
//	   │        cache.ColumnView   │
//	   └─ no ── view.View ─ Pebble │
//	   └─────────────┬─────────────┘
//	                 │ large values, by shard
//	              answer
//
// # Versions
//
// A Snapshot has a view of each shard and the number of its last commit. The caches are versioned by these numbers: a commit tells Topology
// what it changes before a snapshot shows it, and a reader sees the entries up to its own. So readers never wait for a commit.
//
//	commit 7 ─ Topology.Note(7) ─ Snapshot{Seq: 7} ─ published
//	           └ readers of snapshot 6 go on with what they had
//
// # Reads through writes
//
// A transaction that writes has an Overlay: a staging.Writer for each shard, whose view lies over the snapshot's, or over the present state.
// Blocks that it has touched are read from that view, all others from the caches. Without a snapshot nothing is decoded, since what such a
// transaction reads may never be committed.
//
// # Vectors
//
// Nearest searches the HNSW graph of each shard. A search that finds none, or one that lacks many changes, has a goroutine build it; the
// caller compares all vectors meanwhile. What a graph does not show of a snapshot is compared one by one.
package read
