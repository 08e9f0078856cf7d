package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/text"
)

// pipes opens the pipes among the paths of an input. The only path is streamed; one of several, and one that is read more than once or not from
// its start, is copied to a file.
func (p *Plan) pipes(ctx context.Context, in *input, standard io.Reader) error {
	for i, path := range in.Paths {
		open := func() (io.ReadCloser, error) { return os.Open(path) }
		switch {
		case path == text.Stdin:
			if standard == nil || p.stdin {
				return errors.New("standard input can be read only once")
			}
			p.stdin = true
			open = func() (io.ReadCloser, error) { return io.NopCloser(standard), nil }
		case text.IsURL(path) || !text.IsPipe(path):
			continue
		}
		in.once = true
		pipe := text.NewPipe(open)
		p.closers = append(p.closers, pipe.Close)
		both := len(in.rules.Vertices) > 0 && len(in.rules.Edges) > 0
		if len(in.Paths) == 1 && !both && !in.rules.Scanned() && in.format != mapping.Parquet {
			in.Pipe = pipe
			return nil
		}
		var err error
		if in.Paths[i], err = p.keep(ctx, pipe, path); err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
	}
	return nil
}

// keep copies a pipe to a temporary file with the extension of its name.
func (p *Plan) keep(ctx context.Context, from *text.Pipe, name string) (string, error) {
	f, err := os.CreateTemp("", "load-*"+filepath.Ext(name))
	if err != nil {
		return "", err
	}
	p.closers = append(p.closers, func() error { return os.Remove(f.Name()) })
	return f.Name(), errors.Join(from.CopyTo(ctx, f), f.Close())
}
