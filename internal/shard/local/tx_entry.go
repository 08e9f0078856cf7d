package local

import (
	"bytes"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
)

// indexDef is an index with its names resolved.
type indexDef struct {
	graph.Index
	props []graph.PropID
}

// indexDefs are the indexes of a graph by what they are over.
type indexDefs struct {
	byID    map[graph.IndexID]*indexDef
	byLabel map[graph.LabelID][]*indexDef
	byType  map[graph.TypeID][]*indexDef
	// bare are the id spaces. Their property is a hidden one.
	bare []*indexDef
	// ttls are those of what expires.
	ttls []*indexDef
}

// loadDefs makes the definitions follow the catalog.
func (g *Graph) loadDefs() { g.storeDefs(g.allIndexes()) }

// allIndexes gives the indexes and what stands in the order of its expiry.
func (g *Graph) allIndexes() []graph.Index { return slices.Concat(g.Indexes(), g.Expiries()) }

func (g *Graph) storeDefs(indexes []graph.Index) {
	defs := &indexDefs{
		byID: map[graph.IndexID]*indexDef{}, byLabel: map[graph.LabelID][]*indexDef{}, byType: map[graph.TypeID][]*indexDef{},
	}
	for _, ix := range indexes {
		d := &indexDef{Index: ix}
		for _, name := range ix.Props {
			p, _ := g.Prop(name)
			d.props = append(d.props, p)
		}
		if d.bare() {
			d.props = []graph.PropID{spaceProp(ix.ID)}
			defs.bare = append(defs.bare, d)
		}
		if d.stamped() {
			d.props = []graph.PropID{spaceProp(ix.ID)}
		}
		if d.TTL > 0 {
			defs.ttls = append(defs.ttls, d)
		}
		defs.byID[ix.ID] = d
		if ix.Failure != "" {
			continue
		}
		if l, ok := g.Label(ix.Label); ok && ix.Label != "" {
			defs.byLabel[l] = append(defs.byLabel[l], d)
		}
		if t, ok := g.Type(ix.Type); ok && ix.Type != "" {
			defs.byType[t] = append(defs.byType[t], d)
		}
	}
	g.defs.Store(defs)
}

// values picks the indexed values out of properties.
func (d *indexDef) values(props []graph.Property) []graph.Value {
	return d.merged(make([]graph.Value, len(d.props)), props)
}

// merged gives the values after properties were set over old ones.
func (d *indexDef) merged(old []graph.Value, props []graph.Property) []graph.Value {
	vals := slices.Clone(old)
	for _, p := range props {
		for i, q := range d.props {
			if p.ID == q {
				vals[i] = p.Value
			}
		}
	}
	return vals
}

// touches reports whether a change of properties concerns the index.
func (d *indexDef) touches(props []graph.Property) bool {
	for _, p := range props {
		if slices.Contains(d.props, p.ID) {
			return true
		}
	}
	return false
}

// moveEntry replaces the entry of old values by one of new ones.
func (tx *Tx) moveEntry(d *indexDef, old, vals []graph.Value, o storage.Owner) error {
	if !d.Indexed {
		return nil
	}
	was, wasOK, wasLoose, err := storage.AppendIndexed(nil, &d.Index, old)
	if err != nil {
		return err
	}
	now, nowOK, nowLoose, err := storage.AppendIndexed(nil, &d.Index, vals)
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

func (tx *Tx) putEntry(d *indexDef, vals []graph.Value, o storage.Owner) error {
	if !d.Indexed {
		return nil
	}
	tuple, ok, loose, err := storage.AppendIndexed(nil, &d.Index, vals)
	if err != nil || !ok {
		return err
	}
	return tx.putTuple(d, tuple, loose, o)
}

func (tx *Tx) deleteEntry(d *indexDef, vals []graph.Value, o storage.Owner) error {
	if !d.Indexed {
		return nil
	}
	tuple, ok, loose, err := storage.AppendIndexed(nil, &d.Index, vals)
	if err != nil || !ok {
		return err
	}
	return tx.deleteTuple(d, tuple, loose, o)
}

// putTuple adds an entry. What a unique index holds already becomes a violation that must be gone at commit.
func (tx *Tx) putTuple(d *indexDef, tuple []byte, loose bool, o storage.Owner) error {
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
	tx.ws[o.Vertex.Shard()].PutEntry(d.ID, tuple, !d.Unique || loose, o)
	return nil
}

// lookup finds the owner of a tuple in a unique index.
func (tx *Tx) lookup(ix graph.IndexID, tuple []byte) (o storage.Owner, ok bool, err error) {
	for _, v := range tx.views {
		if o, ok, err = v.Lookup(ix, tuple); err != nil || ok {
			return o, ok, err
		}
	}
	return o, false, nil
}

func (tx *Tx) deleteTuple(d *indexDef, tuple []byte, loose bool, o storage.Owner) error {
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
				tx.ws[o.Vertex.Shard()].DeleteEntry(d.ID, tuple, plain, o)
				next := others[0]
				tx.dups[k] = others[1:]
				tx.ws[next.Vertex.Shard()].PutEntry(d.ID, tuple, plain, next)
			}
			if len(tx.dups[k]) == 0 {
				delete(tx.dups, k)
			}
			return nil
		}
	}
	tx.ws[o.Vertex.Shard()].DeleteEntry(d.ID, tuple, plain, o)
	return nil
}
