package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/hopgate/hopgate/internal/loader/mapping"
)

// pipe is an input that can be read only once: standard input, a FIFO or a device. A goroutine opens and reads it, since both may wait
// for its writer without end.
type pipe struct {
	next chan []byte // what the goroutine has read
	err  error       // why it ended, set before next is closed
	quit chan struct{}
	once sync.Once
	ctx  context.Context // of the current reader
	rest []byte
	text *text // uncompressed UTF-8 text, from the second opening on
}

// pipeBytes is how much of a pipe is read at a time.
const pipeBytes = 1 << 18

// newPipe reads what open opens.
func newPipe(open func() (io.ReadCloser, error)) *pipe {
	p := &pipe{next: make(chan []byte), quit: make(chan struct{})}
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
func (p *pipe) Read(b []byte) (int, error) {
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
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.quit) })
	return nil
}

// begin decodes the text of the pipe as that of in.
func (p *pipe) begin(ctx context.Context, in *input) error {
	p.ctx = ctx
	p.text = &text{Reader: p}
	return in.decode(p.text, in.name, 0, nil)
}

// open reads the text from an offset of what no reader has taken.
func (p *pipe) open(ctx context.Context, offset int64) (*text, error) {
	p.ctx = ctx
	_, err := io.CopyN(io.Discard, p.text, offset)
	return &text{Reader: p.text.Reader}, err
}

// giveBack makes data the beginning of the text again.
func (p *pipe) giveBack(data []byte) {
	p.text.Reader = io.MultiReader(bytes.NewReader(data), p.text.Reader)
}

// isPipe reports whether a path names neither a regular file nor a directory.
func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// pipes opens the pipes among the paths of an input. The only path is streamed; one of several, and one that is read more than once or not from
// its start, is copied to a file.
func (p *Plan) pipes(ctx context.Context, in *input, standard io.Reader) error {
	for i, path := range in.paths {
		open := func() (io.ReadCloser, error) { return os.Open(path) }
		switch {
		case path == stdin:
			if standard == nil || p.stdin {
				return errors.New("standard input can be read only once")
			}
			p.stdin = true
			open = func() (io.ReadCloser, error) { return io.NopCloser(standard), nil }
		case IsURL(path) || !isPipe(path):
			continue
		}
		in.once = true
		pipe := newPipe(open)
		p.closers = append(p.closers, pipe.Close)
		both := len(in.rules.Vertices) > 0 && len(in.rules.Edges) > 0
		if len(in.paths) == 1 && !both && !in.rules.Scanned() && in.format != mapping.Parquet {
			in.pipe = pipe
			return nil
		}
		var err error
		if in.paths[i], err = p.keep(ctx, pipe, path); err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	return nil
}

// keep copies a pipe to a temporary file with the extension of its name.
func (p *Plan) keep(ctx context.Context, from *pipe, name string) (string, error) {
	f, err := os.CreateTemp("", "load-*"+filepath.Ext(name))
	if err != nil {
		return "", err
	}
	p.closers = append(p.closers, func() error { return os.Remove(f.Name()) })
	from.ctx = ctx
	_, err = io.Copy(f, from)
	return f.Name(), errors.Join(err, f.Close())
}
