package gateway

import (
	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// catalog is one state of a graph's catalog. It is immutable.
type catalog struct {
	state   *pb.State
	names   [3]names // of labels, types, properties
	labels  [][]graph.LabelID
	present [][]graph.PropID
	indexes []graph.Index
	ttls    []graph.TTL
	defined *definition.Set
	version uint64
}

type names struct {
	all []string // number i is at i-1
	ids map[string]uint32
}

func newNames(all []string) names {
	n := names{all: all, ids: make(map[string]uint32, len(all))}
	for i, s := range all {
		n.ids[s] = uint32(i + 1)
	}
	return n
}

func (n *names) id(name string) (uint32, bool) {
	id, ok := n.ids[name]
	return id, ok
}

func (n *names) name(id uint32) string {
	if id == 0 || int(id) > len(n.all) {
		return ""
	}
	return n.all[id-1]
}

// newCatalog decodes a catalog. It fails if it cannot read a definition, as of a leader of a newer version. What is decoded of definitions is
// shared with a former catalog, which may be nil.
func newCatalog(c *pb.Catalog, old *catalog) (*catalog, error) {
	out := &catalog{
		state: c.GetState(), names: [3]names{newNames(c.GetLabels()), newNames(c.GetTypes()), newNames(c.GetProps())},
		labels: make([][]graph.LabelID, 2), present: make([][]graph.PropID, 1),
		version: c.GetVersion() + c.GetState().GetEpoch(), // versions are unique only within an epoch
	}
	for _, s := range c.GetLabelSets() {
		out.labels = append(out.labels, wire.Numbers[graph.LabelID](s.GetMembers()))
	}
	for _, p := range c.GetPresent() {
		out.present = append(out.present, wire.Numbers[graph.PropID](p.GetMembers()))
	}
	for _, ix := range c.GetIndexes() {
		out.indexes = append(out.indexes, wire.DecodeIndex(ix))
	}
	for _, t := range c.GetTtls() {
		out.ttls = append(out.ttls, wire.DecodeTTL(t))
	}
	var share *definition.Set
	if old != nil {
		share = old.defined
	}
	var err error
	if out.defined, err = definition.New(c.GetDefinitionsVersion(), wire.DecodeDefinitions(c.GetDefinitions()), share); err != nil {
		return nil, graph.InternalError("definitions of another process cannot be read, which has perhaps a newer version", err)
	}
	return out, nil
}

// propsOf returns the properties that vertices of a label set may have, in ascending order.
func (c *catalog) propsOf(set graph.LabelSet) []graph.PropID {
	if int(set) >= len(c.present) {
		return nil
	}
	return c.present[set]
}

// Label implements graph.Catalog.
func (g *Graph) Label(name string) (graph.LabelID, bool) {
	id, ok := g.state.Load().names[0].id(name)
	return graph.LabelID(id), ok
}

// LabelName implements graph.Catalog.
func (g *Graph) LabelName(id graph.LabelID) string { return g.state.Load().names[0].name(uint32(id)) }

// Type implements graph.Catalog.
func (g *Graph) Type(name string) (graph.TypeID, bool) {
	id, ok := g.state.Load().names[1].id(name)
	return graph.TypeID(id), ok
}

// TypeName implements graph.Catalog.
func (g *Graph) TypeName(id graph.TypeID) string { return g.state.Load().names[1].name(uint32(id)) }

// Prop implements graph.Catalog.
func (g *Graph) Prop(name string) (graph.PropID, bool) {
	id, ok := g.state.Load().names[2].id(name)
	return graph.PropID(id), ok
}

// PropName implements graph.Catalog.
func (g *Graph) PropName(id graph.PropID) string { return g.state.Load().names[2].name(uint32(id)) }

// Labels implements graph.Catalog.
func (g *Graph) Labels(set graph.LabelSet) []graph.LabelID {
	labels := g.state.Load().labels
	if int(set) >= len(labels) {
		return nil
	}
	return labels[set]
}

// AllLabels implements graph.Catalog.
func (g *Graph) AllLabels() []string { return g.state.Load().names[0].all }

// AllTypes implements graph.Catalog.
func (g *Graph) AllTypes() []string { return g.state.Load().names[1].all }

// AllProps implements graph.Catalog.
func (g *Graph) AllProps() []string { return g.state.Load().names[2].all }

// Indexes implements graph.Catalog.
func (g *Graph) Indexes() []graph.Index { return g.state.Load().indexes }

// Version implements graph.Catalog.
func (g *Graph) Version() uint64 { return g.state.Load().version }
