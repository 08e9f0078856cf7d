package exec_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// seenEdges counts the edges that expansions go over.
type seenEdges struct {
	shard.Tx
	n *int
}

func (s seenEdges) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	err := s.Tx.Expand(ctx, req, res)
	*s.n += res.Seen
	return err
}

// An intersection with one short list does not read the long lists, and returns the rows of a plan without intersections.
func TestIntersectFromTheShortList(t *testing.T) {
	g := build(t, []string{
		`UNWIND range(1, 40) AS i CREATE (:F {n: i})`,
		`UNWIND range(1, 500) AS i CREATE (:P {n: i})`,
		`MATCH (f:F), (p:P) WHERE p.n % 40 = f.n % 40 OR p.n % 97 = f.n CREATE (f)-[:C]->(p)`,
		`MATCH (f:F), (p:P) WHERE p.n % 40 = f.n % 40 CREATE (p)-[:C]->(f)`,
		`MATCH (f:F {n: 3}) CREATE (f)-[:C]->(f)`,
		`CREATE (t:T) WITH t MATCH (p:P) WHERE p.n IN [1, 3, 41, 123, 400] CREATE (t)-[:H]->(p), (p)-[:H]->(t)`,
		`MATCH (t:T), (p) WHERE p.n = 3 CREATE (t)-[:H]->(p), (t)-[:C]->(p)`,
	})
	legs := func(c graph.Direction, ctypes []string, h graph.Direction) [2]plan.Leg {
		return [2]plan.Leg{{Types: ctypes, Dir: c}, {Types: []string{"H"}, Dir: h}}
	}
	for name, ls := range map[string][2]plan.Leg{
		"out":    legs(graph.Out, []string{"C"}, graph.In),
		"in":     legs(graph.In, []string{"C"}, graph.Out),
		"both":   legs(graph.Both, []string{"C"}, graph.Both),
		"any":    legs(graph.Both, nil, graph.Both),
		"two":    legs(graph.Out, []string{"C", "H"}, graph.Both),
		"no way": legs(graph.Out, []string{"X"}, graph.Both),
	} {
		for _, edges := range []bool{false, true} {
			for _, label := range []string{"", "P", "F"} {
				got, seen := [2][]string{}, [2]int{}
				for way := range got {
					got[way], seen[way] = intersected(t, g, ls, way == 0, edges, label)
				}
				require.Equal(t, got[1], got[0], "%s %v %s", name, edges, label)
				if name != "no way" && label != "F" {
					require.NotEmpty(t, got[0], name)
				}
				require.Less(t, seen[0], 100, name)
				require.Less(t, 5*seen[0], seen[1]+1, name)
			}
		}
	}
}

// intersected returns the rows of two vertices, f and t, and their common neighbours, by intersection or by expanding f, and the
// number of edges seen.
func intersected(t *testing.T, g shard.Graph, ls [2]plan.Leg, intersects, edges bool, label string) (got []string, seen int) {
	q := &plan.Query{}
	vertex := func(name string) plan.Col { return q.NewCol(name, graph.VertexKind) }
	from, hub, to := vertex("f"), vertex("t"), vertex("p")
	q.Out = []plan.Col{from, to}
	ls[0].From, ls[1].From = from, hub
	if edges {
		ls[0].Edge, ls[1].Edge = q.NewCol("c", graph.EdgeKind), q.NewCol("h", graph.EdgeKind)
		ls[1].DistinctFrom = []plan.Col{ls[0].Edge}
		q.Out = append(q.Out, ls[0].Edge, ls[1].Edge)
	}
	name := func(l string) *plan.LabelExpr {
		if l == "" {
			return nil
		}
		return &plan.LabelExpr{Op: plan.LabelName, Name: l}
	}
	q.Names = make([]string, len(q.Out))
	in := &plan.Scan{Input: &plan.Scan{Input: &plan.Unit{}, Out: hub, Labels: name("T")}, Out: from, Labels: name("F")}
	if intersects {
		q.Root = &plan.Intersect{Input: in, To: to, Labels: name(label), Legs: ls[:]}
	} else {
		q.Root = &plan.Expand{
			Input: &plan.Expand{Input: in, From: from, Edge: ls[0].Edge, To: to, Types: ls[0].Types, Dir: ls[0].Dir, Labels: name(label)},
			From:  to, Edge: ls[1].Edge, To: hub, Types: ls[1].Types, Dir: ls[1].Dir.Reverse(), Into: true, DistinctFrom: ls[1].DistinctFrom,
		}
	}
	p, err := exec.Compile(q, exec.Options{})
	require.NoError(t, err)
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	rows, err := p.Run(context.Background(), g, seenEdges{tx, &seen}, exec.Env{})
	require.NoError(t, err)
	defer rows.Close()
	for {
		b, err := rows.Next(context.Background())
		require.NoError(t, err)
		if b == nil {
			slices.Sort(got)
			return got, seen
		}
		for i := range b.N {
			var row []byte
			for c := range b.Cols {
				row = append(notation.Append(row, b.Cols[c].Value(i)), ' ')
			}
			got = append(got, string(row))
		}
	}
}
