// Package storage keeps one shard's graph in two Pebble stores: records, adjacency, indexes, snapshots, transactions.
package storage
