// Package replica replicates the changes of a shard to several processes, with a Raft group for each shard.
package replica
