// Package shardtest has tests for every backing of a graph, whatever its form: what shard.Graph and shard.Tx say is compared with the
// oracle's plain answers after random changes. A backing that only reads is filled from the oracle.
package shardtest
