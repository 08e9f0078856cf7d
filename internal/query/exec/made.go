package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// madeChunk is how many bytes an evaluator may make before they are accounted and the context is looked at.
const madeChunk = 64 << 10

// made accounts for the lists and strings that an evaluator makes for a batch, until it makes those of the next. One
// expression may make a great deal for one batch, as [x IN range(1, 100000) | …] does, or take its time.
type made struct {
	acct    account
	pending int // bytes that are not accounted yet
}

func (r *run) made(name string) made { return made{acct: account{r: r, name: name}} }

// begin forgets what was made for the batch before.
func (m *made) begin() {
	m.pending = 0
	if m.acct.held > 0 {
		m.acct.release()
	}
}

// add counts what a new value holds by itself.
func (m *made) add(ctx context.Context, v graph.Value) error { return m.grow(ctx, ownSize(v)) }

// join counts what x and y joined will hold, if that is large, before it is made; ok reports whether it has. While it is
// made, x and y are in memory too, of which no batch that is at hand need know.
func (m *made) join(ctx context.Context, x, y graph.Value) (ok bool, err error) {
	n := ownSize(x) + ownSize(y)
	if n < madeChunk {
		return false, nil
	}
	return true, m.grow(ctx, 2*n)
}

// ownSize is the number of bytes that a value holds by itself, without the values in it.
func ownSize(v graph.Value) int {
	switch v.Kind() {
	case graph.String:
		return len(v.Str())
	case graph.List:
		return cellSize * len(v.List())
	}
	return 0
}

// grow counts n bytes.
func (m *made) grow(ctx context.Context, n int) error {
	if m.pending += n; m.pending < madeChunk {
		return nil
	}
	if err := m.acct.r.alive(ctx); err != nil {
		return err
	}
	n, m.pending = m.pending, 0
	return m.acct.grow(n)
}
