package local

import (
	"bytes"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// loadDefs makes the definitions follow the catalog.
func (g *Graph) loadDefs() { g.storeDefs(g.allIndexes()) }

func (g *Graph) storeDefs(indexes []graph.Index) { g.defs.Store(index.New(g.Catalog, indexes)) }

// allIndexes returns the indexes and what stands in the order of its expiry.
func (g *Graph) allIndexes() []graph.Index { return slices.Concat(g.Indexes(), g.Expiries()) }

// moveEntry replaces the entry of old values by one of new ones.
func (tx *Tx) moveEntry(d *index.Def, old, vals []graph.Value, o graph.IndexOwner) error {
	if d.Kind == graph.FullTextIndex {
		tx.noteText(d, o, old, vals)
		return nil
	}
	if !d.Indexed {
		return nil
	}
	was, wasOK, wasLoose, err := view.AppendIndexed(nil, &d.Index, old)
	if err != nil {
		return err
	}
	now, nowOK, nowLoose, err := view.AppendIndexed(nil, &d.Index, vals)
	if err != nil {
		return err
	}
	if wasOK && nowOK && bytes.Equal(was, now) {
		return nil
	}
	if wasOK {
		if err := tx.deleteTuple(d, was, wasLoose, o); err != nil {
			return err
		}
	}
	if nowOK {
		return tx.putTuple(d, now, nowLoose, o)
	}
	return nil
}

func (tx *Tx) putEntry(d *index.Def, vals []graph.Value, o graph.IndexOwner) error {
	if d.Kind == graph.FullTextIndex {
		tx.noteText(d, o, vals)
		return nil
	}
	if !d.Indexed {
		return nil
	}
	tuple, ok, loose, err := view.AppendIndexed(nil, &d.Index, vals)
	if err != nil || !ok {
		return err
	}
	return tx.putTuple(d, tuple, loose, o)
}

func (tx *Tx) deleteEntry(d *index.Def, vals []graph.Value, o graph.IndexOwner) error {
	if d.Kind == graph.FullTextIndex {
		tx.noteText(d, o, vals)
		return nil
	}
	if !d.Indexed {
		return nil
	}
	tuple, ok, loose, err := view.AppendIndexed(nil, &d.Index, vals)
	if err != nil || !ok {
		return err
	}
	return tx.deleteTuple(d, tuple, loose, o)
}

// noteText says that a full-text index must read an owner again, if there is or was any text.
func (tx *Tx) noteText(d *index.Def, o graph.IndexOwner, vals ...[]graph.Value) {
	if slices.ContainsFunc(vals, index.HasText) {
		tx.ws[o.Vertex.Shard()].Texts.Note(d.ID, o)
	}
}

// putTuple adds an entry. What a unique index holds already becomes a violation that must be gone at commit.
func (tx *Tx) putTuple(d *index.Def, tuple []byte, loose bool, o graph.IndexOwner) error {
	if d.Unique && !loose {
		_, ok, err := tx.lookup(d.ID, tuple)
		if err != nil {
			return err
		}
		if ok {
			k := dupKey(d.ID, tuple)
			put(&tx.dups, k, append(tx.dups[k], o))
			return nil
		}
	}
	tx.noteDue(d, tuple)
	tx.ws[o.Vertex.Shard()].Entries.Put(d.ID, tuple, !d.Unique || loose, o)
	return nil
}

// lookup finds the owner of a tuple in a unique index.
func (tx *Tx) lookup(ix graph.IndexID, tuple []byte) (o graph.IndexOwner, ok bool, err error) {
	for _, v := range tx.views {
		if o, ok, err = v.Lookup(ix, tuple); err != nil || ok {
			return o, ok, err
		}
	}
	return o, false, nil
}

func (tx *Tx) deleteTuple(d *index.Def, tuple []byte, loose bool, o graph.IndexOwner) error {
	plain := !d.Unique || loose
	if !plain && !d.Online {
		// What a build has not come to yet has no entry, and the entry that is there may be another's.
		have, ok, err := tx.lookup(d.ID, tuple)
		if err != nil || (!ok || have != o) && !slices.Contains(tx.dups[dupKey(d.ID, tuple)], o) {
			return err
		}
	}
	if !plain && len(tx.dups) > 0 {
		k := dupKey(d.ID, tuple)
		if others := tx.dups[k]; len(others) > 0 {
			i := slices.Index(others, o)
			if i >= 0 {
				tx.dups[k] = slices.Delete(others, i, i+1)
			} else {
				// Another owner takes the entry's place.
				tx.ws[o.Vertex.Shard()].Entries.Delete(d.ID, tuple, plain, o)
				next := others[0]
				tx.dups[k] = others[1:]
				tx.ws[next.Vertex.Shard()].Entries.Put(d.ID, tuple, plain, next)
			}
			if len(tx.dups[k]) == 0 {
				delete(tx.dups, k)
			}
			return nil
		}
	}
	tx.ws[o.Vertex.Shard()].Entries.Delete(d.ID, tuple, plain, o)
	return nil
}
