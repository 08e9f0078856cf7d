package bolt

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
)

const (
	// flushBytes is the buffered size that triggers a write.
	flushBytes = 32 << 10
	// lagTime is how long a response waits at least for later ones while the engine works, and twice that at most.
	lagTime = time.Millisecond
	// noopTime is the interval of keep-alive chunks to a client that waits for a response.
	noopTime = 20 * time.Second
)

// buffers pools memory for responses, so that idle connections hold none.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, flushBytes+8<<10)
	return &b
}}

// out buffers responses and writes them in large pieces. Once a response has been due for long, its timer writes what has waited too long.
type out struct {
	w io.Writer

	mu    sync.Mutex
	buf   *[]byte // nil if empty
	err   error   // why writing fails
	timer *time.Timer
	due   bool // a response is being produced
	slow  bool // for long: the timer runs
	// turn is odd while a response is due. It changes under mu.
	turn  atomic.Uint64
	wrote time.Time // the time of the last write, or when the response became due
}

// answer appends a message with one field, a map; nil is none.
func (o *out) answer(tag byte, m *metadata) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.buffer()
	at := len(*b)
	dst := beginMessage(*b)
	if m == nil {
		dst = packstream.AppendStruct(dst, tag, 0)
	} else {
		dst = append(packstream.AppendMap(packstream.AppendStruct(dst, tag, 1), m.n), m.buf...)
	}
	*b = endMessage(dst, at)
	if len(*b) >= flushBytes {
		o.write()
	}
}

// records appends rows of a batch, each as a message, and returns their size in bytes.
func (o *out) records(f packstream.Form, rows *graph.Batch, from, to int) (size int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.buffer()
	dst := *b
	cols := rows.Cols
	for i := from; i < to; i++ {
		at := len(dst)
		dst = packstream.AppendList(packstream.AppendStruct(beginMessage(dst), record, 1), len(cols))
		for k := range cols {
			dst = f.Append(dst, cols[k].Value(i))
		}
		dst = endMessage(dst, at)
		size += len(dst) - at
		if len(dst) >= flushBytes {
			*b = dst
			o.write()
			if o.err != nil {
				return size, o.err
			}
			b = o.buffer()
			dst = *b
		}
	}
	*b = dst
	return size, o.err
}

// buffer returns the buffer for writes. o.mu is held.
func (o *out) buffer() *[]byte {
	if o.buf == nil {
		o.buf = buffers.Get().(*[]byte)
		*o.buf = (*o.buf)[:0]
		if o.slow {
			o.timer.Reset(lagTime)
		}
	}
	return o.buf
}

// write writes the buffered bytes. o.mu is held.
func (o *out) write() {
	if o.buf == nil {
		return
	}
	b := o.buf
	o.buf = nil
	if o.err == nil && len(*b) > 0 {
		_, o.err = o.w.Write(*b)
	}
	if o.slow {
		o.wrote = time.Now()
	}
	if cap(*b) <= 4*flushBytes {
		buffers.Put(b)
	}
}

// begin marks a response as due, and reports whether none was.
func (o *out) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.due {
		return false
	}
	o.due = true
	o.turn.Add(1)
	return true
}

// end writes the buffered bytes; no response is due until the next begin.
func (o *out) end() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write()
	if o.due {
		o.due = false
		o.turn.Add(1)
	}
	if o.slow {
		o.slow = false
		o.timer.Stop()
	}
	return o.err
}

// linger starts the timer of a response that is still due, and writes what waits.
func (o *out) linger(turn uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turn.Load() != turn || o.slow || o.err != nil {
		return
	}
	o.slow, o.wrote = true, time.Now()
	o.write()
	if o.timer == nil {
		o.timer = time.AfterFunc(noopTime, o.late)
		return
	}
	o.timer.Reset(noopTime)
}

// late writes responses that have waited long enough, or a keep-alive chunk after a long silence.
func (o *out) late() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.slow || o.err != nil {
		return
	}
	if o.buf != nil {
		o.write()
	} else if time.Since(o.wrote) >= noopTime {
		_, o.err = o.w.Write([]byte{0, 0})
		o.wrote = time.Now()
	}
	o.timer.Reset(noopTime - time.Since(o.wrote))
}
