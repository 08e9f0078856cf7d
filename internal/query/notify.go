package query

import (
	"slices"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// notices are the notifications of a prepared statement. The zero value has none and reads no catalog.
type notices struct {
	always  []plan.Notification
	unknown []plan.Mention // names that the graph lacked when the statement was prepared
	// now caches the last notifications until the graph gains a name; nil if unknown is empty.
	now *atomic.Pointer[noticesAt]
}

// noticesAt are notifications at one state of a catalog, which only gains names.
type noticesAt struct {
	names [3]int // labels, types and properties of the graph
	list  []plan.Notification
}

// noticesOf returns the notices of an optimized plan, with positions in the text if placed.
func noticesOf(q *plan.Query, g shard.Graph, placed bool) notices {
	n := notices{always: slices.Clone(q.Notifications)}
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
		n.now = new(atomic.Pointer[noticesAt])
	}
	return n
}

// notifications returns the notifications of a statement, with positions in the text of the request.
func (p *prepared) notifications(g shard.Graph) []plan.Notification {
	list := p.notices.always
	if p.notices.now != nil {
		list = p.notices.at(g)
	}
	if len(list) == 0 || p.asked.literals == nil {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		if list[i].Pos.Line > 0 {
			list[i].Pos = p.place(list[i].Pos)
		}
	}
	return list
}

// at returns the notifications at the current state of a graph's catalog.
func (n *notices) at(g graph.Catalog) []plan.Notification {
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
	n.now.Store(&noticesAt{names: names, list: list})
	return list
}

func sortByPlace(list []plan.Notification) {
	slices.SortStableFunc(list, func(a, b plan.Notification) int { return a.Pos.Offset - b.Pos.Offset })
}
