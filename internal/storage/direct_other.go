//go:build !linux

package storage

import "errors"

// setDirect makes the reads of a file go past the page cache.
func setDirect(uintptr) error { return errors.ErrUnsupported }

func aligned(size int) []byte { return make([]byte, size) }
