package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
)

// cheapestSearch finds cheapest paths by label correction: round i continues, with one request, from all vertices that became
// cheaper in round i-1. So a bound on the number of edges is a bound on the rounds. It drops a label that is neither cheaper nor
// shorter than another of its vertex, or costs more than the best path to the end. The number of labels is at most the number that
// Dijkstra's algorithm settles, times the rounds in which a vertex becomes cheaper.
//
// The tree has the least cost of each vertex. The visited set holds the vertices that paths must not use, for all but the first of
// the K cheapest.
type cheapestSearch struct {
	kernel
	weights *edgeWeights // nil: the weight of every edge is 1

	labels []label
	ends   []int32 // labels of the end
	bound  float64 // the least cost of ends
	cur    []int32
	later  []int32
	steps  int // since the context was looked at
	noEdge map[graph.EdgeID]bool
}

// label is a path to a vertex, by its last edge.
type label struct {
	vertex int32 // of the tree
	sum    float64
	parent int32 // -1 at the start
	edge   graph.Edge
}

// foundPath is a path from start.
type foundPath struct {
	start graph.VertexID
	edges []graph.Edge
	sum   float64
}

// paths returns the k cheapest paths without repeated vertices, or all of the least weight.
func (s *cheapestSearch) paths(ctx context.Context, from, to graph.VertexID, maxHops, k int, all bool) ([]foundPath, error) {
	s.begin()
	s.noEdge = nil
	found, err := s.least(ctx, from, to, maxHops, all)
	if all || k == 1 || len(found) == 0 || err != nil {
		return found, err
	}
	return s.more(ctx, found[:1], to, maxHops, k)
}

// more extends the result to the k cheapest paths by Yen's algorithm: each further path leaves a known one at some vertex.
func (s *cheapestSearch) more(ctx context.Context, found []foundPath, to graph.VertexID, maxHops, k int) ([]foundPath, error) {
	var candidates []foundPath
	for len(found) < k {
		last := &found[len(found)-1]
		prefix, err := s.prefixSums(ctx, last)
		if err != nil {
			return nil, err
		}
		if prefix == nil {
			return found, nil
		}
		at := last.start
		s.visited.clear()
		for i := range last.edges {
			s.noEdge = map[graph.EdgeID]bool{}
			for j := range found {
				if p := &found[j]; len(p.edges) > i && sameEdges(p.edges[:i], last.edges[:i]) {
					s.noEdge[p.edges[i].ID] = true
				}
			}
			left := 0
			if maxHops > 0 {
				left = maxHops - i
			}
			spurs, err := s.least(ctx, at, to, left, false)
			if err != nil {
				return nil, err
			}
			if len(spurs) > 0 {
				c := foundPath{start: last.start, edges: append(slices.Clone(last.edges[:i]), spurs[0].edges...), sum: prefix[i] + spurs[0].sum}
				if !slices.ContainsFunc(candidates, func(o foundPath) bool { return sameEdges(o.edges, c.edges) }) {
					candidates = append(candidates, c)
				}
			}
			s.add(at)
			at = otherEnd(last.edges[i], at)
		}
		if len(candidates) == 0 {
			return found, nil
		}
		least := 0
		for i := range candidates {
			if c, b := &candidates[i], &candidates[least]; c.sum < b.sum || c.sum == b.sum && len(c.edges) < len(b.edges) {
				least = i
			}
		}
		found = append(found, candidates[least])
		candidates = slices.Delete(candidates, least, least+1)
	}
	return found, nil
}

func sameEdges(a, b []graph.Edge) bool {
	return slices.EqualFunc(a, b, func(x, y graph.Edge) bool { return x.ID == y.ID })
}

func otherEnd(e graph.Edge, v graph.VertexID) graph.VertexID {
	if e.Src == v {
		return e.Dst
	}
	return e.Src
}

// prefixSums returns the weights of a path's prefixes by their number of edges, or nil if a budget is exhausted.
func (s *cheapestSearch) prefixSums(ctx context.Context, p *foundPath) ([]float64, error) {
	sums := make([]float64, 1, len(p.edges)+1)
	at := p.start
	for _, e := range p.edges {
		w := 1.0
		if s.weights != nil {
			s.ids = append(s.ids[:0], at)
			if err := s.reader.Read(ctx, s.ids, 0); err != nil {
				return nil, err
			}
			weights, err := s.weights.of(ctx, s.reader)
			if err != nil {
				return nil, err
			}
			i := slices.Index(s.reader.Answer.Edges, e.ID)
			if i < 0 {
				return nil, nil // a budget has ended
			}
			if w, err = weightOf(weights[i]); err != nil {
				return nil, err
			}
		}
		sums = append(sums, sums[len(sums)-1]+w)
		at = otherEnd(e, at)
	}
	return sums, nil
}

// least returns the cheapest path, or all of the same cost, within maxHops edges (0: any number).
func (s *cheapestSearch) least(ctx context.Context, from, to graph.VertexID, maxHops int, all bool) ([]foundPath, error) {
	s.acct.Release()
	s.tree.clear()
	s.tree.add(from)
	s.tree.cost = append(s.tree.cost, 0)
	s.labels = append(s.labels[:0], label{parent: -1})
	s.cur, s.ends = append(s.cur[:0], 0), s.ends[:0]
	if from == to {
		return []foundPath{{start: from}}, nil
	}
	for round := 0; len(s.cur) > 0 && (maxHops == 0 || round < maxHops); round++ {
		if err := s.round(ctx, to, all); err != nil {
			return nil, err
		}
		s.cur, s.later = s.later, s.cur
	}
	var found []foundPath
	for _, end := range s.ends {
		if s.labels[end].sum != s.bound {
			continue
		}
		found = append(found, s.path(end))
		if !all {
			break
		}
	}
	return found, nil
}

// path returns the path of a label.
func (s *cheapestSearch) path(end int32) foundPath {
	p := foundPath{sum: s.labels[end].sum}
	for ; s.labels[end].parent >= 0; end = s.labels[end].parent {
		p.edges = append(p.edges, s.labels[end].edge)
	}
	p.start = s.tree.vertex[s.labels[end].vertex]
	slices.Reverse(p.edges)
	return p
}

// round expands the labels of cur.
func (s *cheapestSearch) round(ctx context.Context, to graph.VertexID, all bool) error {
	s.later, s.ids = s.later[:0], s.ids[:0]
	kept := s.cur[:0]
	for _, i := range s.cur {
		l := &s.labels[i]
		if l.sum > s.tree.cost[l.vertex] || s.exceedsBound(l.sum, all) {
			continue
		}
		kept = append(kept, i)
		s.ids = append(s.ids, s.tree.vertex[l.vertex])
	}
	s.cur = kept
	s.frontier.Set(s.ids)
	for done := 0; done < len(s.frontier.IDs); done += s.reader.Answer.Done {
		if err := s.read(ctx, s.frontier.IDs[done:], adjacency.MaxEdges, nil, 0, nil); err != nil {
			return err
		}
		var weights []graph.Value
		if s.weights != nil {
			var err error
			if weights, err = s.weights.of(ctx, s.reader); err != nil {
				return err
			}
		}
		for u := range s.reader.Answer.Done {
			for _, place := range s.frontier.Order[s.frontier.First[done+u]:s.frontier.First[done+u+1]] {
				if err := s.relax(ctx, s.cur[place], u, weights, to, all); err != nil {
					return err
				}
			}
		}
		if err := s.acct.GrowTo(64*len(s.labels) + s.bytes()); err != nil {
			return err
		}
	}
	return nil
}

// exceedsBound reports whether a path costs more than the cheapest one to the end so far, or as much unless all cheapest paths
// are requested.
func (s *cheapestSearch) exceedsBound(cost float64, all bool) bool {
	return len(s.ends) > 0 && (cost > s.bound || !all && cost == s.bound)
}

// relax creates the labels that continue label i by the edges of source u of the answer.
func (s *cheapestSearch) relax(ctx context.Context, i int32, u int, weights []graph.Value, to graph.VertexID, all bool) error {
	res := &s.reader.Answer
	if s.steps += res.Offsets[u+1] - res.Offsets[u]; s.steps >= 1<<12 {
		s.steps = 0
		if err := s.r.CheckCancel(ctx); err != nil {
			return err
		}
	}
	t, sum := &s.tree, s.labels[i].sum
	from := t.vertex[s.labels[i].vertex]
	for k := res.Offsets[u]; k < res.Offsets[u+1]; k++ {
		v := res.Targets[k]
		w := 1.0
		if weights != nil {
			var err error
			if w, err = weightOf(weights[k]); err != nil {
				return err
			}
		}
		cost := sum + w
		if v == from || s.has(v) || s.noEdge[res.Edges[k]] || s.exceedsBound(cost, all) {
			continue
		}
		at, added := t.add(v)
		if added {
			t.cost = append(t.cost, cost)
		} else if known := t.cost[at]; cost > known || cost == known && (!all || s.passes(i, at)) {
			continue
		}
		t.cost[at] = cost
		s.labels = append(s.labels, label{vertex: at, sum: cost, parent: i, edge: s.reader.Edge(k, from)})
		if n := int32(len(s.labels) - 1); v == to {
			s.ends, s.bound = append(s.ends, n), cost
		} else {
			s.later = append(s.later, n)
		}
	}
	return nil
}

// passes reports whether the path of a label visits a vertex.
func (s *cheapestSearch) passes(i, vertex int32) bool {
	for ; i >= 0; i = s.labels[i].parent {
		s.steps++
		if s.labels[i].vertex == vertex {
			return true
		}
	}
	return false
}
