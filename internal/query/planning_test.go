package query

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// join writes a text for each number below n.
func join(n int, sep string, text func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = text(i)
	}
	return strings.Join(parts, sep)
}

// repeated are statements of n parts, which programs may write at any length.
var repeated = map[string]func(n int) string{
	"MATCH": func(n int) string {
		return join(n, " ", func(i int) string { return fmt.Sprintf("MATCH (n%d)", i) }) + " RETURN 1"
	},
	"MATCH again": func(n int) string { return strings.Repeat("MATCH (n) ", n) + "RETURN 1" },
	"OPTIONAL MATCH": func(n int) string {
		return join(n, " ", func(i int) string { return fmt.Sprintf("OPTIONAL MATCH (n%d)", i) }) + " RETURN 1"
	},
	"AND": func(n int) string {
		return "MATCH (n) WHERE " + join(n, " AND ", func(i int) string { return fmt.Sprintf("n.a%d = %d", i, i) }) + " RETURN n"
	},
	"OR": func(n int) string {
		return "MATCH (n) WHERE " + join(n, " OR ", func(i int) string { return fmt.Sprintf("n.a = %d", i) }) + " RETURN n"
	},
	"AND of OR": func(n int) string {
		return "MATCH (n) WHERE " + join(n, " AND ", func(i int) string { return fmt.Sprintf("(n.a = %d OR n.b = %d)", i, i) }) + " RETURN n"
	},
	"WITH": func(n int) string { return "WITH 1 AS x " + strings.Repeat("WITH x + 1 AS x ", n) + "RETURN x" },
	"ORDER BY": func(n int) string {
		return "MATCH (n) " + strings.Repeat("ORDER BY n.a LIMIT 3 ", n) + "RETURN n"
	},
	"FILTER": func(n int) string { return "MATCH (n) " + strings.Repeat("FILTER n.a <> 1 ", n) + "RETURN n" },
	"UNION":  func(n int) string { return strings.Repeat("RETURN 1 AS x UNION ", n) + "RETURN 1 AS x" },
	"NEXT":   func(n int) string { return strings.Repeat("RETURN 1 AS x NEXT ", n) + "RETURN 1 AS x" },
	"list":   func(n int) string { return "RETURN [" + strings.Repeat("1, ", n) + "1] AS x" },
	"maps": func(n int) string {
		return "UNWIND [" + strings.Repeat("{a: 1, b: 'x'}, ", n) + "{}] AS r CREATE (n) SET n = r"
	},
	"CASE": func(n int) string {
		return "WITH 1 AS x RETURN CASE x" + strings.Repeat(" WHEN 1 THEN 2", n) + " END AS y"
	},
	"FOREACH":       func(n int) string { return strings.Repeat("FOREACH (x IN [1] | CREATE (:A)) ", n) },
	"unit CALL":     func(n int) string { return strings.Repeat("CALL () { CREATE (:A) } ", n) },
	"CREATE":        func(n int) string { return strings.Repeat("CREATE (:A {x: 1}) ", n) },
	"CREATE a path": func(n int) string { return "CREATE ()" + strings.Repeat(", ()-[:R]->()", n) },
	"SET":           func(n int) string { return "MATCH (n) " + strings.Repeat("SET n.x = 1 ", n) },
	"DELETE":        func(n int) string { return "MATCH (n) " + strings.Repeat("DELETE n ", n) },
	"EXISTS": func(n int) string {
		return "MATCH (n:A) WHERE true" + strings.Repeat(" AND EXISTS { (n)-->() }", n) + " RETURN n"
	},
	"labels": func(n int) string {
		return "MATCH (n:" + join(n, "|", func(i int) string { return fmt.Sprintf("L%d", i) }) + ") RETURN n"
	},
	"columns": func(n int) string {
		return "MATCH (n) RETURN " + join(n, ", ", func(i int) string { return fmt.Sprintf("n.p%d AS c%d", i, i) })
	},
	"operators": func(n int) string { return "WITH 1 AS x RETURN x" + strings.Repeat(" + x", n) + " AS y" },
}

// carried are statements of n parts whose variables go on to the end.
var carried = map[string]func(n int) string{
	"WITH *": func(n int) string {
		return "WITH 1 AS a " + join(n, " ", func(i int) string { return fmt.Sprintf("WITH *, %d AS v%d", i, i) }) + " RETURN 1"
	},
	"LET": func(n int) string {
		return "WITH 1 AS x " + join(n, " ", func(i int) string { return fmt.Sprintf("LET v%d = x", i) }) + " RETURN x"
	},
	"linked CREATE": func(n int) string {
		return "CREATE (n0) " + join(n, " ", func(i int) string { return fmt.Sprintf("CREATE (n%d)-[:R]->(n%d)", i, i+1) })
	},
	"linked MERGE": func(n int) string {
		return "MERGE (n0) " + join(n, " ", func(i int) string { return fmt.Sprintf("MERGE (n%d)-[:R]->(n%d)", i, i+1) })
	},
	"linked MATCH": func(n int) string {
		return "MATCH (n0) " + join(n, " ", func(i int) string { return fmt.Sprintf("MATCH (n%d)-[:R]->(n%d)", i, i+1) }) + " RETURN n0"
	},
	"linked OPTIONAL MATCH": func(n int) string {
		return "MATCH (n0) " + join(n, " ", func(i int) string { return fmt.Sprintf("OPTIONAL MATCH (n%d)-[:R]->(n%d)", i, i+1) }) + " RETURN n0"
	},
	"UNWIND": func(n int) string {
		return join(n, " ", func(i int) string { return fmt.Sprintf("UNWIND [1] AS v%d", i) }) + " WITH * RETURN 1"
	},
	"CALL (*)": func(n int) string {
		return "MATCH (n:A) " + join(n, " ", func(i int) string { return fmt.Sprintf("CALL (*) { RETURN n.x AS x%d }", i) }) + " RETURN n"
	},
	"CALL procedures": func(n int) string {
		return join(n, " ", func(i int) string { return fmt.Sprintf("CALL db.labels() YIELD label AS l%d", i) }) + " RETURN 1 AS x"
	},
	"WITH in a subquery": func(n int) string {
		return "MATCH (n) WHERE EXISTS { WITH 1 AS x " + strings.Repeat("WITH x + 1 AS x ", n) + "RETURN x } RETURN n"
	},
	"CREATE of look-ups": func(n int) string {
		n = min(n, 2000)
		return "MATCH " + join(n, ", ", func(i int) string { return fmt.Sprintf("(n%d:L {id: %d})", i, i) }) + " CREATE " +
			join(n-1, ", ", func(i int) string { return fmt.Sprintf("(n%d)-[:R]->(n%d)", i, i+1) })
	},
	"aggregates": func(n int) string {
		return "MATCH (n) RETURN " + join(n, ", ", func(i int) string { return fmt.Sprintf("sum(n.x%d) AS x%d", i, i) })
	},
	"groups": func(n int) string {
		return "MATCH (n) RETURN count(*), " + join(n, ", ", func(i int) string { return fmt.Sprintf("n.x%d AS x%d", i, i) })
	},
	"keys of the order": func(n int) string {
		names := join(n, ", ", func(i int) string { return fmt.Sprintf("x%d", i) })
		return "MATCH (n) RETURN " + join(n, ", ", func(i int) string { return fmt.Sprintf("n.x%d AS x%d", i, i) }) + " ORDER BY " + names + " LIMIT 3"
	},
	"properties in the order": func(n int) string {
		return "MATCH (n) RETURN n ORDER BY " + join(n, ", ", func(i int) string { return fmt.Sprintf("n.x%d", i) }) + " LIMIT 3"
	},
}

// prepareCounted takes a statement through all phases, and returns the phase that it ended in.
func prepareCounted(e *Engine, text string, count *steps.Counter) (phase string, err error) {
	defer steps.Catch(&err)
	phase = "lex"
	literals := parse.Literals(text, cypher.IsLiteralName, count)
	phase = "parse"
	if _, err := parse.CountedStatement(text, count); err != nil {
		return phase, err
	}
	phase = "bind"
	q, _, err := cypher.Compile(text, cypher.Options{
		Procedures: e.procs.Signature, ProcedureNames: e.procs.Names, Literals: literals, Steps: count,
	})
	if err != nil {
		return phase, err
	}
	phase = "plan"
	optimize.Plan(q, optimize.Env{Counts: &graph.Counts{Vertices: 1000, Edges: 5000}, Steps: count})
	phase = "compile"
	_, err = exec.Compile(q, exec.Options{Steps: count})
	return phase, err
}

// TestLongStatements doubles the parts of statements, which doubles the work to prepare them, in steps and in the memory that it takes on
// the way, so that no work goes uncounted. Between two polls lie few steps.
func TestLongStatements(t *testing.T) {
	e := New(stores["local"](t), Options{})
	for _, shapes := range []map[string]func(n int) string{repeated, carried} {
		for name, text := range shapes {
			t.Run(name, func(t *testing.T) {
				work := func(n int) (count, bytes float64) {
					c, last := &steps.Counter{}, 0
					c.Alive = func() error {
						require.Less(t, c.Count()-last, 4_000)
						last = c.Count()
						return nil
					}
					statement := text(n)
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					_, err := prepareCounted(e, statement, c)
					runtime.ReadMemStats(&after)
					require.NoError(t, err)
					return float64(c.Count()), float64(after.TotalAlloc - before.TotalAlloc)
				}
				count, bytes := work(800)
				count2, bytes2 := work(1600)
				require.Less(t, count2/count, 2.3)
				require.Less(t, bytes2/bytes, 3.3) // slices grow in jumps
			})
		}
	}
}

// TestEndOfPreparation ends the request at each poll in turn: no phase continues after that.
func TestEndOfPreparation(t *testing.T) {
	e := New(stores["local"](t), Options{})
	gone := errors.New("gone")
	ended := map[string]bool{}
	for name, text := range repeated {
		t.Run(name, func(t *testing.T) {
			all := 0
			_, err := prepareCounted(e, text(300), &steps.Counter{Alive: func() error { all++; return nil }})
			require.NoError(t, err)
			require.NotZero(t, all)
			for last := 1; last <= all; last += 1 + all/20 {
				polls := 0
				phase, err := prepareCounted(e, text(300), &steps.Counter{Alive: func() error {
					if polls++; polls >= last {
						return gone
					}
					return nil
				}})
				require.ErrorIs(t, err, gone)
				require.Equal(t, last, polls)
				ended[phase] = true
			}
		})
	}
	for _, phase := range []string{"lex", "parse", "bind", "plan", "compile"} {
		require.Contains(t, ended, phase)
	}
}

// TestAnswersOfLargePatterns asks for patterns that are planned part by part, over a chain of 300 vertices.
func TestAnswersOfLargePatterns(t *testing.T) {
	chain := func(edge func(i int) string) string {
		return join(150, "", func(i int) string { return fmt.Sprintf("%s(n%d)", edge(i), i+1) })
	}
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		ask := func(text string) []string {
			rows, err := rowsOf(e.Query(context.Background(), Request{Statement: text}))
			require.NoError(t, err)
			return rows
		}
		ask("UNWIND range(0, 299) AS i CREATE (:N {id: i})")
		ask("MATCH (a:N), (b:N) WHERE b.id = a.id + 1 CREATE (a)-[:R {k: a.id}]->(b)")
		out := chain(func(i int) string { return fmt.Sprintf("-[r%d]->", i) })
		either := chain(func(i int) string { return fmt.Sprintf("-[r%d]-", i) })
		for _, c := range []struct {
			text string
			rows []string
		}{
			{"MATCH (n0:N)" + out + " WHERE n150.id = 200 AND r3.k < r77.k RETURN n0.id, n149.id, r120.k", []string{"[50, 199, 170]"}},
			{
				"MATCH p = (n0:N)" + either + " WHERE n75.id = 100 AND length(p) = 150 RETURN n0.id, n149.id ORDER BY n0.id",
				[]string{"[25, 174]", "[175, 26]"},
			},
			{
				"MATCH " + join(250, ", ", func(i int) string { return fmt.Sprintf("(n%d:N {id: %d})", i, i) }) + " WHERE " +
					join(249, " AND ", func(i int) string { return fmt.Sprintf("n%d.id < n%d.id", i, i+1) }) + " RETURN n0.id + n249.id AS x",
				[]string{"[249]"},
			},
			{
				"MATCH " + join(130, ", ", func(i int) string { return fmt.Sprintf("(n%d:N {id: %d})-[r%d:R]->(m%d)", i, i, i, i) }) +
					" RETURN m0.id, m129.id, r7.k",
				[]string{"[1, 130, 7]"},
			},
			{
				"MATCH (a)-[:R {k: 7}]->(n0) OPTIONAL MATCH (n0)" + out + "-->(z {id: 159}) RETURN a.id, n149.id, z.id",
				[]string{"[7, 157, 159]"},
			},
			{"MATCH (:N {id: 3})-[q]->() MATCH (n0)" + out + ", (n10)-[q]->() RETURN count(*) AS n", []string{"[0]"}},
		} {
			require.Equal(t, c.rows, ask(c.text))
		}
	})
}
