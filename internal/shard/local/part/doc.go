// Package part keeps the replicas of a process of a cluster: one shard of each graph is a Part, the parts with one number are Parts, the
// state that a Raft group replicates, and Replicas are those of all groups that have a member here.
//
//	Replicas ─ log store ─ replica.Host
//	├─ Parts 0 ─ group 0 ─┬─ Part of graph default ─ storage.Part, caches
//	│                     └─ Part of graph social
//	└─ Parts 2 ─ group 2 ─ …
//
// # A commit
//
// The leader of the cluster orders the commits of a graph and sends each shard its batch. The group's leader proposes it, and each member
// applies it:
//
//	leader of the cluster          leader of group 2               followers
//	batch, epoch, version ───────► command ─ propose ─ log ───────► log
//	                               majority ◄──────────────────────┘
//	                               Part.Apply ─ caches              Part.Apply ─ caches
//	◄───────────────────────────── applied
//
// Batches are numbered, so one that is sent twice counts once. Epochs fence: Attach raises the epoch of a shard, which then refuses the
// batches of former leaders.
//
// # A read
//
//	Part.Read(epoch, version) ─ has it? ─ yes ─ read.Reader
//	                              └─ no ─ Await, a few milliseconds ─ yes, or storage.ErrAhead
//
// # A failover
//
//	leader of the cluster dies ─ group 0 elects another ─ Replicas.Lead ─ local.OpenLeading ─ Attach(epoch+1) to every shard
//	leader of group 2 dies ───── group 2 elects another ─ the batch is sent again
//	a replica falls behind the logs, or its disk damages a file ─ a seed: the state of another replica replaces its own (seed.go, mend.go)
//
// The layout, and what has moved since, is in LAYOUT. A directory of a single server becomes the state of a group with one member (seed.go).
package part
