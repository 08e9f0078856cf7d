package plan

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Administers reports whether a plan reads only the server and the schema, not data: it computes with the results of administrative
// procedures.
func (q *Query) Administers() bool {
	calls, other := false, false
	var walk func(n Node)
	walk = func(n Node) {
		switch n := n.(type) {
		case *Unit, *Argument, *Filter, *Project, *Aggregate, *Distinct, *Sort, *Slice, *Unwind, *Union, *Apply:
		case *CallProc:
			calls = true
			space, _, _ := strings.Cut(n.Proc, ".")
			other = other || space != "show" && space != "dbms" && space != "db" && space != "tx"
		default:
			other = true
		}
		n.inputs(func(in *Node) { walk(*in) })
	}
	walk(q.Root)
	return calls && !other
}

// Merges reports whether the plan has a MERGE or a writing procedure, which creates whatever it does not find.
func (q *Query) Merges() bool {
	found := false
	var visit func(*Node)
	visit = func(n *Node) {
		switch n := (*n).(type) {
		case *Merge:
			found = true
		case *CallProc:
			found = found || n.Writes && q.Calls // one that runs no statement changes no data
		}
		(*n).inputs(visit)
	}
	visit(&q.Root)
	return found
}

// Seeks returns the indexes in which the plan seeks, without repeats, in order of their numbers.
func (q *Query) Seeks() (all []graph.Index) {
	var visit func(*Node)
	visit = func(n *Node) {
		switch n := (*n).(type) {
		case *Seek:
			all = append(all, n.Index)
		case *SeekRange:
			all = append(all, n.Index)
		case *SeekEdges:
			all = append(all, n.Index)
		case *SeekEdgeRange:
			all = append(all, n.Index)
		}
		(*n).inputs(visit)
		EachPlan(*n, visit)
	}
	visit(&q.Root)
	slices.SortFunc(all, func(a, b graph.Index) int { return int(a.ID) - int(b.ID) })
	return slices.CompactFunc(all, func(a, b graph.Index) bool { return a.ID == b.ID })
}

// Single reports whether a plan that is not optimized gives one row at most: it ends with LIMIT 1, or aggregates without keys.
func (q *Query) Single() bool {
	for n := q.Root; ; {
		switch at := n.(type) {
		case *Unit:
			return true
		case *Project:
			n = at.Input
		case *Filter:
			n = at.Input
		case *Sort:
			n = at.Input
		case *Distinct:
			n = at.Input
		case *Slice:
			if c, ok := at.Limit.(*Const); ok && c.Value.Kind() == graph.Int && c.Value.Int() <= 1 {
				return true
			}
			n = at.Input
		case *Aggregate:
			if len(at.Keys) == 0 {
				return true
			}
			n = at.Input
		default:
			return false
		}
	}
}

// NamedIndexes returns the names of the full-text and vector indexes that procedures of a plan search, where they are constants.
func (q *Query) NamedIndexes() (all []string) {
	var visit func(*Node)
	visit = func(n *Node) {
		if c, ok := (*n).(*CallProc); ok && len(c.Args) > 0 {
			proc := strings.ToLower(c.Proc)
			name, ok := c.Args[0].(*Const)
			search := strings.HasPrefix(proc, "db.index.fulltext.query") || strings.HasPrefix(proc, "db.index.vector.query")
			if ok && search && name.Value.Kind() == graph.String {
				all = append(all, name.Value.Str())
			}
		}
		(*n).inputs(visit)
		EachPlan(*n, visit)
	}
	visit(&q.Root)
	slices.Sort(all)
	return slices.Compact(all)
}
