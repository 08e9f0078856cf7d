//go:build unix

package httpapi

import "syscall"

// peek reports whether a socket has unread data.
func peek(fd uintptr) bool {
	n, _, _ := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT) // -1 if there is none
	return n > 0
}
