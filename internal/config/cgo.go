//go:build cgo

package config

// blocksOffHeap says that Pebble keeps its blocks and memtables off the Go heap.
const blocksOffHeap = true
