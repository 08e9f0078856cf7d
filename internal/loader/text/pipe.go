package text

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
)

// Pipe is an input that can be read only once: standard input, a FIFO or a device. A goroutine opens and reads it, since both may wait
// for its writer without end.
type Pipe struct {
	next chan []byte // what the goroutine has read
	err  error       // why it ended, set before next is closed
	quit chan struct{}
	once sync.Once
	ctx  context.Context // of the current reader
	rest []byte
	text *Text // uncompressed UTF-8 text, from the second opening on
}

// pipeBytes is how much of a pipe is read at a time.
const pipeBytes = 1 << 18

// NewPipe reads what open opens.
func NewPipe(open func() (io.ReadCloser, error)) *Pipe {
	p := &Pipe{next: make(chan []byte), quit: make(chan struct{})}
	go func() {
		defer close(p.next)
		r, err := open()
		if err != nil {
			p.err = err
			return
		}
		// While the reader takes one buffer, the other one is filled.
		buf, other := make([]byte, pipeBytes), make([]byte, pipeBytes)
		for p.err == nil {
			var n int
			if n, p.err = r.Read(buf); n == 0 {
				continue
			}
			select {
			case p.next <- buf[:n]:
				buf, other = other, buf
			case <-p.quit:
				p.err = os.ErrClosed
			}
		}
		_ = r.Close()
	}()
	return p
}

// Read implements io.Reader.
func (p *Pipe) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		select {
		case next, ok := <-p.next:
			if !ok {
				return 0, p.err
			}
			p.rest = next
		case <-p.ctx.Done():
			return 0, context.Cause(p.ctx)
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// Close ends the goroutine. While it waits for a writer, it ends with the program.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.quit) })
	return nil
}

// Begin decodes the text of the pipe as that of in.
func (p *Pipe) Begin(ctx context.Context, in *Source) error {
	p.ctx = ctx
	p.text = &Text{Reader: p}
	return in.decode(p.text, in.Name, 0, nil)
}

// open reads the text from an offset of what no reader has taken.
func (p *Pipe) open(ctx context.Context, offset int64) (*Text, error) {
	p.ctx = ctx
	_, err := io.CopyN(io.Discard, p.text, offset)
	return &Text{Reader: p.text.Reader}, err
}

// giveBack makes data the beginning of the text again.
func (p *Pipe) giveBack(data []byte) {
	p.text.Reader = io.MultiReader(bytes.NewReader(data), p.text.Reader)
}

// IsPipe reports whether a path names neither a regular file nor a directory.
func IsPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// CopyTo copies what has not been read to w.
func (p *Pipe) CopyTo(ctx context.Context, w io.Writer) error {
	p.ctx = ctx
	_, err := io.Copy(w, p)
	return err
}
