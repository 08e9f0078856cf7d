package arrowgraph

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// names are numbered from 1.
type names []string

// add adds a name unless it is there.
func (n *names) add(name string) {
	if !slices.Contains(*n, name) {
		*n = append(*n, name)
	}
}

func (n *names) sort() { slices.Sort(*n) }

func (n *names) find(name string) (uint32, bool) {
	at := slices.Index(*n, name)
	return uint32(at + 1), at >= 0
}

func (n *names) at(no uint32) string {
	if no == 0 || int(no) > len(*n) {
		return ""
	}
	return (*n)[no-1]
}

// catalog implements graph.Catalog.
type catalog struct {
	labels, types, props names
	known                [][]graph.LabelID // label set i+1, graph.NoLabels the first
}

// set returns the number of a set of labels.
func (c *catalog) set(labels []graph.LabelID) graph.LabelSet {
	slices.Sort(labels)
	labels = slices.Compact(labels)
	if len(c.known) == 0 {
		c.known = [][]graph.LabelID{nil}
	}
	at := slices.IndexFunc(c.known, func(have []graph.LabelID) bool { return slices.Equal(have, labels) })
	if at < 0 {
		at = len(c.known)
		c.known = append(c.known, labels)
	}
	return graph.LabelSet(at + 1)
}

func (c *catalog) allTypes() []graph.TypeID {
	out := make([]graph.TypeID, len(c.types))
	for i := range out {
		out[i] = graph.TypeID(i + 1)
	}
	return out
}

// Label implements graph.Catalog.
func (c *catalog) Label(name string) (graph.LabelID, bool) {
	no, ok := c.labels.find(name)
	return graph.LabelID(no), ok
}

// LabelName implements graph.Catalog.
func (c *catalog) LabelName(l graph.LabelID) string { return c.labels.at(uint32(l)) }

// Type implements graph.Catalog.
func (c *catalog) Type(name string) (graph.TypeID, bool) {
	no, ok := c.types.find(name)
	return graph.TypeID(no), ok
}

// TypeName implements graph.Catalog.
func (c *catalog) TypeName(t graph.TypeID) string { return c.types.at(uint32(t)) }

// Prop implements graph.Catalog.
func (c *catalog) Prop(name string) (graph.PropID, bool) {
	no, ok := c.props.find(name)
	return graph.PropID(no), ok
}

// PropName implements graph.Catalog.
func (c *catalog) PropName(p graph.PropID) string { return c.props.at(uint32(p)) }

// Labels implements graph.Catalog.
func (c *catalog) Labels(set graph.LabelSet) []graph.LabelID {
	if set == 0 || int(set) > len(c.known) {
		return nil
	}
	return c.known[set-1]
}

// AllLabels implements graph.Catalog.
func (c *catalog) AllLabels() []string { return c.labels }

// AllTypes implements graph.Catalog.
func (c *catalog) AllTypes() []string { return c.types }

// AllProps implements graph.Catalog.
func (c *catalog) AllProps() []string { return c.props }

// Indexes implements graph.Catalog: there are none.
func (*catalog) Indexes() []graph.Index { return nil }

// Version implements graph.Catalog.
func (*catalog) Version() uint64 { return 1 }
