package exec

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// sure reports whether all far ends of the hop's edges satisfy its labels, so that they need not be read: the counters of
// the transaction's cut, which are exact, know how many edges of a type end at vertices with a label. A plan outlives
// commits, so the question is asked anew by each run. A statement that writes changes the answer while it runs.
func (h *hop) sure() bool {
	if h.labels == nil {
		return true
	}
	if h.known == 0 {
		h.known = -1
		if !h.r.p.query.Writes && h.r.implied(h.labels.expr, h.types.names, h.dir) {
			h.known = 1
		}
	}
	return h.known > 0
}

// implied reports whether the counters say that all far ends of edges of the types (none: all) have the labels.
func (r *run) implied(e *plan.LabelExpr, types []string, dir graph.Direction) bool {
	switch {
	case e == nil:
		return true
	case e.Op == plan.LabelAnd:
		for _, a := range e.Args {
			if !r.implied(a, types, dir) {
				return false
			}
		}
		return true
	case e.Op != plan.LabelName:
		return false
	}
	return r.tx.Counts().FarEnds(types, dir, e.Name)
}
