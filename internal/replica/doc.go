// Package replica replicates the changes of a shard to several processes, with a Raft group for each shard.
//
//	LogStore  has the logs of all replicas of a process, and shares its syncs
//	Log       is the log of a replica
//	Group     is a replica: it proposes, replicates and applies commands
//	State     is what the commands change
package replica
