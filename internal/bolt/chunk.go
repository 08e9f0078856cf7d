package bolt

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// mostChunk bounds the bytes in a chunk.
	mostChunk = 0xFFFF
	// firstRead is the memory allocated for a message before its bytes arrive.
	firstRead = 512
)

// ErrTooLarge means that a message exceeds its size limit.
var ErrTooLarge = errors.New("the message is too large")

// Reader assembles messages from chunks.
type Reader struct {
	r *bufio.Reader
}

// NewReader returns a reader of a connection's bytes.
func NewReader(r *bufio.Reader) Reader { return Reader{r} }

// Room returns an error if a message must not have that many bytes. It is called before each chunk.
type Room func(size int) error

// AtMost returns a Room for messages of up to that many bytes.
func AtMost(most int) Room {
	return func(size int) error {
		if size > most {
			return fmt.Errorf("%w: over %d bytes", ErrTooLarge, most)
		}
		return nil
	}
}

// Next returns the next message, if room permits, in memory of its own. It skips the empty chunks before it, which keep connections alive.
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

// Waits reports whether a whole message of one chunk has been read from the connection and waits for Next.
func (r Reader) Waits() bool {
	n := r.r.Buffered()
	if n < 4 {
		return false
	}
	head, _ := r.r.Peek(2)
	size := int(head[0])<<8 | int(head[1])
	if size == 0 || n < size+4 {
		return false
	}
	b, _ := r.r.Peek(size + 4)
	return b[size+2] == 0 && b[size+3] == 0
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

// read appends n bytes to a message, whose memory grows as they arrive.
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

// beginMessage reserves the header of a message's first chunk.
func beginMessage(dst []byte) []byte { return append(dst, 0, 0) }

// endMessage splits the message that starts at an offset of dst into chunks.
func endMessage(dst []byte, at int) []byte {
	n := len(dst) - at - 2
	if n <= mostChunk {
		dst[at], dst[at+1] = byte(n>>8), byte(n)
		return append(dst, 0, 0)
	}
	return endLarge(dst, at, n)
}

// endLarge inserts the headers of further chunks, moving the last one first.
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
