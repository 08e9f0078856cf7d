package search

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// walkStage is a part of a walk in the order of the search: from its left end, or, where the search begins at the right end,
// in reverse.
type walkStage struct {
	part  *plan.WalkPart
	nodes []plan.Col
	hops  []plan.WalkHop
	// tests are, by hop, the conditions that can be tested after the hop.
	tests [][]plan.Expr
	// wide reports whether a condition reads vertices or edges before the hop at which it is tested, so that the search must remember
	// them.
	wide bool
	// guard are the conditions on the vertex behind the part, node its column.
	node  plan.Col
	guard []plan.Expr
}

// walkStages returns the parts of a walk in the order of the search.
func walkStages(w *plan.Walk, reversed bool) []walkStage {
	n := len(w.Parts)
	out := make([]walkStage, n)
	for i := range out {
		at := i
		if reversed {
			at = n - 1 - i
		}
		s := walkStage{part: &w.Parts[at], nodes: slices.Clone(w.Parts[at].Nodes), hops: slices.Clone(w.Parts[at].Hops)}
		if reversed {
			slices.Reverse(s.nodes)
			slices.Reverse(s.hops)
			for k := range s.hops {
				s.hops[k].Dir = s.hops[k].Dir.Reverse()
			}
			at--
		}
		if i < n-1 {
			s.node, s.guard = w.Nodes[at].Col, w.Nodes[at].Where
		}
		s.place()
		out[i] = s
	}
	return out
}

// place assigns each condition to the first hop after which all its columns are known.
func (s *walkStage) place() {
	s.tests = make([][]plan.Expr, len(s.hops))
	for _, e := range s.part.Where {
		reads := plan.Reads(e)
		at, first := 0, len(s.hops)
		for i, c := range s.nodes {
			if reads.Has(c) {
				at, first = max(at, i-1), min(first, i)
			}
		}
		for i, h := range s.hops {
			if reads.Has(h.Edge) {
				at, first = max(at, i), min(first, i)
			}
		}
		s.wide = s.wide || first < at
		s.tests[at] = append(s.tests[at], e)
	}
}

// walkTest tests conditions on the state of a search: columns of the walk, and of the input's row.
type walkTest struct {
	preds *expr.Predicates
	cols  []plan.Col
	outer []int // by column: its position in the input, or -1: it is the walk's
	b     runtime.Batch
}

// newWalkTest creates a test; nil if there is nothing to test. in are the input's columns, own those of the walk.
func newWalkTest(r *runtime.Run, where []plan.Expr, in, own []plan.Col) *walkTest {
	if len(where) == 0 {
		return nil
	}
	t := &walkTest{}
	for c := range plan.Reads(where...).All() {
		t.cols = append(t.cols, c)
	}
	slices.Sort(t.cols)
	for _, c := range t.cols {
		at := -1
		if !slices.Contains(own, c) {
			at = slices.Index(in, c)
		}
		t.outer = append(t.outer, at)
	}
	t.preds = expr.New(r, t.cols).Predicates(where)
	return t
}

// perRow reports whether the answer depends on the input's row.
func (t *walkTest) perRow() bool {
	return t != nil && slices.ContainsFunc(t.outer, func(at int) bool { return at >= 0 })
}

// run returns those of n candidates that pass; value returns the value of a column of the walk for one.
func (t *walkTest) run(ctx context.Context, n int, in *runtime.Batch, row int32, value func(c plan.Col, i int) graph.Value) (runtime.Sel, error) {
	if t == nil {
		return runtime.AllRows(n), nil
	}
	t.b.Reset(len(t.cols))
	t.b.N = n
	for k, c := range t.cols {
		vs := make([]graph.Value, n)
		for i := range vs {
			if at := t.outer[k]; at >= 0 {
				vs[i] = in.Cols[at].Value(int(row))
			} else {
				vs[i] = value(c, i)
			}
		}
		t.b.Cols[k].Vals = vs
	}
	return t.preds.Select(ctx, &t.b, runtime.AllRows(n))
}
