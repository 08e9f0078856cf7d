package tck

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// blockWorld is a stored graph that changes at random, and on which aggregates over all its edges or vertices run with and
// without blocks.
type blockWorld struct {
	t      *testing.T
	r      *rand.Rand
	g      shard.Graph
	values [4][]string // by property, as openCypher writes them
	edges  int         // ever made
	direct int         // answers by blocks
	groups int         // of them those with groups of vertices
}

// blockValues are values of properties: of kinds with an order and sums, and of kinds without.
var blockValues = [][]string{
	{"1", "-3", "7", "0", "42", "1000000"},
	{"1", "5", "null", "-2"},
	{"9223372036854775807", "1", "-9223372036854775807", "9223372036854775806"},
	{"0.5", "-2.25", "1e300", "0.1", "0.2", "0.3", "-0.0", "0.0"},
	{"0.5", "0.0/0.0", "3.5", "null"},
	{"1", "1.0", "2.5", "2"},
	{"date('2020-01-02')", "date('1999-12-31')", "null"},
	{"localtime('10:00')", "localtime('09:59:59')"},
	{"'b'", "'a'", "''", "null"},
	{"'b'", "'a'", "''"},
	{"1", "'a'", "[1, 2]", "true", "0.0/0.0", "null", "date('2020-01-02')"},
	{"duration('P1D')", "duration('PT5S')"},
}

func (w *blockWorld) pick(from ...string) string { return from[w.r.IntN(len(from))] }

func (w *blockWorld) value(prop int) string { return w.pick(w.values[prop]...) }

// run runs a statement in a transaction. direct reports whether an operator took its rows from blocks.
func (w *blockWorld) run(tx shard.Tx, text string, disable ...string) (out string, direct bool) {
	q, _, err := cypher.Compile(text, cypher.Options{})
	require.NoError(w.t, err, text)
	optimize.Plan(q, optimize.Env{Counts: tx.Statistics(), Indexes: w.g.Indexes(), Features: w.g.Features(), Disable: disable})
	p, err := exec.Compile(q, exec.Options{BatchSize: 16})
	require.NoError(w.t, err, text)
	env := exec.Env{}
	if len(disable) == 0 && w.r.IntN(2) == 0 { // cores are idle
		env.Slot = &idle{left: 3}
	}
	rows, err := p.Run(context.Background(), w.g, tx, env)
	if err != nil {
		return graph.AsError(err).Type, false // of several values that are wrong, any may be named
	}
	defer rows.Close()
	var lines []string
	for {
		b, err := rows.Next(context.Background())
		if err != nil {
			return graph.AsError(err).Type, false // of several values that are wrong, any may be named
		}
		if b == nil {
			break
		}
		for i := range b.N {
			line := ""
			for k := range b.Cols {
				v := b.Cols[k].Value(i)
				if v.Kind() == graph.Float && v.Float() == math.Trunc(v.Float()) && math.Abs(v.Float()) < 1e9 && k < strings.Count(text, " AS g") {
					v = graph.IntValue(int64(v.Float())) // any of equivalent keys may stand for a group
				}
				line += fmt.Sprintf("%s %s, ", v.Kind(), show(caseValue(v)))
			}
			lines = append(lines, line)
		}
	}
	var find func(o *exec.Operator)
	find = func(o *exec.Operator) {
		ran := len(o.Inputs) > 0 && rows.Stats()[o.Inputs[len(o.Inputs)-1].ID].Rows > 0
		switch {
		case o.Name == "Fallback":
			direct = !ran
			return
		case strings.HasSuffix(o.Name, "BlockAggregation") || o.Name == "EdgeGroupAggregation":
			direct = direct || !ran
		}
		for _, in := range o.Inputs {
			find(in)
		}
	}
	find(p.Explain())
	slices.Sort(lines)
	return strings.Join(lines, "\n"), direct
}

// change returns a statement that changes the graph, often an extreme.
func (w *blockWorld) change(vertices int) string {
	id := w.r.IntN(vertices)
	switch w.r.IntN(10) {
	case 9:
		return fmt.Sprintf("MATCH (n {id: %d}) SET n.z = %s", id, w.value(3))
	case 0:
		w.edges++
		return fmt.Sprintf("MATCH (a {id: %d}), (b {id: %d}) CREATE (a)-[:T {id: %d, p: %s, q: %s}]->(b)", id, w.r.IntN(vertices), w.edges, w.value(0), w.value(1))
	case 1:
		return fmt.Sprintf("MATCH ()-[r:T]->() WITH r ORDER BY r.%s %s LIMIT %d DELETE r", w.pick("p", "q"), w.pick("", "DESC"), 1+w.r.IntN(3))
	case 2:
		return fmt.Sprintf("MATCH ()-[r:T]->() WITH r ORDER BY r.%s %s LIMIT 1 SET r.p = %s", w.pick("p", "q"), w.pick("", "DESC"), w.value(0))
	case 3:
		return fmt.Sprintf("MATCH ()-[r:T {id: %d}]->() SET r.q = %s, r.p = null", w.r.IntN(w.edges), w.value(1))
	case 4:
		return fmt.Sprintf("MATCH (n) WITH n ORDER BY n.x %s LIMIT 2 SET n.x = %s", w.pick("", "DESC"), w.value(2))
	case 5:
		return fmt.Sprintf("MATCH (n {id: %d}) DETACH DELETE n", id)
	case 6:
		return fmt.Sprintf("CREATE (n:A {id: %d, x: %s, y: %s})-[:T {p: %s}]->(n)", id, w.value(2), w.value(1), w.value(0))
	case 7:
		return fmt.Sprintf("MATCH (n {id: %d}) SET n:%s SET n.y = %s", id, w.pick("A", "B"), w.value(1))
	}
	return fmt.Sprintf("MATCH (n {id: %d}) REMOVE n.x", id)
}

// groups returns a statement that counts edges by properties of their ends.
func (w *blockWorld) edgeGroups() string {
	text := "MATCH " + w.pick("(a)-[r:T]->(b)", "(a:A)-[r:T]->(b:A)", "(a)<-[r:T]-(b)", "(a:B)<-[r:T]-(b)", "(a:A)-[r:T]->(b:B)")
	var keys []string
	for i := range 1 + w.r.IntN(3) {
		keys = append(keys, fmt.Sprintf("%s.%s AS g%d", w.pick("a", "b"), w.pick("x", "y", "y", "none"), i))
	}
	if w.r.IntN(2) == 0 { // what is computed from properties
		computed := []string{"a.x = b.x", "coalesce(b.z, a.y)", "[a.x, b.z]", "a.z / 2", "toStringOrNull(b.z)", "a.y IS NULL", "size([v IN [a.x, b.y] WHERE v > 1])"}
		for i := range keys {
			if w.r.IntN(2) == 0 {
				keys[i] = fmt.Sprintf("%s AS g%d", w.pick(computed...), i)
			}
		}
		if w.r.IntN(2) == 0 {
			for i := range 1 + w.r.IntN(2) {
				of := w.pick("a.x", "b.y", "b.z", w.pick(computed...))
				keys = append(keys, fmt.Sprintf(w.pick("count(%s)", "count(DISTINCT %s)", "min(toString(%s))", "max(toStringOrNull(%s))")+" AS k%d", of, i))
			}
			return text + " RETURN " + strings.Join(keys, ", ") + w.pick("", ", count(*) AS n", ", sum(a.id) AS n", ", avg(b.id) AS n")
		}
	}
	if w.r.IntN(4) == 0 {
		return text + " WITH DISTINCT " + strings.Join(keys, ", ") + " RETURN count(*) AS n"
	}
	return text + " RETURN " + strings.Join(keys, ", ") + w.pick(", count(*) AS n", ", count(r) AS n", ", count(b) AS n, count(*) AS m")
}

// vertexGroups returns a statement that aggregates vertices by properties.
func (w *blockWorld) vertexGroups() string {
	text := "MATCH " + w.pick("(a:A)", "(a:A)", "(a:B)", "(a)")
	if w.r.IntN(3) == 0 {
		text += " WHERE a." + w.pick("x", "y", "id") + w.pick(" > ", " <= ", " = ") + w.pick("0", "1", "42", "1000000")
	}
	text += " RETURN "
	for i := range 1 + w.r.IntN(3) {
		text += fmt.Sprintf("a.%s AS g%d, ", w.pick("x", "y", "y", "z", "z", "none"), i)
	}
	text += w.pick("count(*)", "count(a)") + " AS n"
	for i := range w.r.IntN(4) {
		text += fmt.Sprintf(", %s(a.%s) AS k%d", w.pick("min", "max", "count", "sum", "avg"), w.pick("x", "y", "id", "id", "z"), i)
	}
	return text
}

// ask returns a statement that aggregates, over edges or vertices.
func (w *blockWorld) ask() string {
	of, props, pattern := "r", []string{"p", "q", "id", "none"}, w.pick("()-[r:T]->()", "()-[r:T]->()", "()<-[r:T]-()", "(:A)-[r:T]->(:A)")
	if w.r.IntN(3) == 0 {
		of, props, pattern = "n", []string{"x", "y", "id"}, w.pick("(n)", "(n:A)", "(n:A)", "(n:B)")
	}
	text := "MATCH " + pattern
	if w.r.IntN(2) == 0 {
		var conds []string
		for range 1 + w.r.IntN(2) {
			conds = append(conds, of+"."+w.pick(props...)+w.pick(" > ", " >= ", " < ", " <= ", " = ")+w.pick("0", "1", "-3", "0.25", "42", "9223372036854775806", "1000000"))
		}
		text += " WHERE " + strings.Join(conds, " AND ")
	}
	var items []string
	for range 1 + w.r.IntN(3) {
		items = append(items, w.pick("min", "max", "count", "sum", "avg", "min", "max")+"("+of+"."+w.pick(props...)+")")
	}
	if w.r.IntN(3) == 0 {
		items = append(items, w.pick("count(*)", "count("+of+")"))
	}
	for i := range items {
		items[i] += fmt.Sprint(" AS k", i)
	}
	return text + " RETURN " + strings.Join(items, ", ")
}

// TestBlockAggregates compares aggregates by blocks with those of rows, bit by bit, while extremes change and disappear, kinds mix
// and labels are added, also in transactions with changes of their own.
func TestBlockAggregates(t *testing.T) {
	direct, groups, seeds := 0, 0, 24
	if testing.Short() {
		seeds = 6
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 5))
		o := local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 1 + 2*int(seed%2)}
		if seed%5 == 4 {
			o.CacheBytes = 1 << 17
		}
		s, err := local.Open(o)
		require.NoError(t, err)
		g, err := s.Graph(query.DefaultGraph)
		require.NoError(t, err)
		w := &blockWorld{t: t, r: r, g: g, edges: 120}
		for p := range w.values {
			w.values[p] = blockValues[r.IntN(len(blockValues))]
		}
		vertices := []int{40, 40, 40, 6000}[seed%4]
		list := func(p int) string {
			vs := w.values[p]
			return fmt.Sprintf("[%s][i * %d %% %d]", strings.Join(vs, ", "), 7+2*r.IntN(3), len(vs))
		}
		ctx := context.Background()
		write := func(texts ...string) {
			tx, err := g.Begin(ctx, shard.Write)
			require.NoError(t, err)
			for _, text := range texts {
				w.run(tx, text)
			}
			require.NoError(t, tx.Commit(ctx))
		}
		write(
			fmt.Sprintf("UNWIND range(0, %d) AS i CREATE (:A {id: i, x: %s, z: %s})", vertices-1, list(2), list(3)),
			fmt.Sprintf("UNWIND range(0, %d) AS i MATCH (a {id: i * %d %% %d}), (b {id: i * 7 %% %d}) CREATE (a)-[:T {id: i, p: %s, q: %s}]->(b)",
				w.edges-1, 1+vertices/w.edges*r.IntN(2), vertices, vertices, list(0), list(1)),
		)
		compare := func(tx shard.Tx) {
			for range 9 {
				text := w.ask()
				switch w.r.IntN(3) {
				case 0:
					text = w.edgeGroups()
				case 1:
					text = w.vertexGroups()
				}
				want, _ := w.run(tx, text, "BlockAggregate", "EdgeGroups")
				got, byBlocks := w.run(tx, text)
				require.Equal(t, want, got, "seed %d: %s, by blocks: %t", seed, text, byBlocks)
				if byBlocks {
					w.direct++
					if strings.Contains(text, "a.") && !strings.Contains(text, "r:T") {
						w.groups++
					}
				}
			}
		}
		for range 6 {
			old, err := g.Begin(ctx, shard.Read)
			require.NoError(t, err)
			compare(old)
			tx, err := g.Begin(ctx, []shard.Mode{shard.Write, shard.WriteExclusive}[r.IntN(2)])
			require.NoError(t, err)
			for range 1 + r.IntN(3) {
				w.run(tx, w.change(vertices))
			}
			compare(tx)
			if r.IntN(4) == 0 {
				tx.Rollback()
			} else {
				require.NoError(t, tx.Commit(ctx))
			}
			compare(old)
			old.Rollback()
		}
		direct, groups = direct+w.direct, groups+w.groups
		require.NoError(t, s.Close())
	}
	require.Greater(t, direct, 20*seeds)
	require.Greater(t, groups, 10*seeds)
}
