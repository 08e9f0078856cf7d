//go:build !invariants && !race

package expr

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// selection is the memory of one selector's results. Nothing else writes to it.
type selection struct{ rows runtime.Sel }

// begin returns an empty selection with room for rows of s. The last one ends.
func (k *selection) begin(s runtime.Sel) runtime.Sel { return slices.Grow(k.rows[:0], len(s)) }

// end returns the rows of b that were appended to what begin returned.
func (k *selection) end(_ *runtime.Batch, rows runtime.Sel) runtime.Sel {
	k.rows = rows
	return rows
}

// relevant are the rows that a set of evaluators may be asked for.
type relevant struct{ rows runtime.Sel }

func (r *relevant) set(s runtime.Sel) { r.rows = s }

func (r *relevant) get() runtime.Sel { return r.rows }

func poison([]graph.Value) {}
