// Package shard says what a query or a load may ask of a graph's shards, and which shard owns an id.
package shard
