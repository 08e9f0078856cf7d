//go:build !unix

package httpapi

// peek cannot tell whether a socket has unread data.
func peek(uintptr) bool { return false }
