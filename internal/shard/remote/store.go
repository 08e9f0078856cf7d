package remote

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// Store is the graphs of a cluster, as a gateway sees them: it holds catalogs and no data. It implements shard.Store.
type Store struct {
	finder   *finder // or nil
	near     int     // the process to prefer for reads, -1 if none
	placed   *placement
	roster   *roster
	leader   caller
	lead     pb.LeadServiceClient // over leader
	maintain pb.MaintainServiceClient
	hedges   hedges

	mu     sync.Mutex
	reads  []caller // by shard, for the ReadService
	graphs map[string]*Graph
}

var _ shard.Store = (*Store)(nil)

// Open returns a store of the processes at addresses, in the order of their numbers. It connects to them when it must.
func Open(addresses []string, more ...grpc.DialOption) (*Store, error) {
	return OpenNear(addresses, -1, more...)
}

// OpenNear is Open with the number of a process that the store prefers for reads; -1 is none.
func OpenNear(addresses []string, near int, more ...grpc.DialOption) (*Store, error) {
	if len(addresses) == 0 {
		return nil, errors.New("no addresses of processes are given")
	}
	// Any process may have any shard until one has said what the layout is.
	s := newStore(shard.Layout{Processes: len(addresses), Replicas: len(addresses)}, near, more)
	if err := s.roster.learn(addresses); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenGateway returns a store of the processes of the cluster, which prefers to read from this one.
func (p *Process) OpenGateway(more ...grpc.DialOption) (*Store, error) {
	s := newStore(p.layout, p.no, more)
	if err := s.roster.learn(p.roster.addresses()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Discover returns a store of the processes that SRV records name; see ServicePrefix.
func Discover(service string, log *slog.Logger, more ...grpc.DialOption) (*Store, error) {
	f, err := newFinder(service, log, more)
	if err != nil {
		return nil, err
	}
	s := newStore(shard.Layout{Processes: 1, Replicas: 1}, -1, append(slices.Clone(more), grpc.WithResolvers(f)))
	s.finder, s.roster.target = f, f.target
	f.start(func(processes int) {
		if err := s.roster.learn(f.targets(processes)); err != nil {
			log.Warn("a process is not reached", slog.Any("error", err))
		}
	})
	return s, nil
}

func newStore(layout shard.Layout, near int, more []grpc.DialOption) *Store {
	s := &Store{near: near, graphs: map[string]*Graph{}}
	s.placed = newPlacement(layout, func(ctx context.Context) []*pb.MembersResponse {
		answers, _ := s.roster.ask(ctx)
		return answers
	})
	s.roster = newRoster(-1, replicaDial(more), nil, s.placed.renew)
	s.leader = &seeker{placed: s.placed, roster: s.roster}
	s.lead, s.maintain = pb.NewLeadServiceClient(s.leader), pb.NewMaintainServiceClient(s.leader)
	return s
}

// readers returns the callers that read the shards of a graph. Each prefers one of the processes that keep its shard: the near one, or
// one chosen at random.
func (s *Store) readers(shards int) (reads []caller) {
	for no := range shards {
		shift := rand.IntN(s.placed.layout.Load().Replicas)
		reads = append(reads, newHedger(&readCaller{s, no, shift, 0}, &readCaller{s, no, shift, 1}, &s.hedges))
	}
	s.placed.renew()
	return reads
}

// worthARequest is shard.StoreFeatures.Rows: of so many rows each of a few shards is asked for hundreds.
const worthARequest = 4 * graph.BatchSize

// Features implements shard.Store.
func (s *Store) Features() shard.StoreFeatures {
	return shard.StoreFeatures{Cached: s, Maintainer: s, Members: s, Rows: worthARequest}
}

// Hedged returns how many calls that read took long and were made twice, and how many of them the second one answered.
func (s *Store) Hedged() (made, won uint64) { return s.hedges.made.Load(), s.hedges.won.Load() }

// LostCalls is the function of this name.
func (s *Store) LostCalls() map[string]uint64 { return LostCalls() }

// Close ends the connections.
func (s *Store) Close() error {
	s.placed.close()
	err := s.roster.close()
	if s.finder != nil {
		s.finder.close()
	}
	return err
}

// Single reports whether each shard has one replica, as far as the store knows: requests wait while its process is away.
func (s *Store) Single() bool { return s.placed.single() }

// Stats returns the shapes of this process's shards: it has none.
func (s *Store) Stats() map[string][]storage.Stats { return nil }

// TopologyStats is empty: a gateway has no topology cache.
func (s *Store) TopologyStats() storage.TopologyStats { return storage.TopologyStats{} }

// Expired reports no deletions: the leader makes them.
func (s *Store) Expired() map[string][2]uint64 { return nil }

const leaderName = "the leader of the cluster"

// Graph implements shard.Store. It asks the leader whether the catalog has changed.
func (s *Store) Graph(name string) (shard.Graph, error) {
	s.mu.Lock()
	g := s.graphs[name]
	s.mu.Unlock()
	r := &pb.DescribeRequest{Graph: name}
	if g != nil {
		r.Known = g.state.Load().state
	}
	var c *pb.Catalog
	err := again(context.Background(), leaderName, func(ctx context.Context) error {
		a, err := s.lead.Describe(ctx, r)
		c = a.GetCatalog()
		return err
	})
	if c != nil {
		s.placed.layOut(shard.Layout{Processes: int(c.GetProcesses()), Replicas: int(c.GetReplicas())})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch now := s.graphs[name]; {
	case err != nil:
		if graph.AsError(err).Kind == graph.KindNotFound {
			delete(s.graphs, name)
		}
		return nil, err
	case c == nil:
		return g, nil
	case now != nil && now.id == c.GetId():
		now.learn(c)
		return now, nil
	}
	if len(s.reads) < int(c.GetShards()) {
		s.reads = s.readers(int(c.GetShards()))
	}
	g = &Graph{s: s, name: name, shards: int(c.GetShards()), reads: s.reads[:c.GetShards()], id: c.GetId(), hints: newHints()}
	g.learn(c)
	s.graphs[name] = g
	return g, nil
}

// Known implements shard.CachedStore.
func (s *Store) Known(name string) shard.Graph {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.graphs[name]; g != nil {
		return g
	}
	return nil
}

// forget drops a graph that is no more.
func (s *Store) forget(g *Graph) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.graphs[g.name] == g {
		delete(s.graphs, g.name)
	}
}

// Graphs implements shard.Store. It is empty while the leader does not answer.
func (s *Store) Graphs() []string {
	var names []string
	err := again(context.Background(), leaderName, func(ctx context.Context) error {
		r, err := s.lead.Graphs(ctx, &pb.GraphsRequest{})
		names = r.GetNames()
		return err
	})
	if err != nil {
		return nil
	}
	return names
}

// CreateGraph implements shard.Store.
func (s *Store) CreateGraph(ctx context.Context, name string) error {
	return once(ctx, func(ctx context.Context) error {
		_, err := s.lead.CreateGraph(ctx, &pb.CreateGraphRequest{Name: name})
		return err
	})
}

// DropGraph implements shard.Store.
func (s *Store) DropGraph(ctx context.Context, name string) error {
	s.mu.Lock()
	g := s.graphs[name]
	s.mu.Unlock()
	if g != nil {
		g.endLease()
	}
	err := once(ctx, func(ctx context.Context) error {
		_, err := s.lead.DropGraph(ctx, &pb.DropGraphRequest{Name: name})
		return err
	})
	if err == nil && g != nil {
		s.forget(g)
	}
	return err
}

// Graph is a graph of a cluster as a gateway sees it. It implements shard.Graph.
type Graph struct {
	s      *Store
	name   string
	shards int
	reads  []caller // by shard, for the ReadService
	id     uint64
	state  atomic.Pointer[catalog]
	counts atomic.Pointer[counted]
	leases leases
	hints  *hints
}

// counted are the statistics of a snapshot, under the epoch of the graph's catalog.
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

// learn takes a newer catalog in; nil is none.
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
		_, err := g.s.lead.CreateIndex(ctx, &pb.CreateIndexRequest{Graph: g.name, Index: encodeIndex(ix)})
		return err
	})
	return errors.Join(err, g.refresh(ctx, err))
}

// DropIndex implements shard.Graph.
func (g *Graph) DropIndex(ctx context.Context, name string) error {
	err := once(ctx, func(ctx context.Context) error {
		_, err := g.s.lead.DropIndex(ctx, &pb.DropIndexRequest{Graph: g.name, Name: name})
		return err
	})
	return errors.Join(err, g.refresh(ctx, err))
}

// SetTTL implements shard.Graph.
func (g *Graph) SetTTL(ctx context.Context, t graph.TTL) error {
	err := change(ctx, func(ctx context.Context) error {
		_, err := g.s.lead.SetTTL(ctx, &pb.SetTTLRequest{Graph: g.name, Ttl: encodeTTL(t)})
		return err
	})
	return errors.Join(err, g.refresh(ctx, err))
}

// DropTTL implements shard.Graph.
func (g *Graph) DropTTL(ctx context.Context, label, typ string) error {
	err := once(ctx, func(ctx context.Context) error {
		_, err := g.s.lead.DropTTL(ctx, &pb.DropTTLRequest{Graph: g.name, Label: label, Type: typ})
		return err
	})
	return errors.Join(err, g.refresh(ctx, err))
}

// TTLs implements shard.Graph.
func (g *Graph) TTLs() []graph.TTL { return g.state.Load().ttls }

// refresh asks for the catalog as it is now, unless something has failed before.
func (g *Graph) refresh(ctx context.Context, failed error) error {
	if failed != nil {
		return nil //nolint:nilerr // the caller has it
	}
	return again(ctx, leaderName, func(ctx context.Context) error {
		r, err := g.s.lead.Describe(ctx, &pb.DescribeRequest{Graph: g.name, Known: g.state.Load().state})
		g.learn(r.GetCatalog())
		return err
	})
}

// IndexProgress implements shard.Graph. It is 0 while the leader does not answer.
func (g *Graph) IndexProgress(id graph.IndexID) float64 {
	part := 0.0
	err := again(context.Background(), leaderName, func(ctx context.Context) error {
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
	r, err := encodeLoad(g.name, l)
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
		return once(ctx, send)
	}
	return again(ctx, leaderName, send)
}

// LoadState implements shard.Graph.
func (g *Graph) LoadState(ctx context.Context, stream string) (seq uint64, mark []byte, err error) {
	err = again(ctx, leaderName, func(ctx context.Context) error {
		r, err := g.s.lead.LoadState(ctx, &pb.LoadStateRequest{Graph: g.name, Stream: stream})
		seq, mark = r.GetSeq(), r.GetMark()
		return err
	})
	return seq, mark, err
}
