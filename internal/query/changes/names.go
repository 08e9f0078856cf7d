package changes

import (
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// names keeps how the names of a graph's catalog are written. A catalog forgets none, but its node keys change.
type names struct {
	g       graph.Catalog
	props   []propName // by graph.PropID
	sets    map[graph.LabelSet]*labelNames
	types   map[graph.TypeID]*typeNames
	changed map[[2]graph.LabelSet]*labelNames // by two sets: the labels of the first that the second lacks
	version uint64                            // of the catalog that keys are of
}

// propName is a property: its name, and the name as JSON with a colon.
type propName struct {
	name string
	json []byte
}

// labelNames are some labels.
type labelNames struct {
	names []string
	json  []byte // a list
	value graph.Value
	keys  []keyNames // of vertices with these labels
}

// typeNames is an edge type.
type typeNames struct {
	json []byte
	keys []keyNames
}

// keyNames are properties that together are a key, of the vertices of a label or the edges of a type.
type keyNames struct {
	label string
	props []graph.PropID
}

func newNames(g graph.Catalog) *names {
	return &names{
		g: g, sets: map[graph.LabelSet]*labelNames{}, types: map[graph.TypeID]*typeNames{}, changed: map[[2]graph.LabelSet]*labelNames{}, version: g.Version(),
	}
}

// refresh forgets the keys if the constraints may have changed.
func (n *names) refresh() {
	if v := n.g.Version(); v != n.version {
		n.version = v
		clear(n.sets)
		clear(n.types)
	}
}

// know reports whether the catalog has all names of some changes.
func (n *names) know(cs []changelog.Change) bool {
	for i := range cs {
		if !n.knows(&cs[i]) {
			return false
		}
	}
	return true
}

func (n *names) knows(c *changelog.Change) bool {
	for _, set := range [...]graph.LabelSet{c.Before.Labels, c.After.Labels, c.Src.Labels, c.Dst.Labels} {
		if set > graph.NoLabels && n.sets[set] == nil && len(n.g.Labels(set)) == 0 {
			return false
		}
	}
	if c.IsEdge && n.types[c.Edge.Type] == nil && n.g.TypeName(c.Edge.Type) == "" {
		return false
	}
	for _, props := range [...][]graph.Property{c.Before.Props, c.After.Props, c.Keys, c.Src.Keys, c.Dst.Keys} {
		for i := range props {
			if n.prop(props[i].ID).json == nil {
				return false
			}
		}
	}
	return true
}

// prop returns how a property is written. It is empty for one that the catalog does not have.
func (n *names) prop(id graph.PropID) propName {
	if int(id) < len(n.props) && n.props[id].json != nil {
		return n.props[id]
	}
	p := propName{name: n.g.PropName(id)}
	if p.name == "" {
		return propName{}
	}
	p.json = append(notation.AppendJSONString(nil, p.name), ':')
	if int(id) >= len(n.props) {
		n.props = append(n.props, make([]propName, int(id)+1-len(n.props))...)
	}
	n.props[id] = p
	return p
}

func (n *names) set(set graph.LabelSet) *labelNames {
	if l := n.sets[set]; l != nil {
		return l
	}
	l := n.label(n.g.Labels(set))
	l.keys = n.keys(func(ix *graph.Index) bool { return ix.Label != "" && slices.Contains(l.names, ix.Label) })
	slices.SortFunc(l.keys, func(a, b keyNames) int { return slices.Index(l.names, a.label) - slices.Index(l.names, b.label) })
	n.sets[set] = l
	return l
}

// difference returns the labels of a set that another one lacks.
func (n *names) difference(set, without graph.LabelSet) *labelNames {
	key := [2]graph.LabelSet{set, without}
	if l := n.changed[key]; l != nil {
		return l
	}
	other := n.g.Labels(without)
	l := n.label(slices.DeleteFunc(slices.Clone(n.g.Labels(set)), func(id graph.LabelID) bool { return slices.Contains(other, id) }))
	n.changed[key] = l
	return l
}

func (n *names) label(ids []graph.LabelID) *labelNames {
	l := &labelNames{names: []string{}, json: []byte{'['}}
	vals := make([]graph.Value, 0, len(ids))
	for i, id := range ids {
		name := n.g.LabelName(id)
		l.names = append(l.names, name)
		vals = append(vals, text(name))
		if i > 0 {
			l.json = append(l.json, ',')
		}
		l.json = notation.AppendJSONString(l.json, name)
	}
	l.json = append(l.json, ']')
	l.value = graph.ListValue(vals)
	return l
}

func (n *names) edgeType(id graph.TypeID) *typeNames {
	if t := n.types[id]; t != nil {
		return t
	}
	name := n.g.TypeName(id)
	t := &typeNames{json: notation.AppendJSONString(nil, name), keys: n.keys(func(ix *graph.Index) bool { return ix.Type != "" && ix.Type == name })}
	n.types[id] = t
	return t
}

// keys returns the keys that node or relationship key constraints make, those of the same label together.
func (n *names) keys(of func(*graph.Index) bool) (out []keyNames) {
	all := n.g.Indexes()
	for i := range all {
		ix := &all[i]
		if !ix.Unique || !ix.Required || !of(ix) {
			continue
		}
		k := keyNames{label: ix.Label}
		for _, name := range ix.Props {
			if id, ok := n.g.Prop(name); ok {
				k.props = append(k.props, id)
			}
		}
		if len(k.props) == len(ix.Props) {
			out = append(out, k)
		}
	}
	return out
}

// in reports whether all of a key's properties are among some.
func (k *keyNames) in(props []graph.Property) bool {
	for _, id := range k.props {
		if value(props, id).IsNull() {
			return false
		}
	}
	return true
}

// value returns a property of some, null if it is not among them.
func value(props []graph.Property, id graph.PropID) graph.Value {
	for i := range props {
		if props[i].ID == id {
			return props[i].Value
		}
	}
	return graph.Value{}
}

// keyValue returns the map of a key.
func (n *names) keyValue(k *keyNames, props []graph.Property) graph.Value {
	m := make([]graph.MapEntry, len(k.props))
	for i, id := range k.props {
		m[i] = graph.MapEntry{Key: n.prop(id).name, Value: value(props, id).Clone()}
	}
	return graph.MapValue(m)
}

// vertexKeys returns the map of a vertex's keys by their labels.
func (n *names) vertexKeys(set graph.LabelSet, props []graph.Property) graph.Value {
	var m []graph.MapEntry
	if len(props) > 0 {
		keys := n.set(set).keys
		for i := 0; i < len(keys); {
			var list []graph.Value
			label := keys[i].label
			for ; i < len(keys) && keys[i].label == label; i++ {
				if keys[i].in(props) {
					list = append(list, n.keyValue(&keys[i], props))
				}
			}
			if list != nil {
				m = append(m, graph.MapEntry{Key: label, Value: graph.ListValue(list)})
			}
		}
	}
	return graph.MapValue(m)
}

// edgeKeys returns the list of an edge's keys.
func (n *names) edgeKeys(t graph.TypeID, props []graph.Property) graph.Value {
	var list []graph.Value
	if len(props) > 0 {
		keys := n.edgeType(t).keys
		for i := range keys {
			if keys[i].in(props) {
				list = append(list, n.keyValue(&keys[i], props))
			}
		}
	}
	return graph.ListValue(list)
}

// appendKey appends the object of a key.
func (n *names) appendKey(dst []byte, k *keyNames, props []graph.Property) []byte {
	dst = append(dst, '{')
	for i, id := range k.props {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, n.prop(id).json...)
		dst = notation.PlainJSON.Append(dst, value(props, id))
	}
	return append(dst, '}')
}

// appendVertexKeys appends the object of vertexKeys.
func (n *names) appendVertexKeys(dst []byte, set graph.LabelSet, props []graph.Property) []byte {
	dst = append(dst, '{')
	if len(props) > 0 {
		keys := n.set(set).keys
		last := ""
		for i := range keys {
			k := &keys[i]
			switch {
			case !k.in(props):
				continue
			case last == k.label:
				dst = append(dst, ',')
			default:
				if last != "" {
					dst = append(dst, "],"...)
				}
				dst = append(notation.AppendJSONString(dst, k.label), ":["...)
			}
			dst, last = n.appendKey(dst, k, props), k.label
		}
		if last != "" {
			dst = append(dst, ']')
		}
	}
	return append(dst, '}')
}

// appendEdgeKeys appends the list of edgeKeys.
func (n *names) appendEdgeKeys(dst []byte, t graph.TypeID, props []graph.Property) []byte {
	dst = append(dst, '[')
	if len(props) > 0 {
		keys, any := n.edgeType(t).keys, false
		for i := range keys {
			if keys[i].in(props) {
				if any {
					dst = append(dst, ',')
				}
				dst, any = n.appendKey(dst, &keys[i], props), true
			}
		}
	}
	return append(dst, ']')
}
