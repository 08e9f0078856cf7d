package past

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// split returns the vertices of whose edges, of some types in a direction, no later commit has changed any, and the others.
func (r *reader) split(ids []graph.VertexID, types []graph.TypeID, dir graph.Direction) (clean, dirty []graph.VertexID) {
	m := r.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.touchesTypes(types) {
		return ids, nil
	}
	for i, id := range ids {
		changed := false
		if m.linked(id, dir) {
			m.each(id, types, dir, func(*edge, bool) bool {
				changed = true
				return false
			})
		}
		switch {
		case changed:
			if dirty == nil {
				clean = slices.Clone(ids[:i])
			}
			dirty = append(dirty, id)
		case dirty != nil:
			clean = append(clean, id)
		}
	}
	if dirty == nil {
		return ids, nil
	}
	return clean, dirty
}

// linked reports whether edges of a vertex in a direction have changed. The caller holds the lock.
func (m *moment) linked(v graph.VertexID, dir graph.Direction) bool {
	return dir != graph.In && m.out.get(uint64(v)) >= 0 || dir != graph.Out && m.in.get(uint64(v)) >= 0
}

// touchesTypes reports whether edges of some types (none: all) have changed. The caller holds the lock.
func (m *moment) touchesTypes(types []graph.TypeID) bool {
	if len(types) == 0 {
		return len(m.types) > 0
	}
	return slices.ContainsFunc(types, func(t graph.TypeID) bool { return m.types[t] })
}

// Expand implements shard.Reader.
func (r *reader) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	clean, dirty := r.split(req.Sources, req.Types, req.Dir)
	switch {
	case len(dirty) == 0:
		return r.tx.Expand(ctx, req, res)
	case req.Into != nil:
		return r.expandInto(ctx, req, clean, dirty, res)
	}
	x := expansions.Get().(*expansion)
	defer x.free()
	x.r, x.req, x.res, x.dirty = r, req, res, dirty
	return x.run(ctx)
}

// expandInto answers a request for far ends alone: those of clean sources by the present, whole, those of the others edge by edge.
func (r *reader) expandInto(ctx context.Context, req *shard.Expand, clean, dirty []graph.VertexID, res *shard.Neighbours) error {
	part := *req
	part.Sources = clean
	res.Reset(0)
	seen, added, done := 0, 0, len(req.Sources)
	if len(clean) > 0 {
		if err := r.tx.Expand(ctx, &part, res); err != nil {
			return err
		}
		seen, added = res.Seen, res.Added
		if res.Done < len(clean) {
			done, _ = slices.BinarySearch(req.Sources, clean[res.Done])
			n, _ := slices.BinarySearch(dirty, clean[res.Done])
			dirty = dirty[:n]
		}
	}
	part.Into, part.MaxEdges = nil, manyEdges
	for part.Sources = dirty; len(part.Sources) > 0; part.Sources = part.Sources[res.Done:] {
		if err := r.Expand(ctx, &part, res); err != nil {
			return err
		}
		seen += res.Seen
		res.Put(req.Into)
		added += res.Added
	}
	res.Reset(len(req.Props))
	res.Done, res.Seen, res.Added = done, seen, added
	return nil
}

// manyEdges is about how many edges the requests of this package ask for at a time.
const manyEdges = 1 << 16

// expansion is one Expand with sources whose edges have changed.
type expansion struct {
	r     *reader
	req   *shard.Expand
	res   *shard.Neighbours
	dirty []graph.VertexID
	inner shard.Expand
	ans   shard.Neighbours // of the present
	// edges were there at the moment and have changed since, by source; cols are their properties: those of the request, and those of its
	// conditions.
	edges  []backEdge
	bare   []graph.Edge
	cols   [][]graph.Value
	gone   []bool // of the edges of ans: they have changed
	merged []bool // of edges: they have their place
}

// backEdge is an edge that a source had.
type backEdge struct {
	graph.Edge
	source  int
	far     graph.VertexID
	reverse bool
	row     int // in the columns
}

func (e *backEdge) group(o *backEdge) int {
	if n := cmp.Compare(e.Type, o.Type); n != 0 || e.reverse == o.reverse {
		return n
	}
	if e.reverse {
		return 1
	}
	return -1
}

var expansions = sync.Pool{New: func() any { return new(expansion) }}

// free gives the memory back, without values.
func (x *expansion) free() {
	for _, col := range x.ans.Props {
		clear(col[:cap(col)])
	}
	*x = expansion{ans: x.ans, edges: x.edges[:0], bare: x.bare[:0], gone: x.gone, merged: x.merged}
	expansions.Put(x)
}

func (x *expansion) run(ctx context.Context) error {
	req, res, ans := x.req, x.res, &x.ans
	x.inner = *req
	x.inner.Edges = true
	if err := x.r.tx.Expand(ctx, &x.inner, ans); err != nil {
		return err
	}
	x.look()
	if err := x.read(ctx); err != nil {
		return err
	}
	seen := ans.Seen + x.difference()
	res.Reset(len(req.Props))
	at, back, clean := 0, 0, 0 // of the dirty sources, x.edges and the clean sources not copied yet
	for i, src := range req.Sources[:ans.Done] {
		if at == len(x.dirty) || x.dirty[at] != src {
			continue
		}
		x.copy(clean, i)
		clean = i + 1
		at++
		end := back
		for end < len(x.edges) && x.edges[end].source == i {
			end++
		}
		x.merge(ans.Offsets[i], ans.Offsets[i+1], back, end)
		back = end
		res.Offsets = append(res.Offsets, len(res.Targets))
	}
	x.copy(clean, ans.Done)
	res.Done, res.Seen = ans.Done, seen
	return nil
}

// look finds the edges that the dirty sources had, and those of the answer that have changed.
func (x *expansion) look() {
	m, ans := x.r.m, &x.ans
	m.mu.RLock()
	defer m.mu.RUnlock()
	x.gone = slices.Grow(x.gone[:0], len(ans.Targets))[:len(ans.Targets)]
	at := 0
	for _, src := range x.dirty {
		i, _ := slices.BinarySearch(x.req.Sources[at:], src)
		if at += i; at >= ans.Done {
			return
		}
		for k := ans.Offsets[at]; k < ans.Offsets[at+1]; k++ {
			x.gone[k] = m.edges.get(uint64(ans.Edges[k])) >= 0
		}
		first := len(x.edges)
		m.each(src, x.req.Types, x.req.Dir, func(e *edge, reverse bool) bool {
			if e.was() {
				b := backEdge{Edge: e.Edge, source: at, far: e.Dst, reverse: reverse}
				if reverse {
					b.far = e.Src
				}
				x.edges = append(x.edges, b)
			}
			return true
		})
		slices.SortFunc(x.edges[first:], func(a, b backEdge) int {
			return cmp.Or(a.group(&b), cmp.Compare(a.far, b.far), cmp.Compare(a.ID, b.ID))
		})
	}
}

// difference is how many edges more the sources of the answer had.
func (x *expansion) difference() (n int) {
	m := x.r.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, src := range x.dirty {
		if src > x.req.Sources[x.ans.Done-1] {
			break
		}
		n += m.degree(src, x.req.Types, x.req.Dir, x.r.at)
	}
	return n
}

// degree is how many edges more a vertex had than at a later commit. The caller holds the lock.
func (m *moment) degree(v graph.VertexID, types []graph.TypeID, dir graph.Direction, at uint64) (n int) {
	m.each(v, types, dir, func(e *edge, _ bool) bool {
		if e.was() {
			n++
		}
		if e.is(at) {
			n--
		}
		return true
	})
	return n
}

// read reads the properties of the edges, and drops those that the conditions leave out.
func (x *expansion) read(ctx context.Context) error {
	if len(x.edges) == 0 {
		return nil
	}
	props := slices.Clone(x.req.Props)
	for i := range x.req.Where {
		props = append(props, x.req.Where[i].Prop)
	}
	if len(props) == 0 {
		return nil
	}
	for i := range x.edges {
		x.edges[i].row = i
		x.bare = append(x.bare, x.edges[i].Edge)
	}
	x.cols = shard.Columns(len(props), len(x.bare))
	if err := x.r.EdgeProperties(ctx, x.bare, props, x.cols); err != nil {
		return err
	}
	where := x.cols[len(x.req.Props):]
	x.edges = slices.DeleteFunc(x.edges, func(e backEdge) bool {
		for i := range x.req.Where {
			if !x.req.Where[i].In.Holds(where[i][e.row]) {
				return true
			}
		}
		return false
	})
	return nil
}

// copy copies the edges of the sources [from, to).
func (x *expansion) copy(from, to int) {
	if from >= to {
		return
	}
	req, res, ans := x.req, x.res, &x.ans
	lo, hi := ans.Offsets[from], ans.Offsets[to]
	move := len(res.Targets) - lo
	for _, o := range ans.Offsets[from+1 : to+1] {
		res.Offsets = append(res.Offsets, o+move)
	}
	res.Targets = append(res.Targets, ans.Targets[lo:hi]...)
	if req.Edges {
		res.Edges, res.Types = append(res.Edges, ans.Edges[lo:hi]...), append(res.Types, ans.Types[lo:hi]...)
		if req.Dir != graph.Out {
			res.Reverse = append(res.Reverse, ans.Reverse[lo:hi]...)
		}
	}
	for p := range req.Props {
		res.Props[p] = append(res.Props[p], ans.Props[p][lo:hi]...)
	}
}

// merge puts together the edges [lo, hi) of the answer that have not changed and the edges [from, to) that there were, group by group.
func (x *expansion) merge(lo, hi, from, to int) {
	ans, edges := &x.ans, x.edges
	x.merged = slices.Grow(x.merged[:0], to-from)[:to-from]
	clear(x.merged)
	for lo < hi {
		g := backEdge{Edge: graph.Edge{Type: ans.Types[lo]}, reverse: x.reverse(lo)}
		end := lo + 1
		for end < hi && ans.Types[end] == g.Type && x.reverse(end) == g.reverse {
			end++
		}
		at, _ := slices.BinarySearchFunc(edges[from:to], g, func(a, b backEdge) int { return a.group(&b) })
		for at += from; lo < end; lo++ {
			if x.gone[lo] {
				continue
			}
			for ; at < to && edges[at].group(&g) == 0 && edges[at].far <= ans.Targets[lo]; at++ {
				x.put(&edges[at])
				x.merged[at-from] = true
			}
			x.keep(lo)
		}
		for ; at < to && edges[at].group(&g) == 0; at++ {
			x.put(&edges[at])
			x.merged[at-from] = true
		}
	}
	for i := range x.merged {
		if !x.merged[i] {
			x.put(&edges[from+i])
		}
	}
}

func (x *expansion) reverse(k int) bool { return x.req.Dir != graph.Out && x.ans.Reverse[k] }

// keep copies an edge of the answer.
func (x *expansion) keep(k int) {
	res, ans := x.res, &x.ans
	res.Targets = append(res.Targets, ans.Targets[k])
	if x.req.Edges {
		res.Edges, res.Types = append(res.Edges, ans.Edges[k]), append(res.Types, ans.Types[k])
		if x.req.Dir != graph.Out {
			res.Reverse = append(res.Reverse, ans.Reverse[k])
		}
	}
	for p := range x.req.Props {
		res.Props[p] = append(res.Props[p], ans.Props[p][k])
	}
}

// put adds an edge that there was.
func (x *expansion) put(e *backEdge) {
	res := x.res
	res.Targets = append(res.Targets, e.far)
	if x.req.Edges {
		res.Edges, res.Types = append(res.Edges, e.ID), append(res.Types, e.Type)
		if x.req.Dir != graph.Out {
			res.Reverse = append(res.Reverse, e.reverse)
		}
	}
	for p := range x.req.Props {
		res.Props[p] = append(res.Props[p], x.cols[p][e.row])
	}
}

// Degrees implements shard.Reader.
func (r *reader) Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	if err := r.tx.Degrees(ctx, ids, types, dir, out); err != nil {
		return err
	}
	m := r.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.touchesTypes(types) {
		return nil
	}
	for i, id := range ids {
		if m.linked(id, dir) {
			out[i] += m.degree(id, types, dir, r.at)
		}
	}
	return nil
}

// Step implements shard.Composed.
func (t *tx) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	r := &t.r
	r.m.mu.RLock()
	same := !r.m.touchesTypes(types)
	r.m.mu.RUnlock()
	if same {
		return r.tx.Step(ctx, from, types, dir, out)
	}
	clean, dirty := r.split(from.AppendTo(nil), types, dir)
	if len(dirty) == 0 {
		return r.tx.Step(ctx, from, types, dir, out)
	}
	var near graph.VertexSet
	near.AddAll(clean)
	if err := r.tx.Step(ctx, &near, types, dir, out); err != nil {
		return err
	}
	req := shard.Expand{Sources: dirty, Types: types, Dir: dir, Into: out}
	slices.Sort(req.Sources)
	var res shard.Neighbours
	for len(req.Sources) > 0 {
		if err := r.Expand(ctx, &req, &res); err != nil {
			return err
		}
		req.Sources = req.Sources[res.Done:]
	}
	return nil
}
