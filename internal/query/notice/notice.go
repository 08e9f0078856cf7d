// Package notice keeps the notifications of a prepared statement, which change with the names that its graph has.
package notice

import (
	"slices"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// Notices are the notifications of a prepared statement. The zero value has none and reads no catalog.
type Notices struct {
	always  []plan.Notification
	unknown []plan.Mention // names that the graph lacked when the statement was prepared
	// now caches the last notifications until the graph gains a name; nil if unknown is empty.
	now *atomic.Pointer[state]
}

// state has the notifications at one state of a catalog, which only gains names.
type state struct {
	names [3]int // labels, types and properties of the graph
	list  []plan.Notification
}

// Of returns the notices of an optimized plan, with positions in the text if placed.
func Of(q *plan.Query, g shard.Graph, placed bool) Notices {
	n := Notices{always: slices.Clone(q.Notifications)}
	for _, m := range q.NoIndex {
		if !placed {
			m.Pos = graph.Pos{}
		}
		note := m.Notification("CREATE INDEX FOR (n:" + ast.Quote(m.Label) + ") ON (n." + ast.Quote(m.Prop) + ")")
		if !slices.Contains(n.always, note) {
			n.always = append(n.always, note)
		}
	}
	sortByPlace(n.always)
	for i := range q.Mentions {
		if !q.Mentions[i].Known(g) {
			n.unknown = append(n.unknown, q.Mentions[i])
		}
	}
	if n.unknown != nil {
		n.now = new(atomic.Pointer[state])
	}
	return n
}

// Always returns notices of a statement that does not depend on the graph.
func Always(list []plan.Notification) Notices { return Notices{always: list} }

// At returns the notifications at the current state of a graph's catalog. The caller must not change them.
func (n *Notices) At(g graph.Catalog) []plan.Notification {
	if n.now == nil {
		return n.always
	}
	known := [...][]string{plan.LabelKind: g.AllLabels(), plan.TypeKind: g.AllTypes(), plan.PropertyKind: g.AllProps()}
	names := [...]int{len(known[0]), len(known[1]), len(known[2])}
	if last := n.now.Load(); last != nil && last.names == names {
		return last.list
	}
	list := slices.Clone(n.always)
	for i := range n.unknown {
		if m := &n.unknown[i]; !m.Known(g) {
			list = append(list, m.Unknown(ast.Nearest(m.Name, known[m.Kind])))
		}
	}
	sortByPlace(list)
	n.now.Store(&state{names: names, list: list})
	return list
}

func sortByPlace(list []plan.Notification) {
	slices.SortStableFunc(list, func(a, b plan.Notification) int { return a.Pos.Offset - b.Pos.Offset })
}
