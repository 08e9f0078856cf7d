// Package gateway implements shard.Store over the processes of a cluster. A gateway holds catalogs, the counts of the last snapshot and hints
// where keys are, and no data.
//
//	Store ── Graph ── Tx ─┬─ until its first change: a snapshot at all shards ─► readCaller ─► a process with the shard
//	                      └─ then, and for full-text search: the leader       ─► leaderCaller ─► the process that leads
//
// # Reads
//
// ask sends the calls to all targets before it waits for the first answer (tx.go). For each shard a rpc.Hedger repeats slow calls, and a
// readCaller (callers.go) chooses the process: the near one, or one at random, and the next one if it does not answer, is damaged, or lacks the
// version. Answers are merged in the order of the shards.
//
//	Tx.Seek with the next hops ─► the shard that had the key last (hint.go) ─► owners, edges of the first hop, part of the second
//	Tx.Expand, the same hop    ─► no call
//	Tx.Expand, the second hop  ─► the other shards only
//
// # Snapshots
//
// Reading transactions share the last snapshot that the leader has pinned (lease.go). Each asks whether it is still the present one: along
// with its first read, where one process has all that is asked, or by a call beside it. If others have committed, the transaction fails as
// shard.Retriable, and the next one begins at the leader.
//
//	Begin ── shared lease ── reads ──┬── Check: the same ─► rows are released
//	                  └── Renew ─────┘── Check: another  ─► the lease is dropped, the query runs again
//
// # Writes
//
// Apply and the numbers of names are calls to the leader, as is Commit, under an id. Without an answer to Commit, the gateway asks the leader,
// or the next one, for the outcome of that id (Tx.commit).
//
// # Processes
//
// A gateway gets the addresses from its settings, or by SRV records (find.go), and learns about others from the processes (package peers). It
// passes commands about members to the leaders of the groups (members.go).
package gateway
