package plan

import "github.com/hopgate/hopgate/internal/graph"

// EdgeGroups returns the rows of Input, which counts the edges of Type by properties of their ends, or, with Identical, which has one
// row for each edge with its properties and a 1: of those with identical properties there may be one row, with their number. The shards
// group the vertices of both ends first; if there are too many groups, Input runs.
type EdgeGroups struct {
	Input  Node
	Type   string
	Dir    graph.Direction
	Ends   [2]GroupEnd // the vertex whose list has the edge, and the far end
	Same   bool        // the ends are numbered alike
	// Identical says that groups are of identical values, for what is computed from them: 1 and 1.0 are apart.
	Identical bool
	Places map[Col]GroupKey
}

// GroupEnd is one end of the edges of an EdgeGroups.
type GroupEnd struct {
	Label string // "": any
	Keys  []string
}

// GroupKey is the place of a key in an EdgeGroups: an end and the place among its keys.
type GroupKey struct{ End, At int }

func (n *EdgeGroups) inputs(f func(*Node)) { f(&n.Input) }

func (*EdgeGroups) exprs(exprVisitor) {}

func (n *EdgeGroups) describe(_ *formatter) (name, args string) {
	return "EdgeGroupAggregation", "[:" + n.Type + "]"
}

func (*EdgeGroups) rows(_ *Estimator, in float64) float64 { return in }

// Key returns the place of an output column, or nil for a count.
func (n *EdgeGroups) Key(c Col) *GroupKey {
	if k, ok := n.Places[c]; ok {
		return &k
	}
	return nil
}
