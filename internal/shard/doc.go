// Package shard defines the requests that queries and loads send to a graph's shards, and maps ids to shards.
package shard
