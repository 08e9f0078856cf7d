package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/storage"
)

const (
	fileChunk = 1 << 20 // bytes in a message
	listChunk = 4 << 10 // files in a message
)

// copier answers CopyService.
type copier struct {
	pb.UnimplementedCopyServiceServer
	p *Process
}

// Copy implements the call.
func (c *copier) Copy(stream grpc.BidiStreamingServer[pb.CopyRequest, pb.CopyResponse]) (err error) {
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	parts, err := c.p.kept(int(first.GetShard()))
	if err != nil {
		return toStatus(err)
	}
	made, err := parts.Copy(first.GetBegin())
	if err != nil {
		return toStatus(err)
	}
	defer func() {
		if cerr := made.Close(); cerr != nil {
			err = errors.Join(err, toStatus(cerr))
		}
	}()
	for step := first; ; {
		answer := &pb.CopyResponse{}
		switch s := step.GetStep().(type) {
		case *pb.CopyRequest_Flush:
			err = parts.Flush(ctx, partOf(s.Flush))
		case *pb.CopyRequest_Take:
			err = parts.Take(ctx, made, partOf(s.Take.GetGraph()), s.Take.GetEpoch(), s.Take.GetVersion())
		case *pb.CopyRequest_Seed:
			var at replica.Snapshot
			at, err = parts.Seed(ctx, made, s.Seed.GetIndex())
			answer.Seed = &pb.Seeded{Index: at.Index, Term: at.Term, Members: at.Members}
		case *pb.CopyRequest_List:
			var files []graph.CheckpointFile
			if files, err = parts.List(ctx, made); err == nil {
				for len(files) > listChunk {
					if err := stream.Send(&pb.CopyResponse{Files: encodeFiles(files[:listChunk]), More: true}); err != nil {
						return err
					}
					files = files[listChunk:]
				}
				err = stream.Send(&pb.CopyResponse{Files: encodeFiles(files)})
			}
		}
		if err != nil {
			return toStatus(err)
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

func encodeFiles(files []graph.CheckpointFile) []*pb.CopiedFile {
	out := make([]*pb.CopiedFile, len(files))
	for i := range files {
		out[i] = &pb.CopiedFile{Path: files[i].Path, Size: uint64(files[i].Size), Sha256: files[i].SHA256[:]}
	}
	return out
}

func decodeFiles(dst []graph.CheckpointFile, files []*pb.CopiedFile) ([]graph.CheckpointFile, error) {
	for _, f := range files {
		file := graph.CheckpointFile{Path: f.GetPath(), Size: int64(f.GetSize())}
		if len(f.GetSha256()) != len(file.SHA256) {
			return nil, errCodec
		}
		copy(file.SHA256[:], f.GetSha256())
		dst = append(dst, file)
	}
	return dst, nil
}

// CheckFiles implements the call.
func (c *copier) CheckFiles(ctx context.Context, r *pb.CheckFilesRequest) (*pb.CheckFilesResponse, error) {
	parts, err := c.p.kept(int(r.GetShard()))
	if err != nil {
		return nil, toStatus(err)
	}
	out := &pb.CheckFilesResponse{}
	out.Files, out.Bytes, err = parts.CheckFiles(ctx, partOf(r.GetGraph()), func(file string, err error) {
		out.Bad = append(out.Bad, &pb.BadFile{File: file, Error: err.Error()})
	})
	if err != nil {
		return nil, toStatus(err)
	}
	return out, nil
}

// Digest implements the call.
func (c *copier) Digest(ctx context.Context, r *pb.DigestRequest) (*pb.DigestResponse, error) {
	parts, err := c.p.kept(int(r.GetShard()))
	if err != nil {
		return nil, toStatus(err)
	}
	d, err := parts.Digest(ctx, partOf(r.GetGraph()), r.GetEpoch(), r.GetVersion())
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.DigestResponse{Sha256: d[:]}, nil
}

// File implements the call.
func (c *copier) File(r *pb.FileRequest, stream grpc.ServerStreamingServer[pb.FileResponse]) (err error) {
	f, err := c.p.copiedFile(r.GetCopy(), r.GetPath())
	if err != nil {
		return toStatus(err)
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
			return toStatus(err)
		}
	}
}

// copiedFile reads a file of a copy that another process has.
type copiedFile struct {
	ctx    context.Context
	who    string
	cancel context.CancelFunc
	stream grpc.ServerStreamingClient[pb.FileResponse]
	rest   []byte
}

// openFile opens a file of a copy, until Close or the end of ctx.
func openFile(ctx context.Context, who string, c pb.CopyServiceClient, id uint64, path string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.File(ctx, &pb.FileRequest{Copy: id, Path: path})
	if err != nil {
		cancel()
		err, _ = fromStatus(ctx, who, err)
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
			err, _ = fromStatus(f.ctx, f.who, err)
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

// peerCopy is the leader's side of a copy that the process of a shard makes. It implements storage.PeerCopy.
type peerCopy struct {
	ctx    context.Context
	who    string
	id     uint64
	epoch  uint64
	c      pb.CopyServiceClient
	cancel context.CancelFunc
	stream grpc.BidiStreamingClient[pb.CopyRequest, pb.CopyResponse]
	at     replica.Snapshot // of a seed
}

// seed has another process copy its shards for a replica of this one; see local.Network.
func (p *Process) seed(ctx context.Context, process, no int, index uint64) (local.SeedCopy, error) {
	w, err := beginCopy(ctx, fmt.Sprintf("process %d", process), p.roster.at(process).conn, no, rand.Uint64(), 0)
	if err != nil {
		return nil, err
	}
	if _, err := w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_Seed{Seed: &pb.Seed{Index: index}}}); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Snapshot implements local.SeedCopy.
func (w *peerCopy) Snapshot() replica.Snapshot { return w.at }

// copyAt begins a copy of shards at another process.
func copyAt(ctx context.Context, who string, conn grpc.ClientConnInterface, no int, id, epoch uint64) (storage.PeerCopy, error) {
	w, err := beginCopy(ctx, who, conn, no, id, epoch)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func beginCopy(ctx context.Context, who string, conn grpc.ClientConnInterface, no int, id, epoch uint64) (*peerCopy, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &peerCopy{ctx: ctx, who: who, id: id, epoch: epoch, c: pb.NewCopyServiceClient(conn), cancel: cancel}
	var err error
	if w.stream, err = w.c.Copy(ctx); err == nil {
		_, err = w.step(&pb.CopyRequest{Step: &pb.CopyRequest_Begin{Begin: id}, Shard: uint32(no)})
	}
	if err != nil {
		cancel()
		err, _ = fromStatus(ctx, w.who, err)
		return nil, err
	}
	return w, nil
}

// step has a step made, and gives the files that it lists.
func (w *peerCopy) step(r *pb.CopyRequest) (files []graph.CheckpointFile, err error) {
	if err := w.stream.Send(r); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for more := true; more; {
		a, err := w.stream.Recv()
		if err != nil {
			return nil, err
		}
		if files, err = decodeFiles(files, a.GetFiles()); err != nil {
			return nil, err
		}
		if s := a.GetSeed(); s != nil {
			w.at = replica.Snapshot{Index: s.GetIndex(), Term: s.GetTerm(), Members: s.GetMembers()}
		}
		more = a.GetMore()
	}
	return files, nil
}

func (w *peerCopy) receive(r *pb.CopyRequest) ([]graph.CheckpointFile, error) {
	files, err := w.step(r)
	err, _ = fromStatus(w.ctx, w.who, err)
	return files, err
}

// Flush implements storage.PeerCopy.
func (w *peerCopy) Flush(g storage.PartOf) error {
	_, err := w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_Flush{Flush: toPartOf(g)}})
	return err
}

// Take implements storage.PeerCopy.
func (w *peerCopy) Take(g storage.PartOf, version uint64) error {
	_, err := w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_Take{Take: &pb.Take{Graph: toPartOf(g), Epoch: w.epoch, Version: version}}})
	return err
}

// Files implements storage.PeerCopy.
func (w *peerCopy) Files() ([]graph.CheckpointFile, error) {
	return w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_List{List: true}})
}

// Open implements storage.PeerCopy.
func (w *peerCopy) Open(path string) (io.ReadCloser, error) {
	return openFile(w.ctx, w.who, w.c, w.id, path)
}

// Close implements storage.PeerCopy. It waits until the other process has removed the copy.
func (w *peerCopy) Close() error {
	defer w.cancel()
	if err := w.stream.CloseSend(); err != nil {
		return err
	}
	if _, err := w.stream.Recv(); !errors.Is(err, io.EOF) {
		err, lost := fromStatus(w.ctx, w.who, err)
		if lost || w.ctx.Err() != nil {
			return nil // the copy goes with the stream, or with the process
		}
		return err
	}
	return nil
}
