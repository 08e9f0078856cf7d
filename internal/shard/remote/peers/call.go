package peers

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// Patience is how long a request without a deadline waits for a process that does not answer.
const Patience = 30 * time.Second

// Within gives a request without a deadline that of Patience.
func Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, Patience)
}

// Call makes an idempotent call until it is answered or ctx ends. who names the process in errors.
func Call[Q, A any](ctx context.Context, who string, call func(ctx context.Context, q *Q, opts ...grpc.CallOption) (*A, error), q *Q) (a *A, err error) {
	limited, cancel := Within(ctx)
	defer cancel()
	err = Retry(ctx, limited, who, func(ctx context.Context) (err error) {
		a, err = call(ctx, q)
		return err
	})
	return a, err
}

// Retry makes an idempotent call until it is answered or limited ends, which ctx bounds.
func Retry(ctx, limited context.Context, who string, f func(ctx context.Context) error) error {
	for r := new(rpc.Retries); ; {
		err, retryable := wire.FromStatus(ctx, who, f(limited))
		if !retryable || limited.Err() != nil {
			return err
		}
		if !r.Pause(limited) {
			if ctx.Err() != nil {
				return graph.DeadlineError(ctx.Err())
			}
			return err
		}
	}
}

// copiedFile reads a file of a copy at another process.
type copiedFile struct {
	ctx    context.Context
	who    string
	cancel context.CancelFunc
	stream grpc.ServerStreamingClient[pb.FileResponse]
	rest   []byte
}

// OpenFile opens a file of a copy, until Close or the end of ctx.
func OpenFile(ctx context.Context, who string, c pb.CopyServiceClient, id uint64, path string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.File(ctx, &pb.FileRequest{Copy: id, Path: path})
	if err != nil {
		cancel()
		err, _ = wire.FromStatus(ctx, who, err)
		return nil, err
	}
	return &copiedFile{ctx: ctx, who: who, cancel: cancel, stream: stream}, nil
}

// Read implements io.Reader.
func (f *copiedFile) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		r, err := f.stream.Recv()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err != nil {
			err, _ = wire.FromStatus(f.ctx, f.who, err)
			return 0, err
		}
		f.rest = r.GetData()
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (f *copiedFile) Close() error {
	f.cancel()
	return nil
}
