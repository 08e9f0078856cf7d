package kv

import (
	"unsafe"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// setDirect turns O_DIRECT of a file on or off.
func setDirect(fd uintptr, on bool) error {
	if fd == vfs.InvalidFd {
		return unix.EOPNOTSUPP
	}
	flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	flags &^= unix.O_DIRECT
	if on {
		flags |= unix.O_DIRECT
	}
	_, err = unix.FcntlInt(fd, unix.F_SETFL, flags)
	return err
}

// writeDirect writes durably to an offset of a file with O_DIRECT. Address, size and offset are multiples of directAlign.
func writeDirect(fd uintptr, b []byte, at int64) error {
	for len(b) > 0 {
		n, err := unix.Pwritev2(int(fd), [][]byte{b}, at, unix.RWF_DSYNC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}

// aligned makes a buffer whose address is a multiple of directAlign.
func aligned(size int) []byte {
	b := make([]byte, size+directAlign)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (directAlign - 1)
	return b[skip:][:size:size]
}
