// Package server answers the calls that the processes of a cluster, and gateways, make to a process.
//
//	             Register(s, Host)
//	                   │
//	   ┌───────────────┼───────────────┬──────────────────┬───────────────┐
//	ReadService     KeepService     LeadService     MaintainService   CopyService
//	gateways read   the leader      gateways        backups and       files of backups,
//	a snapshot      changes and     begin, write,   checks            seeds and checks
//	   │            reads a shard   commit            │                   │
//	   │               │               │              │                   │
//	   └─ Host.Parts ──┘               └─ Host.Leading ┘                  └─ Host.Parts, Leader
//	      the replica of a shard          the Leader, while this process leads the cluster
//
// # Reads
//
// A snapshot in a request names a version of a shard, which the replica here has, or a transaction at the leader. A replica that does not have
// the version yet waits for it briefly, and then refuses; the gateway asks another one. The calls of a batch are answered side by side.
//
// # The leader
//
// A Leader is what a process has during one term as the leader of the cluster: the graphs, which commit to the groups of all shards, and the
// transactions of gateways. A transaction lives as long as the stream of its Begin:
//
//	Begin ─► local.Tx ── Renew, Count, Intern, Mutate, reads ── Commit ─► stream ends ─► rollback unless it has committed
//
// An answer of a process that does not lead, or no longer leads, is NotLeading with the process that does. Answers that only read are confirmed:
// the group of shard 0 has to acknowledge the lead, by a lease or a round of messages, after the call has begun. A change proves the lead
// by itself, since shards refuse those of an earlier epoch.
//
// Errors travel whole, see Status.
package server
