// Package local serves graphs whose shards are all in this process, on disk: it routes requests to shards and commits
// changes to all of them together.
package local
