package plan

import (
	"maps"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// EdgeGroups returns the rows of Input, which counts the edges of Type by properties of their ends. The shards group
// the vertices of both ends first; if there are too many groups, Input runs.
//
// Without Input it is below a Fallback: its rows are groups of identical values, for what is computed from them (1 and 1.0 are apart), with
// their numbers.
type EdgeGroups struct {
	Input  Node
	Type   string
	Dir    graph.Direction
	Ends   [2]GroupEnd // the vertex whose list has the edge, and the far end
	Same   bool        // the ends are numbered alike
	Places map[Col]GroupKey
}

// GroupEnd is one end of the edges of an EdgeGroups.
type GroupEnd struct {
	Vertex Col
	Label  string // "": any
	Keys   []string
}

// GroupKey is the place of a key in an EdgeGroups: an end and the place among its keys.
type GroupKey struct{ End, At int }

func (n *EdgeGroups) inputs(f func(*Node)) {
	if n.Input != nil {
		f(&n.Input)
	}
}

func (*EdgeGroups) exprs(exprVisitor) {}

func (n *EdgeGroups) describe(f *formatter) (name, args string) {
	args = "[:" + n.Type + "]"
	if n.Input == nil {
		sep := " BY "
		for _, c := range slices.Sorted(maps.Keys(n.Places)) {
			e := n.Ends[n.Places[c].End]
			args += sep + f.col(e.Vertex) + "." + e.Keys[n.Places[c].At] + " AS " + f.col(c)
			sep = ", "
		}
	}
	return "EdgeGroupAggregation", args
}

func (n *EdgeGroups) rows(e *Estimator, in float64) float64 {
	if n.Input == nil {
		return max(1, float64(e.o.Counts.ByType[n.Type])*guessGroups)
	}
	return in
}

// Key returns the place of an output column, or nil for a count.
func (n *EdgeGroups) Key(c Col) *GroupKey {
	if k, ok := n.Places[c]; ok {
		return &k
	}
	return nil
}

// Fallback returns the rows of Groups, whose EdgeGroups has no Input. If there are too many groups, it returns those of Rows, which are the
// same, from the edges.
type Fallback struct {
	Groups, Rows Node
	Cols         []Col
}

func (n *Fallback) inputs(f func(*Node)) {
	f(&n.Groups)
	f(&n.Rows)
}

func (*Fallback) exprs(exprVisitor) {}

func (*Fallback) describe(_ *formatter) (name, args string) { return "Fallback", "" }

func (n *Fallback) rows(e *Estimator, _ float64) float64 {
	rows, seen := e.of(n.Rows), e.seen
	e.of(n.Groups)
	e.seen = min(e.seen, seen)
	return rows
}
