package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/definition"
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

// learn stores a catalog if it is newer; nil changes nothing. One of another epoch is newer if it answers a call that was made, and is
// confirmed, after the present one, seen, was learned; nil takes none of another epoch. Otherwise fresh is false. So catalogs, and the rules
// in them, never go back to those of a former leader.
func (g *Graph) learn(c *pb.Catalog, seen *catalog) (fresh bool, err error) {
	if c == nil {
		return true, nil
	}
	if c.GetId() != g.id {
		return false, nil
	}
	next, err := newCatalog(c, g.state.Load())
	if err != nil {
		return false, err
	}
	for {
		old := g.state.Load()
		switch {
		case old != nil && old.state.GetEpoch() == next.state.GetEpoch():
			if old.state.GetNumber() >= next.state.GetNumber() {
				return true, nil
			}
		case old != seen:
			return false, nil
		}
		if g.state.CompareAndSwap(old, next) {
			return true, nil
		}
	}
}

// CreateIndex implements shard.Graph.
func (g *Graph) CreateIndex(ctx context.Context, ix graph.Index) error {
	return alter(ctx, g, false, g.s.lead.CreateIndex, &pb.CreateIndexRequest{Graph: g.name, Index: wire.EncodeIndex(ix)})
}

// DropIndex implements shard.Graph.
func (g *Graph) DropIndex(ctx context.Context, name string) error {
	return alter(ctx, g, true, g.s.lead.DropIndex, &pb.DropIndexRequest{Graph: g.name, Name: name})
}

// SetTTL implements shard.Graph.
func (g *Graph) SetTTL(ctx context.Context, t graph.TTL) error {
	return alter(ctx, g, false, g.s.lead.SetTTL, &pb.SetTTLRequest{Graph: g.name, Ttl: wire.EncodeTTL(t)})
}

// DropTTL implements shard.Graph.
func (g *Graph) DropTTL(ctx context.Context, label, typ string) error {
	return alter(ctx, g, true, g.s.lead.DropTTL, &pb.DropTTLRequest{Graph: g.name, Label: label, Type: typ})
}

// TTLs implements shard.Graph.
func (g *Graph) TTLs() []graph.TTL { return g.state.Load().ttls }

// alter changes the catalog, and reads the new one; see change.
func alter[Q, A any](ctx context.Context, g *Graph, soon bool, call func(context.Context, *Q, ...grpc.CallOption) (*A, error), q *Q) error {
	if _, err := change(ctx, soon, call, q); err != nil {
		return err
	}
	seen := g.state.Load()
	a, err := peers.Call(ctx, leaderName, g.s.lead.Describe, &pb.DescribeRequest{Graph: g.name, Known: seen.state})
	if err == nil {
		_, err = g.learn(a.GetCatalog(), seen)
	}
	return err
}

// Definitions implements shard.Graph.
func (g *Graph) Definitions() *definition.Set { return g.state.Load().defined }

// Define implements shard.Graph. The call may be repeated: a change that has been applied changes nothing.
func (g *Graph) Define(ctx context.Context, c definition.Change) error {
	seen := g.state.Load()
	r := &pb.DefineRequest{Graph: g.name, Version: c.If, Put: wire.EncodeDefinitions(c.Put), Known: seen.state}
	for _, d := range c.Drop {
		r.Drop = append(r.Drop, &pb.Definition{Kind: d.Kind, Name: d.Name})
	}
	a, err := peers.Call(ctx, leaderName, g.s.lead.Define, r)
	if err == nil {
		_, err = g.learn(a.GetCatalog(), seen)
	}
	return err
}

// IndexProgress implements shard.Graph. It is 0 while the leader does not answer.
func (g *Graph) IndexProgress(id graph.IndexID) float64 {
	r, _ := peers.Call(context.Background(), leaderName, g.s.lead.IndexProgress, &pb.IndexProgressRequest{Graph: g.name, Id: uint32(id)})
	return r.GetPart()
}

// Load implements shard.Graph. A batch of a stream is sent until it is acknowledged: the leader skips what it has applied.
func (g *Graph) Load(ctx context.Context, l *shard.Load) error {
	r, err := wire.EncodeLoad(g.name, l)
	if err != nil {
		return err
	}
	var a *pb.LoadResponse
	if l.Stream == "" || l.Restart {
		a, err = change(ctx, true, g.s.lead.Load, r)
	} else {
		a, err = peers.Call(ctx, leaderName, g.s.lead.Load, r)
	}
	if err == nil {
		err = setLoaded(l, a)
	}
	return err
}

// LoadState implements shard.Graph.
func (g *Graph) LoadState(ctx context.Context, stream string) (seq uint64, mark []byte, err error) {
	r, err := peers.Call(ctx, leaderName, g.s.lead.LoadState, &pb.LoadStateRequest{Graph: g.name, Stream: stream})
	return r.GetSeq(), r.GetMark(), err
}

func setLoaded(l *shard.Load, r *pb.LoadResponse) error {
	l.Rejected = l.Rejected[:0]
	for _, x := range r.GetRejected() {
		l.Rejected = append(l.Rejected, shard.Rejected{Edge: x.GetEdge(), Group: int(x.GetGroup()), Row: int(x.GetRow()), Code: x.GetCode(), Msg: x.GetMsg()})
	}
	l.Skipped, l.Resolve = r.GetSkipped(), time.Duration(r.GetResolveNanos())
	f := shard.Fields{Rest: r.GetCounts()}
	if l.Counts = f.Counts(); f.Bad {
		return wire.ErrMalformed
	}
	return nil
}

// change makes a call to the leader that is not idempotent. Without an answer, it is unknown whether it was applied. soon gives it a deadline
// if ctx has none.
func change[Q, A any](ctx context.Context, soon bool, call func(context.Context, *Q, ...grpc.CallOption) (*A, error), q *Q) (*A, error) {
	if ctx.Err() != nil {
		return nil, graph.DeadlineError(ctx.Err())
	}
	if soon {
		limited, cancel := peers.Within(ctx)
		defer cancel()
		ctx = limited
	}
	a, err := call(ctx, q)
	if err == nil || wire.Fault(err) != nil || status.Code(err) == codes.Unimplemented {
		err, _ = wire.FromStatus(ctx, leaderName, err)
		return a, err
	}
	return nil, graph.UnknownError("no answer from the leader; the commit may or may not have been applied", err)
}
