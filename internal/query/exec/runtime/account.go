package runtime

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
)

// Account counts the memory of one operator.
type Account struct {
	Run  *Run
	Name string // of the operator, for the error
	Held int64  // bytes
}

// Grow adds bytes. It fails if the statement exceeds its budget.
func (a *Account) Grow(n int) error {
	a.Held += int64(n)
	a.Run.bytes += int64(n)
	a.Run.publish(a)
	if a.Run.Env.Profile {
		st := &a.Run.Stats[a.Run.Current]
		st.Memory = max(st.Memory, a.Held)
	}
	if budget := &a.Run.Env.Budget; budget.Bytes > 0 && a.Run.bytes+budget.Retained > budget.Bytes {
		return a.overBudget(budget)
	}
	return nil
}

// overBudget returns the error of a run beyond its budget, unless the run may return a partial result.
func (a *Account) overBudget(budget *Budget) error {
	beside := ""
	if budget.Retained > 0 {
		beside = fmt.Sprintf("; open results of the transaction hold %d bytes", budget.Retained)
	}
	err := graph.BudgetError("the statement needs more than %d bytes, the budget of query-memory; operator %s holds %d bytes%s",
		budget.Bytes, a.Name, a.Held, beside)
	if a.Run.bytes+budget.Retained-budget.Bytes > finishBytes || !a.Run.Truncate(err) {
		return err
	}
	return nil
}

// GrowTo raises the account to n bytes.
func (a *Account) GrowTo(n int) error {
	if more := n - int(a.Held); more > 0 {
		return a.Grow(more)
	}
	return nil
}

// finishBytes is the extra memory of a run that ends early, to return its results so far.
const finishBytes = 16 << 20

// Release returns all bytes.
func (a *Account) Release() {
	a.Run.bytes -= a.Held
	a.Held = 0
	a.Run.publish(a)
}

// minSpill is how many bytes an operator holds before it spills.
const minSpill = 1 << 20

// ShouldSpill reports whether the operator should spill: it holds enough, and the statement or the process runs short of memory.
func (a *Account) ShouldSpill() bool {
	env := &a.Run.Env
	least, limit := int64(minSpill), env.Budget.Bytes
	if limit > 0 {
		least = min(least, limit/8)
	}
	return env.Spill != nil && a.Held > least && (limit > 0 && a.Run.bytes+env.Budget.Retained > limit/2 || underPressure(env.Pools))
}

// Spill creates a file of rows with that many cells.
func (r *Run) Spill(width int) (*spill.Rows, error) {
	return spill.New(r.Env.Spill, width, func(n int) {
		if r.Env.Profile {
			r.Stats[r.Current].Spilled += int64(n)
		}
	})
}

// GrowSet accounts for the growth of a vertex set; counted is the size accounted for so far.
func GrowSet(a *Account, s *graph.VertexSet, counted *int) error {
	n := 0
	for i := range s.Shards() {
		n += 8 * len(s.Bitmap(i))
	}
	grown := n - *counted
	*counted = n
	return a.Grow(grown)
}
