package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/access"
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

// Schema returns a graph's schema and counts.
func (e *Engine) Schema(ctx context.Context, name string) (Schema, error) {
	name = e.graphName(name)
	if err := access.Check(ctx, name, access.Reader); err != nil {
		return Schema{}, err
	}
	g, tx, err := e.begin(ctx, name, shard.Read, 0)
	if err != nil {
		return Schema{}, err
	}
	defer tx.Rollback()
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

// probeTime bounds the server's own query.
const probeTime = 5 * time.Second

// Probe runs a small query through all layers.
func (e *Engine) Probe(ctx context.Context) error {
	res, err := e.Query(ctx, Request{Statement: "MATCH (a)-->(b) RETURN 1 LIMIT 1", ReadOnly: true, Timeout: probeTime, probe: true})
	if err != nil {
		return err
	}
	defer res.Close()
	_, err = res.Next()
	return err
}

// used returns the names that occur.
func used(names []string, counts map[string]uint64) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return counts[n] == 0 })
}
