package runtime

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
)

// valueChunk is the number of bytes that an evaluator may allocate between two updates of its account, each of which checks for
// cancellation.
const valueChunk = 64 << 10

// ValueMemory accounts for the lists and strings that an evaluator creates for a batch. They live until it evaluates the next
// batch. A single expression may create a lot for one batch, as [x IN range(1, 100000) | …] does, and take long.
type ValueMemory struct {
	Acct    Account
	pending int // bytes not yet accounted for
}

// NewValueMemory returns the account of an evaluator; errors show its name.
func (r *Run) NewValueMemory(name string) ValueMemory {
	return ValueMemory{Acct: Account{Run: r, Name: name}}
}

// Begin releases the values of the previous batch.
func (m *ValueMemory) Begin() {
	m.pending = 0
	if m.Acct.Held > 0 {
		m.Acct.Release()
	}
}

// Add counts the shallow size of a new value.
func (m *ValueMemory) Add(ctx context.Context, v graph.Value) error {
	return m.Grow(ctx, shallowSize(v))
}

// GrowJoined counts the concatenation of x and y before it is created, if that is large; ok reports whether it counted. During
// the concatenation, x and y are in memory too, and may belong to no accounted batch.
func (m *ValueMemory) GrowJoined(ctx context.Context, x, y graph.Value) (ok bool, err error) {
	n := shallowSize(x) + shallowSize(y)
	if n < valueChunk {
		return false, nil
	}
	return true, m.Grow(ctx, 2*n)
}

// shallowSize is the size of a value in bytes without its elements.
func shallowSize(v graph.Value) int {
	switch v.Kind() {
	case graph.String:
		return len(v.Str())
	case graph.VectorKind:
		return len(v.Vector().Data)
	case graph.List:
		return memory.CellSize * len(v.List())
	}
	return 0
}

// Grow counts n bytes.
func (m *ValueMemory) Grow(ctx context.Context, n int) error {
	if m.pending += n; m.pending < valueChunk {
		return nil
	}
	if err := m.Acct.Run.CheckCancel(ctx); err != nil {
		return err
	}
	n, m.pending = m.pending, 0
	return m.Acct.Grow(n)
}
