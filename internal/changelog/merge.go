package changelog

import (
	"cmp"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Merger makes one change of all those of an element in a transaction.
type Merger struct {
	at      map[element]int
	changes []Change
}

type element struct {
	tx   int
	edge bool
	id   uint64
}

// Add adds a change, whose values and memory of strings it keeps.
func (m *Merger) Add(c *Change) {
	key := element{tx: c.Tx, edge: c.IsEdge, id: uint64(c.Vertex)}
	if c.IsEdge {
		key.id = uint64(c.Edge.ID)
	}
	at, ok := m.at[key]
	if !ok || c.Op == Skipped {
		if m.at == nil {
			m.at = map[element]int{}
		}
		if c.Op != Skipped {
			m.at[key] = len(m.changes)
		}
		m.changes = append(m.changes, *c)
		own := &m.changes[len(m.changes)-1]
		own.Before.Props, own.After.Props = slices.Clone(c.Before.Props), slices.Clone(c.After.Props)
		own.Keys, own.Src.Keys, own.Dst.Keys = slices.Clone(c.Keys), slices.Clone(c.Src.Keys), slices.Clone(c.Dst.Keys)
		return
	}
	m.changes[at].then(c)
}

// then makes the change one of both.
func (c *Change) then(next *Change) {
	c.Before.Props = Overlay(slices.Clone(next.Before.Props), c.Before.Props)
	c.After.Props = Overlay(c.After.Props, next.After.Props)
	c.After.Labels = next.After.Labels
	c.Keys = slices.Clone(next.Keys)
	c.Src, c.Dst = next.Src, next.Dst
	c.Src.Keys, c.Dst.Keys = slices.Clone(next.Src.Keys), slices.Clone(next.Dst.Keys)
	c.Full = c.Full || next.Full
	switch {
	case c.Op == Created && next.Op == Deleted:
		*c = Change{Op: Skipped, Tx: c.Tx} // it never was
	case c.Op == Created:
		c.Before = State{}
	case next.Op == Deleted:
		c.Op, c.After = Deleted, State{}
		c.Before.Props = slices.DeleteFunc(c.Before.Props, func(p graph.Property) bool { return p.Value.IsNull() })
	}
}

// Overlay sets properties of dst, in ascending order, to those of over, and returns dst.
func Overlay(dst, over []graph.Property) []graph.Property {
	for _, p := range over {
		at, ok := slices.BinarySearchFunc(dst, p.ID, func(q graph.Property, id graph.PropID) int { return cmp.Compare(q.ID, id) })
		if ok {
			dst[at] = p
		} else {
			dst = slices.Insert(dst, at, p)
		}
	}
	return dst
}

// Take returns the changes in the order in which their elements were first changed, without those that leave everything as it was, and
// empties the merger. They are valid until the next Add.
func (m *Merger) Take() []Change {
	out := m.changes[:0]
	for _, c := range m.changes {
		switch {
		case c.Op == Skipped && c.Counts == [6]uint64{}:
			continue
		case c.Op == Created:
			c.After.Props = slices.DeleteFunc(c.After.Props, func(p graph.Property) bool { return p.Value.IsNull() })
		case c.Op == Changed:
			c.settle()
			if c.Before.Labels == c.After.Labels && (len(c.After.Props) == 0 || c.Full && equal(c.Before.Props, c.After.Props)) {
				continue
			}
		}
		out = append(out, c)
	}
	m.changes = m.changes[:0]
	clear(m.at)
	return out
}

// settle drops the properties that have not changed.
func (c *Change) settle() {
	if c.Full {
		return
	}
	n := 0
	for i, p := range c.After.Props {
		if !Identical(p.Value, c.Before.Props[i].Value) {
			c.Before.Props[n], c.After.Props[n] = c.Before.Props[i], p
			n++
		}
	}
	c.Before.Props, c.After.Props = c.Before.Props[:n], c.After.Props[:n]
}

func equal(a, b []graph.Property) bool {
	return slices.EqualFunc(a, b, func(p, q graph.Property) bool { return p.ID == q.ID && Identical(p.Value, q.Value) })
}
