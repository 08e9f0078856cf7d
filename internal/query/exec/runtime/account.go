package runtime

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
)

// Account counts the bytes that one operator holds.
type Account struct {
	Run  *Run
	Name string // of the operator, for the error
	Held int64  // bytes
}

// Grow adds bytes and fails when the statement holds more than it may.
func (a *Account) Grow(n int) error {
	a.Held += int64(n)
	a.Run.bytes += int64(n)
	a.Run.publish(a)
	if a.Run.Env.Profile {
		st := &a.Run.Stats[a.Run.Current]
		st.Memory = max(st.Memory, a.Held)
	}
	if budget := &a.Run.Env.Budget; budget.Bytes > 0 && a.Run.bytes+budget.Retained > budget.Bytes {
		return a.over(budget)
	}
	return nil
}

// over gives the error of a run that holds more than it may, unless it may end early.
func (a *Account) over(budget *Budget) error {
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

// GrowTo adds what n bytes are more than the operator was known to hold.
func (a *Account) GrowTo(n int) error {
	if more := n - int(a.Held); more > 0 {
		return a.Grow(more)
	}
	return nil
}

// finishBytes is how much more the operators of a run may hold that ends early, to finish with what was found.
const finishBytes = 16 << 20

// CellSize is what a value takes by itself, in bytes.
const CellSize = 24

// ValueSize is about what a value holds, in bytes.
func ValueSize(v graph.Value) int {
	const cell = CellSize
	n := cell
	switch v.Kind() {
	case graph.String:
		n += len(v.Str())
	case graph.Bytes:
		n += len(v.Bytes())
	case graph.PointKind:
		n += cell
	case graph.List:
		for _, e := range v.List() {
			n += ValueSize(e)
		}
	case graph.Map:
		for _, e := range v.Map() {
			n += len(e.Key) + 16 + ValueSize(e.Value)
		}
	case graph.VertexKind:
		n += recordSize(v.Record())
	case graph.EdgeKind:
		n += 48 + recordSize(v.Edge().Record)
	case graph.PathKind:
		p := v.Path()
		n += 48
		for _, x := range p.Vertices {
			n += ValueSize(x)
		}
		for _, x := range p.Edges {
			n += ValueSize(x)
		}
	}
	return n
}

// recordSize is about what the values of a record hold, in bytes; nil holds nothing.
func recordSize(r *graph.Record) int {
	if r == nil {
		return 0
	}
	n := 64
	for _, v := range r.Values {
		n += ValueSize(v)
	}
	return n
}

// Release gives all bytes back.
func (a *Account) Release() {
	a.Run.bytes -= a.Held
	a.Held = 0
	a.Run.publish(a)
}

// spillLeast is how many bytes an operator holds before it uses the disk.
const spillLeast = 1 << 20

// Short reports whether the operator should put what it holds on disk: it holds something, and there is little memory
// left to the statement or to the process.
func (a *Account) Short() bool {
	env := &a.Run.Env
	least, limit := int64(spillLeast), env.Budget.Bytes
	if limit > 0 {
		least = min(least, limit/8)
	}
	return env.Spill != nil && a.Held > least && (limit > 0 && a.Run.bytes+env.Budget.Retained > limit/2 || crowded(env.Pools))
}

// Spill begins rows of a number of cells on disk.
func (r *Run) Spill(width int) (*spill.Rows, error) {
	return spill.New(r.Env.Spill, width, func(n int) {
		if r.Env.Profile {
			r.Stats[r.Current].Spilled += int64(n)
		}
	})
}

// GrowSet accounts for what a vertex set has grown; counted is what has been accounted before.
func GrowSet(a *Account, s *graph.VertexSet, counted *int) error {
	n := 0
	for i := range s.Shards() {
		n += 8 * len(s.Bitmap(i))
	}
	grown := n - *counted
	*counted = n
	return a.Grow(grown)
}
