// Package cluster runs a process of a cluster. A Process has replicas of some shards, each a member of a Raft group (internal/replica), and
// leads the cluster while it leads the group of shard 0.
//
//	Process ─┬─ part.Replicas ── replica.Host ── groups      their state, and their logs
//	         ├─ transport        messages of the groups, over two streams to each process: urgent ones, and others
//	         ├─ peers            the other processes, and who has which shard
//	         ├─ server.Leader    while it leads: local.Store over groups
//	         └─ services         PlaceService (pings), MemberService (commands), ReplicaService (messages), and those of package server
//
// # A commit of the leader
//
//	local.Store ─► groupPeer.Apply ─► propose ─┬─ the replica here, if it leads the shard ─► log, majority, applied
//	                                           └─ KeepService.Apply at the process that leads it
//
// propose repeats until the shard has answered or the lead ends: a batch carries epoch and version, and counts once. Reads go to the replica
// here, and to others if it lacks the version or is damaged.
//
// # A failover
//
//	group 0 elects this process ─► run ─► serve(term) ─► open: epoch from the term ─► Replicas.Lead ─► Attach at all shards ─► lead is set
//	another one is elected      ─► ctx of the lead ends ─► calls answer NotLeading ─► transactions end ─► graphs are closed
//
// # Joining
//
// The replica of a process with an empty directory joins its group only once the others have confirmed that it is new, or the group has added it as
// a learner with its present log store (join.go): a process that has lost its disk has forgotten its votes. checkAgreement compares the
// settings of all processes meanwhile (agree.go).
//
// # Changes of members
//
//	graphctl member move ─► gateway ─► leader of the group: hold at the target ─► learner ─► seed, log ─► joint change ─► former replica retires
//
// Each step is an entry of the group's log, so the command can be repeated after a failure (member_service.go). Processes are added and removed by
// entries of the log of group 0. A group with fewer members than the layout asks for gets them by itself (grow).
package cluster
