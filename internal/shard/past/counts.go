package past

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Counts implements shard.Tx. It returns none if a read fails, as do the requests that follow.
func (t *tx) Counts() *graph.Counts { return t.Statistics() }

// Statistics implements shard.Tx: the counts of the moment, but the degrees and the numbers of distinct values of the present.
func (t *tx) Statistics() *graph.Counts {
	m := t.r.m
	if c := m.counts.Load(); c != nil {
		return c
	}
	c, err := t.count(context.Background())
	if err != nil {
		return &graph.Counts{}
	}
	m.counts.Store(c)
	return c
}

// counting is one count: that of the present, less what has changed since, and more what that was.
type counting struct {
	*graph.Counts
	names graph.Catalog
}

// count counts the moment. What the present transaction does not see yet is the same on both sides.
func (t *tx) count(ctx context.Context) (*graph.Counts, error) {
	now := *t.r.tx.Statistics()
	now.ByLabel, now.ByType, now.Ends, now.Props = maps.Clone(now.ByLabel), maps.Clone(now.ByType), maps.Clone(now.Ends), maps.Clone(now.Props)
	maps.DeleteFunc(now.Ends, func(e graph.TypeEnds, _ uint64) bool { return e.Src != "" && e.Dst != "" })
	c := &counting{Counts: &now, names: t.r.names}
	m := t.r.m
	m.mu.RLock()
	ids, edges := make([]graph.VertexID, len(m.vs)), make([]graph.Edge, len(m.es))
	for i := range m.vs {
		ids[i] = m.vs[i].id
	}
	for i := range m.es {
		edges[i] = m.es[i].Edge
	}
	m.mu.RUnlock()
	slices.Sort(ids)
	slices.SortFunc(edges, func(a, b graph.Edge) int { return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.ID, b.ID)) })
	for side, tx := range []shard.Tx{t.r.tx, t} {
		sign := uint64(1)
		if side == 0 {
			sign = ^uint64(0)
		}
		if err := c.addVertices(ctx, tx, ids, sign); err != nil {
			return nil, err
		}
		if err := c.addEdges(ctx, tx, edges, sign); err != nil {
			return nil, err
		}
	}
	relabelled, err := t.relabelled(ctx, ids)
	if err != nil {
		return nil, err
	}
	var further []graph.Edge // whose ends have changed no labels
	for _, e := range edges {
		_, src := slices.BinarySearch(relabelled, e.Src)
		_, dst := slices.BinarySearch(relabelled, e.Dst)
		if !src && !dst {
			further = append(further, e)
		}
	}
	for side, tx := range []shard.Tx{t.r.tx, t} {
		sign := uint64(1)
		if side == 0 {
			sign = ^uint64(0)
		}
		if err := c.addEnds(ctx, tx, relabelled, further, sign); err != nil {
			return nil, err
		}
	}
	return c.Counts, nil
}

// add adds to a count, modulo 2^64, and leaves none that is 0.
func add[K comparable](m map[K]uint64, k K, n uint64) {
	if m[k] += n; m[k] == 0 {
		delete(m, k)
	}
}

func (c *counting) addVertices(ctx context.Context, tx shard.Tx, ids []graph.VertexID, sign uint64) error {
	out := make([]shard.Record, min(len(ids), graph.BatchSize))
	for some := range slices.Chunk(ids, graph.BatchSize) {
		if err := tx.Records(ctx, some, out[:len(some)]); err != nil {
			return err
		}
		for _, rec := range out[:len(some)] {
			if rec.Labels == 0 {
				continue
			}
			c.Vertices += sign
			labels := c.names.Labels(rec.Labels)
			for _, l := range labels {
				add(c.ByLabel, c.names.LabelName(l), sign)
			}
			for _, p := range rec.Props {
				prop := c.names.PropName(p.ID)
				add(c.Props, graph.PropOf{Prop: prop}, sign)
				for _, l := range labels {
					add(c.Props, graph.PropOf{Label: c.names.LabelName(l), Prop: prop}, sign)
				}
			}
		}
	}
	return nil
}

func (c *counting) addEdges(ctx context.Context, tx shard.Tx, edges []graph.Edge, sign uint64) error {
	out := make([]shard.Record, min(len(edges), graph.BatchSize))
	for some := range slices.Chunk(edges, graph.BatchSize) {
		if err := tx.EdgeRecords(ctx, some, out[:len(some)]); err != nil {
			return err
		}
		for i, rec := range out[:len(some)] {
			if rec.Labels == 0 {
				continue
			}
			typ := c.names.TypeName(some[i].Type)
			c.Edges += sign
			add(c.ByType, typ, sign)
			add(c.Ends, graph.TypeEnds{Type: typ}, sign)
			for _, p := range rec.Props {
				add(c.Props, graph.PropOf{Type: typ, Prop: c.names.PropName(p.ID)}, sign)
			}
		}
	}
	return nil
}

// relabelled returns the vertices whose label sets are not those of the present.
func (t *tx) relabelled(ctx context.Context, ids []graph.VertexID) (out []graph.VertexID, err error) {
	now, was := make([]graph.LabelSet, len(ids)), make([]graph.LabelSet, len(ids))
	if err := cmp.Or(t.r.tx.LabelSets(ctx, ids, now), t.r.LabelSets(ctx, ids, was)); err != nil {
		return nil, err
	}
	for i, id := range ids {
		if now[i] != was[i] {
			out = append(out, id)
		}
	}
	return out, nil
}

// addEnds counts the edges of vertices, and those of some others that are there, by the labels of their ends.
func (c *counting) addEnds(ctx context.Context, tx shard.Tx, vertices []graph.VertexID, others []graph.Edge, sign uint64) error {
	for some := range slices.Chunk(others, graph.BatchSize) {
		out := make([]shard.Record, len(some))
		if err := tx.EdgeRecords(ctx, some, out); err != nil {
			return err
		}
		there := make([]graph.Edge, 0, len(some))
		for i := range some {
			if out[i].Labels != 0 {
				there = append(there, some[i])
			}
		}
		if err := c.addPairs(ctx, tx, there, sign); err != nil {
			return err
		}
	}
	var res shard.Neighbours
	for _, dir := range []graph.Direction{graph.Out, graph.In} {
		req := shard.Expand{Sources: vertices, Dir: dir, Edges: true, MaxEdges: manyEdges}
		for len(req.Sources) > 0 {
			if err := tx.Expand(ctx, &req, &res); err != nil {
				return err
			}
			var edges []graph.Edge
			for i, v := range req.Sources[:res.Done] {
				for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
					e := graph.Edge{ID: res.Edges[k], Type: res.Types[k], Src: v, Dst: res.Targets[k]}
					if dir == graph.In {
						if _, both := slices.BinarySearch(vertices, res.Targets[k]); both {
							continue
						}
						e.Src, e.Dst = e.Dst, e.Src
					}
					edges = append(edges, e)
				}
			}
			if err := c.addPairs(ctx, tx, edges, sign); err != nil {
				return err
			}
			req.Sources = req.Sources[res.Done:]
		}
	}
	return nil
}

// addPairs counts edges by the labels of one end each.
func (c *counting) addPairs(ctx context.Context, tx shard.Tx, edges []graph.Edge, sign uint64) error {
	ends := make([]graph.VertexID, 0, 2*len(edges))
	for _, e := range edges {
		ends = append(ends, e.Src, e.Dst)
	}
	sets := make([]graph.LabelSet, len(ends))
	if err := tx.LabelSets(ctx, ends, sets); err != nil {
		return err
	}
	for i, e := range edges {
		typ := c.names.TypeName(e.Type)
		for _, l := range c.names.Labels(sets[2*i]) {
			add(c.Ends, graph.TypeEnds{Src: c.names.LabelName(l), Type: typ}, sign)
		}
		for _, l := range c.names.Labels(sets[2*i+1]) {
			add(c.Ends, graph.TypeEnds{Type: typ, Dst: c.names.LabelName(l)}, sign)
		}
	}
	return nil
}
