package gateway

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// Graph is a graph of a cluster as a gateway sees it. It implements shard.Graph.
type Graph struct {
	s      *Store
	name   string
	shards int
	reads  []rpc.Caller // by shard, for the ReadService
	id     uint64
	state  atomic.Pointer[catalog]
	counts atomic.Pointer[counted]
	leases leases
	hints  *hints
}

// counted is the statistics of a snapshot, with the epoch of the graph's catalog.
type counted struct {
	epoch, snap uint64
	counts      *graph.Counts
}

var _ shard.Graph = (*Graph)(nil)

// Size implements shard.Graph, as of the last snapshot that the gateway has read.
func (g *Graph) Size() uint64 {
	c := g.counts.Load()
	if c == nil {
		return 0
	}
	return c.counts.Vertices + c.counts.Edges
}

// learn stores a catalog if it is newer; nil changes nothing.
func (g *Graph) learn(c *pb.Catalog) {
	if c == nil {
		return
	}
	next := newCatalog(c)
	for {
		old := g.state.Load()
		if old != nil && old.state.GetEpoch() == next.state.GetEpoch() && old.state.GetNumber() >= next.state.GetNumber() || g.state.CompareAndSwap(old, next) {
			return
		}
	}
}

// CreateIndex implements shard.Graph.
func (g *Graph) CreateIndex(ctx context.Context, ix graph.Index) error {
	err := change(ctx, func(ctx context.Context) error {
		_, err := g.s.lead.CreateIndex(ctx, &pb.CreateIndexRequest{Graph: g.name, Index: wire.EncodeIndex(ix)})
		return err
	})
	return errors.Join(err, g.refresh(ctx, err))
}

// DropIndex implements shard.Graph.
func (g *Graph) DropIndex(ctx context.Context, name string) error {
	err := changeSoon(ctx, func(ctx context.Context) error {
		_, err := g.s.lead.DropIndex(ctx, &pb.DropIndexRequest{Graph: g.name, Name: name})
		return err
	})
	return errors.Join(err, g.refresh(ctx, err))
}

// SetTTL implements shard.Graph.
func (g *Graph) SetTTL(ctx context.Context, t graph.TTL) error {
	err := change(ctx, func(ctx context.Context) error {
		_, err := g.s.lead.SetTTL(ctx, &pb.SetTTLRequest{Graph: g.name, Ttl: wire.EncodeTTL(t)})
		return err
	})
	return errors.Join(err, g.refresh(ctx, err))
}

// DropTTL implements shard.Graph.
func (g *Graph) DropTTL(ctx context.Context, label, typ string) error {
	err := changeSoon(ctx, func(ctx context.Context) error {
		_, err := g.s.lead.DropTTL(ctx, &pb.DropTTLRequest{Graph: g.name, Label: label, Type: typ})
		return err
	})
	return errors.Join(err, g.refresh(ctx, err))
}

// TTLs implements shard.Graph.
func (g *Graph) TTLs() []graph.TTL { return g.state.Load().ttls }

// refresh asks for the present catalog, unless the change before it has failed.
func (g *Graph) refresh(ctx context.Context, failed error) error {
	if failed != nil {
		return nil //nolint:nilerr // the caller has it
	}
	return peers.Call(ctx, leaderName, func(ctx context.Context) error {
		r, err := g.s.lead.Describe(ctx, &pb.DescribeRequest{Graph: g.name, Known: g.state.Load().state})
		g.learn(r.GetCatalog())
		return err
	})
}

// IndexProgress implements shard.Graph. It is 0 while the leader does not answer.
func (g *Graph) IndexProgress(id graph.IndexID) float64 {
	part := 0.0
	err := peers.Call(context.Background(), leaderName, func(ctx context.Context) error {
		r, err := g.s.lead.IndexProgress(ctx, &pb.IndexProgressRequest{Graph: g.name, Id: uint32(id)})
		part = r.GetPart()
		return err
	})
	if err != nil {
		return 0
	}
	return part
}

// Load implements shard.Graph. A batch of a stream is sent until it is acknowledged: the leader skips what it has applied.
func (g *Graph) Load(ctx context.Context, l *shard.Load) error {
	r, err := wire.EncodeLoad(g.name, l)
	if err != nil {
		return err
	}
	send := func(ctx context.Context) error {
		a, err := g.s.lead.Load(ctx, r)
		if err == nil {
			setLoaded(l, a)
		}
		return err
	}
	if l.Stream == "" || l.Restart {
		return changeSoon(ctx, send)
	}
	return peers.Call(ctx, leaderName, send)
}

// LoadState implements shard.Graph.
func (g *Graph) LoadState(ctx context.Context, stream string) (seq uint64, mark []byte, err error) {
	err = peers.Call(ctx, leaderName, func(ctx context.Context) error {
		r, err := g.s.lead.LoadState(ctx, &pb.LoadStateRequest{Graph: g.name, Stream: stream})
		seq, mark = r.GetSeq(), r.GetMark()
		return err
	})
	return seq, mark, err
}

func setLoaded(l *shard.Load, r *pb.LoadResponse) {
	l.Rejected = l.Rejected[:0]
	for _, x := range r.GetRejected() {
		l.Rejected = append(l.Rejected, shard.Rejected{Edge: x.GetEdge(), Group: int(x.GetGroup()), Row: int(x.GetRow()), Code: x.GetCode(), Msg: x.GetMsg()})
	}
	l.AppliedVertices, l.AppliedEdges, l.Skipped = int(r.GetVertices()), int(r.GetEdges()), r.GetSkipped()
	l.Resolve = time.Duration(r.GetResolveNanos())
}

// change makes a call to the leader that is not idempotent. Without an answer, it is unknown whether it was applied.
func change(ctx context.Context, f func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return graph.DeadlineError(ctx.Err())
	}
	err := f(ctx)
	if err == nil || wire.Fault(err) != nil || status.Code(err) == codes.Unimplemented {
		err, _ = wire.FromStatus(ctx, leaderName, err)
		return err
	}
	return graph.UnknownError("no answer from the leader; the commit may or may not have been applied", err)
}

// changeSoon is change for short calls, which have a deadline.
func changeSoon(ctx context.Context, f func(ctx context.Context) error) error {
	limited, cancel := peers.Within(ctx)
	defer cancel()
	return change(limited, f)
}
