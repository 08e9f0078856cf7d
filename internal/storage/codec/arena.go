package codec

import (
	"unsafe"
)

// Arena allocates memory for the strings that reads return. The garbage collector frees a block when nothing points
// into it any more. The zero value is ready. It is not safe for concurrent use.
type Arena struct {
	free []byte
}

const arenaBlock = 32 << 10

// Bytes copies b.
func (a *Arena) Bytes(b []byte) []byte {
	if len(b) > len(a.free) {
		if len(b) > arenaBlock/4 {
			return append([]byte(nil), b...)
		}
		a.free = make([]byte, arenaBlock)
	}
	n := copy(a.free, b)
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}

// text copies b to a string.
func (a *Arena) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	c := a.Bytes(b)
	return unsafe.String(unsafe.SliceData(c), len(c))
}
