package optimize

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// skew returns the factor by which edge i of the pattern produces more rows than its mean fan-out from one of its ends suggests,
// because the plan has already followed edges of the same lists, as on the way from a post to a tag and on to the posts with that
// tag. A list is reached in proportion to its length, so the factor is the mean of the squares over the square of the mean: a few
// long lists make it far more than 1. The last of two such edges carries it, from whichever end the plan reaches it, so that the
// estimate of a pattern does not depend on the order of its edges.
func (m *matcher) skew(t *partialPlan, i int, end plan.Col, dir graph.Direction) float64 {
	e := &m.p.Edges[i]
	factor := 1.0
	if len(e.Types) != 1 || e.Length != nil {
		return factor
	}
	if n := t.lists[list{end, e.Types[0], dir}]; n > 0 {
		by := m.o.Unevenness(e.Types[0], dir)
		for range n {
			factor *= by
		}
	}
	return factor
}

// skews is skew at both ends.
func (m *matcher) skews(t *partialPlan, i int) float64 {
	e := &m.p.Edges[i]
	return m.skew(t, i, e.Left, e.Dir) * m.skew(t, i, e.Right, e.Dir.Reverse())
}

// meanListLength is the mean length of the list that an edge of a type is in, the longer of both directions if both are
// followed; 0 if unknown.
func (o *optimizer) meanListLength(typ string, dir graph.Direction) float64 {
	most := 0.0
	o.EachLists(typ, dir, func(_, edges, squares float64) { most = max(most, squares/edges) })
	return most
}
