package staging

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Texts notes which vertices and edges full-text indexes must read again once the changes are committed.
type Texts struct {
	*draft
	noted []textChange
}

// textChange is a change of what a full-text index holds.
type textChange struct {
	index graph.IndexID
	owner graph.IndexOwner
}

// textChangeBytes is about what a change takes in memory.
const textChangeBytes = 40

// Note notes that an index must read an owner again.
func (w *Texts) Note(ix graph.IndexID, o graph.IndexOwner) {
	c := textChange{ix, o}
	if n := len(w.noted); n > 0 && w.noted[n-1] == c {
		return
	}
	w.noted = append(w.noted, c)
}

// Noted calls f with the owners that were noted for an index; they may repeat.
func (w *Texts) Noted(ix graph.IndexID, f func(o graph.IndexOwner)) {
	for _, c := range w.noted {
		if c.index == ix {
			f(c.owner)
		}
	}
}

// Len is the number of changes.
func (w *Texts) Len() int { return len(w.noted) }

// AppendTo puts the changes into a batch, numbered from first on.
func (w *Texts) AppendTo(b *pebble.Batch, first uint64) error {
	for i, c := range w.noted {
		w.key = view.TextKey(w.key[:0], c.index, first+uint64(i))
		w.buf = view.AppendOwner(w.buf[:0], c.owner)
		if err := b.Set(w.key, w.buf, nil); err != nil {
			return err
		}
	}
	return nil
}
