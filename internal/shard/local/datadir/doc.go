// Package datadir keeps the files of a data directory that are not those of a shard: its lock, the manifests of graphs, and checkpoints.
//
//	DIR/LOCK                                held while a process has the directory open
//	DIR/LOADING                             an offline load is at work, or was interrupted
//	DIR/restore.partial/                    a restore is at work, or was interrupted
//	DIR/graphs/NAME/GRAPH                   the manifest; a directory without it is a graph that was not created, or dropped
//	DIR/graphs/NAME/shard-0000/             a shard, see storage
//	DIR/graphs/NAME/search/                 full-text indexes
//	DIR/checkpoints/ID/                     a copy by hard links, while it is read
//	DIR/replicas/LAYOUT, replicas/0002/     the replicas of a process of a cluster, see part
//
// A manifest is written last when a graph is created, and removed first when it is dropped, so a crash leaves a whole graph or one that the
// next start removes.
//
// # Checkpoints
//
// A checkpoint links the files of each shard while the writer's lock is held, and no longer. What reads it may take its time:
//
//	lock ─ link shard 0, 1, … ─ unlock ─ checksums, read, copy elsewhere ─ Close removes the links
//
// In a cluster each process links its own shards; Checkpoint.Open reads the files of the others through storage.PeerCopy. Copies keeps the
// checksums of files that Pebble never changes, so that the next backup need not read them again.
package datadir
