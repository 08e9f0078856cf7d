package bolt

import (
	"io"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
)

const (
	// flushBytes is how much waits until it is written.
	flushBytes = 32 << 10
	// lagTime is how long an answer waits for those behind it while the engine works.
	lagTime = time.Millisecond
	// noopTime is how often a client that waits for an answer is shown that the connection lives.
	noopTime = 20 * time.Second
)

// buffers holds memory for answers, so that connections at rest have none.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, flushBytes+8<<10)
	return &b
}}

// out collects answers and writes them in large pieces. While an answer is due its timer writes what waits for too long.
type out struct {
	w io.Writer

	mu    sync.Mutex
	buf   *[]byte // nil: empty
	err   error   // why nothing more can be written
	timer *time.Timer
	due   bool      // an answer is being made
	wrote time.Time // the time of the last write, or when the answer became due
}

// add appends one message that f writes.
func (o *out) add(f func(dst []byte) []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.buffer()
	at := len(*b)
	*b = endMessage(f(beginMessage(*b)), at)
	if len(*b) >= flushBytes {
		o.write()
	}
}

// records appends rows of a batch, each as a message.
func (o *out) records(f packstream.Form, rows *graph.Batch, from, to int) error {
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
		if dst = endMessage(dst, at); len(dst) >= flushBytes {
			*b = dst
			o.write()
			if o.err != nil {
				return o.err
			}
			b = o.buffer()
			dst = *b
		}
	}
	*b = dst
	return o.err
}

// buffer gives the memory for what is to be written. o.mu is held.
func (o *out) buffer() *[]byte {
	if o.buf == nil {
		o.buf = buffers.Get().(*[]byte)
		*o.buf = (*o.buf)[:0]
		if o.due {
			o.timer.Reset(lagTime)
		}
	}
	return o.buf
}

// write writes what waits. o.mu is held.
func (o *out) write() {
	if o.buf == nil {
		return
	}
	b := o.buf
	o.buf = nil
	if o.err == nil && len(*b) > 0 {
		_, o.err = o.w.Write(*b)
	}
	if o.due {
		o.wrote = time.Now()
	}
	if cap(*b) <= 4*flushBytes {
		buffers.Put(b)
	}
}

// begin says that an answer is due.
func (o *out) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.due {
		return
	}
	o.due, o.wrote = true, time.Now()
	if o.timer == nil {
		o.timer = time.AfterFunc(noopTime, o.late)
		return
	}
	o.timer.Reset(noopTime)
}

// end writes what waits, and says that nothing is due until the next begin.
func (o *out) end() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write()
	if o.due {
		o.due = false
		o.timer.Stop()
	}
	return o.err
}

// late writes what has waited for long enough, or an empty chunk if nothing was written for long.
func (o *out) late() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.due || o.err != nil {
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
