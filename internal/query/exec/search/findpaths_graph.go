package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// walkGraph is the product of a graph and a walk's automaton, as far as searches have explored it. A point is a vertex with a
// state of the automaton; an arc is an edge, or a step of the automaton alone.
//
// The places are (part, round, hop): hop edges of repetition round of the part are done. A part without an upper bound stays in
// the round of its lower bound. Behind the last part stands the end.
type walkGraph struct {
	kernel
	stages []walkStage
	lo, hi []int // rounds of each stage; hi -1: no bound
	hops   [][]*adjacency.Reader
	tests  [][]*walkTest
	guards []*walkTest

	index  map[walkPlace]int32
	points []walkPoint
	arcs   []walkArc
	edges  []graph.Edge
	memos  []walkMemo
	memoAt map[walkMemo]int32

	// The input that conditions read.
	b   *runtime.Batch
	row int32

	order  []int32
	writer adjacency.EdgeWriter
	cand   walkCandidates
}

type walkPlace struct {
	vertex           graph.VertexID
	part, round, hop int32
	memo             int32 // the hops of the repetition that later conditions read, or -1
}

type walkPoint struct {
	walkPlace
	first, last int32 // arcs; -1: none
	loaded      bool
}

type walkArc struct {
	to   int32
	edge int32 // of edges, or -1
	next int32 // of the same point, or -1
}

// walkMemo is a hop of the current repetition.
type walkMemo struct {
	before int32 // or -1
	vertex graph.VertexID
	edge   int32
}

// walkCandidates are arcs before their test.
type walkCandidates struct {
	point, edge []int32
	to          []graph.VertexID
}

func newWalkGraph(r *runtime.Run, stages []walkStage, in []plan.Col) *walkGraph {
	g := &walkGraph{
		kernel: newKernel(r, "FindPaths", nil), stages: stages, writer: adjacency.EdgeWriter{SlabSize: r.BatchSize()},
	}
	for i := range stages {
		s := &stages[i]
		own := s.part.Locals()
		var hops []*adjacency.Reader
		var tests []*walkTest
		for k, h := range s.hops {
			x := adjacency.NewReader(r, h.Types, h.Dir, nil)
			x.Edges = true
			hops = append(hops, x)
			tests = append(tests, newWalkTest(r, s.tests[k], in, own))
		}
		g.hops, g.tests = append(g.hops, hops), append(g.tests, tests)
		g.guards = append(g.guards, newWalkTest(r, s.guard, in, []plan.Col{s.node}))
	}
	g.lo, g.hi = make([]int, len(stages)), make([]int, len(stages))
	return g
}

// perRow reports whether a condition depends on the input's row.
func (g *walkGraph) perRow() bool {
	for _, tests := range g.tests {
		if slices.ContainsFunc(tests, (*walkTest).perRow) {
			return true
		}
	}
	return slices.ContainsFunc(g.guards, (*walkTest).perRow)
}

// forget removes all points and arcs.
func (g *walkGraph) forget() {
	g.begin()
	g.index, g.memoAt = map[walkPlace]int32{}, map[walkMemo]int32{}
	g.points, g.arcs, g.edges, g.memos = g.points[:0], g.arcs[:0], g.edges[:0], g.memos[:0]
	g.acct.Release()
}

// grown accounts for new memory.
func (g *walkGraph) grown() error {
	const point, arc, edge = 96, 12, 40
	return g.acct.GrowTo(len(g.points)*point + len(g.arcs)*arc + len(g.edges)*edge + len(g.memos)*48)
}

// start returns the point from which searches from a vertex start.
func (g *walkGraph) start(v graph.VertexID) int32 { return g.point(walkPlace{vertex: v, memo: -1}) }

func (g *walkGraph) point(at walkPlace) int32 {
	i, ok := g.index[at]
	if !ok {
		i = int32(len(g.points))
		g.index[at] = i
		g.points = append(g.points, walkPoint{walkPlace: at, first: -1, last: -1})
	}
	return i
}

// ends reports whether a point is at the end of the walk.
func (g *walkGraph) ends(point int32) bool { return int(g.points[point].part) == len(g.stages) }

func (g *walkGraph) arc(from int32, to walkPlace, edge int32) {
	a := int32(len(g.arcs))
	g.arcs = append(g.arcs, walkArc{to: g.point(to), edge: edge, next: -1})
	p := &g.points[from]
	if p.first < 0 {
		p.first = a
	} else {
		g.arcs[p.last].next = a
	}
	p.last = a
}

// load finds the arcs of points.
func (g *walkGraph) load(ctx context.Context, points []int32) error {
	g.order = g.order[:0]
	for _, i := range points {
		if p := &g.points[i]; !p.loaded {
			p.loaded = true
			if !g.ends(i) {
				g.order = append(g.order, i)
			}
		}
	}
	if len(g.order) == 0 {
		return nil
	}
	slices.SortFunc(g.order, func(a, b int32) int {
		p, q := &g.points[a], &g.points[b]
		return cmp.Or(cmp.Compare(p.part, q.part), cmp.Compare(p.hop, q.hop), cmp.Compare(p.vertex, q.vertex), cmp.Compare(a, b))
	})
	for lo := 0; lo < len(g.order); {
		p := g.points[g.order[lo]]
		hi := lo
		for hi < len(g.order) && g.points[g.order[hi]].part == p.part && g.points[g.order[hi]].hop == p.hop {
			hi++
		}
		if err := g.loadAlike(ctx, int(p.part), int(p.hop), g.order[lo:hi]); err != nil {
			return err
		}
		lo = hi
	}
	return g.grown()
}

// loadAlike loads points of one part and hop, sorted by vertex.
func (g *walkGraph) loadAlike(ctx context.Context, part, hop int, points []int32) error {
	if hop == 0 {
		if err := g.leave(ctx, part, points); err != nil {
			return err
		}
	}
	list := g.ids[:0]
	kept := points[:0:0]
	for _, i := range points {
		p := &g.points[i]
		if hop == 0 && g.hi[part] >= 0 && int(p.round) >= g.hi[part] {
			continue
		}
		kept = append(kept, i)
		if n := len(list); n == 0 || list[n-1] != p.vertex {
			list = append(list, p.vertex)
		}
	}
	g.ids = list
	h := g.hops[part][hop]
	g.swapAnswer(h)
	defer g.swapAnswer(h)
	for done := 0; done < len(list); done += h.Answer.Done {
		if err := h.Read(ctx, list[done:], adjacency.MaxEdges); err != nil {
			return err
		}
		k := 0
		for u := range h.Answer.Done {
			first := int32(len(g.edges))
			for i := h.Answer.Offsets[u]; i < h.Answer.Offsets[u+1]; i++ {
				g.edges = append(g.edges, h.Edge(i, list[done+u]))
			}
			for k < len(kept) && g.points[kept[k]].vertex < list[done+u] {
				k++
			}
			for ; k < len(kept) && g.points[kept[k]].vertex == list[done+u]; k++ {
				for i := h.Answer.Offsets[u]; i < h.Answer.Offsets[u+1]; i++ {
					g.cand.point = append(g.cand.point, kept[k])
					g.cand.edge = append(g.cand.edge, first+int32(i-h.Answer.Offsets[u]))
					g.cand.to = append(g.cand.to, h.Answer.Targets[i])
				}
				if len(g.cand.to) >= graph.BatchSize {
					if err := g.test(ctx, part, hop); err != nil {
						return err
					}
				}
			}
		}
	}
	return g.test(ctx, part, hop)
}

// leave adds the arcs from the start of a part that has been repeated often enough to its successor.
func (g *walkGraph) leave(ctx context.Context, part int, points []int32) error {
	ready := points[:0:0]
	for _, i := range points {
		if int(g.points[i].round) >= g.lo[part] {
			ready = append(ready, i)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	passed, err := g.guards[part].run(ctx, len(ready), g.b, g.row, func(_ plan.Col, i int) graph.Value {
		return graph.VertexValue(g.points[ready[i]].vertex)
	})
	if err != nil {
		return err
	}
	for _, k := range passed {
		g.arc(ready[k], walkPlace{vertex: g.points[ready[k]].vertex, part: int32(part) + 1, memo: -1}, -1)
	}
	return nil
}

// test turns the candidates that pass into arcs.
func (g *walkGraph) test(ctx context.Context, part, hop int) error {
	s, c := &g.stages[part], &g.cand
	n := len(c.to)
	if n == 0 {
		return nil
	}
	passed, err := g.tests[part][hop].run(ctx, n, g.b, g.row, func(col plan.Col, i int) graph.Value {
		return g.local(s, hop, col, i)
	})
	if err != nil {
		return err
	}
	for _, i := range passed {
		p := g.points[c.point[i]].walkPlace
		to := walkPlace{vertex: c.to[i], part: p.part, round: p.round, hop: p.hop + 1, memo: -1}
		switch {
		case hop+1 == len(s.hops):
			to.hop = 0
			if to.round++; g.hi[part] < 0 {
				to.round = min(to.round, int32(g.lo[part]))
			}
		case s.wide:
			to.memo = g.memo(walkMemo{before: p.memo, vertex: p.vertex, edge: c.edge[i]})
		}
		g.arc(c.point[i], to, c.edge[i])
	}
	c.point, c.edge, c.to = c.point[:0], c.edge[:0], c.to[:0]
	return nil
}

func (g *walkGraph) memo(m walkMemo) int32 {
	i, ok := g.memoAt[m]
	if !ok {
		i = int32(len(g.memos))
		g.memoAt[m] = i
		g.memos = append(g.memos, m)
	}
	return i
}

// local returns the value of a column of a part for candidate i at a hop.
func (g *walkGraph) local(s *walkStage, hop int, col plan.Col, i int) graph.Value {
	p := &g.points[g.cand.point[i]]
	if at := slices.Index(s.nodes, col); at >= 0 {
		switch at {
		case hop:
			return graph.VertexValue(p.vertex)
		case hop + 1:
			return graph.VertexValue(g.cand.to[i])
		}
		return graph.VertexValue(g.memos[g.back(p.memo, hop-1-at)].vertex)
	}
	at := slices.IndexFunc(s.hops, func(h plan.WalkHop) bool { return h.Edge == col })
	edge := g.cand.edge[i]
	if at != hop {
		edge = g.memos[g.back(p.memo, hop-1-at)].edge
	}
	return graph.EdgeRefValue(g.writer.Keep(g.edges[edge]))
}

// back returns the memo n hops before a memo.
func (g *walkGraph) back(memo int32, n int) int32 {
	for range n {
		memo = g.memos[memo].before
	}
	return memo
}
