package remote

import (
	"context"
	"errors"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/storage"
)

// openPart returns the transaction that reads a snapshot of a shard.
func openPart(ctx context.Context, parts *local.Parts, snap *pb.Snapshot) (shard.PartTx, func(), error) {
	p, err := parts.Part(snap.GetGraph())
	if err != nil {
		return nil, nil, err
	}
	tx, err := p.Read(ctx, snap.GetEpoch(), snap.GetVersion())
	if err != nil {
		return nil, nil, err
	}
	return tx, tx.Rollback, nil
}

// keeper answers the leader.
type keeper struct {
	pb.UnimplementedKeepServiceServer
	kept   func(no int) (*local.Parts, error) // the shards with a number
	leader func(no int) int                   // the process that leads the replicas of a shard, -1 if it is not known
}

// status is toStatus, and tells who leads the replicas of a shard if this process does not.
func (k *keeper) status(no uint32, err error) error {
	if errors.Is(err, replica.ErrNotLeader) {
		return notLeading(k.leader(int(no)), err)
	}
	return toStatus(err)
}

// change returns the shards that a change is for.
func (k *keeper) change(no uint32) (*local.Parts, error) {
	parts, err := k.kept(int(no))
	if err != nil {
		err = notLeading(-1, err)
	}
	return parts, toStatus(err)
}

// part returns a shard of a graph.
func (k *keeper) part(no uint32, name string) (*local.Part, error) {
	parts, err := k.kept(int(no))
	if err != nil {
		return nil, err
	}
	return parts.Part(name)
}

func toPartOf(g storage.PartOf) *pb.PartOf {
	return &pb.PartOf{Name: g.Name, Id: g.ID, Shards: uint32(g.Shards)}
}

func partOf(p *pb.PartOf) storage.PartOf {
	return storage.PartOf{Name: p.GetName(), ID: p.GetId(), Shards: int(p.GetShards())}
}

// Attach implements the call.
func (k *keeper) Attach(ctx context.Context, r *pb.AttachRequest) (*pb.AttachResponse, error) {
	parts, err := k.change(r.GetShard())
	if err != nil {
		return nil, err
	}
	version, err := parts.Attach(ctx, partOf(r.GetGraph()), int(r.GetShard()), r.GetEpoch(), r.GetCreate())
	return &pb.AttachResponse{Version: version}, k.status(r.GetShard(), err)
}

// Drop implements the call.
func (k *keeper) Drop(ctx context.Context, r *pb.DropRequest) (*pb.DropResponse, error) {
	parts, err := k.change(r.GetShard())
	if err == nil {
		err = parts.Drop(ctx, partOf(r.GetGraph()))
	}
	return &pb.DropResponse{}, k.status(r.GetShard(), err)
}

// Apply implements the call.
func (k *keeper) Apply(ctx context.Context, r *pb.ApplyRequest) (*pb.ApplyResponse, error) {
	parts, err := k.change(r.GetShard())
	if err == nil {
		err = parts.Apply(ctx, r.GetGraph(), r.GetEpoch(), &storage.Changed{
			Store: storage.Store(r.GetStore()), Version: r.GetVersion(), Batch: r.GetBatch(), Same: r.GetSame(), Keep: r.GetKeep(), Gone: r.GetGone(),
		})
	}
	return &pb.ApplyResponse{}, k.status(r.GetShard(), err)
}

// Get implements the call.
func (k *keeper) Get(_ context.Context, r *pb.GetRequest) (*pb.GetResponse, error) {
	p, err := k.part(r.GetShard(), r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	v, ok, err := p.Get(r.GetEpoch(), storage.Store(r.GetStore()), r.GetVersion(), r.GetLeast(), r.GetKey())
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
	p, err := k.part(r.GetShard(), r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	values, err := p.GetAll(r.GetEpoch(), storage.Store(r.GetStore()), r.GetVersion(), r.GetLeast(), r.GetKeys())
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
	p, err := k.part(r.GetShard(), r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	out, err := p.Walk(r.GetEpoch(), r.GetLeast(), &storage.Walk{
		Store: storage.Store(r.GetStore()), Version: r.GetVersion(), Lower: r.Lower, Upper: r.Upper, From: r.GetFrom(), Down: r.GetDown(),
		Bytes: int(r.GetBytes()),
	})
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.WalkResponse{Keys: out.Keys, Values: out.Values, Done: out.Done}, nil
}
