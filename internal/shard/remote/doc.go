// Package remote spreads a graph's shards over processes: a gateway's way to them, the leader's way to the shards that
// other processes keep, and what these processes answer.
package remote
