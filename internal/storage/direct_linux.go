package storage

import (
	"syscall"
	"unsafe"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// setDirect makes the reads of a file go past the page cache.
func setDirect(fd uintptr) error {
	if fd == vfs.InvalidFd {
		return syscall.EOPNOTSUPP
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
	if errno == 0 {
		_, _, errno = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETFL, flags|syscall.O_DIRECT)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// aligned makes a buffer whose address is a multiple of directAlign.
func aligned(size int) []byte {
	b := make([]byte, size+directAlign)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (directAlign - 1)
	return b[skip:][:size:size]
}
