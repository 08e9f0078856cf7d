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

// add counts what a new value holds by itself, without the values in it.
func (m *made) add(ctx context.Context, v graph.Value) error {
	switch v.Kind() {
	case graph.String:
		return m.grow(ctx, len(v.Str()))
	case graph.List:
		return m.grow(ctx, cellSize*len(v.List()))
	}
	return nil
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
