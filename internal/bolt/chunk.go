package bolt

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// mostChunk is the most that a chunk holds.
	mostChunk = 0xFFFF
	// firstRead is the memory that a message gets before its bytes have come.
	firstRead = 512
)

// ErrTooLarge says that a message is larger than it may be.
var ErrTooLarge = errors.New("the message is too large")

// Reader puts messages together from chunks.
type Reader struct {
	r *bufio.Reader
}

// NewReader makes a reader of a connection's bytes.
func NewReader(r *bufio.Reader) Reader { return Reader{r} }

// Room says why a message may not have so many bytes, or nil. It is asked before each chunk is read.
type Room func(size int) error

// AtMost is room for messages of up to so many bytes.
func AtMost(most int) Room {
	return func(size int) error {
		if size > most {
			return fmt.Errorf("%w: over %d bytes", ErrTooLarge, most)
		}
		return nil
	}
}

// Next gives the next message, for which there must be room, in memory of its own. Empty chunks before it keep the connection alive and
// are passed over.
func (r Reader) Next(room Room) ([]byte, error) {
	var msg []byte
	for {
		n, err := r.chunk()
		if err != nil {
			if len(msg) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if n == 0 {
			if len(msg) == 0 {
				continue
			}
			return msg, nil
		}
		if err := room(len(msg) + n); err != nil {
			return nil, err
		}
		if msg, err = r.read(msg, n); err != nil {
			return nil, err
		}
	}
}

func (r Reader) chunk() (int, error) {
	hi, err := r.r.ReadByte()
	if err != nil {
		return 0, err
	}
	lo, err := r.r.ReadByte()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return int(hi)<<8 | int(lo), err
}

// read appends n bytes to a message, whose memory grows with what has come.
func (r Reader) read(msg []byte, n int) ([]byte, error) {
	for n > 0 {
		k := min(n, max(len(msg), firstRead, r.r.Buffered()))
		at := len(msg)
		msg = slices.Grow(msg, k)[:at+k]
		if _, err := io.ReadFull(r.r, msg[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		n -= k
	}
	return msg, nil
}

// beginMessage leaves room for the head of a message's first chunk.
func beginMessage(dst []byte) []byte { return append(dst, 0, 0) }

// endMessage puts the message that began at an offset of dst into chunks.
func endMessage(dst []byte, at int) []byte {
	n := len(dst) - at - 2
	if n <= mostChunk {
		dst[at], dst[at+1] = byte(n>>8), byte(n)
		return append(dst, 0, 0)
	}
	return endLarge(dst, at, n)
}

// endLarge makes room for the heads of further chunks, moving the last one first.
func endLarge(dst []byte, at, n int) []byte {
	chunks := (n + mostChunk - 1) / mostChunk
	dst = append(dst, make([]byte, 2*(chunks-1))...)
	for i := chunks - 1; i >= 0; i-- {
		from := at + 2 + i*mostChunk
		size := min(mostChunk, n-i*mostChunk)
		to := from + 2*i
		copy(dst[to:to+size], dst[from:from+size])
		dst[to-2], dst[to-1] = byte(size>>8), byte(size)
	}
	return append(dst, 0, 0)
}
