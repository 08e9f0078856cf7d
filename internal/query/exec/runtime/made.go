package runtime

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// madeChunk is how many bytes an evaluator may make before they are accounted and the context is looked at.
const madeChunk = 64 << 10

// Made accounts for the lists and strings that an evaluator makes for a batch, until it makes those of the next. One
// expression may make a great deal for one batch, as [x IN range(1, 100000) | …] does, or take its time.
type Made struct {
	Acct    Account
	pending int // bytes that are not accounted yet
}

// NewMade makes the account of an evaluator; name is for the error.
func (r *Run) NewMade(name string) Made { return Made{Acct: Account{Run: r, Name: name}} }

// Begin forgets what was made for the batch before.
func (m *Made) Begin() {
	m.pending = 0
	if m.Acct.Held > 0 {
		m.Acct.Release()
	}
}

// Add counts what a new value holds by itself.
func (m *Made) Add(ctx context.Context, v graph.Value) error { return m.Grow(ctx, ownSize(v)) }

// Join counts what x and y joined will hold, if that is large, before it is made; ok reports whether it has. While it is
// made, x and y are in memory too, of which no batch that is at hand need know.
func (m *Made) Join(ctx context.Context, x, y graph.Value) (ok bool, err error) {
	n := ownSize(x) + ownSize(y)
	if n < madeChunk {
		return false, nil
	}
	return true, m.Grow(ctx, 2*n)
}

// ownSize is the number of bytes that a value holds by itself, without the values in it.
func ownSize(v graph.Value) int {
	switch v.Kind() {
	case graph.String:
		return len(v.Str())
	case graph.List:
		return CellSize * len(v.List())
	}
	return 0
}

// Grow counts n bytes.
func (m *Made) Grow(ctx context.Context, n int) error {
	if m.pending += n; m.pending < madeChunk {
		return nil
	}
	if err := m.Acct.Run.Alive(ctx); err != nil {
		return err
	}
	n, m.pending = m.pending, 0
	return m.Acct.Grow(n)
}
