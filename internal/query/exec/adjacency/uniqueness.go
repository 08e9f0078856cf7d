package adjacency

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// NeedUnique adds the columns that relationship uniqueness compares to what an expansion needs of its input. If an expansion
// right below binds a column that no other node reads, the column needs only the edges' ids: it is then requested by its
// negated number, and holds the ids as if they were vertices.
func NeedUnique(c *compile.Compiler, need plan.ColSet, in plan.Node, cols []plan.Col) {
	for _, col := range cols {
		if !need.Has(col) && bindsEdge(in, col) {
			need.Add(-col)
		} else {
			need.Add(col)
		}
	}
}

// bindsEdge reports whether a chain of operators that pass on their columns binds an edge.
func bindsEdge(n plan.Node, edge plan.Col) bool {
	for {
		switch x := n.(type) {
		case *plan.Expand:
			if x.Edge == edge {
				return true
			}
			n = x.Input
		case *plan.Intersect:
			if x.Legs[0].Edge == edge || x.Legs[1].Edge == edge {
				return true
			}
			n = x.Input
		case *plan.VarExpand:
			n = x.Input
		case *plan.Seek:
			n = x.Input
		case *plan.Scan:
			n = x.Input
		default:
			return false
		}
	}
}

// Uniqueness returns the edges that an expansion must not repeat.
type Uniqueness struct {
	Pos []int // positions of the edge columns in the input
	b   *runtime.Batch
	ids []graph.EdgeID
}

// NewUniqueness creates the check over an input with the edges in these columns.
func NewUniqueness(in *runtime.Stage, cols []plan.Col) Uniqueness {
	var u Uniqueness
	for _, col := range cols {
		pos := in.Pos(col)
		if pos < 0 {
			pos = in.Pos(-col)
		}
		u.Pos = append(u.Pos, pos)
	}
	return u
}

// Begin sets the input batch.
func (u *Uniqueness) Begin(b *runtime.Batch) { u.b = b }

// Excluded returns the edges of a row. The result is valid until the next call.
func (u *Uniqueness) Excluded(row int32) []graph.EdgeID {
	u.ids = u.ids[:0]
	for _, p := range u.Pos {
		col := &u.b.Cols[p]
		if col.IDs != nil {
			u.ids = append(u.ids, graph.EdgeID(col.IDs[row]))
			continue
		}
		switch v := col.Vals[row]; v.Kind() {
		case graph.EdgeKind:
			u.ids = append(u.ids, v.EdgeID())
		case graph.List:
			for _, e := range v.List() {
				if e.Kind() == graph.EdgeKind {
					u.ids = append(u.ids, e.EdgeID())
				}
			}
		}
	}
	return u.ids
}

// ContainsAny reports whether list contains any of ids.
func ContainsAny(list, ids []graph.EdgeID) bool {
	for _, id := range ids {
		if slices.Contains(list, id) {
			return true
		}
	}
	return false
}
