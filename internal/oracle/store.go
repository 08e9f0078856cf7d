package oracle

import (
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Store is a set of graphs. It implements shard.Store.
type Store struct {
	shards int
	mu     sync.Mutex
	graphs map[string]*Graph
}

var (
	_ shard.Store = (*Store)(nil)
	_ shard.Graph = (*Graph)(nil)
	_ shard.Tx    = (*Tx)(nil)
)

// New returns an empty store whose graphs distribute their ids over the given number of shards.
func New(shards int) *Store {
	return &Store{shards: shards, graphs: map[string]*Graph{}}
}

// Graph returns a graph by name.
func (s *Store) Graph(name string) (shard.Graph, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.graphs[name]
	if !ok {
		return nil, graph.NoGraph(name)
	}
	return g, nil
}

// Graphs lists the names in ascending order.
func (s *Store) Graphs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.graphs))
	for name := range s.graphs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// CreateGraph creates an empty graph.
func (s *Store) CreateGraph(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.graphs[name]; ok {
		return graph.DuplicateGraph(name)
	}
	s.graphs[name] = NewGraph(s.shards)
	return nil
}

// DropGraph removes a graph. Open transactions continue undisturbed.
func (s *Store) DropGraph(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.graphs[name]; !ok {
		return graph.NoGraph(name)
	}
	delete(s.graphs, name)
	return nil
}
