package adjacency

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// impliesLabels reports whether all far ends of the reader's edges satisfy its labels, so label sets need not be read. The exact
// counters of the transaction's snapshot tell how many edges of a type end at vertices with a label. A plan outlives commits,
// so each run checks again, and a statement that writes may change the answer while it runs.
func (h *Reader) impliesLabels() bool {
	if h.Labels == nil {
		return true
	}
	if h.Known == 0 {
		h.Known = -1
		if !h.Run.Program.Query.Writes && Implied(h.Run, h.Labels.Expr, h.Types.Names, h.Dir) {
			h.Known = 1
		}
	}
	return h.Known > 0
}

// Implied reports whether, by the counters, all far ends of edges of the types (none: all) have the labels.
func Implied(r *runtime.Run, e *plan.LabelExpr, types []string, dir graph.Direction) bool {
	return e == nil || e.Implied(r.Tx.Counts(), types, dir)
}
