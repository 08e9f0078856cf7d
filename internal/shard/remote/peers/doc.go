// Package peers has what a process or a gateway knows of the other processes of its cluster: who they are, how they are reached, and which of
// them have the replicas of which shard.
//
//	          Options.Target, addresses
//	                   │ Learn
//	                   ▼                        At(no) ─► Peer: rpc.Conn, heartbeat, Avoid
//	┌─► List ── numbers, addresses, connections
//	│     │ Ask: MemberService.Members of all
//	│     ▼
//	│   answers: addresses, layout, members of each group
//	│     │ Refresh
//	│     ▼
//	│  Assignment ── shard ─► processes whose replicas vote          Processes(shard), Next(shard, process)
//	│     ▲
//	│     │ Renew: asks again, at most once a second, without waiting
//	└─────┴── a heartbeat says that a process knows more; a call finds no replica, or no leader
//
// A List only grows: processes are added behind the others, and one that is removed keeps its number. So of two lists the longer one is newer,
// and the one with more removals, and no list needs a version. Every process and gateway takes over what others know beyond it.
//
// An Assignment begins with the layout, which says where the replicas of a new cluster are. Then it notes the voters that groups have, with
// the log entry since which that is so, and forgets older ones. It may be late: a process that has no replica any more says so, and the caller
// asks the next one.
//
// Call and Retry repeat an idempotent call until a process has answered. A request without a deadline waits Patience for that.
package peers
