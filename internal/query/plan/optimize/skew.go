package optimize

import (
	"math"

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
		by := m.o.unevenness(e.Types[0], dir)
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

// unevenness is the mean of the squared lengths of a type's lists divided by the square of the mean, by their histogram, in the
// direction in which it is greater if both are followed.
func (o *optimizer) unevenness(typ string, dir graph.Direction) float64 {
	most := 1.0
	o.eachLists(typ, dir, func(lists, edges, squares float64) { most = max(most, squares*lists/(edges*edges)) })
	return most
}

// meanListLength is the mean length of the list that an edge of a type is in, the longer of both directions if both are
// followed; 0 if unknown.
func (o *optimizer) meanListLength(typ string, dir graph.Direction) float64 {
	most := 0.0
	o.eachLists(typ, dir, func(_, edges, squares float64) { most = max(most, squares/edges) })
	return most
}

// eachLists calls f for each direction of dir with the number of lists of a type, the sum of their lengths and the sum of their
// squares, by their histogram.
func (o *optimizer) eachLists(typ string, dir graph.Direction, f func(lists, edges, squares float64)) {
	for _, d := range []graph.Direction{graph.Out, graph.In} {
		if dir != d && dir != graph.Both {
			continue
		}
		lists, edges, squares := 0.0, 0.0, 0.0
		for i, n := range o.Counts.Degrees[graph.TypeDir{Type: typ, Dir: d}] {
			size := 1.0
			if i > 0 {
				size = 1.5 * math.Exp2(float64(i)) // the middle of the bar
			}
			lists += float64(n)
			edges += float64(n) * size
			squares += float64(n) * size * size
		}
		if edges > 0 {
			f(lists, edges, squares)
		}
	}
}
