package write

import (
	"bytes"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// moveEntry replaces the entry of old values by one of new ones.
func (tx *Mutator) moveEntry(d *index.Def, old, vals []graph.Value, o graph.IndexOwner) error {
	if d.Kind == graph.FullTextIndex {
		tx.NoteText(d, o, old, vals)
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

// PutEntry adds an entry.
func (tx *Mutator) PutEntry(d *index.Def, vals []graph.Value, o graph.IndexOwner) error {
	if d.Kind == graph.FullTextIndex {
		tx.NoteText(d, o, vals)
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

// DeleteEntry deletes an entry.
func (tx *Mutator) DeleteEntry(d *index.Def, vals []graph.Value, o graph.IndexOwner) error {
	if d.Kind == graph.FullTextIndex {
		tx.NoteText(d, o, vals)
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

// NoteText queues an owner for a full-text index, if it has or had any text.
func (tx *Mutator) NoteText(d *index.Def, o graph.IndexOwner, vals ...[]graph.Value) {
	if slices.ContainsFunc(vals, index.HasText) {
		tx.ws[o.Vertex.Shard()].Texts.Note(d.ID, o)
	}
}

// putTuple adds an entry. A second owner of a unique tuple is a violation that must be resolved by the commit.
func (tx *Mutator) putTuple(d *index.Def, tuple []byte, loose bool, o graph.IndexOwner) error {
	if d.Unique && !loose {
		_, ok, err := tx.Owner(d.ID, tuple)
		if err != nil {
			return err
		}
		if ok {
			k := read.DuplicateKey(d.ID, tuple)
			put(&tx.Duplicates, k, append(tx.Duplicates[k], o))
			return nil
		}
	}
	tx.NoteDue(d, tuple)
	tx.ws[o.Vertex.Shard()].Entries.Put(d.ID, tuple, !d.Unique || loose, o)
	return nil
}

// Owner finds the owner of a tuple in a unique index.
func (tx *Mutator) Owner(ix graph.IndexID, tuple []byte) (o graph.IndexOwner, ok bool, err error) {
	for _, v := range tx.read.Views() {
		if o, ok, err = v.Lookup(ix, tuple); err != nil || ok {
			return o, ok, err
		}
	}
	return o, false, nil
}

func (tx *Mutator) deleteTuple(d *index.Def, tuple []byte, loose bool, o graph.IndexOwner) error {
	plain := !d.Unique || loose
	if !plain && !d.Online {
		// What a build has not reached has no entry yet, and an existing entry may belong to another owner.
		have, ok, err := tx.Owner(d.ID, tuple)
		if err != nil || (!ok || have != o) && !slices.Contains(tx.Duplicates[read.DuplicateKey(d.ID, tuple)], o) {
			return err
		}
	}
	if !plain && len(tx.Duplicates) > 0 {
		k := read.DuplicateKey(d.ID, tuple)
		if others := tx.Duplicates[k]; len(others) > 0 {
			i := slices.Index(others, o)
			if i >= 0 {
				tx.Duplicates[k] = slices.Delete(others, i, i+1)
			} else {
				// Another owner takes the entry's place.
				tx.ws[o.Vertex.Shard()].Entries.Delete(d.ID, tuple, plain, o)
				next := others[0]
				tx.Duplicates[k] = others[1:]
				tx.ws[next.Vertex.Shard()].Entries.Put(d.ID, tuple, plain, next)
			}
			if len(tx.Duplicates[k]) == 0 {
				delete(tx.Duplicates, k)
			}
			return nil
		}
	}
	tx.ws[o.Vertex.Shard()].Entries.Delete(d.ID, tuple, plain, o)
	return nil
}

// NoteDue records when what has got an entry expires.
func (tx *Mutator) NoteDue(d *index.Def, tuple []byte) {
	if d.TTL == 0 {
		return
	}
	if start, ok := view.StartOf(tuple); ok {
		tx.due = min(tx.due, view.Due(start, &d.Index))
	}
}
