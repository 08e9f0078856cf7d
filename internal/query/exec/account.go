package exec

import "github.com/hopgate/hopgate/internal/graph"

// account counts the bytes that one operator holds.
type account struct {
	r    *run
	name string // of the operator, for the error
	held int64  // bytes
}

// grow adds bytes and fails when the statement holds more than it may.
func (a *account) grow(n int) error {
	a.held += int64(n)
	a.r.bytes += int64(n)
	a.r.tell(a)
	if a.r.env.Profile {
		st := &a.r.stats[a.r.current]
		st.Memory = max(st.Memory, a.held)
	}
	if limit := a.r.env.Budget.Bytes; limit > 0 && a.r.bytes > limit {
		err := graph.BudgetError("the statement needs more than %d bytes, the budget of query-memory; operator %s holds %d bytes",
			limit, a.name, a.held)
		if a.r.bytes-limit > finishBytes || !a.r.truncate(err) {
			return err
		}
	}
	return nil
}

// finishBytes is how much more the operators of a run may hold that ends early, to finish with what was found.
const finishBytes = 16 << 20

// cellSize is what a value takes by itself, in bytes.
const cellSize = 24

// valueSize is about what a value holds, in bytes.
func valueSize(v graph.Value) int {
	const cell = cellSize
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
			n += valueSize(e)
		}
	case graph.Map:
		for _, e := range v.Map() {
			n += len(e.Key) + 16 + valueSize(e.Value)
		}
	case graph.VertexKind:
		n += recordSize(v.Record())
	case graph.EdgeKind:
		n += 48 + recordSize(v.Edge().Record)
	case graph.PathKind:
		p := v.Path()
		n += 48
		for _, x := range p.Vertices {
			n += valueSize(x)
		}
		for _, x := range p.Edges {
			n += valueSize(x)
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
		n += valueSize(v)
	}
	return n
}

// release gives all bytes back.
func (a *account) release() {
	a.r.bytes -= a.held
	a.held = 0
	a.r.tell(a)
}

const (
	spillBlock = 32 << 10 // bytes of rows that are written and read at a time
	spillLeast = 1 << 20  // bytes that an operator holds before it uses the disk
)

// short reports whether the operator should put what it holds on disk: it holds something, and there is little memory
// left to the statement or to the process.
func (a *account) short() bool {
	env := &a.r.env
	least, limit := int64(spillLeast), env.Budget.Bytes
	if limit > 0 {
		least = min(least, limit/8)
	}
	return env.Spill != nil && a.held > least && (limit > 0 && a.r.bytes > limit/2 || crowded(env.Pools))
}

// spill begins rows of a number of cells on disk.
func (r *run) spill(width int) (*spilled, error) {
	return newSpilled(r.env.Spill, width, func(n int) {
		if r.env.Profile {
			r.stats[r.current].Spilled += int64(n)
		}
	})
}

// growSet accounts for what a vertex set has grown; counted is what has been accounted before.
func growSet(a *account, s *graph.VertexSet, counted *int) error {
	n := 0
	for i := range s.Shards() {
		n += 8 * len(s.Bitmap(i))
	}
	grown := n - *counted
	*counted = n
	return a.grow(grown)
}
