package server

import (
	"context"
	"errors"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

// keepService answers the leader of the cluster.
type keepService struct {
	pb.UnimplementedKeepServiceServer
	*Host
}

// status is Status, and names the process that leads the replicas of a shard if this one does not.
func (k *keepService) status(no uint32, err error) error {
	if errors.Is(err, replica.ErrNotLeader) {
		return NotLeading(k.LeaderOf(int(no)), err)
	}
	return Status(err)
}

// change returns the replica of a shard, or NotLeading if there is none here.
func (k *keepService) change(no uint32) (*part.Parts, error) {
	parts, err := k.Parts(int(no))
	if err != nil {
		err = NotLeading(-1, err)
	}
	return parts, Status(err)
}

// onPart calls f with a shard of a graph.
func onPart[A any](k *keepService, no uint32, name string, f func(p *part.Part) (*A, error)) (a *A, err error) {
	parts, err := k.Parts(int(no))
	if err == nil {
		var p *part.Part
		if p, err = parts.Part(name); err == nil {
			a, err = f(p)
		}
	}
	return a, Status(err)
}

func (k *keepService) Attach(ctx context.Context, r *pb.AttachRequest) (*pb.AttachResponse, error) {
	parts, err := k.change(r.GetShard())
	if err != nil {
		return nil, err
	}
	version, err := parts.Attach(ctx, wire.DecodePart(r.GetGraph()), int(r.GetShard()), r.GetEpoch(), r.GetCreate())
	return &pb.AttachResponse{Version: version}, k.status(r.GetShard(), err)
}

func (k *keepService) Drop(ctx context.Context, r *pb.DropRequest) (*pb.DropResponse, error) {
	parts, err := k.change(r.GetShard())
	if err == nil {
		err = parts.Drop(ctx, wire.DecodePart(r.GetGraph()))
	}
	return &pb.DropResponse{}, k.status(r.GetShard(), err)
}

func (k *keepService) Apply(ctx context.Context, r *pb.ApplyRequest) (*pb.ApplyResponse, error) {
	parts, err := k.change(r.GetShard())
	if err == nil {
		err = parts.Apply(ctx, r.GetGraph(), r.GetEpoch(), &storage.Changed{
			Store: storage.Store(r.GetStore()), Version: r.GetVersion(), Batch: r.GetBatch(), Same: r.GetSame(), Keep: r.GetKeep(), Gone: r.GetGone(),
		})
	}
	return &pb.ApplyResponse{}, k.status(r.GetShard(), err)
}

func (k *keepService) Get(_ context.Context, r *pb.GetRequest) (*pb.GetResponse, error) {
	return onPart(k, r.GetShard(), r.GetGraph(), func(p *part.Part) (*pb.GetResponse, error) {
		v, ok, err := p.Get(r.GetEpoch(), storage.Store(r.GetStore()), r.GetVersion(), r.GetLeast(), r.GetKey())
		if err != nil || !ok {
			return &pb.GetResponse{}, err
		}
		if v == nil {
			v = []byte{}
		}
		return &pb.GetResponse{Value: v}, nil
	})
}

func (k *keepService) GetAll(_ context.Context, r *pb.GetAllRequest) (*pb.GetAllResponse, error) {
	return onPart(k, r.GetShard(), r.GetGraph(), func(p *part.Part) (*pb.GetAllResponse, error) {
		out := &pb.GetAllResponse{}
		values, err := p.GetAll(r.GetEpoch(), storage.Store(r.GetStore()), r.GetVersion(), r.GetLeast(), r.GetKeys())
		for i, v := range values {
			if v != nil {
				out.At, out.Values = append(out.At, uint32(i)), append(out.Values, v)
			}
		}
		return out, err
	})
}

func (k *keepService) Walk(_ context.Context, r *pb.WalkRequest) (*pb.WalkResponse, error) {
	return onPart(k, r.GetShard(), r.GetGraph(), func(p *part.Part) (*pb.WalkResponse, error) {
		out, err := p.Walk(r.GetEpoch(), r.GetLeast(), &storage.Walk{
			Store: storage.Store(r.GetStore()), Version: r.GetVersion(), Lower: r.Lower, Upper: r.Upper, From: r.GetFrom(), Down: r.GetDown(),
			Bytes: int(r.GetBytes()),
		})
		if err != nil {
			return nil, err
		}
		return &pb.WalkResponse{Keys: out.Keys, Values: out.Values, Done: out.Done}, nil
	})
}
