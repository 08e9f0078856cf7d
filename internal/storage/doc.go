// Package storage keeps one shard of a graph in two Pebble stores and commits to it.
//
//	graph/   topology, small properties, indexes, counters, catalog, load marks, intents
//	values/  large property values
//
// Most records come in two forms. A packed record holds many values: an edge list, a chunk of 512 values of a column, a bitmap of 65,536
// vertices. A delta record overrides a part of it. Small commits write delta records, readers merge both, and compactions fold the delta
// records in. docs/format.md describes the keys and values.
//
// # A read
//
// Shard.Snapshot opens a view.View, which merges what it finds as its cursors move:
//
//	adjacency     [ list of v ───────────────]     packed
//	delta edges      +e   −e                       of single edges, and runs of loads
//	delta groups            [ runs of many lists ] of larger commits
//	overlay                 +e                     of the transaction that reads
//
// Edges, properties, labels and index entries work alike. internal/storage/cache keeps decoded lists and columns above this.
//
// # A commit
//
// A transaction collects its changes in a staging.Writer for each shard, above a snapshot or the present state. Commit applies them:
//
//	writers ─ prepare ─┬─ one shard ────────────── batch, or tables of a load ─ sync
//	                   └─ several ─ large values ─ intent in shard 0 ─ batches ─ sync ─ intent deleted
//
// Large values are durable before anything refers to them. Recover carries out the intents that a crash has left behind and deletes the
// large values that no commit refers to.
//
// # A compaction
//
// CompactDeltas folds in a limited number of delta records while writers wait. Chunks of lists with many delta edges take longer, so a
// Compaction reads a snapshot beside the writers and applies its result at the end, if no commit has touched what it replaces:
//
//	BeginCompaction ── Run (compact.Compactor reads the snapshot) ── End ─ batch or tables
//	commits            │      │     │ note the chunks they touch
//
// What can be read does not change, so readers need not notice. Package reclaim frees the space of large values later.
//
// # Files
//
// shard.go opens and closes, commit.go, ingest.go and outcome.go commit, compaction.go and offline.go compact and load, catalog.go keeps
// names and indexes, checkpoint.go and repair.go serve backups and checks. A Part (part.go, replica.go) is a shard that a process keeps for
// the writer in another process, which reaches it as a Peer (peer.go).
package storage
