package local

import (
	"github.com/hopgate/hopgate/internal/storage"
)

// Stats returns the shapes of a graph's shards in this process; a graph that is being closed has none.
func (g *Graph) Stats() []storage.Stats {
	if g.Enter() != nil {
		return nil
	}
	defer g.Leave()
	var out []storage.Stats
	for i, s := range g.shards {
		if g.Options.Peers == nil {
			st := s.Stats()
			st.Topology = g.Topology.Counts(i)
			out = append(out, st)
		}
	}
	return out
}

// Stats returns the shapes of the shards of all graphs, by the graphs' names.
func (s *Store) Stats() map[string][]storage.Stats {
	out := map[string][]storage.Stats{}
	for _, name := range s.Graphs() {
		if g, err := s.Local(name); err == nil {
			out[name] = g.Stats()
		}
	}
	return out
}

// Expired returns how many vertices and edges have been deleted since the start because they had expired, by graph.
func (s *Store) Expired() map[string][2]uint64 {
	out := map[string][2]uint64{}
	for _, name := range s.Graphs() {
		if g, err := s.Local(name); err == nil {
			out[name] = g.expirer.Deleted()
		}
	}
	return out
}

// Logged returns the bytes of the commit logs, and those that only named snapshots hold, by graph name.
func (s *Store) Logged() map[string][2]uint64 {
	out := map[string][2]uint64{}
	for _, name := range s.Graphs() {
		if g, err := s.Local(name); err == nil {
			out[name] = g.log.Kept()
		}
	}
	return out
}

// SetTopologyBytes changes the memory for decoded lists and columns; what is above it is given back as soon as no reader
// holds it.
func (s *Store) SetTopologyBytes(n int64) { s.Shared.Topology().SetBudget(int(n)) }
