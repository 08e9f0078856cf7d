package index

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/codec"
)

// Def is an index with its names resolved. PropIDs stands beside Props.
type Def struct {
	graph.Index
	PropIDs []graph.PropID
	// Labels or Types are what a maintained index is over: several for a full-text index alone.
	Labels []graph.LabelID
	Types  []graph.TypeID
}

// Defs are the indexes of a graph by what they are over.
type Defs struct {
	ByID    map[graph.IndexID]*Def
	ByLabel map[graph.LabelID][]*Def
	ByType  map[graph.TypeID][]*Def
	// Spaces are the id spaces. Their property is hidden.
	Spaces []*Def
	// Keyed are the node keys and relationship keys.
	Keyed []*Def
	// TTLs are the indexes that hold expiry times.
	TTLs []*Def
}

// New resolves the names of indexes by a catalog.
func New(g *storage.Catalog, indexes []graph.Index) *Defs {
	defs := &Defs{
		ByID: map[graph.IndexID]*Def{}, ByLabel: map[graph.LabelID][]*Def{}, ByType: map[graph.TypeID][]*Def{},
	}
	for _, ix := range indexes {
		d := &Def{Index: ix}
		for _, name := range ix.Props {
			p, _ := g.Prop(name)
			d.PropIDs = append(d.PropIDs, p)
		}
		if d.Bare() {
			d.PropIDs = []graph.PropID{SpaceProp(ix.ID)}
			defs.Spaces = append(defs.Spaces, d)
		}
		if d.Stamped() {
			d.PropIDs = []graph.PropID{SpaceProp(ix.ID)}
		}
		if d.IsKey() {
			defs.Keyed = append(defs.Keyed, d)
		}
		if d.TTL > 0 {
			defs.TTLs = append(defs.TTLs, d)
		}
		defs.ByID[ix.ID] = d
		if ix.Failure != "" || ix.Kind == graph.VectorIndex {
			continue // writes need not maintain it
		}
		if d.Bare() {
			continue
		}
		for _, name := range ix.Names() {
			if l, ok := g.Label(name); ok && ix.Label != "" {
				defs.ByLabel[l] = append(defs.ByLabel[l], d)
				d.Labels = append(d.Labels, l)
			}
			if t, ok := g.Type(name); ok && ix.Type != "" {
				defs.ByType[t] = append(defs.ByType[t], d)
				d.Types = append(d.Types, t)
			}
		}
	}
	return defs
}

// Values picks the indexed values out of properties.
func (d *Def) Values(props []graph.Property) []graph.Value {
	return d.Merged(make([]graph.Value, len(d.PropIDs)), props)
}

// Merged returns the values after properties were set over old ones.
func (d *Def) Merged(old []graph.Value, props []graph.Property) []graph.Value {
	vals := slices.Clone(old)
	for _, p := range props {
		for i, q := range d.PropIDs {
			if p.ID == q {
				vals[i] = p.Value
			}
		}
	}
	return vals
}

// Touches reports whether a change of properties concerns the index.
func (d *Def) Touches(props []graph.Property) bool {
	for _, p := range props {
		if slices.Contains(d.PropIDs, p.ID) {
			return true
		}
	}
	return false
}

// IsKey reports whether an index makes properties a node key or a relationship key.
func (d *Def) IsKey() bool { return d.Unique && d.Required }

// Bare reports whether an index is an id space.
func (d *Def) Bare() bool { return d.Label == "" && d.Type == "" }

// SpaceProp returns the hidden property that holds the keys of an id space.
func SpaceProp(id graph.IndexID) graph.PropID { return codec.HiddenProps | graph.PropID(id) }

// Hidden reports whether a property belongs to the store and not to users.
func Hidden(p graph.PropID) bool { return p >= codec.HiddenProps }

// Stamped reports whether what the index is over carries the time of its last write.
func (d *Def) Stamped() bool { return d.TTL > 0 && len(d.Props) == 0 }

// HasText reports whether a full-text index holds one of some values: texts, and lists of texts.
func HasText(vals []graph.Value) bool {
	return slices.ContainsFunc(vals, func(v graph.Value) bool { return len(Texts(v)) > 0 })
}

// Texts returns the texts that a value has for a full-text index.
func Texts(v graph.Value) []string {
	switch v.Kind() {
	case graph.String:
		return []string{v.Str()}
	case graph.List:
		var texts []string
		for _, e := range v.List() {
			if e.Kind() != graph.String {
				return nil
			}
			texts = append(texts, e.Str())
		}
		return texts
	}
	return nil
}

// Missing returns the name of a required property that is not there, or "".
func (d *Def) Missing(vals []graph.Value) string {
	if !d.Required {
		return ""
	}
	for i, v := range vals {
		if v.IsNull() {
			return d.Props[i]
		}
	}
	return ""
}

// EdgeOwner is an edge as the owner of an entry.
func EdgeOwner(e graph.Edge) graph.IndexOwner {
	return graph.IndexOwner{Vertex: e.Src, Dst: e.Dst, Edge: e.ID, IsEdge: true}
}

// EdgeOf is the edge, of a type, that owns an entry.
func EdgeOf(o graph.IndexOwner, t graph.TypeID) graph.Edge {
	return graph.Edge{ID: o.Edge, Src: o.Vertex, Dst: o.Dst, Type: t}
}

// Covers reports whether the index is over one of some labels.
func (d *Def) Covers(labels []graph.LabelID) bool {
	return slices.ContainsFunc(labels, func(l graph.LabelID) bool { return slices.Contains(d.Labels, l) })
}

// All returns the indexes of a catalog, and what is kept in the order of its expiry.
func All(c *storage.Catalog) []graph.Index { return slices.Concat(c.Indexes(), c.Expiries()) }
