package page_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/query/page"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/past"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// world is two engines over one store with a commit log: what one has begun, the other goes on with.
type world struct {
	t       testing.TB
	engines [2]*query.Engine
}

func open(t testing.TB, seed uint64, logBytes int64) *world {
	opts := localtest.Options(rand.New(rand.NewPCG(seed, 2)), 2)
	opts.FS, opts.LogBytes = vfs.NewMem(), logBytes
	s, err := local.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	w := &world{t: t}
	for i := range w.engines {
		w.engines[i] = query.New(restricted.NewStore(past.NewStore(s, past.DefaultBytes)), query.Options{})
	}
	return w
}

// answer is the answer to a statement, or a page of it.
type answer struct {
	columns        []string
	rows           []string
	snapshot, next string
	plan           string
}

func (w *world) run(ctx context.Context, e int, req query.Request) (a answer, err error) {
	res, err := w.engines[e].Query(ctx, req)
	if err != nil {
		return a, err
	}
	defer res.Close()
	for {
		b, err := res.Next()
		if err != nil {
			return a, err
		}
		if b == nil {
			s := res.Summary()
			a.columns, a.snapshot, a.next, a.plan = res.Columns, res.Snapshot(), s.NextPage, planText(s.Plan)
			return a, nil
		}
		for row := range b.N {
			var cells []string
			for k := range b.Cols {
				cells = append(cells, string(notation.TypedJSON.Append(nil, b.Cols[k].Value(row))))
			}
			a.rows = append(a.rows, strings.Join(cells, " "))
		}
	}
}

func (w *world) must(text string, params map[string]graph.Value) answer {
	a, err := w.run(w.t.Context(), 0, query.Request{Statement: text, Params: params})
	require.NoError(w.t, err, text)
	return a
}

// page returns a page of a statement, by an engine.
func (w *world) page(e int, text string, params map[string]graph.Value, size int, token string) (answer, error) {
	pg, err := page.New("pageSize", int64(size), token)
	if err != nil {
		return answer{}, err
	}
	return w.run(w.t.Context(), e, query.Request{Statement: text, Params: params, Limits: &query.Limits{Page: pg}})
}

// whole compares all pages of a statement with one page and, if its own order is total, with one read, both of the snapshot of the first.
// between runs after each page.
func (w *world) whole(rng *rand.Rand, text string, total bool, params map[string]graph.Value, between func()) {
	var all []string
	var snapshot, token string
	var columns []string
	for pages := 0; ; pages++ {
		size := 1 + rng.IntN(12)
		a, err := w.page(rng.IntN(2), text, params, size, token)
		require.NoError(w.t, err, text)
		require.LessOrEqual(w.t, len(a.rows), size)
		if token == "" {
			snapshot, columns = a.snapshot, a.columns
		}
		require.Equal(w.t, snapshot, a.snapshot, text)
		require.Equal(w.t, columns, a.columns)
		all = append(all, a.rows...)
		if token = a.next; token == "" {
			break
		}
		require.Len(w.t, a.rows, size, "a page before the last is full")
		require.Less(w.t, pages, 2000)
		between()
	}
	ctx, err := asof.With(w.t.Context(), "at", snapshot)
	require.NoError(w.t, err)
	for _, pg := range []*page.Page{nil, {Size: page.MaxSize}} {
		if pg == nil && !total {
			continue
		}
		long, err := w.run(ctx, rng.IntN(2), query.Request{Statement: text, Params: params, Limits: &query.Limits{Page: pg}})
		require.NoError(w.t, err, text)
		require.Equal(w.t, long.columns, columns)
		require.Equal(w.t, long.rows, all, text)
	}
}

// values are literals of all types that have an order, many of them equal or near each other.
var values = []string{
	"null", "0", "1", "1.0", "1.5", "-1", "2", "3", "0.0/0.0", "1e300", "9007199254740993", "9007199254740992.0", "''", "'a'", "'ab'", "'a\\u0000'", "'ä'", "true",
	"false", "date('2020-02-29')", "date('1999-01-01')", "time('12:00+01:00')", "time('11:00Z')", "localtime('12:00')",
	"datetime('2020-01-01T00:00:00.000000001[Europe/Berlin]')", "datetime('2019-12-31T23:00Z')", "localdatetime('2020-01-01T00:00')",
	"duration('P1M')", "duration('P30DT1S')", "point({x: 1, y: 2})", "point({longitude: 1.5, latitude: 2, height: 3})", "[1, 2]", "[1, 'a']", "[]",
}

// change is a random change of the graph.
func change(rng *rand.Rand) string {
	v := values[rng.IntN(len(values))]
	i := rng.IntN(120)
	switch rng.IntN(9) {
	case 0:
		return fmt.Sprintf("MERGE (n:P {k: %d}) SET n.v = %s, n.w = %d", i, v, i%5)
	case 1:
		return fmt.Sprintf("CREATE (:P {v: %s}), (:P:Z {v: %s, w: 2})", v, v)
	case 2:
		return fmt.Sprintf("MATCH (n:P {k: %d}) DETACH DELETE n", i)
	case 3:
		return fmt.Sprintf("MATCH (n:P {k: %d}) SET n.v = %s", i, v)
	case 4:
		return fmt.Sprintf("MATCH (n:P {k: %d}) REMOVE n:P", i)
	case 5:
		return fmt.Sprintf("MATCH (n:P {k: %d}), (m:P {k: %d}) CREATE (n)-[:R {v: %s}]->(m), (n)-[:R]->(m)", i, (i*7)%120, v)
	case 6:
		return fmt.Sprintf("MATCH (:P {k: %d})-[r]->() DELETE r", i)
	case 7:
		return fmt.Sprintf("MERGE (:Q {a: %d, b: '%d'})", i%7, i)
	}
	return fmt.Sprintf("MATCH (n:Q {a: %d}) DETACH DELETE n", i%7)
}

// statement is a random statement that has pages. total says that its order is total also for vertices without the property k.
func statement(rng *rand.Rand) (text string, total bool) {
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	desc := func() string { return one("", "", " DESC") }
	keys := func(last string, more ...string) string {
		var by []string
		for range rng.IntN(3) {
			by = append(by, one(more...)+desc())
		}
		return " ORDER BY " + strings.Join(append(by, last+desc()), ", ")
	}
	id := func(of string) string { return one("elementId("+of+")", "id("+of+")", of) }
	total = true
	switch rng.IntN(10) {
	case 9:
		total = false
		text = "MATCH (n:P) RETURN n.k, n.v" + keys("n.k", "n.v", "n.w")
	case 0:
		text = "MATCH (n:P) " + one("", "WHERE n.v > 1 ", "WHERE n.v < 'b' ", "WHERE n.w >= 1 ") + "RETURN n.k, n.v" + keys(id("n"), "n.v", "n.w", "n.k", "toString(n.w)", "labels(n)")
	case 1:
		text = "MATCH (n:Q) RETURN n, n.a AS a, n.b AS b" + one(" ORDER BY n.a, n.b", " ORDER BY b, a DESC", " ORDER BY n.a DESC, n.b DESC", " ORDER BY a, id(n)")
	case 2:
		text = "MATCH (a:P)-[r]->(b) RETURN a.k, r, b.v AS bv" + keys(id("r"), "a.k", "bv", "r.v", "b.w")
	case 3:
		text = "MATCH (a:P)-[r:R]->(b:P) RETURN a.k, b.k" + keys("a.k, id(b), "+id("r"), "a.v", "b.v")
	case 4:
		text = "MATCH (n:P) RETURN DISTINCT n.v AS v, n.w AS w" + one(" ORDER BY v, w", " ORDER BY w DESC, v", " ORDER BY v DESC, w DESC")
	case 5:
		text = "MATCH (a:P)-[r]->() RETURN a.v AS v, count(*) AS c" + one(" ORDER BY c DESC, v", " ORDER BY v")
	case 6:
		text = "MATCH (n:P) OPTIONAL MATCH (n)-[r]->(m:P) RETURN n.k, m.k" + keys(id("n")+", "+id("r"), "n.v", "m.k")
	case 7:
		text = "MATCH (n:P) WITH n ORDER BY n.v, id(n) LIMIT 40 MATCH (n)-[r]-(m) RETURN n.k, m.k ORDER BY n.w, elementId(n), elementId(r)" + desc() + ", elementId(m)"
	case 8:
		text = "MATCH (n:P) WHERE n.w = $w RETURN n.k AS k, n{.v, .w} AS m" + keys(one("k", "n.k", id("n")), "n.v")
		total = strings.Contains(text, "id(") || strings.Contains(text, "Id(")
	}
	if rng.IntN(3) == 0 {
		text += fmt.Sprintf(" SKIP %d", rng.IntN(9))
	}
	if rng.IntN(3) == 0 {
		text += one(" LIMIT 0", " LIMIT 7", " LIMIT 24", " LIMIT 3 + 20", " LIMIT $n")
	}
	return text, total
}

func TestPagesAreOneRead(t *testing.T) {
	for seed := range uint64(localtest.Seeds(4)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			w := open(t, seed, 8<<20)
			w.must("CREATE CONSTRAINT FOR (n:P) REQUIRE n.k IS UNIQUE", nil)
			w.must("CREATE CONSTRAINT FOR (n:Q) REQUIRE (n.a, n.b) IS NODE KEY", nil)
			if rng.IntN(2) == 0 {
				w.must("CREATE INDEX FOR (n:P) ON (n.v)", nil)
			}
			if rng.IntN(2) == 0 {
				w.must("CREATE INDEX FOR (n:P) ON (n.w, n.k)", nil)
			}
			for range 250 {
				w.must(change(rng), nil)
			}
			params := map[string]graph.Value{"w": graph.IntValue(2), "n": graph.IntValue(33)}
			for range 40 {
				text, total := statement(rng)
				w.whole(rng, text, total, params, func() {
					for range rng.IntN(3) {
						w.must(change(rng), nil)
					}
				})
			}
		})
	}
}

// planText returns the operators of a plan with those that tell how a page is found.
func planText(n *explain.Node) string {
	if n == nil {
		return ""
	}
	text := n.Operator
	if n.Operator == "Page" && strings.HasSuffix(n.Args, "IN ORDER") {
		text += " IN ORDER"
	}
	for _, c := range n.Children {
		text += "\n" + planText(c)
	}
	return text + "\n"
}

// detail returns the stable code of an error.
func detail(err error) string {
	if err == nil {
		return ""
	}
	return graph.AsError(err).Detail
}

func keyed(t *testing.T) *world {
	w := open(t, 1, 8<<20)
	w.must("CREATE CONSTRAINT FOR (n:P) REQUIRE n.k IS UNIQUE", nil)
	w.must("CREATE CONSTRAINT FOR (n:Q) REQUIRE (n.a, n.b) IS NODE KEY", nil)
	w.must("CREATE INDEX FOR (n:P) ON (n.v)", nil)
	w.must("UNWIND range(1, 30) AS i CREATE (n:P {k: i, v: i % 3}) CREATE (n)-[:R {w: i}]->(:Q {a: i % 4, b: i})", nil)
	return w
}

func TestOrders(t *testing.T) {
	w := keyed(t)
	for text, want := range map[string]string{
		"MATCH (n:P) RETURN n":                                                            page.NeedsOrder,
		"MATCH (n:P) RETURN n LIMIT 3":                                                    page.NeedsOrder,
		"MATCH (n:P) RETURN n.v ORDER BY n.v":                                             page.OrderNotTotal,
		"MATCH (n) RETURN n ORDER BY n.k":                                                 page.OrderNotTotal,
		"MATCH (n:P) RETURN n ORDER BY n.k":                                               "",
		"MATCH (n:P) RETURN n ORDER BY n.k + 1":                                           page.OrderNotTotal,
		"MATCH (n) WHERE n:P RETURN n.v AS v ORDER BY v, elementId(n)":                    "",
		"MATCH (n:Q) RETURN n ORDER BY n.a":                                               page.OrderNotTotal,
		"MATCH (n:Q) RETURN n ORDER BY n.b DESC, n.a":                                     "",
		"MATCH (n:Q {a: 1}) RETURN n ORDER BY n.b":                                        "",
		"MATCH (n:P) WITH n.k AS k RETURN k ORDER BY k":                                   page.OrderNotTotal,
		"MATCH (n:P) WHERE n.k > 0 WITH n.k AS k RETURN k ORDER BY k":                     "",
		"MATCH (n:P) WITH n.k AS k, n.v AS v WHERE v = 1 RETURN k ORDER BY k":             page.OrderNotTotal,
		"MATCH (n:P)-->(m) RETURN n.k, m.b ORDER BY n.k, elementId(m)":                    page.OrderNotTotal, // parallel edges
		"MATCH (n:P)-[r]->(m) RETURN n.k, m.b ORDER BY n.v, r":                            "",
		"MATCH (n:P)-[r]-(m) RETURN n.k, m.b ORDER BY n.v, r":                             page.OrderNotTotal, // either end
		"MATCH (n:P)-[r]-(m) RETURN n.k, m.b ORDER BY n, r":                               "",
		"MATCH (n:P)-[r]-(m) WHERE id(n) = $id RETURN m ORDER BY r":                       "",
		"MATCH (n:P {k: 1})-[r]->(m:Q) RETURN m ORDER BY m.a, m.b":                        page.OrderNotTotal,
		"MATCH (n:P {k: 1})-[r]->(m:Q) RETURN DISTINCT m ORDER BY m.a, m.b":               "",
		"MATCH (n:P)-[r]->(m) RETURN n.v AS v, count(*) AS c ORDER BY c":                  page.OrderNotTotal,
		"MATCH (n:P)-[r]->(m) RETURN n.v AS v, count(*) AS c ORDER BY c, v":               "",
		"MATCH (n:P)-[r]->(m) RETURN n, count(*) AS c ORDER BY c, n.k":                    "",
		"MATCH (n:P) RETURN count(*) AS c ORDER BY c":                                     "",
		"MATCH (n:P)-[*1..2]->(m) RETURN m ORDER BY elementId(m), elementId(n)":           page.OrderNotTotal,
		"MATCH (n:P)-[*1..2]->(m) RETURN DISTINCT m ORDER BY elementId(m)":                "",
		"UNWIND [1, 1, 2] AS x RETURN x ORDER BY x":                                       page.OrderNotTotal,
		"UNWIND [1, 1, 2] AS x RETURN DISTINCT x ORDER BY x":                              "",
		"MATCH (n:P) RETURN n.k AS k UNION MATCH (n:Q) RETURN n.a AS k":                   page.NeedsOrder,
		"MATCH (n:P) WITH n LIMIT 3 RETURN n ORDER BY n.k":                                page.OrderNotTotal,
		"MATCH (n:P) WITH n ORDER BY n.v LIMIT 3 RETURN n ORDER BY n.k":                   page.OrderNotTotal,
		"MATCH (n:P) WITH n ORDER BY n.v, elementId(n) LIMIT 3 RETURN n ORDER BY n.k":     "",
		"MATCH (n:P) RETURN COLLECT {MATCH (n)-->(m) RETURN m LIMIT 2} ORDER BY id(n)":    page.OrderNotTotal,
		"MATCH (n:P) RETURN n ORDER BY rand(), n.k":                                       page.NotRepeatable,
		"MATCH (n:P) WHERE n.at < datetime() RETURN n ORDER BY n.k":                       page.NotRepeatable,
		"CALL db.labels() YIELD label RETURN label ORDER BY label":                        page.NotRepeatable,
		"MATCH (n:P) SET n.v = 1 RETURN n ORDER BY n.k":                                   page.ReadOnly,
		"CREATE INDEX FOR (n:P) ON (n.x)":                                                 page.ReadOnly,
		"SHOW INDEXES":                                                                    page.NotRepeatable,
		"MATCH (n:P) RETURN {a: n.v} AS m ORDER BY m, id(n)":                              page.KeyUnsupported,
		"MATCH (n:P) RETURN n ORDER BY reduce(s = 'x', i IN range(1, 13) | s + s), id(n)": page.KeyTooLarge,
		"MATCH (n:P) RETURN n.k ORDER BY elementId(n), n.k, n.v SKIP -1":                  "NegativeIntegerArgument",
	} {
		_, err := w.page(0, text, map[string]graph.Value{"id": graph.IntValue(1)}, 2, "")
		require.Equal(t, want, detail(err), "%s: %v", text, err)
	}
}

// Where an index has the order, a page is read from it, from the row on that the page before ended with.
func TestPlans(t *testing.T) {
	w := keyed(t)
	for text, want := range map[string]string{
		"MATCH (n:P) RETURN n.k ORDER BY n.k":                                 "Page IN ORDER",
		"MATCH (n:P) RETURN n.k AS k ORDER BY k DESC":                         "Page IN ORDER",
		"MATCH (n:P) RETURN n ORDER BY n.v, n.k":                              "Page IN ORDER",
		"MATCH (n:P) WHERE n.v >= 0 RETURN n ORDER BY n.v DESC, elementId(n)": "Page IN ORDER",
		"MATCH (n:Q) RETURN n ORDER BY n.a, n.b":                              "Page IN ORDER",
		"MATCH (n:P)-[r]->(m) RETURN n.k, m.b ORDER BY n.k, elementId(r)":     "Page IN ORDER",
		"MATCH (n:P) RETURN n ORDER BY n.w, n.k":                              "Page",
		"MATCH (n:Q) RETURN n ORDER BY n.b, n.a":                              "Page",
	} {
		first, err := w.page(0, "EXPLAIN "+text, nil, 7, "")
		require.NoError(t, err)
		require.Contains(t, first.plan, want+"\n", text)
	}
}

func TestTokensThatDoNotHold(t *testing.T) {
	w := keyed(t)
	const text = "MATCH (n:P) WHERE n.k > $k RETURN n.k ORDER BY n.k"
	params := map[string]graph.Value{"k": graph.IntValue(3)}
	first, err := w.page(0, text, params, 5, "")
	require.NoError(t, err)
	fails := func(want, text string, params map[string]graph.Value, token string) {
		t.Helper()
		_, err := w.page(1, text, params, 5, token)
		require.Equal(t, want, detail(err), "%v", err)
		if want != page.NeedsLog {
			require.Contains(t, err.Error(), "begin again")
		}
	}
	_, err = w.page(1, text, params, 9, first.next)
	require.NoError(t, err, "the size may differ")
	fails(page.OtherRequest, text, map[string]graph.Value{"k": graph.IntValue(4)}, first.next)
	fails(page.OtherRequest, text, map[string]graph.Value{"k": graph.FloatValue(3)}, first.next)
	fails(page.OtherRequest, text+" DESC", params, first.next)
	fails(page.Malformed, text, params, "x")
	fails(page.Malformed, text, params, first.snapshot)
	fails(page.Malformed, text, params, first.next[:len(first.next)-2]+"AA")
	w.must("CREATE DATABASE other", nil)
	_, err = w.run(t.Context(), 0, query.Request{Graph: "other", Statement: "MATCH (n) RETURN n ORDER BY id(n)", Limits: &query.Limits{Page: &page.Page{Size: 5, Token: first.next}}})
	require.Equal(t, page.OtherGraph, detail(err))
	_, err = page.New("pageSize", page.MaxSize+1, "")
	require.Equal(t, page.SizeInvalid, detail(err))

	tx, err := w.engines[0].Begin(t.Context(), query.TxOptions{})
	require.NoError(t, err)
	_, err = tx.Run(t.Context(), query.Request{Statement: text, Params: params, Limits: &query.Limits{Page: &page.Page{Size: 5}}})
	require.Equal(t, page.InTransaction, detail(err))
	tx.Rollback()

	w.must("MATCH (n:P {k: 1}) SET n.v = 5", nil)
	w.must("ALTER DATABASE neo4j SET OPTION txLogEnrichment 'OFF'", nil)
	fails(page.NeedsLog, text, params, first.next)
}

func TestTheLogIsOff(t *testing.T) {
	w := open(t, 1, 0)
	_, err := w.page(0, "MATCH (n) RETURN n ORDER BY elementId(n)", nil, 3, "")
	require.Equal(t, page.NeedsLog, detail(err))
}

// A token whose commit the log has dropped says how to begin again.
func TestTheLogIsTooShort(t *testing.T) {
	w := open(t, 1, 1<<10)
	w.must("UNWIND range(1, 9) AS i CREATE (:P)", nil)
	first, err := w.page(0, "MATCH (n) RETURN n ORDER BY elementId(n)", nil, 3, "")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		for range 20 {
			w.must("UNWIND range(1, 99) AS i CREATE (:X {i: i})", nil)
		}
		_, err = w.page(1, "MATCH (n) RETURN n ORDER BY elementId(n)", nil, 3, first.next)
		return detail(err) == "ChangeLogTooOld"
	}, 30*time.Second, time.Millisecond)
	require.Contains(t, err.Error(), "begin again without a page token")
}
