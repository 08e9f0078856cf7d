package source

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// scanPasses appends to dst scans that find all vertices that satisfy a label expression, each once: scans of a few labels that
// cover it, if that is cheaper than a scan of all vertices.
func scanPasses(r *runtime.Run, dst []scanPass, e *plan.LabelExpr) []scanPass {
	if e == nil {
		return append(dst, scanPass{})
	}
	counts := r.Tx.Counts()
	names, covered := cover(e, counts)
	if !covered || cost(names, counts) > counts.Vertices {
		return append(dst, scanPass{test: expr.NewLabelTest(r, e)})
	}
	for i, name := range names {
		id, ok := r.Graph.Label(name)
		if !ok {
			continue
		}
		if e.Op == plan.LabelName {
			return append(dst, scanPass{label: id})
		}
		// Exclude the vertices of earlier passes.
		test := &plan.LabelExpr{Op: plan.LabelAnd, Args: []*plan.LabelExpr{e}}
		for _, before := range names[:i] {
			test.Args = append(test.Args, &plan.LabelExpr{
				Op: plan.LabelNot, Args: []*plan.LabelExpr{{Op: plan.LabelName, Name: before}},
			})
		}
		dst = append(dst, scanPass{label: id, test: expr.NewLabelTest(r, test)})
	}
	return dst
}

// rulePasses appends to dst scans of the ranges that have what access rules show; ok is false if they do not, or
// not by the indexes of the plan, or if a claim has so many values that a scan of the label is cheaper.
func rulePasses(r *runtime.Run, dst []scanPass, e *plan.LabelExpr, by *plan.RuleScan) (passes []scanPass, ok bool) {
	if by == nil {
		return dst, false
	}
	rules := r.Tx.Features().Rules
	label, known := r.Graph.Label(by.Label)
	if rules == nil || !known {
		return dst, false
	}
	ranges, ok := rules.RuleRanges(label)
	intervals := 0
	for _, x := range ranges {
		ok = ok && slices.Contains(by.Indexes, x.Index)
		intervals += 1 + len(x.Range.Further)
	}
	if !ok || intervals > by.Most {
		return dst, false
	}
	var test *expr.LabelTest
	if e.Op != plan.LabelName {
		test = expr.NewLabelTest(r, e)
	}
	for i := range ranges {
		dst = append(dst, scanPass{by: &ranges[i], test: test})
	}
	return dst, true
}

// cover returns labels of which every vertex that satisfies e has at least one, preferring few vertices; ok is false if there
// are no such labels.
func cover(e *plan.LabelExpr, counts *graph.Counts) (names []string, ok bool) {
	switch e.Op {
	case plan.LabelName:
		return []string{e.Name}, true
	case plan.LabelAnd:
		for _, a := range e.Args {
			ns, covered := cover(a, counts)
			if covered && (!ok || cost(ns, counts) < cost(names, counts)) {
				names, ok = ns, true
			}
		}
		return names, ok
	case plan.LabelOr:
		for _, a := range e.Args {
			ns, covered := cover(a, counts)
			if !covered {
				return nil, false
			}
			for _, n := range ns {
				if !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
		}
		return names, true
	}
	return nil, false
}

// cost is the number of vertices that scans of the labels return.
func cost(names []string, counts *graph.Counts) uint64 {
	n := uint64(0)
	for _, name := range names {
		n += counts.ByLabel[name]
	}
	return n
}
