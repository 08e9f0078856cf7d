// Package replica replicates commands to the members of Raft groups, by go.etcd.io/raft. It knows nothing of graphs.
//
//	LogStore  the logs of all replicas of a process, in one Pebble store, so that they share syncs
//	Log       the log of one replica
//	Group     one replica: proposes, replicates and applies commands
//	Host      the replicas of a process, one goroutine each
//	State     what the commands change; the caller's
//
// A command on a leader and one follower:
//
//	Host.Propose ─► Group.Propose ─► raft ─┬─► Log.Append, sync ──┐
//	                                       └─► Send ─► follower: Log.Append, sync
//	                                                      │ ack   │
//	                     State.Apply ◄── committed by a quorum ◄──┘
//	                          │
//	                     Propose returns the command's result
//
// A command larger than a message takes several entries (command.go). Applied commands need not be durable in the state: after a crash the
// log applies them again, and each part of the state skips those that it has. Entries that the state has made durable are cut off the log
// (Compact); a member that needs them is seeded with a snapshot (seed.go), which the caller copies outside the log.
//
// Reads. Read returns once the state has all that was committed before the call: a leader asks a quorum (ReadIndex, Raft dissertation
// section 6.4), a follower asks the leader. A leader that holds a lease (lease.go) answers at once; a lease is two ticks shorter than the
// shortest election timeout, by the monotonic clock.
//
// Failover:
//
//	leader dies ─► no heartbeat for 1 to 2 s ─► pre-vote ─► vote ─► new leader
//	                                                                   │ an entry of its own term commits all earlier ones
//	proposals of the old leader: ErrAmbiguous ◄────────────────────────┘
//
// A leader that stops in order hands over first (transfer.go), so clients do not wait.
//
// Members change by joint consensus (members.go): learners first, votes once they have caught up. A replica whose log is lost never votes
// again under its id, because its store has another StoreID; it returns as a new replica. After a majority has lost its disks, Recovery
// makes one replica the only member (recover.go).
package replica
