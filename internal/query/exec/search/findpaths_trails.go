package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// walkTrails visits all trails of a walk from one vertex, depth first.
type walkTrails struct {
	g     *walkGraph
	to    graph.VertexID // where trails have to end, or graph.NoVertex: anywhere
	near  []bool         // by point, where there is a to: the end can be reached from it
	stack []walkArcAt
	used  []graph.EdgeID // edges that must not be used, then those of the stack
	ended bool           // the trail at the top of the stack has been returned
	batch []int32
}

// walkArcAt is a point of the current trail, the arc that led to it (-1: none) and the one to try next.
type walkArcAt struct{ point, by, next int32 }

// start begins with a vertex.
func (t *walkTrails) start(ctx context.Context, from, to graph.VertexID, used []graph.EdgeID) error {
	t.to, t.used, t.stack, t.near = to, append(t.used[:0], used...), t.stack[:0], nil
	point := t.g.start(from)
	if to != graph.NoVertex {
		if err := t.searchBackward(ctx, point); err != nil {
			return err
		}
	}
	return t.push(ctx, point, -1)
}

// push goes to a point.
func (t *walkTrails) push(ctx context.Context, point, by int32) error {
	if !t.g.points[point].loaded {
		if err := t.load(ctx, point); err != nil {
			return err
		}
	}
	t.ended = false
	t.stack = append(t.stack, walkArcAt{point: point, by: by, next: t.g.points[point].first})
	if by >= 0 && t.g.arcs[by].edge >= 0 {
		t.used = append(t.used, t.g.edges[t.g.arcs[by].edge].ID)
	}
	return nil
}

func (t *walkTrails) pop() {
	top := t.stack[len(t.stack)-1]
	t.stack = t.stack[:len(t.stack)-1]
	if top.by >= 0 && t.g.arcs[top.by].edge >= 0 {
		t.used = t.used[:len(t.used)-1]
	}
}

// load reads the arcs of a point and of the points found with it.
func (t *walkTrails) load(ctx context.Context, point int32) error {
	t.batch = t.batch[:0]
	for i := point; int(i) < len(t.g.points) && len(t.batch) < graph.BatchSize; i++ {
		if !t.g.points[i].loaded {
			t.batch = append(t.batch, i)
		}
	}
	return t.g.load(ctx, t.batch)
}

// searchBackward finds the points that lead to the end.
func (t *walkTrails) searchBackward(ctx context.Context, start int32) error {
	g := t.g
	var seen []bool // by point
	layer := []int32{start}
	for len(layer) > 0 {
		if err := t.g.r.CheckCancel(ctx); err != nil {
			return err
		}
		if err := g.load(ctx, layer); err != nil {
			return err
		}
		seen = append(seen, make([]bool, len(g.points)-len(seen))...)
		seen[start] = true
		var next []int32
		for _, p := range layer {
			for a := g.points[p].first; a >= 0; a = g.arcs[a].next {
				if to := g.arcs[a].to; !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		layer = next
	}
	t.near = g.leadingTo(func(i int32) bool { return g.ends(i) && g.points[i].vertex == t.to })
	return nil
}

// leadingTo reports, by point, whether a wanted point is reachable from it.
func (g *walkGraph) leadingTo(wanted func(i int32) bool) []bool {
	// The arcs by their ends.
	offsets := make([]int32, len(g.points)+2)
	for i := range g.arcs {
		offsets[g.arcs[i].to+2]++
	}
	for i := 2; i < len(offsets); i++ {
		offsets[i] += offsets[i-1]
	}
	from := make([]int32, len(g.arcs))
	for i := range g.points {
		for a := g.points[i].first; a >= 0; a = g.arcs[a].next {
			at := &offsets[g.arcs[a].to+1]
			from[*at] = int32(i)
			*at++
		}
	}
	out := make([]bool, len(g.points))
	var list []int32
	for i := range g.points {
		if wanted(int32(i)) {
			out[i] = true
			list = append(list, int32(i))
		}
	}
	for len(list) > 0 {
		p := list[len(list)-1]
		list = list[:len(list)-1]
		for _, q := range from[offsets[p]:offsets[p+1]] {
			if !out[q] {
				out[q] = true
				list = append(list, q)
			}
		}
	}
	return out
}

// next goes to the next trail, which the stack then holds.
func (t *walkTrails) next(ctx context.Context) (bool, error) {
	for steps := 1; len(t.stack) > 0; steps++ {
		if steps%graph.BatchSize == 0 {
			if err := t.g.r.CheckCancel(ctx); err != nil {
				return false, err
			}
		}
		top := &t.stack[len(t.stack)-1]
		if t.g.ends(top.point) {
			if !t.ended && (t.to == graph.NoVertex || t.g.points[top.point].vertex == t.to) {
				t.ended = true
				return true, nil
			}
			t.pop()
			continue
		}
		if top.next < 0 {
			t.pop()
			continue
		}
		a := top.next
		arc := t.g.arcs[a]
		top.next = arc.next
		if t.near != nil && (int(arc.to) >= len(t.near) || !t.near[arc.to]) ||
			arc.edge >= 0 && slices.Contains(t.used, t.g.edges[arc.edge].ID) {
			continue
		}
		if err := t.push(ctx, arc.to, a); err != nil {
			return false, err
		}
	}
	return false, nil
}

// add appends the current trail to a list.
func (t *walkTrails) add(out *foundPaths) {
	for i, s := range t.stack {
		edge := int32(-1)
		if i > 0 {
			edge = t.g.arcs[s.by].edge
		}
		out.step(s.point, edge)
	}
	out.end()
}
