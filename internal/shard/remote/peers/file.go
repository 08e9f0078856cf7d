package peers

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

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
