package staging

import (
	"bytes"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Entries writes the entries of indexes.
type Entries struct {
	*draft
	changed bool
}

// Changed reports whether entries were written or deleted.
func (w *Entries) Changed() bool { return w.changed }

// keyOf is the key of an entry; plain says that the index is not unique.
func (w *Entries) keyOf(ix graph.IndexID, tuple []byte, plain bool, o graph.IndexOwner) []byte {
	w.key = append(keys.AppendEntry(w.key[:0], ix), tuple...)
	if plain {
		w.key = keys.AppendLocal(w.key, o.Local())
	}
	return w.key
}

// Put writes an entry.
func (w *Entries) Put(ix graph.IndexID, tuple []byte, plain bool, o graph.IndexOwner) {
	w.changed = true
	w.buf = view.AppendOwner(w.buf[:0], o)
	w.over.Set(w.keyOf(ix, tuple, plain, o), w.buf)
	w.Distinct(ix, tuple)
}

// Delete deletes an entry.
func (w *Entries) Delete(ix graph.IndexID, tuple []byte, plain bool, o graph.IndexOwner) {
	w.changed = true
	if !plain {
		w.changes.Keys = append(w.changes.Keys, KeyChange{ix, bytes.Clone(tuple)})
	}
	w.over.Delete(w.keyOf(ix, tuple, plain, o))
}
