// Package schema describes the contents of a graph: names, counts, indexes, degrees.
package schema

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// NameCount is a label or an edge type and the number of its vertices or edges.
type NameCount struct {
	Name  string
	Count uint64
}

// Schema describes the contents of a graph.
type Schema struct {
	Labels, Types   []NameCount
	Props           []string
	Indexes         []graph.Index
	Vertices, Edges uint64
	Degrees         []Degrees
	Distinct        []NameCount // estimates of the distinct values of each index, by its name
	PropCounts      []PropCount // by label or type, and name
}

// PropCount is how many vertices of a label, or edges of a type, have a property; with neither, how many vertices.
type PropCount struct {
	graph.PropOf
	Count uint64
}

// Degrees is how many vertices have from 2^i to 2^(i+1)-1 edges of a type in a direction, for each i.
type Degrees struct {
	Type     string
	Dir      graph.Direction
	Vertices []uint64
}

// Of returns the schema of a graph and its counts, as a transaction sees them.
func Of(ctx context.Context, g shard.Graph, tx shard.Tx) (Schema, error) {
	c, err := shard.CountExactly(ctx, g, tx)
	if err != nil {
		return Schema{}, err
	}
	s := Schema{Props: g.AllProps(), Vertices: c.Vertices, Edges: c.Edges}
	for _, n := range used(g.AllLabels(), c.ByLabel) {
		s.Labels = append(s.Labels, NameCount{n, c.ByLabel[n]})
	}
	for _, n := range used(g.AllTypes(), c.ByType) {
		s.Types = append(s.Types, NameCount{n, c.ByType[n]})
		for _, dir := range []graph.Direction{graph.Out, graph.In} {
			if vs := c.Degrees[graph.TypeDir{Type: n, Dir: dir}]; len(vs) > 0 {
				s.Degrees = append(s.Degrees, Degrees{n, dir, vs})
			}
		}
	}
	for of, n := range c.Props {
		s.PropCounts = append(s.PropCounts, PropCount{of, n})
	}
	slices.SortFunc(s.PropCounts, func(a, b PropCount) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Prop, b.Prop))
	})
	for _, ix := range g.Indexes() {
		if len(ix.Props) > 0 {
			s.Indexes = append(s.Indexes, ix)
			if ix.Indexed {
				s.Distinct = append(s.Distinct, NameCount{ix.Name, c.Distinct[ix.Name]})
			}
		}
	}
	return s, nil
}

// used returns the names that occur.
func used(names []string, counts map[string]uint64) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return counts[n] == 0 })
}
