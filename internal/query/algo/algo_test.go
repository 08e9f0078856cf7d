package algo_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

func onDisk(t testing.TB, shards int) shard.Store {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: shards, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func inMemory(t testing.TB) shard.Store {
	store := oracle.New(2)
	require.NoError(t, store.CreateGraph(t.Context(), query.DefaultGraph))
	return store
}

// run runs a statement and returns its rows.
func run(ctx context.Context, e *query.Engine, text string, params map[string]graph.Value) ([][]graph.Value, error) {
	res, err := e.Query(ctx, query.Request{Statement: text, Params: params})
	if err != nil {
		return nil, err
	}
	defer res.Close()
	var rows [][]graph.Value
	for {
		b, err := res.Next()
		if b == nil || err != nil {
			return rows, err
		}
		for i := range b.N {
			var row []graph.Value
			for c := range b.Cols {
				row = append(row, b.Cols[c].Value(i).Clone())
			}
			rows = append(rows, row)
		}
	}
}

func mustRun(t testing.TB, e *query.Engine, text string, params map[string]graph.Value) [][]graph.Value {
	rows, err := run(t.Context(), e, text, params)
	require.NoError(t, err, text)
	return rows
}

// random returns a graph with self-loops, parallel edges and vertices without edges.
func random(r *rand.Rand, n, edges int) *world {
	w := &world{n: n}
	for range edges {
		src, dst := r.IntN(n), r.IntN(n)
		if r.IntN(3) > 0 { // some vertices have many edges
			dst = r.IntN(1 + dst/2)
		}
		w.edges = append(w.edges, edge{src, dst, float64(r.IntN(20)) / 4})
	}
	return w
}

// fill creates a world's vertices, with the label V and their number, and edges of the type E with their weight, besides others.
func (w *world) fill(t testing.TB, e *query.Engine) {
	vertices, edges := make([]graph.Value, w.n), make([]graph.Value, len(w.edges))
	for i := range vertices {
		vertices[i] = graph.IntValue(int64(i))
	}
	for i, x := range w.edges {
		edges[i] = graph.ListValue([]graph.Value{graph.IntValue(int64(x.src)), graph.IntValue(int64(x.dst)), graph.FloatValue(x.weight)})
	}
	mustRun(t, e, "CREATE INDEX FOR (v:V) ON (v.i)", nil)
	mustRun(t, e, "CREATE (:Other)-[:E]->(:Other)", nil)
	mustRun(t, e, "UNWIND $ids AS i CREATE (:V {i: i})", map[string]graph.Value{"ids": graph.ListValue(vertices)})
	mustRun(t, e, "UNWIND $edges AS e MATCH (a:V {i: e[0]}), (b:V {i: e[1]}) CREATE (a)-[:E {w: e[2]}]->(b)", map[string]graph.Value{"edges": graph.ListValue(edges)})
	// Ties are decided by ids, so vertices are numbered in the order of these.
	rank := make([]int, w.n)
	for k, row := range mustRun(t, e, "MATCH (v:V) RETURN v.i, id(v) ORDER BY id(v)", nil) {
		rank[row[0].Int()] = k
	}
	for i, x := range w.edges {
		w.edges[i].src, w.edges[i].dst = rank[x.src], rank[x.dst]
	}
	for i := range rank {
		vertices[i] = graph.IntValue(int64(rank[i]))
	}
	mustRun(t, e, "MATCH (v:V) SET v.i = $rank[v.i]", map[string]graph.Value{"rank": graph.ListValue(vertices)})
	mustRun(t, e, "MATCH (o:Other), (v:V) WITH o, v LIMIT 3 CREATE (o)-[:E {w: 0.5}]->(v), (v)-[:E {w: 0.5}]->(o), (v)-[:F]->(v)", nil)
}

// values returns the results of a call by the numbers of the vertices.
func values(t testing.TB, e *query.Engine, w *world, call, result string) []graph.Value {
	rows := mustRun(t, e, fmt.Sprintf("CALL %s YIELD node, %s RETURN node.i, %s", call, result, result), nil)
	require.Len(t, rows, w.n, call)
	out := make([]graph.Value, w.n)
	for _, row := range rows {
		out[row[0].Int()] = row[1]
	}
	return out
}

// groups returns the least vertex number of each vertex's group.
func groups(vals []graph.Value) []int {
	least, out := map[int64]int{}, make([]int, len(vals))
	for v, g := range vals {
		if _, ok := least[g.Int()]; !ok {
			least[g.Int()] = v
		}
		out[v] = least[g.Int()]
	}
	return out
}

func requireFloats(t testing.TB, want []float64, have []graph.Value, what string) {
	for v, x := range have {
		if x.IsNull() {
			require.True(t, math.IsInf(want[v], 1), "%s: vertex %d", what, v)
			continue
		}
		require.InDelta(t, want[v], x.Number(), 1e-9*max(1, want[v]), "%s: vertex %d", what, v)
	}
}

const scope = "labels: 'V', types: ['E']"

// Every algorithm agrees with its definition on random graphs.
func TestDefinitions(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		w := random(r, 1+r.IntN(40), r.IntN(120))
		store := inMemory(t)
		if seed%2 == 0 {
			store = onDisk(t, 1+int(seed)%3)
		}
		e := query.New(store, query.Options{})
		w.fill(t, e)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { compare(t, e, w) })
	}
}

// Large graphs use all cores.
func TestLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	w := random(r, 20_000, 60_000)
	e := query.New(onDisk(t, 2), query.Options{})
	w.fill(t, e)
	require.Equal(t, naiveWCC(w), groups(values(t, e, w, "algo.wcc({"+scope+"})", "component")))
	a := values(t, e, w, "algo.pageRank({"+scope+"})", "rank")
	require.Equal(t, a, values(t, e, w, "algo.pageRank({"+scope+"})", "rank"), "the sums depend on the cores")
	values(t, e, w, "algo.cdlp({"+scope+"})", "community")
	triangles, coefficients := values(t, e, w, "algo.triangleCount({"+scope+"})", "triangles"), values(t, e, w, "algo.lcc({"+scope+", direction: 'both'})", "coefficient")
	for v, c := range coefficients {
		if d := float64(len(w.near(v))); d > 1 && v%100 == 0 {
			require.InDelta(t, 2*float64(triangles[v].Int())/(d*(d-1)), c.Float(), 1e-12)
		}
	}
}

func compare(t *testing.T, e *query.Engine, w *world) {
	for _, d := range []string{"out", "in", "both"} {
		call := fmt.Sprintf("({%s, direction: '%s', maxIterations: 7, damping: 0.7})", scope, d)
		requireFloats(t, naivePageRank(w.turned(d), 7, 0.7), values(t, e, w, "algo.pageRank"+call, "rank"), "pageRank "+d)
		call = fmt.Sprintf("({%s, direction: '%s', maxIterations: 5})", scope, d)
		requireGroups(t, e, w, naiveCDLP(w.turned(d), 5), "algo.cdlp"+call, "community")
	}
	requireGroups(t, e, w, naiveWCC(w), "algo.wcc({"+scope+"})", "component")
	requireFloats(t, naiveLCC(w, false), values(t, e, w, "algo.lcc({"+scope+"})", "coefficient"), "lcc")
	requireFloats(t, naiveLCC(w, true), values(t, e, w, "algo.lcc({"+scope+", direction: 'both'})", "coefficient"), "lcc both")
	requireFloats(t, naiveTriangles(w), values(t, e, w, "algo.triangleCount({"+scope+"})", "triangles"), "triangles")
	requireGroups(t, e, w, naiveSCC(w), "algo.scc({"+scope+"})", "component")
	requireFloats(t, naiveCores(w), values(t, e, w, "algo.kCore({"+scope+"})", "core"), "kCore")
	for _, d := range []string{"out", "in", "both"} {
		call := fmt.Sprintf("algo.betweenness({%s, direction: '%s'})", scope, d)
		requireFloats(t, naiveBetweenness(w.turned(d), d == "both"), values(t, e, w, call, "score"), call)
	}
	for _, d := range []string{"out", "in", "both"} {
		compareSimilarity(t, e, w, d)
	}
	checkCommunities(t, e, w)
	for source := range min(w.n, 3) {
		for _, d := range []string{"out", "in", "both"} {
			from := fmt.Sprintf("({%s, direction: '%s', source: s", scope, d)
			for call, weigh := range map[string]func(edge) float64{
				"algo.bfs" + from + "})": one, "algo.sssp" + from + "})": one, "algo.sssp" + from + ", weight: 'w'})": func(e edge) float64 { return e.weight },
			} {
				rows := mustRun(t, e, fmt.Sprintf("MATCH (s:V {i: %d}) CALL %s YIELD node, distance RETURN node.i, distance", source, call), nil)
				have := make([]graph.Value, w.n)
				for _, row := range rows {
					have[row[0].Int()] = row[1]
				}
				require.Len(t, rows, w.n)
				requireFloats(t, naiveDistances(w.turned(d), source, weigh), have, call)
			}
		}
	}
}

func one(edge) float64 { return 1 }

// requireGroups expects a group to be named by the id of its least vertex.
func requireGroups(t *testing.T, e *query.Engine, w *world, want []int, call, result string) {
	rows := mustRun(t, e, fmt.Sprintf("CALL %s YIELD node, %s MATCH (v:V) WHERE id(v) = %s RETURN node.i, v.i", call, result, result), nil)
	require.Len(t, rows, w.n, call)
	have := make([]int, w.n)
	for _, row := range rows {
		have[row[0].Int()] = int(row[1].Int())
	}
	require.Equal(t, want, have, call)
}

// A call whose argument names a property writes its results there and still returns rows.
func TestWrite(t *testing.T) {
	for name, store := range map[string]shard.Store{"memory": inMemory(t), "disk": onDisk(t, 2)} {
		t.Run(name, func(t *testing.T) {
			w := random(rand.New(rand.NewPCG(8, 8)), 30, 60)
			e := query.New(store, query.Options{})
			w.fill(t, e)
			ranks := values(t, e, w, "algo.pageRank({"+scope+"})", "rank")
			res, err := e.Query(t.Context(), query.Request{Statement: "CALL algo.pageRank({" + scope + ", writeProperty: 'rank'}) YIELD node RETURN count(node)"})
			require.NoError(t, err)
			b, err := res.Next()
			require.NoError(t, err)
			require.Equal(t, int64(30), b.Cols[0].Value(0).Int())
			_, err = res.Next()
			require.NoError(t, err)
			require.Equal(t, int64(30), res.Summary().PropertiesSet)
			res.Close()
			for _, row := range mustRun(t, e, "MATCH (v:V) RETURN v.i, v.rank", nil) {
				require.Equal(t, ranks[row[0].Int()], row[1])
			}
			require.Len(t, mustRun(t, e, "MATCH (o:Other) WHERE o.rank IS NULL RETURN o", nil), 2)
			_, err = e.Query(t.Context(), query.Request{Statement: "CALL algo.wcc({writeProperty: 'c'}) YIELD node RETURN node", ReadOnly: true})
			require.ErrorContains(t, err, "READ")
			_, err = run(t.Context(), e, "CALL algo.wcc($c) YIELD node RETURN node", map[string]graph.Value{
				"c": graph.MapValue([]graph.MapEntry{{Key: "writeProperty", Value: graph.StringValue("c")}}),
			})
			require.ErrorContains(t, err, "algo.wcc: writeProperty must be a literal, not a parameter")

			mustRun(t, e, "CALL algo.kCore({"+scope+"}) YIELD node, core CALL (node, core) { SET node.core = core } IN TRANSACTIONS OF 7 ROWS", nil)
			cores := naiveCores(w)
			for _, row := range mustRun(t, e, "MATCH (v:V) RETURN v.i, v.core", nil) {
				require.Equal(t, int64(cores[row[0].Int()]), row[1].Int())
			}
		})
	}
}

// A wrong argument is an error that names the procedure and the entry.
func TestArguments(t *testing.T) {
	e := query.New(inMemory(t), query.Options{})
	(&world{n: 2, edges: []edge{{0, 1, 1}}}).fill(t, e)
	for arg, want := range map[string]string{
		"{lables: 'V'}":                         "algo.pageRank: there is no `lables`; there are labels, types, direction, ",
		"'V'":                                   "argument `config` of 'algo.pageRank' must be Map, not String",
		"{labels: 'W'}":                         "algo.pageRank: labels: there is no label `W`",
		"{types: ['E', 'X']}":                   "algo.pageRank: types: there is no edge type `X`",
		"{labels: 3}":                           "algo.pageRank: labels must be a string that is not empty, not Integer 3",
		"{direction: 'up'}":                     "algo.pageRank: direction must be 'out', 'in' or 'both', not String 'up'",
		"{maxIterations: -1}":                   "algo.pageRank: maxIterations must be an integer from 0 to 1048576, not Integer -1",
		"{damping: 1.5}":                        "algo.pageRank: damping must be a number from 0 to 1, not Float 1.5",
		"{damping: 0.0 / 0.0}":                  "algo.pageRank: damping must be a number from 0 to 1, not Float NaN",
		"{writeProperty: ''}":                   "algo.pageRank: writeProperty must be a string that is not empty",
		"{labels: null, damping: null}":         "",
		"null":                                  "",
		"{labels: ['V', 'V', 'Other']}":         "",
		"{labels: [], types: [], tolerance: 1}": "",
	} {
		_, err := run(t.Context(), e, "CALL algo.pageRank("+arg+") YIELD node RETURN node", nil)
		if want == "" {
			require.NoError(t, err, arg)
		} else {
			require.ErrorContains(t, err, want, arg)
		}
	}
	require.Empty(t, mustRun(t, query.New(inMemory(t), query.Options{}), "CALL algo.pageRank() YIELD node RETURN node", nil))
}

// The memory of a call counts towards the statement until its rows have been read.
func TestMemory(t *testing.T) {
	store := onDisk(t, 1)
	e := query.New(store, query.Options{})
	mustRun(t, e, "UNWIND range(1, 20000) AS i CREATE (:V {i: i})", nil)
	for a, more := range map[string]string{
		"algo.pageRank": "", "algo.wcc": "", "algo.cdlp": "", "algo.lcc": "", "algo.triangleCount": "", "algo.scc": "", "algo.kCore": "", "algo.louvain": "",
		"algo.betweenness": ", samples: 10",
	} {
		_, err := run(t.Context(), query.New(store, query.Options{QueryBytes: 400_000}), "CALL "+a+"({labels: 'V'"+more+"}) YIELD node RETURN count(*)", nil)
		require.ErrorContains(t, err, "the budget of query-memory; operator "+a, a)
		rows := mustRun(t, query.New(store, query.Options{QueryBytes: 4_000_000}),
			"UNWIND range(1, 30) AS x CALL "+a+"({labels: 'V'"+more+"}) YIELD node RETURN count(*)", nil)
		require.Equal(t, int64(600_000), rows[0][0].Int())
	}
}

func compareSimilarity(t *testing.T, e *query.Engine, w *world, d string) {
	turned := w.turned(d)
	want := naiveSimilarity(turned)
	call := fmt.Sprintf("CALL algo.similarity({%s, direction: '%s', topK: %%d}) YIELD node1, node2, similarity RETURN node1.i, node2.i, similarity", scope, d)
	have := map[[2]int]float64{}
	best := make([]float64, w.n)
	for _, row := range mustRun(t, e, fmt.Sprintf(call, w.n), nil) {
		pair := [2]int{int(row[0].Int()), int(row[1].Int())}
		have[pair] = row[2].Float()
		best[pair[0]] = max(best[pair[0]], row[2].Float())
	}
	require.Equal(t, want, have, call)
	for _, row := range mustRun(t, e, fmt.Sprintf(call, 1), nil) {
		require.Equal(t, best[row[0].Int()], row[2].Float(), call)
		best[row[0].Int()] = 0
	}
	for _, s := range best {
		require.Zero(t, s, "a vertex has no best one")
	}
	mine := map[[2]int]float64{}
	one := fmt.Sprintf("MATCH (s:V {i: 0}) CALL algo.similarity({%s, direction: '%s', topK: %d, source: s}) YIELD node1, node2, similarity RETURN node1.i, node2.i, similarity", scope, d, w.n)
	for _, row := range mustRun(t, e, one, nil) {
		mine[[2]int{int(row[0].Int()), int(row[1].Int())}] = row[2].Float()
	}
	for pair := range want {
		if pair[0] != 0 {
			delete(want, pair)
		}
	}
	require.Equal(t, want, mine, one)
}

// checkCommunities requires communities better than none, of which no two are better merged.
func checkCommunities(t *testing.T, e *query.Engine, w *world) {
	group := groups(values(t, e, w, "algo.louvain({"+scope+", weight: 'w', maxIterations: 100})", "community"))
	if w.modularity(group) != w.modularity(group) { // all weights are 0
		return
	}
	single := make([]int, w.n)
	for v := range single {
		single[v] = v
	}
	q := w.modularity(group)
	require.GreaterOrEqual(t, q, w.modularity(single)-1e-9)
	for a := range w.n {
		for b := range a {
			if group[a] != a || group[b] != b {
				continue
			}
			joined := append([]int(nil), group...)
			for v, g := range joined {
				if g == a {
					joined[v] = b
				}
			}
			require.LessOrEqual(t, w.modularity(joined), q+1e-9)
		}
	}
}

// Cliques in a ring, joined by single edges, are the communities.
func TestLouvain(t *testing.T) {
	w := &world{n: 40}
	want := make([]int, w.n)
	for v := range w.n {
		want[v] = v / 5 * 5
		for u := v / 5 * 5; u < v; u++ {
			w.edges = append(w.edges, edge{u, v, 1})
		}
		if v%5 == 4 {
			w.edges = append(w.edges, edge{v, (v + 1) % w.n, 1})
		}
	}
	e := query.New(onDisk(t, 1), query.Options{})
	w.fill(t, e)
	require.Equal(t, want, groups(values(t, e, w, "algo.louvain({"+scope+"})", "community")))
}

// A sample returns the same scores each time, and a sample of all nodes the exact ones.
func TestSample(t *testing.T) {
	w := random(rand.New(rand.NewPCG(4, 4)), 50, 150)
	e := query.New(inMemory(t), query.Options{})
	w.fill(t, e)
	score := func(args string) []graph.Value { return values(t, e, w, "algo.betweenness({"+scope+args+"})", "score") }
	require.Equal(t, score(""), score(", samples: 50"))
	require.Equal(t, score(", samples: 5, seed: 7"), score(", samples: 5, seed: 7"))
	require.NotEqual(t, score(", samples: 5, seed: 7"), score(", samples: 5, seed: 8"))
}

// A call ends when it is cancelled, wherever it is.
func TestCancel(t *testing.T) {
	w := random(rand.New(rand.NewPCG(6, 6)), 20_000, 60_000)
	e := query.New(onDisk(t, 1), query.Options{})
	w.fill(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := run(ctx, e, "CALL algo.betweenness({"+scope+", direction: 'both'}) YIELD score RETURN sum(score)", nil) // takes long
		failed <- err
	}()
	require.Eventually(t, func() bool { return e.ActiveQueries() == 1 }, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
}
