package restricted

import (
	"context"
	"slices"
	"sync"
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
	memo  *memo // nil for a transaction that has changed something
}

// vertices is what a policy says of some vertices.
type vertices struct {
	elements []*rules.Element // nil for a vertex that is not there
	cols     [][]graph.Value  // the values of Bound.VertexProps, if a gate needs them
	seen     []bool
}

// look reads what the policy says of vertices. Need, if not nil, reports whether a gate that is asked for beside Visible needs the columns.
func (r *reader) look(ctx context.Context, ids []graph.VertexID, need func(e *rules.Element) bool) (*vertices, error) {
	b := r.bound.Load()
	sets := make([]graph.LabelSet, len(ids))
	if err := r.tx.LabelSets(ctx, ids, sets); err != nil {
		return nil, err
	}
	v := &vertices{elements: make([]*rules.Element, len(ids)), seen: make([]bool, len(ids))}
	var last graph.LabelSet
	var e *rules.Element
	values := false
	for i, set := range sets {
		if set == 0 {
			continue
		}
		if e == nil || set != last {
			e, last = b.Vertices(set), set
			values = values || !e.Visible.Static() || need != nil && need(e)
		}
		v.elements[i], v.seen[i] = e, e.Visible.Always
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

// always is look's need of all columns.
func always(*rules.Element) bool { return true }

// reading returns look's need to read some properties.
func reading(props []graph.PropID) func(e *rules.Element) bool {
	return func(e *rules.Element) bool {
		return slices.ContainsFunc(props, func(p graph.PropID) bool { return !e.Read(p).Static() })
	}
}

// filter returns the vertices that are visible, in the memory of ids.
func (r *reader) filter(ctx context.Context, ids []graph.VertexID) ([]graph.VertexID, error) {
	mem := flagsOf(len(ids))
	defer flags.Put(mem)
	if err := r.see(ctx, ids, *mem); err != nil {
		return nil, err
	}
	return keep(ids, *mem), nil
}

// flags are reused memory.
var flags = sync.Pool{New: func() any { return new([]bool) }}

// flagsOf returns n flags of any value, to be put back to flags.
func flagsOf(n int) *[]bool {
	mem := flags.Get().(*[]bool)
	*mem = slices.Grow((*mem)[:0], n)[:n]
	return mem
}

// visible returns which vertices are visible. One that is not there may be either.
func (r *reader) visible(ctx context.Context, ids []graph.VertexID) (seen []bool, err error) {
	seen = make([]bool, len(ids))
	return seen, r.see(ctx, ids, seen)
}

// see sets which vertices are visible.
func (r *reader) see(ctx context.Context, ids []graph.VertexID, seen []bool) error {
	if r.bound.Load().All(false) {
		for i := range seen {
			seen[i] = true
		}
		return nil
	}
	if r.memo == nil {
		v, err := r.look(ctx, ids, nil)
		if err == nil {
			copy(seen, v.seen)
		}
		return err
	}
	rest := r.memo.recall(ids, seen, nil)
	if len(rest) == 0 {
		return nil
	}
	some, exist := make([]graph.VertexID, len(rest)), make([]bool, len(rest))
	for k, i := range rest {
		some[k] = ids[i]
	}
	v, err := r.look(ctx, some, nil)
	if err != nil {
		return err
	}
	for k, i := range rest {
		seen[i], exist[k] = v.seen[k], v.elements[k] != nil
	}
	r.memo.note(some, v.seen, exist)
	return nil
}

// free reports whether the policy hides no vertices, and no edges.
func (r *reader) free() (vertices, edges bool) {
	b := r.bound.Load()
	return b.All(false), b.All(true)
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
		seen, err := r.filter(ctx, dst[start:])
		if err != nil {
			return dst, next, done, err
		}
		dst = dst[:start+len(seen)]
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
	mem := flagsOf(len(ids))
	defer flags.Put(mem)
	if err := r.see(ctx, ids, *mem); err != nil {
		return err
	}
	for i, ok := range *mem {
		if !ok {
			out[i] = 0
		}
	}
	return nil
}

// Properties implements shard.Reader.
func (r *reader) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	if err := r.tx.Properties(ctx, ids, props, out); err != nil {
		return err
	}
	b := r.bound.Load()
	if !b.All(false) {
		mem := flagsOf(len(ids))
		defer flags.Put(mem)
		if err := r.see(ctx, ids, *mem); err != nil {
			return err
		}
		for i, ok := range *mem {
			if !ok {
				for p := range props {
					out[p][i] = graph.Value{}
				}
			}
		}
	}
	if b.Reads(false, props) {
		return nil
	}
	return r.mask(ctx, ids, props, out)
}

// mask makes values null that may not be read, of visible vertices.
func (r *reader) mask(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	b := r.bound.Load()
	some := slices.DeleteFunc(slices.Clone(props), func(p graph.PropID) bool { return b.Read(false, p) })
	v, err := r.look(ctx, ids, reading(some))
	if err != nil {
		return err
	}
	for p, prop := range props {
		if b.Read(false, prop) {
			continue
		}
		var last *rules.Element
		var gate *rules.Gate
		for i, e := range v.elements {
			if e == nil {
				continue
			}
			if e != last {
				last, gate = e, e.Read(prop)
			}
			if !gate.Permits(v.cols, i) {
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
	both, err := r.visible(ctx, ends)
	if err != nil {
		return nil, nil, err
	}
	seen = make([]bool, len(edges))
	for i, e := range edges {
		t := b.Edges(e.Type)
		seen[i] = both[2*i] && both[2*i+1] && t.Visible.Permits(cols, i)
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
	counts := make([]int, 0, len(sources))
	req := shard.Expand{Sources: sources, Types: types, Dir: dir, MaxEdges: manyEdges}
	res := answers.Get().(*answer)
	defer answers.Put(res)
	for len(req.Sources) > 0 {
		if err := r.Expand(ctx, &req, &res.Neighbours); err != nil {
			return err
		}
		for i := range res.Done {
			counts = append(counts, res.Offsets[i+1]-res.Offsets[i])
		}
		req.Sources = req.Sources[res.Done:]
	}
	for i, v := range ids {
		at, _ := slices.BinarySearch(sources, v)
		out[i] = counts[at]
	}
	return nil
}

// answer is that of a request that this package makes. It has no values, which a transaction owns.
type answer struct{ shard.Neighbours }

var answers = sync.Pool{New: func() any { return new(answer) }}

// manyEdges is about how many edges the requests of this package ask for at a time.
const manyEdges = 1 << 16
