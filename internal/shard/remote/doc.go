// Package remote distributes a graph's shards over processes. It has the tests of whole clusters; the code is in its subdirectories.
//
//	gateway   what a gateway runs: shard.Store over other processes
//	cluster   a process of the cluster: its replicas, their groups, the lead
//	server    what a process answers: reads, commits, copies
//	peers     the list of processes, and which of them have which shards
//	wire      the messages, as both sides encode and decode them
//
// Imports point downwards, and at last to internal/rpc, which makes the calls.
//
// # A read
//
//	query ─► gateway.Tx.Expand ─┬─► ReadService of a process with shard 0 ─► part.Part.Read ─► answer
//	                            ├─► ReadService of a process with shard 1 ─► part.Part.Read ─► answer
//	                            └─► LeadService.Renew of the leader: is the snapshot still the present one?
//
// A gateway shares one snapshot, a list of the versions of all shards, among its reading transactions. It sends the calls to all shards and the
// question to the leader at once. The engine releases no row before the leader has confirmed the snapshot.
//
// # A commit
//
//	gateway.Tx.Apply, Commit ─► LeadService of the leader ─► local.Tx.Commit ─► groups ─┬─► KeepService.Apply ─► Raft group of shard 0
//	                                                                                    └─► KeepService.Apply ─► Raft group of shard 1
//
// From its first change on, a transaction is read at the leader, which lays the changes over the snapshot. A batch carries its version, so that
// it counts once however often it is sent. Each commit has an id: a gateway that gets no answer asks for its outcome.
//
// # A failover
//
//	leader of shard 0 dies ─► its group elects another process ─► Process.serve: epoch = term ─► groups.Open fences the old epoch at each shard
//	                                                                                         └─► pending commits are completed
//	gateway: no answer, or "not leading" ─► the process that the answer names, or the next one with shard 0 ─► retry, or the query runs again
//
// A shard that loses the leader of its group delays the batches of the leader of the cluster until another one is elected; its reads go on at
// the other replicas.
package remote
