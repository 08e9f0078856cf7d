package restricted

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// reader is shard.Reader and shard.Indexes under a policy.
type reader struct {
	tx    shard.Tx
	names graph.Catalog
	bound atomic.Pointer[rules.Bound]
}

// vertices is what a policy says of some vertices.
type vertices struct {
	elements []*rules.Element // nil for a vertex that is not there
	cols     [][]graph.Value  // the values of Bound.VertexProps, if a gate needs them
	seen     []bool
}

// all reports whether all vertices are seen.
func (v *vertices) all() bool { return !slices.Contains(v.seen, false) }

// look returns what the policy says of vertices. values asks for the columns in any case, for gates of other actions.
func (r *reader) look(ctx context.Context, ids []graph.VertexID, values bool) (*vertices, error) {
	b := r.bound.Load()
	sets := make([]graph.LabelSet, len(ids))
	if err := r.tx.LabelSets(ctx, ids, sets); err != nil {
		return nil, err
	}
	v := &vertices{elements: make([]*rules.Element, len(ids)), seen: make([]bool, len(ids))}
	var last graph.LabelSet
	var e *rules.Element
	for i, set := range sets {
		if set == 0 {
			continue
		}
		if e == nil || set != last {
			e, last = b.Vertices(set), set
		}
		v.elements[i], v.seen[i] = e, e.Visible.Always
		values = values || !e.Visible.Always && !e.Visible.Never()
	}
	if !values {
		return v, nil
	}
	v.cols = shard.Columns(len(b.VertexProps), len(ids))
	if err := r.tx.Properties(ctx, ids, b.VertexProps, v.cols); err != nil {
		return nil, err
	}
	for i, e := range v.elements {
		v.seen[i] = e != nil && e.Visible.Permits(v.cols, i)
	}
	return v, nil
}

// free reports whether the policy hides no vertices, and no edges.
func (r *reader) free() (vertices, edges bool) {
	b := r.bound.Load()
	return b.Free(false, rules.Traverse, ""), b.Free(true, rules.Traverse, "")
}

// Scan implements shard.Reader.
func (r *reader) Scan(
	ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID,
) (ids []graph.VertexID, next graph.VertexID, done bool, err error) {
	if all, _ := r.free(); all {
		return r.tx.Scan(ctx, label, from, dst)
	}
	next = from
	for len(dst) < cap(dst) && !done {
		start := len(dst)
		if dst, next, done, err = r.tx.Scan(ctx, label, next, dst); err != nil {
			return dst, next, done, err
		}
		v, err := r.look(ctx, dst[start:], false)
		if err != nil {
			return dst, next, done, err
		}
		dst = append(dst[:start], keep(dst[start:], v.seen)...)
	}
	return dst, next, done, nil
}

// keep returns the elements of s that seen marks, in the memory of s.
func keep[T any](s []T, seen []bool) []T {
	n := 0
	for i, x := range s {
		if seen[i] {
			s[n] = x
			n++
		}
	}
	return s[:n]
}

// LabelSets implements shard.Reader.
func (r *reader) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	err := r.tx.LabelSets(ctx, ids, out)
	if all, _ := r.free(); all || err != nil {
		return err
	}
	v, err := r.look(ctx, ids, false)
	if err != nil {
		return err
	}
	for i, seen := range v.seen {
		if !seen {
			out[i] = 0
		}
	}
	return nil
}

// Properties implements shard.Reader.
func (r *reader) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	b := r.bound.Load()
	err := r.tx.Properties(ctx, ids, props, out)
	if all, _ := r.free(); err != nil || all && b.Reads(false, props) {
		return err
	}
	v, err := r.look(ctx, ids, len(b.VertexProps) > 0)
	if err != nil {
		return err
	}
	for p, prop := range props {
		for i, e := range v.elements {
			if !v.seen[i] || !e.Read(prop).Permits(v.cols, i) {
				out[p][i] = graph.Value{}
			}
		}
	}
	return nil
}

// edges returns which edges are seen. With props, it returns their values as well, as far as they may be read.
func (r *reader) edges(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) (seen []bool, cols [][]graph.Value, err error) {
	b := r.bound.Load()
	if len(b.EdgeProps) > 0 {
		cols = shard.Columns(len(b.EdgeProps), len(edges))
		if err := r.tx.EdgeProperties(ctx, edges, b.EdgeProps, cols); err != nil {
			return nil, nil, err
		}
	}
	if len(props) > 0 {
		if err := r.tx.EdgeProperties(ctx, edges, props, out); err != nil {
			return nil, nil, err
		}
	}
	ends := make([]graph.VertexID, 0, 2*len(edges))
	for _, e := range edges {
		ends = append(ends, e.Src, e.Dst)
	}
	v, err := r.look(ctx, ends, false)
	if err != nil {
		return nil, nil, err
	}
	seen = make([]bool, len(edges))
	for i, e := range edges {
		t := b.Edges(e.Type)
		seen[i] = v.seen[2*i] && v.seen[2*i+1] && t.Visible.Permits(cols, i)
		for p, prop := range props {
			if !seen[i] || !t.Read(prop).Permits(cols, i) {
				out[p][i] = graph.Value{}
			}
		}
	}
	return seen, cols, nil
}

// EdgeProperties implements shard.Reader.
func (r *reader) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	v, e := r.free()
	if v && e && r.bound.Load().Reads(true, props) {
		return r.tx.EdgeProperties(ctx, edges, props, out)
	}
	_, _, err := r.edges(ctx, edges, props, out)
	return err
}

// Degrees implements shard.Reader.
func (r *reader) Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	if v, e := r.free(); v && e {
		return r.tx.Degrees(ctx, ids, types, dir, out)
	}
	sources := slices.Clone(ids)
	slices.Sort(sources)
	sources = slices.Compact(sources)
	counts := make(map[graph.VertexID]int, len(sources))
	req := shard.Expand{Sources: sources, Types: types, Dir: dir, MaxEdges: manyEdges}
	var res shard.Neighbours
	for len(req.Sources) > 0 {
		if err := r.Expand(ctx, &req, &res); err != nil {
			return err
		}
		for i, v := range req.Sources[:res.Done] {
			counts[v] = res.Offsets[i+1] - res.Offsets[i]
		}
		req.Sources = req.Sources[res.Done:]
	}
	for i, v := range ids {
		out[i] = counts[v]
	}
	return nil
}

// manyEdges is about how many edges the requests of this package ask for at a time.
const manyEdges = 1 << 16
