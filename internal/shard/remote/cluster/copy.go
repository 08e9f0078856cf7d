package cluster

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
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

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

// seed copies shards of another process for a replica of this one; see local.Network.
func (p *Process) seed(ctx context.Context, process, no int, index uint64) (local.SeedCopy, error) {
	w, err := beginCopy(ctx, fmt.Sprintf("process %d", process), p.peers.At(process).Raw, no, rand.Uint64(), 0)
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
		err, _ = wire.FromStatus(ctx, w.who, err)
		return nil, err
	}
	return w, nil
}

// step makes one step of the copy, and returns the files that it lists.
func (w *peerCopy) step(r *pb.CopyRequest) (files []graph.CheckpointFile, err error) {
	if err := w.stream.Send(r); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for more := true; more; {
		a, err := w.stream.Recv()
		if err != nil {
			return nil, err
		}
		if files, err = wire.DecodeFiles(files, a.GetFiles()); err != nil {
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
	err, _ = wire.FromStatus(w.ctx, w.who, err)
	return files, err
}

// Flush implements storage.PeerCopy.
func (w *peerCopy) Flush(g storage.PartOf) error {
	_, err := w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_Flush{Flush: wire.EncodePart(g)}})
	return err
}

// Take implements storage.PeerCopy.
func (w *peerCopy) Take(g storage.PartOf, version uint64) error {
	_, err := w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_Take{Take: &pb.Take{Graph: wire.EncodePart(g), Epoch: w.epoch, Version: version}}})
	return err
}

// Files implements storage.PeerCopy.
func (w *peerCopy) Files() ([]graph.CheckpointFile, error) {
	return w.receive(&pb.CopyRequest{Step: &pb.CopyRequest_List{List: true}})
}

// Open implements storage.PeerCopy.
func (w *peerCopy) Open(path string) (io.ReadCloser, error) {
	return peers.OpenFile(w.ctx, w.who, w.c, w.id, path)
}

// Close implements storage.PeerCopy. It waits until the other process has removed the copy.
func (w *peerCopy) Close() error {
	defer w.cancel()
	if err := w.stream.CloseSend(); err != nil {
		return err
	}
	if _, err := w.stream.Recv(); !errors.Is(err, io.EOF) {
		err, retryable := wire.FromStatus(w.ctx, w.who, err)
		if retryable || w.ctx.Err() != nil {
			return nil // the copy ends with the stream, or with the process
		}
		return err
	}
	return nil
}
