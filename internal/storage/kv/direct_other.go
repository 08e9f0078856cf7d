//go:build !linux

package kv

import "errors"

// setDirect makes the reads and writes of a file go past the page cache, or through it.
func setDirect(uintptr, bool) error { return errors.ErrUnsupported }

// writeDirect is not reached where files cannot be made direct.
func writeDirect(uintptr, []byte, int64) error { return errors.ErrUnsupported }

func aligned(size int) []byte { return make([]byte, size) }
