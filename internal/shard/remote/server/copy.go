package server

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

const (
	fileChunk = 1 << 20 // bytes in a message
	listChunk = 4 << 10 // files in a message
)

// copyService copies replicas, verifies them, and sends the files of copies.
type copyService struct {
	pb.UnimplementedCopyServiceServer
	*Host
}

func (c *copyService) Copy(stream grpc.BidiStreamingServer[pb.CopyRequest, pb.CopyResponse]) (err error) {
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	parts, err := c.Parts(int(first.GetShard()))
	if err != nil {
		return Status(err)
	}
	made, err := parts.Copy(first.GetBegin())
	if err != nil {
		return Status(err)
	}
	defer func() {
		if cerr := made.Close(); cerr != nil {
			err = errors.Join(err, Status(cerr))
		}
	}()
	for step := first; ; {
		answer := &pb.CopyResponse{}
		switch s := step.GetStep().(type) {
		case *pb.CopyRequest_Flush:
			err = parts.Flush(ctx, wire.DecodePart(s.Flush))
		case *pb.CopyRequest_Take:
			err = parts.Take(ctx, made, wire.DecodePart(s.Take.GetGraph()), s.Take.GetEpoch(), s.Take.GetVersion())
		case *pb.CopyRequest_Seed:
			var at replica.Snapshot
			at, err = parts.Seed(ctx, made, s.Seed.GetIndex())
			answer.Seed = &pb.Seeded{Index: at.Index, Term: at.Term, Members: at.Members}
		case *pb.CopyRequest_List:
			var files []graph.CheckpointFile
			if files, err = parts.List(ctx, made); err == nil {
				for len(files) > listChunk {
					if err := stream.Send(&pb.CopyResponse{Files: wire.EncodeFiles(files[:listChunk]), More: true}); err != nil {
						return err
					}
					files = files[listChunk:]
				}
				err = stream.Send(&pb.CopyResponse{Files: wire.EncodeFiles(files)})
			}
		}
		if err != nil {
			return Status(err)
		}
		if _, listed := step.GetStep().(*pb.CopyRequest_List); !listed {
			if err := stream.Send(answer); err != nil {
				return err
			}
		}
		if step, err = stream.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (c *copyService) CheckFiles(ctx context.Context, r *pb.CheckFilesRequest) (*pb.CheckFilesResponse, error) {
	parts, err := c.Parts(int(r.GetShard()))
	if err != nil {
		return nil, Status(err)
	}
	out := &pb.CheckFilesResponse{}
	out.Files, out.Bytes, err = parts.CheckFiles(ctx, wire.DecodePart(r.GetGraph()), func(file string, err error) {
		out.Bad = append(out.Bad, &pb.BadFile{File: file, Error: err.Error()})
	})
	if err != nil {
		return nil, Status(err)
	}
	return out, nil
}

func (c *copyService) Digest(ctx context.Context, r *pb.DigestRequest) (*pb.DigestResponse, error) {
	parts, err := c.Parts(int(r.GetShard()))
	if err != nil {
		return nil, Status(err)
	}
	d, err := parts.Digest(ctx, wire.DecodePart(r.GetGraph()), r.GetEpoch(), r.GetVersion())
	if err != nil {
		return nil, Status(err)
	}
	return &pb.DigestResponse{Sha256: d[:]}, nil
}

func (c *copyService) File(r *pb.FileRequest, stream grpc.ServerStreamingServer[pb.FileResponse]) (err error) {
	f, err := c.copiedFile(r.GetCopy(), r.GetPath())
	if err != nil {
		return Status(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := make([]byte, fileChunk)
	for {
		n, err := io.ReadFull(f, buf)
		if n > 0 {
			if err := stream.Send(&pb.FileResponse{Data: buf[:n]}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return Status(err)
		}
	}
}

// copiedFile opens a file of a copy that the leader or a replica here has made.
func (c *copyService) copiedFile(id uint64, path string) (io.ReadCloser, error) {
	if l := c.Leading(); l != nil {
		if f, err := l.store.CopiedFile(id, path); err == nil {
			return f, nil
		}
	}
	return c.Replicas.CopiedFile(id, path)
}
