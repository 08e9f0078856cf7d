// Package local keeps the graphs of one process: it commits changes to all shards of a graph together, and maintains them.
//
//	Store ─ a data directory       Graph ─ shards, snapshots, commits       Tx ─ read.Tx, write.Mutator, commit
//
// # A read
//
//	Begin ─ newest snapshot ─ read.Tx ─ caches, views ─ Rollback
//
// A snapshot is never changed. It is closed when the last transaction that reads it ends and a newer one is published.
//
// # A commit
//
// A transaction writes over a snapshot, beside any number of others, and takes the writer's lock only to commit:
//
//	Commit ─ Verify ─ queue ─┐
//	Commit ─ Verify ─ queue ─┼─ one leads: lock ─ conflicts? ─ replay ─ storage.Commit ─ snapshot ─ unlock ─ sync ─ publish
//	Commit ─ Verify ─ queue ─┘
//
// Those that wait together commit as one group, with one sync (group.go). If nothing was committed since its snapshot, a transaction's own
// writers are committed. Otherwise the first committer wins (conflict.go), and the mutations apply again to the present state. The lock
// ends before the sync, so commits that follow each other share syncs; a snapshot is published when its commit and all before it are synced.
//
// # Maintenance
//
// Goroutines of a graph compact delta records, delete what has expired, build indexes and follow the full-text indexes; each takes the
// writer's lock for short steps and publishes a snapshot, as a commit does.
//
// # A cluster
//
// The leader of a cluster opens the same Store with storage.Peers: its shards are storage.Peer, whose batches travel to the groups of
// replicas. After a failover the next leader opens the graphs again:
//
//	leader dies ─ group 0 elects another ─ OpenLeading ─ attach each shard with a new epoch ─ complete intents ─ serve
//	                                       └ shards refuse batches of the old epoch
package local
