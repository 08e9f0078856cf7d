// Package symbols maps the names of variables to what they mean at one place of a statement.
package symbols

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
)

// Table maps names to values. It is immutable: With returns another table, which shares what is equal, so that a clause of a statement with
// many variables costs only what it changes. It is a treap (Seidel and Aragon 1996).
type Table[V any] struct {
	root *node[V]
	n    int
}

type node[V any] struct {
	left, right *node[V]
	priority    uint64 // at least that of the nodes below
	name        string
	value       V
	at          int // its place in the order of definition
}

var seed = maphash.MakeSeed()

// Len returns the number of names.
func (m Table[V]) Len() int { return m.n }

// Get returns the value of a name.
func (m Table[V]) Get(name string) (v V, ok bool) {
	for n := m.root; n != nil; {
		switch c := cmp.Compare(name, n.name); {
		case c == 0:
			return n.value, true
		case c < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return v, false
}

// With returns a table in which a name has a value. A name that is there already keeps its place in the order.
func (m Table[V]) With(name string, v V) Table[V] {
	added := &node[V]{priority: maphash.String(seed, name), name: name, value: v, at: m.n}
	if m.root, added = m.root.with(added); added.at == m.n {
		m.n++
	}
	return m
}

// with returns a tree with a node, and that node, which has the place of the one that it replaces.
func (n *node[V]) with(add *node[V]) (root, added *node[V]) {
	if n == nil {
		return add, add
	}
	c := *n
	switch d := cmp.Compare(add.name, n.name); {
	case d == 0:
		c.value = add.value
		return &c, &c
	case d < 0:
		if c.left, added = n.left.with(add); c.left.priority > c.priority {
			up := c.left
			c.left, up.right = up.right, &c
			return up, added
		}
	default:
		if c.right, added = n.right.with(add); c.right.priority > c.priority {
			up := c.right
			c.right, up.left = up.left, &c
			return up, added
		}
	}
	return &c, added
}

// All returns the names and values in the order of their definition.
func (m Table[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		all := make([]*node[V], 0, m.n)
		m.root.each(func(n *node[V]) bool {
			all = append(all, n)
			return true
		})
		slices.SortFunc(all, func(a, b *node[V]) int { return a.at - b.at })
		for _, n := range all {
			if !yield(n.name, n.value) {
				return
			}
		}
	}
}

// Sorted returns the names and values in the order of the names.
func (m Table[V]) Sorted() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		m.root.each(func(n *node[V]) bool { return yield(n.name, n.value) })
	}
}

func (n *node[V]) each(yield func(*node[V]) bool) bool {
	return n == nil || n.left.each(yield) && yield(n) && n.right.each(yield)
}
