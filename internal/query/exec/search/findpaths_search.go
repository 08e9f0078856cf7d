package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// walkSearch finds the shortest trails of a walk from one vertex, breadth first in the product of graph and automaton:
// layer by layer, where layer d holds the points that walks of d edges lead to, each with all ways back to layer d-1.
//
//	entry ── link ─▶ entry of the layer before (or, for a step of the automaton, of the same layer)
//
// At first a point is entered in the first layer alone that it is reached in. The walks to an end are then the shortest ones, and
// where they are trails nothing shorter or as short is missed. Where one path, or one length, of each pair of ends is requested,
// and every end has its trail, that is all. If not, the search starts over and enters points again in later layers, as long as a
// trail leads there and an end that wants more paths can be reached; what is a trail is found by going back along the links, so
// the answer is that of trying everything. Memory grows with points times layers, not with the number of trails.
type walkSearch struct {
	g      *walkGraph
	groups bool // lengths are counted, not paths
	want   int
	// accept selects those of some paths that satisfy the conditions on the whole path; nil: all do.
	accept func(ctx context.Context, paths *foundPaths) (runtime.Sel, error)

	to      graph.VertexID // the only end that counts, or graph.NoVertex
	used    []graph.EdgeID // edges that must not be used, then those of the way back
	exact   bool
	entries []walkEntry
	links   []walkLink
	layer   []int32                // by point: its entry in the current layer, or -1
	first   []int32                // by point: the layer that it is first reached in, or -1
	counts  map[graph.VertexID]int // by end: the paths found
	missing bool                   // an end was reached, but by no trail
	useful  []bool                 // by point, in an exact search; nil: not known
	known   [3]int                 // the state from which useful was computed
	back    []walkArcBack
	part    foundPaths // of one layer and end, before accept
	visits  int
	acct    runtime.Account // of the paths that are found
}

type walkEntry struct{ point, depth, link int32 }

type walkLink struct{ entry, edge, next int32 }

// walkArcBack is a step of the way back: an entry and the edge that leads to it, or -1.
type walkArcBack struct{ entry, edge int32 }

// find appends the wanted paths from a vertex to out.
func (s *walkSearch) find(ctx context.Context, from, to graph.VertexID, used []graph.EdgeID, out *foundPaths) error {
	s.to, s.used = to, append(s.used[:0], used...)
	s.counts, s.exact, s.missing = map[graph.VertexID]int{}, s.want > 1, false
	if err := s.search(ctx, from, out); err != nil || !s.missing {
		return err
	}
	s.exact = true
	return s.search(ctx, from, out)
}

func (s *walkSearch) search(ctx context.Context, from graph.VertexID, out *foundPaths) error {
	for _, e := range s.entries {
		s.layer[e.point], s.first[e.point] = -1, -1
	}
	s.entries, s.links, s.useful = s.entries[:0], s.links[:0], nil
	start := s.g.start(from)
	s.entries = append(s.entries, walkEntry{point: start, link: -1})
	s.extend()
	s.layer[start], s.first[start] = 0, 0
	for lo := 0; lo < len(s.entries); {
		if err := s.g.r.CheckCancel(ctx); err != nil {
			return err
		}
		known := len(s.g.points)
		if err := s.complete(ctx, lo); err != nil {
			return err
		}
		hi := len(s.entries)
		for e := lo; e < hi; e++ {
			if err := s.answer(ctx, int32(e), out); err != nil {
				return err
			}
		}
		if s.to != graph.NoVertex && (s.counts[s.to] >= s.want || s.missing && !s.exact) {
			return nil
		}
		for _, e := range s.entries[lo:hi] {
			s.layer[e.point] = -1
		}
		for e := lo; e < hi; e++ {
			s.follow(int32(e), true)
		}
		if s.exact {
			if err := s.prune(ctx, hi, known < len(s.g.points)); err != nil {
				return err
			}
		}
		lo = hi
		if err := s.g.r.Visit(len(s.entries) - hi); err != nil {
			return err
		}
	}
	return nil
}

// extend grows layer and first to the number of points.
func (s *walkSearch) extend() {
	for len(s.layer) < len(s.g.points) {
		s.layer, s.first = append(s.layer, -1), append(s.first, -1)
	}
}

// complete follows the steps of the automaton within the layer that begins at an entry.
func (s *walkSearch) complete(ctx context.Context, lo int) error {
	var points []int32
	for lo < len(s.entries) {
		hi := len(s.entries)
		points = points[:0]
		for _, e := range s.entries[lo:hi] {
			points = append(points, e.point)
		}
		if err := s.g.load(ctx, points); err != nil {
			return err
		}
		s.extend()
		for e := lo; e < hi; e++ {
			s.follow(int32(e), false)
		}
		lo = hi
	}
	return nil
}

// follow enters what lies behind an entry by an edge, or without one.
func (s *walkSearch) follow(e int32, byEdge bool) {
	g, from := s.g, s.entries[e]
	depth := from.depth
	if byEdge {
		depth++
	}
	for a := g.points[from.point].first; a >= 0; a = g.arcs[a].next {
		arc := &g.arcs[a]
		if (arc.edge >= 0) != byEdge {
			continue
		}
		if !s.exact {
			if at := s.first[arc.to]; at >= 0 && at != depth {
				continue
			}
			s.first[arc.to] = depth
		} else if s.useful != nil && int(arc.to) < len(s.useful) && !s.useful[arc.to] {
			continue
		}
		to := s.layer[arc.to]
		if to < 0 {
			to = int32(len(s.entries))
			s.layer[arc.to] = to
			s.entries = append(s.entries, walkEntry{point: arc.to, depth: depth, link: -1})
		}
		s.links = append(s.links, walkLink{entry: e, edge: arc.edge, next: s.entries[to].link})
		s.entries[to].link = int32(len(s.links) - 1)
	}
}

// prune drops from the new layer, which begins at an entry, entries that no trail leads to, and determines which of the rest may
// lead to an end that wants more paths.
func (s *walkSearch) prune(ctx context.Context, at int, grew bool) error {
	state := [3]int{len(s.g.points), len(s.g.arcs), s.satisfied()}
	if !grew && (s.useful == nil || state != s.known) {
		s.known = state
		s.useful = s.g.leadingTo(func(i int32) bool {
			p := &s.g.points[i]
			if !s.g.ends(i) {
				return !p.loaded
			}
			return (s.to == graph.NoVertex || p.vertex == s.to) && s.counts[p.vertex] < s.want
		})
	}
	n := at
	for _, e := range s.entries[at:] {
		s.layer[e.point] = -1
		if s.useful != nil && int(e.point) < len(s.useful) && !s.useful[e.point] {
			continue
		}
		s.entries[n] = e
		found := false
		err := s.trace(ctx, int32(n), func() (bool, error) { found = true; return false, nil })
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		s.layer[e.point] = int32(n)
		n++
	}
	s.entries = s.entries[:n]
	return nil
}

// satisfied is the number of ends that have all their paths.
func (s *walkSearch) satisfied() int {
	n := 0
	for _, c := range s.counts {
		if c >= s.want {
			n++
		}
	}
	return n
}

// answer returns the trails to an entry, if it is at an end that wants more.
func (s *walkSearch) answer(ctx context.Context, e int32, out *foundPaths) error {
	point := s.entries[e].point
	v := s.g.points[point].vertex
	if !s.g.ends(point) || s.to != graph.NoVertex && v != s.to || s.counts[v] >= s.want {
		return nil
	}
	const some = 64 // paths are tested together
	got, least := 0, s.want-s.counts[v]
	s.part.reset()
	flush := func() (bool, error) {
		passed := runtime.AllRows(s.part.len())
		if s.accept != nil && len(passed) > 0 {
			var err error
			if passed, err = s.accept(ctx, &s.part); err != nil {
				return false, err
			}
		}
		for _, i := range passed {
			if !s.groups && got == least {
				break
			}
			out.copy(&s.part, int(i))
			got++
		}
		s.part.reset()
		return s.groups || got < least, s.grown(out)
	}
	err := s.trace(ctx, e, func() (bool, error) {
		for _, step := range slices.Backward(s.back) {
			s.part.step(s.entries[step.entry].point, step.edge)
		}
		s.part.end()
		if s.part.len() < some && (s.groups || s.accept != nil || got+s.part.len() < least) {
			return true, nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	if _, err := flush(); err != nil {
		return err
	}
	if s.groups && got > 0 {
		got = 1
	}
	if got == 0 {
		s.missing = s.missing || !s.exact
		return nil
	}
	s.counts[v] += got
	return nil
}

// grown accounts for new memory.
func (s *walkSearch) grown(out *foundPaths) error {
	return s.acct.GrowTo((cap(out.points) + cap(out.edges)) * 4)
}

// trace walks back from an entry along all links that form trails and calls f at the start of each, with the walk in back. It stops
// when f returns false.
func (s *walkSearch) trace(ctx context.Context, e int32, f func() (bool, error)) error {
	s.back = append(s.back[:0], walkArcBack{entry: e, edge: -1})
	_, err := s.traceOn(ctx, e, f)
	return err
}

func (s *walkSearch) traceOn(ctx context.Context, e int32, f func() (bool, error)) (bool, error) {
	if s.visits++; s.visits%graph.BatchSize == 0 {
		if err := s.g.r.CheckCancel(ctx); err != nil {
			return false, err
		}
	}
	if e == 0 {
		return f()
	}
	for l := s.entries[e].link; l >= 0; l = s.links[l].next {
		link := s.links[l]
		if link.edge >= 0 {
			id := s.g.edges[link.edge].ID
			if slices.Contains(s.used, id) {
				continue
			}
			s.used = append(s.used, id)
		}
		s.back[len(s.back)-1].edge = link.edge
		s.back = append(s.back, walkArcBack{entry: link.entry, edge: -1})
		more, err := s.traceOn(ctx, link.entry, f)
		s.back = s.back[:len(s.back)-1]
		if link.edge >= 0 {
			s.used = s.used[:len(s.used)-1]
		}
		if !more || err != nil {
			return more, err
		}
	}
	return true, nil
}

// foundPaths is a list of paths: points, and beside each the edge that leads to it, or -1.
type foundPaths struct {
	points, edges []int32
	ends          []int
}

func (p *foundPaths) reset() { p.points, p.edges, p.ends = p.points[:0], p.edges[:0], p.ends[:0] }

func (p *foundPaths) len() int { return len(p.ends) }

func (p *foundPaths) step(point, edge int32) {
	p.points, p.edges = append(p.points, point), append(p.edges, edge)
}

func (p *foundPaths) end() { p.ends = append(p.ends, len(p.points)) }

// at returns path i.
func (p *foundPaths) at(i int) (points, edges []int32) {
	lo := 0
	if i > 0 {
		lo = p.ends[i-1]
	}
	return p.points[lo:p.ends[i]], p.edges[lo:p.ends[i]]
}

// copy appends path i of another list.
func (p *foundPaths) copy(from *foundPaths, i int) {
	points, edges := from.at(i)
	p.points, p.edges = append(p.points, points...), append(p.edges, edges...)
	p.end()
}
