package gateway

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

// Store is the graphs of a cluster, as a gateway sees them: it holds catalogs and no data. It implements shard.Store.
type Store struct {
	finder   *finder // or nil
	near     int     // the process to prefer for reads, -1 if none
	assigned *peers.Assignment
	peers    *peers.List
	leader   *leaderCaller
	lead     pb.LeadServiceClient // over leader
	maintain pb.MaintainServiceClient
	hedged   rpc.HedgeBudget

	mu     sync.Mutex
	reads  []rpc.Caller // by shard, for the ReadService
	graphs map[string]*Graph
}

var _ shard.Store = (*Store)(nil)

// Open returns a store of the processes at addresses, in the order of their numbers. It connects to them when it must.
func Open(addresses []string, more ...grpc.DialOption) (*Store, error) {
	// Any process may have any shard until one has said what the layout is.
	return OpenNear(shard.Layout{Processes: len(addresses), Replicas: len(addresses)}, addresses, -1, more...)
}

// OpenNear is Open with the layout of the cluster, and the number of a process that the store prefers for reads; -1 is none.
func OpenNear(layout shard.Layout, addresses []string, near int, more ...grpc.DialOption) (*Store, error) {
	if len(addresses) == 0 {
		return nil, errors.New("no addresses of processes are given")
	}
	s := newStore(layout, near, nil, more)
	if err := s.peers.Learn(addresses); err != nil {
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
	s := newStore(shard.Layout{Processes: 1, Replicas: 1}, -1, f, append(slices.Clone(more), grpc.WithResolvers(f)))
	f.start(func(processes int) {
		if err := s.peers.Learn(f.targets(processes)); err != nil {
			log.Warn("cannot connect to a process", slog.Any("error", err))
		}
	})
	return s, nil
}

func newStore(layout shard.Layout, near int, f *finder, more []grpc.DialOption) *Store {
	s := &Store{finder: f, near: near, graphs: map[string]*Graph{}}
	o := peers.Options{Self: -1, Dial: rpc.FailFast(more), Behind: func() { s.assigned.Renew() }}
	if f != nil {
		o.Target = f.target
	}
	s.peers = peers.NewList(o)
	s.assigned = peers.NewAssignment(layout, s.peers)
	s.leader = &leaderCaller{assigned: s.assigned, peers: s.peers}
	s.lead, s.maintain = pb.NewLeadServiceClient(s.leader), pb.NewMaintainServiceClient(s.leader)
	return s
}

// readers returns the callers that read the shards of a graph. Each prefers one of the processes that have its shard: the near one, or
// one chosen at random.
func (s *Store) readers(shards int) (reads []rpc.Caller) {
	for no := range shards {
		shift := rand.IntN(s.assigned.Layout().Replicas)
		reads = append(reads, rpc.NewHedger(&readCaller{s, no, shift, 0}, &readCaller{s, no, shift, 1}, &pb.ReadService_ServiceDesc, &s.hedged))
	}
	s.assigned.Renew()
	return reads
}

// worthARequest is shard.StoreFeatures.Rows: with so many rows, each of a few shards gets hundreds.
const worthARequest = 4 * graph.BatchSize

// Features implements shard.Store.
func (s *Store) Features() shard.StoreFeatures {
	return shard.StoreFeatures{Cached: s, Maintainer: s, Members: s, Quotas: lender{s}, Rows: worthARequest}
}

// Hedged returns how many slow reads of shards were repeated, and how many of them the second call answered.
func (s *Store) Hedged() (made, won uint64) { return s.hedged.Counts() }

// LostCalls returns how many calls of this process were not answered, by reason.
func (s *Store) LostCalls() map[string]uint64 { return wire.LostCalls() }

// Close ends the connections.
func (s *Store) Close() error {
	s.assigned.Close()
	err := s.peers.Close()
	if s.finder != nil {
		s.finder.close()
	}
	return err
}

// Single reports whether each shard has one replica, as far as the store knows: requests wait while its process restarts.
func (s *Store) Single() bool { return s.assigned.Single() }

// Stats is empty: a gateway has no shards.
func (s *Store) Stats() map[string][]storage.Stats { return nil }

// TopologyStats is empty: a gateway has no topology cache.
func (s *Store) TopologyStats() storage.TopologyStats { return storage.TopologyStats{} }

// Expired is empty: the leader deletes expired elements.
func (s *Store) Expired() map[string][2]uint64 { return nil }

// Logged implements telemetry.Storage: shard processes count their own.
func (s *Store) Logged() map[string][2]uint64 { return nil }

const leaderName = "the leader of the cluster"

// Graph implements shard.Store. It asks the leader whether the catalog has changed.
func (s *Store) Graph(name string) (shard.Graph, error) {
	s.mu.Lock()
	g := s.graphs[name]
	s.mu.Unlock()
	r := &pb.DescribeRequest{Graph: name}
	var seen *catalog
	if g != nil {
		seen = g.state.Load()
		r.Known = seen.state
	}
	a, err := peers.Call(context.Background(), leaderName, s.lead.Describe, r)
	c := a.GetCatalog()
	if c != nil {
		s.assigned.SetLayout(shard.Layout{Processes: int(c.GetProcesses()), Replicas: int(c.GetReplicas())})
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
		_, err := now.learn(c, seen)
		return now, err
	}
	if len(s.reads) < int(c.GetShards()) {
		s.reads = s.readers(int(c.GetShards()))
	}
	g = &Graph{s: s, name: name, shards: int(c.GetShards()), reads: s.reads[:c.GetShards()], id: c.GetId(), hints: newHints()}
	if _, err := g.learn(c, nil); err != nil {
		return nil, err
	}
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

// forget drops a graph that no longer exists.
func (s *Store) forget(g *Graph) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.graphs[g.name] == g {
		delete(s.graphs, g.name)
	}
}

// Graphs implements shard.Store. It is empty while the leader does not answer.
func (s *Store) Graphs() []string {
	r, _ := peers.Call(context.Background(), leaderName, s.lead.Graphs, &pb.GraphsRequest{})
	return r.GetNames()
}

// CreateGraph implements shard.Store.
func (s *Store) CreateGraph(ctx context.Context, name string) error {
	_, err := change(ctx, true, s.lead.CreateGraph, &pb.CreateGraphRequest{Name: name})
	return err
}

// DropGraph implements shard.Store.
func (s *Store) DropGraph(ctx context.Context, name string) error {
	s.mu.Lock()
	g := s.graphs[name]
	s.mu.Unlock()
	if g != nil {
		g.endLease()
	}
	_, err := change(ctx, true, s.lead.DropGraph, &pb.DropGraphRequest{Name: name})
	if err == nil && g != nil {
		s.forget(g)
	}
	return err
}
