package query

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader/resource"
	"github.com/hopgate/hopgate/internal/query/endless"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// work is a statement whose work is measured over a graph and an input of size $n.
type work struct {
	operator  string // as endless.Request names it; "" for a further case of the one before
	world     string // statements, separated by semicolons
	statement string
}

const (
	hub     = "CREATE (h:Hub) WITH h UNWIND range(1, $n) AS x CREATE (h)-[:H {k: x}]->(:Leaf {k: x})"
	hubIn   = "CREATE (h:Hub) WITH h UNWIND range(1, $n) AS x CREATE (h)<-[:H {k: x}]-(:Leaf {k: x})"
	leaves  = "CREATE (:Hub) WITH 1 AS one UNWIND range(1, $n) AS x CREATE (:Leaf {k: x})"
	pairs   = "UNWIND range(1, $n) AS x CREATE (:V {k: x})-[:R {k: x}]->(:W {k: x})"
	indexed = "CREATE INDEX FOR (a:Leaf) ON (a.k); CREATE INDEX FOR ()-[r:H]-() ON (r.k); "
	unique  = "CREATE CONSTRAINT FOR (a:Leaf) REQUIRE a.k IS UNIQUE; "
	parts   = " IN TRANSACTIONS OF 100 ROWS"
	two     = "CREATE (a:Hub), (b:Hub) WITH a, b UNWIND range(1, $n) AS x CREATE (a)-[:H {k: x}]->(l:Leaf {k: x})<-[:H {k: x}]-(b)"
	same    = "CREATE (a:Hub), (b:Leaf) WITH a, b UNWIND range(1, $n) AS x CREATE (a)-[:H {k: x}]->(b)"
)

// works has the operators of package endless and all that writes, over hubs and over many vertices.
var works = []work{
	{operator: "Unit", statement: "UNWIND range(1, $n) AS x RETURN sum(x)"},
	{operator: "Argument", statement: "UNWIND range(1, $n) AS x CALL { WITH x UNWIND range(1, 3) AS y RETURN sum(y + x) AS s } RETURN sum(s)"},
	{operator: "Scan", world: pairs, statement: "MATCH (a:V) WHERE a.k < 0 RETURN a"},
	{operator: "Seek", world: indexed + leaves, statement: "UNWIND range(1, $n) AS x MATCH (a:Leaf {k: x}) RETURN sum(a.k)"},
	{operator: "SeekRange", world: indexed + leaves, statement: "MATCH (a:Leaf) WHERE a.k > 0 RETURN sum(a.k)"},
	{operator: "SeekEdges", world: indexed + hub, statement: "UNWIND range(1, $n) AS x MATCH ()-[r:H {k: x}]->() RETURN sum(r.k)"},
	{operator: "SeekEdgeRange", world: indexed + hub, statement: "MATCH ()-[r:H]->() WHERE r.k > 0 RETURN sum(r.k)"},
	{operator: "SeekID", world: leaves, statement: "MATCH (n:Leaf) WITH id(n) AS i MATCH (a) WHERE id(a) = i RETURN sum(a.k)"},
	{operator: "Expand", world: hub, statement: "MATCH (h:Hub)-[r]->(l) RETURN sum(r.k + l.k)"},
	{world: pairs, statement: "MATCH (v:V)-[r]->(w) RETURN sum(r.k + w.k)"},
	{operator: "Intersect", world: "UNWIND range(1, $n) AS x CREATE (a:V)-[:R]->(b:V)-[:R]->(c:V)-[:R]->(a)", statement: "MATCH (a:V)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(a.k)"},
	{operator: "VarExpand", world: hub, statement: "MATCH (h:Hub)-[r*1..3]->(l) RETURN sum(l.k)"},
	{operator: "FindPaths", world: hub, statement: "MATCH p = (h:Hub) ((u)-[r]->(v) WHERE r.k = v.k){1,2} (l) RETURN count(p)"},
	{operator: "ShortestPath", world: pairs, statement: "MATCH (v:V)-->(w) MATCH p = shortestPath((v)-[*..3]->(w)) RETURN count(p)"},
	{operator: "Filter", statement: "UNWIND range(1, $n) AS x WITH x WHERE x < 0 RETURN x"},
	{operator: "Project", statement: "UNWIND range(1, $n) AS x WITH x, x * 2 + 1 AS y RETURN sum(x + y)"},
	{operator: "Aggregate", statement: "UNWIND range(1, $n) AS x WITH x AS k, count(*) AS c, collect(x) AS l RETURN sum(c + size(l))"},
	{operator: "Distinct", statement: "UNWIND range(1, $n) AS x WITH DISTINCT x AS y RETURN count(y)"},
	{operator: "Sort", statement: "UNWIND range(1, $n) AS x WITH x ORDER BY x * 7919 % 100003 RETURN collect(x)[0]"},
	{operator: "Slice", statement: "UNWIND range(1, $n) AS x RETURN x SKIP $n"},
	{operator: "Unwind", statement: "UNWIND range(1, $n) AS x UNWIND [x, x] AS y RETURN sum(y)"},
	{operator: "Apply", world: hub, statement: "MATCH (l:Leaf) OPTIONAL MATCH (l)<-[r]-(h) RETURN sum(r.k)"},
	{operator: "Transactions", statement: "UNWIND range(1, $n) AS x CALL { WITH x CREATE (:M {k: x}) }" + parts},
	{operator: "HashJoin", world: pairs, statement: "MATCH (v:V), (w:W) WHERE v.k = w.k RETURN count(*)"},
	{operator: "Union", statement: "UNWIND range(1, $n) AS x RETURN x UNION UNWIND range(1, $n) AS x RETURN x"},
	{operator: "Eager", world: pairs, statement: "MATCH (v:V) SET v.k = v.k + 1 WITH v MATCH (v)-->(w) SET w.k = v.k"},
	{operator: "Create", statement: "UNWIND range(1, $n) AS x CREATE (:M {k: x})"},
	{world: indexed + leaves, statement: "UNWIND range(1, $n) AS x CREATE (:Leaf {k: x})"},
	{world: leaves, statement: "MATCH (h:Hub), (l:Leaf) CREATE (h)-[:H {k: l.k}]->(l)"},
	{world: leaves, statement: "MATCH (l:Leaf), (h:Hub) CALL { WITH h, l CREATE (h)-[:H {k: l.k}]->(l) }" + parts},
	{operator: "Merge", world: unique + leaves, statement: "UNWIND range(1, 2 * $n) AS x MERGE (:Leaf {k: x})"},
	{world: leaves, statement: "MATCH (h:Hub), (l:Leaf) MERGE (h)-[r:H]->(l) ON CREATE SET r.k = l.k"},
	{world: hub, statement: "MATCH (h:Hub), (l:Leaf) MERGE (h)-[r:H]->(l) ON MATCH SET r.k = 0"},
	{operator: "Set", world: leaves, statement: "MATCH (l:Leaf) SET l.v = l.k, l:New REMOVE l.k"},
	{world: unique + leaves, statement: "MATCH (l:Leaf) SET l.k = -l.k"},
	{world: hub, statement: "MATCH (h:Hub)-[r]->() SET r.i = 1"},
	{world: hubIn, statement: "MATCH (h:Hub)<-[r]-() SET r += {i: 1} REMOVE r.k"},
	{world: indexed + hub, statement: "MATCH (h:Hub)-[r]->() SET r.k = -r.k"},
	{world: hub, statement: "MATCH (h:Hub)-[r]->(l) SET r.i = 1, l.i = 1"},
	{world: hub, statement: "MATCH (h:Hub)-[r]->() CALL { WITH r SET r.i = 1 }" + parts},
	{world: two, statement: "MATCH (l:Leaf)<-[r]-(h) SET r.i = 1"},
	{operator: "Delete", world: hub, statement: "MATCH (h:Hub) DETACH DELETE h"},
	{world: hubIn, statement: "MATCH (h:Hub) DETACH DELETE h"},
	{world: indexed + hub, statement: "MATCH (h:Hub) DETACH DELETE h"},
	{world: hub + "; MATCH ()-[r]->() SET r.i = 1", statement: "MATCH (h:Hub) DETACH DELETE h"},
	{world: hub, statement: "MATCH (l:Leaf) DETACH DELETE l"},
	{world: hub, statement: "MATCH (l:Leaf) CALL { WITH l DETACH DELETE l }" + parts},
	{world: hub, statement: "MATCH (h:Hub)-[r]->() DELETE r"},
	{world: two, statement: "MATCH (l:Leaf)<-[r]-() DELETE r"},
	{world: same, statement: "MATCH (:Hub)-[r]->() DELETE r"},
	{world: hub, statement: "MATCH (h:Hub)-[r]->() CALL { WITH r DELETE r }" + parts},
	{world: pairs, statement: "MATCH (v:V)-[r]->(w) DELETE r, v, w"},
	{operator: "Foreach", world: hub, statement: "MATCH (h:Hub)-[r]->() WITH collect(r) AS rs FOREACH (r IN rs | SET r.i = 1)"},
	{world: hub, statement: "MATCH (h:Hub)-[r]->() FOREACH (x IN [1] | DELETE r)"},
	{operator: "CallProc", world: hub, statement: "MATCH (l:Leaf) CALL db.labels() YIELD label RETURN count(label)"},
	{operator: "LoadCSV", statement: "UNWIND range(1, $n) AS x LOAD CSV FROM 'file:///people.csv' AS line RETURN count(line[0])"},
	{operator: "Drain", statement: "UNWIND range(1, $n) AS x CALL { WITH x CREATE (m:M {k: x}) DELETE m }"},
	{operator: "CountStore", world: leaves, statement: "MATCH (n:Leaf) RETURN count(*)"},
	{operator: "BlockAggregate", world: hub, statement: "MATCH ()-[r:H]->() RETURN max(r.k)"},
	{operator: "EdgeGroups", world: pairs, statement: "MATCH (a:V)-[:R]->(b:W) WITH a.k AS k, b.k AS l, count(*) AS c RETURN sum(c)"},
	{operator: "Fallback", world: pairs, statement: "MATCH (a:V)-[:R]->(b:W) WITH a.k + b.k AS k, count(*) AS c RETURN sum(c)"},
	{operator: "MultiplicityCount", world: pairs, statement: "MATCH (a:V)-[:R]->(b)<-[:R]-(c) RETURN count(*)"},
	{operator: "PathMultiplicity", world: pairs, statement: "MATCH (a:V)-[:R]->(b)<-[:R]-(c) RETURN a.k, count(*)"},
	{operator: "PairMultiplicity", world: pairs, statement: "MATCH (b)<-[:R]-(a:V)-[:R]->(c) WHERE b <> c RETURN count(*)"},
	{operator: "FrontierCount", world: hub, statement: "MATCH (a:Hub)-[:H]->()<-[:H]-(b) RETURN count(DISTINCT b)"},
}

// TestWorkIsLinear compares what statements allocate over inputs of which one is four times as large: four times as much, and a little
// more where something is sorted. A step that reads or copies the whole input for each row makes it sixteen times.
func TestWorkIsLinear(t *testing.T) {
	covered := map[string]bool{}
	for _, w := range works {
		covered[w.operator] = true
		name := strings.TrimSpace(w.operator + " " + w.statement)
		t.Run(name, func(t *testing.T) {
			const n = 500
			small, large := allocated(t, w, n), allocated(t, w, 4*n)
			t.Logf("%d and %d KiB", small>>10, large>>10)
			require.LessOrEqual(t, float64(large), 7*float64(small)+(256<<10), "%s allocates %d bytes for %d rows and %d for %d", w.statement, small, n, large, 4*n)
		})
	}
	for _, r := range endless.Requests {
		require.True(t, r.Typed != nil || r.Operator == "" || covered[r.Operator], "no statement measures the work of the operator %s", r.Operator)
	}
}

// allocated is how many bytes a statement allocates.
func allocated(t *testing.T, w work, n int) uint64 {
	t.Helper()
	store, err := local.Open(local.Options{
		Dir: "data", FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler), Tuning: local.Tuning{CompactIdle: time.Hour},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	e := New(store, Options{Open: resource.NewOpener("testdata/import", resource.List{}).Open})
	run := func(text string) {
		_, err := rowsOf(e.Query(context.Background(), Request{Statement: strings.ReplaceAll(text, "$n", strconv.Itoa(n))}))
		require.NoError(t, err, text)
	}
	for text := range strings.SplitSeq(w.world, "; ") {
		if text != "" {
			run(text)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(w.statement)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
