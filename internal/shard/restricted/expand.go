package restricted

import (
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// Expand implements shard.Reader.
func (r *reader) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	b := r.bound.Load()
	allVertices, allEdges := r.free()
	plain := allEdges && b.Reads(true, req.Props) && b.Reads(true, whereProps(req))
	switch {
	case plain && allVertices:
		return r.tx.Expand(ctx, req, res)
	case req.Into != nil && req.MaxEdges == 0:
		return r.expandAllInto(ctx, req, res)
	}
	x := expansions.Get().(*expansion)
	defer expansions.Put(x)
	*x = expansion{r: r, b: b, req: req, res: res, plain: plain, flags: x.flags}
	err := x.run(ctx)
	*x = expansion{flags: x.flags}
	return err
}

var expansions = sync.Pool{New: func() any { return new(expansion) }}

func whereProps(req *shard.Expand) []graph.PropID {
	props := make([]graph.PropID, len(req.Where))
	for i := range req.Where {
		props[i] = req.Where[i].Prop
	}
	return props
}

// expandAllInto answers a request for all far ends in parts, so that it needs memory for some edges only.
func (r *reader) expandAllInto(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	part, total := *req, shard.Neighbours{}
	part.MaxEdges = manyEdges
	for len(part.Sources) > 0 {
		if err := r.Expand(ctx, &part, res); err != nil {
			return err
		}
		total.Done, total.Seen, total.Added = total.Done+res.Done, total.Seen+res.Seen, total.Added+res.Added
		part.Sources = part.Sources[res.Done:]
	}
	res.Reset(len(req.Props))
	res.Done, res.Seen, res.Added = total.Done, total.Seen, total.Added
	return nil
}

// expansion is one Expand that the policy changes.
type expansion struct {
	r      *reader
	b      *rules.Bound
	req    *shard.Expand
	res    *shard.Neighbours
	plain  bool // all edges are seen, with what the request reads of them
	inner  shard.Expand
	hidden []shard.EdgeRange // conditions on properties that may be hidden
	flags  []bool            // memory
}

func (x *expansion) run(ctx context.Context) error {
	x.inner = *x.req
	x.inner.Into = nil
	if !x.plain && !x.prepare() {
		x.res.Reset(len(x.req.Props))
		x.res.Done = len(x.req.Sources)
		x.res.Offsets = append(x.res.Offsets, make([]int, len(x.req.Sources))...)
		return nil
	}
	if err := x.r.tx.Expand(ctx, &x.inner, x.res); err != nil {
		return err
	}
	if err := x.filter(ctx); err != nil {
		return err
	}
	x.res.Seen = len(x.res.Targets)
	if x.req.Into != nil {
		x.res.Put(x.req.Into)
	}
	return nil
}

// prepare asks for what the policy needs of edges: their types, and the properties of its conditions. It returns false if no edge can be seen.
func (x *expansion) prepare() bool {
	x.inner.Edges = true // for the types
	x.inner.Where = nil
	for _, w := range x.req.Where {
		if x.b.Reads(true, []graph.PropID{w.Prop}) {
			x.inner.Where = append(x.inner.Where, w)
		} else {
			x.hidden = append(x.hidden, w)
		}
	}
	x.inner.Props = slices.Clone(x.req.Props)
	x.inner.Props = append(x.inner.Props, x.b.EdgeProps...)
	for i := range x.hidden {
		x.inner.Props = append(x.inner.Props, x.hidden[i].Prop)
	}
	types := x.req.Types
	if len(types) == 0 {
		for _, name := range x.r.names.AllTypes() {
			if t, ok := x.r.names.Type(name); ok {
				types = append(types, t)
			}
		}
		slices.Sort(types)
	}
	x.inner.Types = slices.DeleteFunc(slices.Clone(types), func(t graph.TypeID) bool { return x.b.Edges(t).Visible.Never() })
	return len(x.inner.Types) > 0
}

// filter leaves the visible edges in the answer, with what may be read of them.
func (x *expansion) filter(ctx context.Context) error {
	res := x.res
	ends, sources := len(res.Targets), res.Done
	x.flags = slices.Grow(x.flags[:0], ends+sources)[:ends+sources]
	keep, near := x.flags[:ends], x.flags[ends:]
	if err := x.visible(ctx, keep, near); err != nil {
		return err
	}
	if !x.plain {
		x.filterEdges(keep)
	}
	n := slices.Index(keep, false)
	if n < 0 {
		n = ends
	}
	at := n
	for i := range res.Done {
		if res.Offsets[i+1] <= n {
			continue
		}
		for ; at < res.Offsets[i+1]; at++ {
			if keep[at] {
				x.move(at, n)
				n++
			}
		}
		res.Offsets[i+1] = n
	}
	x.cut(n)
	return nil
}

// cut leaves the first n edges in the answer, and of their columns those that the request asks for.
func (x *expansion) cut(n int) {
	res := x.res
	res.Targets = res.Targets[:n]
	res.Edges, res.Types, res.Reverse = first(res.Edges, n), first(res.Types, n), first(res.Reverse, n)
	if !x.req.Edges {
		res.Edges, res.Types, res.Reverse = res.Edges[:0], res.Types[:0], res.Reverse[:0]
	}
	res.Props = res.Props[:len(x.req.Props)]
	for p := range res.Props {
		res.Props[p] = first(res.Props[p], n)
	}
}

func first[T any](s []T, n int) []T { return s[:min(n, len(s))] }

// move moves an edge of the answer to a place before it.
func (x *expansion) move(from, to int) {
	res := x.res
	if from == to {
		return
	}
	res.Targets[to] = res.Targets[from]
	if len(res.Edges) > 0 {
		res.Edges[to], res.Types[to] = res.Edges[from], res.Types[from]
	}
	if len(res.Reverse) > 0 {
		res.Reverse[to] = res.Reverse[from]
	}
	for p := range x.req.Props {
		res.Props[p][to] = res.Props[p][from]
	}
}

// visible marks the edges of the answer whose ends are visible. near is memory for the sources.
func (x *expansion) visible(ctx context.Context, keep, near []bool) error {
	if err := x.r.see(ctx, x.res.Targets, keep); err != nil {
		return err
	}
	if err := x.r.see(ctx, x.inner.Sources[:x.res.Done], near); err != nil {
		return err
	}
	for i, seen := range near {
		if !seen {
			clear(keep[x.res.Offsets[i]:x.res.Offsets[i+1]])
		}
	}
	return nil
}

// filterEdges marks the edges that the policy hides, and hides their properties.
func (x *expansion) filterEdges(keep []bool) {
	res, n := x.res, len(x.req.Props)
	cols := res.Props[n : n+len(x.b.EdgeProps)]
	tested := res.Props[n+len(x.b.EdgeProps):]
	var e *rules.Element
	for k, t := range res.Types {
		if k == 0 || t != res.Types[k-1] {
			e = x.b.Edges(t)
		}
		keep[k] = keep[k] && e.Visible.Permits(cols, k)
		for h := range x.hidden {
			w := &x.hidden[h]
			keep[k] = keep[k] && e.Read(w.Prop).Permits(cols, k) && w.In.Holds(tested[h][k])
		}
		if !keep[k] {
			continue
		}
		for p, prop := range x.req.Props {
			if !e.Read(prop).Permits(cols, k) {
				res.Props[p][k] = graph.Value{}
			}
		}
	}
}
