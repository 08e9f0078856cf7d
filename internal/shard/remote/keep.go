package remote

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/storage"
)

// ServeParts makes a gRPC server answer the leader and the readers of the shards in a data directory.
func ServeParts(s grpc.ServiceRegistrar, parts *local.Parts) {
	k, r := &keeper{parts: parts}, &reader{open: func(_ context.Context, snap *pb.Snapshot) (shard.PartTx, func(), error) {
		if no := int(snap.GetShard()); no != parts.No() {
			return nil, nil, unavailable(shard.SnapshotGone, fmt.Sprintf("this process keeps shard %d, not %d: the addresses are in another order, or have just changed", parts.No(), no), nil)
		}
		p, err := parts.Part(snap.GetGraph())
		if err != nil {
			return nil, nil, err
		}
		tx, err := p.Read(snap.GetEpoch(), snap.GetVersion())
		if err != nil {
			return nil, nil, err
		}
		return tx, tx.Rollback, nil
	}}
	pb.RegisterKeepServiceServer(s, k)
	pb.RegisterPlaceServiceServer(s, &placed{no: parts.No(), store: parts})
	pb.RegisterCopyServiceServer(s, &copier{parts: parts, open: parts.CopiedFile})
	pb.RegisterReadServiceServer(s, r)
	(&lines{map[string]any{pb.KeepService_ServiceDesc.ServiceName: k, pb.ReadService_ServiceDesc.ServiceName: r}}).register(s)
}

// keeper answers the leader.
type keeper struct {
	pb.UnimplementedKeepServiceServer
	parts *local.Parts
}

func partOf(p *pb.PartOf) storage.PartOf {
	return storage.PartOf{Name: p.GetName(), ID: p.GetId(), Shards: int(p.GetShards())}
}

// Epoch implements the call.
func (k *keeper) Epoch(context.Context, *pb.EpochRequest) (*pb.EpochResponse, error) {
	return &pb.EpochResponse{Epoch: k.parts.Epoch()}, nil
}

// Attach implements the call.
func (k *keeper) Attach(ctx context.Context, r *pb.AttachRequest) (*pb.AttachResponse, error) {
	version, err := k.parts.Attach(ctx, partOf(r.GetGraph()), int(r.GetShard()), r.GetEpoch(), r.GetCreate())
	return &pb.AttachResponse{Version: version}, toStatus(err)
}

// Drop implements the call.
func (k *keeper) Drop(ctx context.Context, r *pb.DropRequest) (*pb.DropResponse, error) {
	return &pb.DropResponse{}, toStatus(k.parts.Drop(ctx, partOf(r.GetGraph())))
}

// Apply implements the call.
func (k *keeper) Apply(ctx context.Context, r *pb.ApplyRequest) (*pb.ApplyResponse, error) {
	return &pb.ApplyResponse{}, toStatus(k.parts.Apply(ctx, r.GetGraph(), r.GetEpoch(), &storage.Changed{
		Store: storage.Store(r.GetStore()), Version: r.GetVersion(), Batch: r.GetBatch(), Same: r.GetSame(), Keep: r.GetKeep(), Gone: r.GetGone(),
	}))
}

// Get implements the call.
func (k *keeper) Get(_ context.Context, r *pb.GetRequest) (*pb.GetResponse, error) {
	p, err := k.parts.Part(r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	v, ok, err := p.Get(r.GetEpoch(), storage.Store(r.GetStore()), r.GetVersion(), r.GetKey())
	if err != nil || !ok {
		return &pb.GetResponse{}, toStatus(err)
	}
	if v == nil {
		v = []byte{}
	}
	return &pb.GetResponse{Value: v}, nil
}

// GetAll implements the call.
func (k *keeper) GetAll(_ context.Context, r *pb.GetAllRequest) (*pb.GetAllResponse, error) {
	p, err := k.parts.Part(r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	values, err := p.GetAll(r.GetEpoch(), storage.Store(r.GetStore()), r.GetVersion(), r.GetKeys())
	if err != nil {
		return nil, toStatus(err)
	}
	out := &pb.GetAllResponse{}
	for i, v := range values {
		if v != nil {
			out.At, out.Values = append(out.At, uint32(i)), append(out.Values, v)
		}
	}
	return out, nil
}

// Walk implements the call.
func (k *keeper) Walk(_ context.Context, r *pb.WalkRequest) (*pb.WalkResponse, error) {
	p, err := k.parts.Part(r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	out, err := p.Walk(r.GetEpoch(), &storage.Walk{
		Store: storage.Store(r.GetStore()), Version: r.GetVersion(), Lower: r.Lower, Upper: r.Upper, From: r.GetFrom(), Down: r.GetDown(),
		Bytes: int(r.GetBytes()),
	})
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.WalkResponse{Keys: out.Keys, Values: out.Values, Done: out.Done}, nil
}
