//go:build race || !unix

package cache

import "unsafe"

// The race detector sees only the Go heap, so under it the arena lives there, and on systems without mmap.
func mapMemory(n int) ([]byte, error) {
	w := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), n), nil
}

func unmapMemory([]byte) error { return nil }
