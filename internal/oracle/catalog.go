package oracle

import (
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

// names assigns numbers to names, from 1.
type names struct {
	byName map[string]uint32
	list   []string
}

func (n *names) find(name string) (uint32, bool) {
	id, ok := n.byName[name]
	return id, ok
}

func (n *names) intern(name string) uint32 {
	if id, ok := n.byName[name]; ok {
		return id
	}
	if n.byName == nil {
		n.byName = map[string]uint32{}
	}
	n.list = append(n.list, name)
	id := uint32(len(n.list))
	n.byName[name] = id
	return id
}

func (n *names) name(id uint32) string {
	if id == 0 || int(id) > len(n.list) {
		return ""
	}
	return n.list[id-1]
}

// catalog implements graph.Catalog. It never removes a name, not even on rollback.
type catalog struct {
	mu                   sync.RWMutex
	labels, types, props names
	sets                 [][]graph.LabelID // label set i+1
	indexes              []graph.Index
	nextIndex            graph.IndexID
	definitions          *definition.Set
	version              uint64
}

func (c *catalog) Label(name string) (graph.LabelID, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	id, ok := c.labels.find(name)
	return graph.LabelID(id), ok
}

func (c *catalog) LabelName(id graph.LabelID) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.labels.name(uint32(id))
}

func (c *catalog) Type(name string) (graph.TypeID, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	id, ok := c.types.find(name)
	return graph.TypeID(id), ok
}

func (c *catalog) TypeName(id graph.TypeID) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.types.name(uint32(id))
}

func (c *catalog) Prop(name string) (graph.PropID, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	id, ok := c.props.find(name)
	return graph.PropID(id), ok
}

func (c *catalog) PropName(id graph.PropID) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.props.name(uint32(id))
}

func (c *catalog) Labels(set graph.LabelSet) []graph.LabelID {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if set == 0 || int(set) > len(c.sets) {
		return nil
	}
	return c.sets[set-1]
}

func (c *catalog) AllLabels() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.labels.list)
}

func (c *catalog) AllTypes() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.types.list)
}

func (c *catalog) AllProps() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.props.list)
}

func (c *catalog) Indexes() []graph.Index {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.indexes
}

func (c *catalog) Definitions() *definition.Set {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.definitions
}

func (c *catalog) Define(_ context.Context, change definition.Change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, _, err := c.definitions.Apply(change)
	if next != c.definitions {
		c.definitions = next
		c.version++
	}
	return err
}

func (c *catalog) Version() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.version
}

// internLabelSet returns the number of a set of labels, which may be unsorted and contain repeats.
func (c *catalog) internLabelSet(labels []graph.LabelID) graph.LabelSet {
	labels = slices.Clone(labels)
	slices.Sort(labels)
	labels = slices.Compact(labels)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.sets {
		if slices.Equal(s, labels) {
			return graph.LabelSet(i + 1)
		}
	}
	c.sets = append(c.sets, labels)
	return graph.LabelSet(len(c.sets))
}

func (c *catalog) internLabel(name string) graph.LabelID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return graph.LabelID(c.labels.intern(name))
}

func (c *catalog) internType(name string) graph.TypeID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return graph.TypeID(c.types.intern(name))
}

func (c *catalog) internProp(name string) graph.PropID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return graph.PropID(c.props.intern(name))
}

// hasLabel reports whether a label set contains a label; every label set of a vertex contains the label 0.
func (c *catalog) hasLabel(set graph.LabelSet, label graph.LabelID) bool {
	if set == 0 {
		return false
	}
	return label == 0 || slices.Contains(c.Labels(set), label)
}
