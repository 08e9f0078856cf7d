package query

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// somePoint creates a point: on a border, near a few others, or anywhere.
func somePoint(rng *rand.Rand) graph.Value {
	crs := []graph.CRS{graph.WGS84, graph.WGS84, graph.WGS843D, graph.Cartesian, graph.Cartesian, graph.Cartesian3D}[rng.IntN(6)]
	var c [3]float64
	for d := range c {
		limit := 300.0
		if crs.Geographic() {
			limit = [3]float64{180, 90, 1e4}[d]
		}
		switch rng.IntN(5) {
		case 0:
			c[d] = []float64{limit, -limit, 0}[rng.IntN(3)]
		case 1:
			c[d] = limit * (2*rng.Float64() - 1)
		default:
			c[d] = float64(d*50+rng.IntN(4)) + rng.Float64()/100
		}
	}
	p, err := graph.MakePoint(crs, c[:crs.Dimensions()]...)
	if err != nil {
		panic(err)
	}
	return graph.PointValue(p)
}

// oddValues are no points.
var oddValues = []graph.Value{
	{},
	graph.IntValue(3), graph.FloatValue(math.NaN()), graph.StringValue("POINT(1 2)"), graph.BoolValue(true),
	graph.ListValue([]graph.Value{graph.PointValue(graph.Point{CRS: graph.Cartesian, X: 1, Y: 2})}),
}

func pointOrOdd(rng *rand.Rand) graph.Value {
	if rng.IntN(10) == 0 {
		return oddValues[rng.IntN(len(oddValues))]
	}
	return somePoint(rng)
}

// asMap returns the map from which point() builds the point.
func asMap(v graph.Value) graph.Value {
	if v.Kind() != graph.PointKind {
		return graph.Value{}
	}
	p := v.Point()
	m := []graph.MapEntry{{Key: "srid", Value: graph.IntValue(int64(p.CRS))}, {Key: "x", Value: graph.FloatValue(p.X)}, {Key: "y", Value: graph.FloatValue(p.Y)}}
	if p.CRS.Dimensions() == 3 {
		m = append(m, graph.MapEntry{Key: "z", Value: graph.FloatValue(p.Z)})
	}
	return graph.MapValue(m)
}

// Statements with conditions on points return the same through a point index as by a scan: # stands for nothing, or for a text that
// prevents the index.
func TestPointIndexDifferential(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		rng := rand.New(rand.NewPCG(1, 2))
		points := make([]graph.Value, 400)
		for i := range points {
			points[i] = pointOrOdd(rng)
		}
		params := map[string]graph.Value{"points": graph.ListValue(points)}
		run := func(run func(Request) ([]string, error), statement string) []string {
			rows, err := run(Request{Statement: statement, Params: params})
			require.NoError(t, err, statement)
			return rows
		}
		run(e.rows, "UNWIND range(0, 199) AS i CREATE (:P {i: i, at: $points[i]})")
		must(t, e, "CREATE POINT INDEX FOR (n:P) ON (n.at)")
		must(t, e, "CREATE POINT INDEX FOR ()-[r:R]-() ON (r.at)")
		run(e.rows, "UNWIND range(200, 399) AS i CREATE (:P {i: i, at: $points[i]})")
		run(e.rows, "MATCH (a:P), (b:P) WHERE b.i = (a.i * 7 + 3) % 400 CREATE (a)-[:R {i: a.i, at: $points[b.i]}]->(b)")
		statements := []string{
			"MATCH (n:P) WHERE point.withinBBox(n.at#, $lo, $hi) RETURN n.i",
			"MATCH (n:P) WHERE point.withinBBox(n.at#, $lo, $hi) RETURN n.i ORDER BY n.at, n.i LIMIT 7",
			"MATCH (n:P) WHERE point.distance(n.at#, $lo) <= $r RETURN n.i",
			"MATCH (n:P) WHERE $r > point.distance($lo, n.at#) RETURN n.i",
			"MATCH (n:P) WHERE n.at# = point($m) RETURN n.i",
			"MATCH (n:P {i: 5}) WHERE n.at# = point($m) RETURN n.i",
			"UNWIND [$lo, $hi, null, 7, $lo] AS c OPTIONAL MATCH (n:P) WHERE point.distance(n.at#, c) < $r RETURN c, n.i",
			"MATCH (c:P) WHERE c.i < 20 MATCH (n:P) WHERE point.distance(n.at#, c.at) <= c.i * 1000 RETURN c.i, n.i",
			"MATCH (n:P)-[r:R]->(m) WHERE point.distance(n.at#, $hi) <= $r AND point.withinBBox(m.at#, $lo, $hi) RETURN n.i, m.i",
			"MATCH ()-[r:R]->() WHERE point.withinBBox(r.at#, $lo, $hi) RETURN r.i",
			"MATCH (a)-[r:R]-(b) WHERE point.distance(r.at#, $lo) < $r RETURN a.i, r.i, b.i",
			"MATCH ()-[r:R]->() WHERE point($m) = r.at# RETURN r.i",
		}
		found := 0
		test := func(rows func(Request) ([]string, error), rounds int) {
			for range rounds {
				params["lo"], params["hi"] = pointOrOdd(rng), pointOrOdd(rng)
				for params["lo"].Kind() == graph.PointKind && params["hi"].Kind() == graph.PointKind && params["hi"].Point().CRS != params["lo"].Point().CRS {
					params["hi"] = somePoint(rng)
				}
				params["m"] = asMap(points[rng.IntN(len(points))])
				params["r"] = []graph.Value{
					graph.IntValue(0), graph.IntValue(-1), graph.FloatValue(1e3), graph.FloatValue(300 * rng.Float64()), graph.FloatValue(1e7 * rng.Float64()),
					graph.FloatValue(math.NaN()), graph.FloatValue(math.Inf(1)), graph.IntValue(math.MaxInt64), graph.FloatValue(3e5),
					{},
					graph.StringValue("x"),
				}[rng.IntN(11)]
				for _, s := range statements {
					got := run(rows, strings.ReplaceAll(s, "#", ""))
					want := run(rows, strings.NewReplacer("n.at#", "coalesce(n.at)", "m.at#", "coalesce(m.at)", "r.at#", "coalesce(r.at)").Replace(s))
					slices.Sort(got)
					slices.Sort(want)
					require.Equal(t, want, got, "%s with %v", s, params)
					found += len(got)
				}
			}
		}
		rounds := 12
		if testing.Short() {
			rounds = 5
		}
		test(e.rows, rounds)
		require.Greater(t, found, 300)
		// A transaction sees its own changes, and when they are committed all do.
		tx := begin(t, e, TxOptions{})
		run(tx.rows, "MATCH (n:P) WHERE n.i % 3 = 0 SET n.at = $points[(n.i + 1) % 400]")
		run(tx.rows, "MATCH (n:P) WHERE n.i % 5 = 0 REMOVE n.at")
		run(tx.rows, "MATCH (n:P) WHERE n.i % 11 = 0 REMOVE n:P")
		run(tx.rows, "MATCH (n:P) WHERE n.i % 7 = 0 DETACH DELETE n")
		run(tx.rows, "MATCH ()-[r:R]->() WHERE r.i % 3 = 0 SET r.at = $points[r.i]")
		run(tx.rows, "UNWIND range(0, 50) AS i CREATE (:P {i: 1000 + i, at: $points[i]})")
		test(tx.rows, rounds/4)
		require.NoError(t, tx.Commit(context.Background()))
		test(e.rows, rounds/4)

		for _, s := range statements {
			res, err := e.Query(context.Background(), Request{Statement: "EXPLAIN " + strings.ReplaceAll(s, "#", ""), Params: params})
			require.NoError(t, err)
			p := res.Summary().Plan
			for len(p.Children) > 0 && !strings.Contains(p.Operator, "PointIndexSeek") {
				p = p.Children[len(p.Children)-1]
			}
			require.Contains(t, p.Operator, "PointIndexSeek", s)
			res.Close()
		}
	})
}
