//go:build cgo

package config

// blocksOffHeap means that Pebble keeps its blocks and memtables off the Go heap.
const blocksOffHeap = true
