package query

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// TestPlanOfLiterals runs statements that differ only in literals concurrently: one plan serves all of them, each with its own
// answer.
func TestPlanOfLiterals(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, `CREATE CONSTRAINT FOR (n:N) REQUIRE n.i IS UNIQUE`)
		must(t, e, `UNWIND range(0, 39) AS i CREATE (:N {i: i, s: 's' + i})`)
		must(t, e, `MATCH (a:N), (b:N) WHERE b.i = a.i + 1 CREATE (a)-[:NEXT {w: a.i}]->(b)`)
		statements := []struct{ text, want string }{
			{`MATCH (a:N {i: {n}}) RETURN a.i`, "[[{n}]]"},
			{`MATCH (a:N) WHERE a.s IN ['s{n}', "none"] RETURN a.i AS i`, "[[{n}]]"},
			{`MATCH (a:N)-[e:NEXT {w: {n}}]->(b) WHERE a.i < {m} RETURN b.i`, "[[{m}]]"},
			{`MATCH (a:N) WHERE a.i >= {n} RETURN a.i ORDER BY a.i LIMIT 2`, "[[{n}] [{m}]]"},
			{`MATCH (a:N) WITH a ORDER BY a.i SKIP {n} LIMIT 1 RETURN a.i AS i`, "[[{n}]]"},
			{`MATCH (a:N {i: {n}}), (b:N {i: {m}}) WHERE EXISTS { (a)-[x:NEXT]->(b) WHERE x.w = {n} } RETURN b.i`, "[[{m}]]"},
		}
		before := e.metrics.PlanMisses.Load()
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for round := range 12 {
					n := 1 + (w*5+round*3)%17
					for _, s := range statements {
						fill := strings.NewReplacer("{n}", strconv.Itoa(n), "{m}", strconv.Itoa(n+1)).Replace
						text, want := fill(s.text), fill(s.want)
						rows, err := e.rows(Request{Statement: text})
						if err != nil || fmt.Sprint(rows) != want {
							t.Errorf("%s: want %s, got %v, %v", text, want, rows, err)
						}
					}
				}
			})
		}
		wg.Wait()
		require.LessOrEqual(t, int(e.metrics.PlanMisses.Load()-before), 4*len(statements), "each statement is planned once, or once by each that came first")
	})
}

// A text sent before is not parsed again, but is planned again for another catalog.
func TestTextsKnown(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, `UNWIND range(0, 9) AS i CREATE (:N {i: i})`)
		const text = `MATCH (a:N {i: 3}) WHERE a.i < 4 RETURN a.i`
		for range 3 {
			for range 2 {
				require.Equal(t, "[[3]]", fmt.Sprint(must(t, e, text)))
			}
			require.Equal(t, 1, e.texts.len())
			must(t, e, fmt.Sprintf("CREATE INDEX i%d FOR (n:N) ON (n.p%[1]d)", e.metrics.PlanMisses.Load()))
		}
		require.Equal(t, "[]", fmt.Sprint(must(t, e, `MATCH (a:N {i: 5}) WHERE a.i < 4 RETURN a.i`)))
		require.Equal(t, 2, e.texts.len())
	})
}

// TestPlansApart requires separate plans where a literal affects the plan, the columns or the meaning.
func TestPlansApart(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, `UNWIND range(0, 9) AS i CREATE (:N {i: i})`)
		must(t, e, `MATCH (a:N), (b:N) WHERE b.i = a.i + 1 CREATE (a)-[:NEXT]->(b)`)
		for _, s := range []struct{ text, want string }{
			{`MATCH (a:N {i: 0})-[:NEXT*1..2]->(b) RETURN count(*)`, "[[2]]"},
			{`MATCH (a:N {i: 0})-[:NEXT*1..3]->(b) RETURN count(*)`, "[[3]]"},
			{`MATCH (a:N {i: 0})-[:NEXT]->{2,3}(b) RETURN count(*)`, "[[2]]"},
			{`MATCH (a:N {i: 1}) RETURN a.i + 1`, "[[2]]"},
			{`MATCH (a:N {i: 1}) RETURN a.i + 2`, "[[3]]"},
			{`MATCH (a:N) WITH a.i > 5 AS big, count(*) AS n WHERE big AND n > 3 RETURN n`, "[[4]]"},
			{`MATCH (a:N) WHERE a.i = -1 + 4 RETURN a.i`, "[[3]]"},
			{`MATCH (a:N) WHERE a.i = 3 OR a.i = 3.0 RETURN a.i`, "[[3]]"},
			{`MATCH (a:N) WHERE a.i = '3' RETURN a.i`, "[]"},
			{`MATCH (a:N {i: 3}) SET a.t = 'x' RETURN a.t`, "[['x']]"},
			{`MATCH (a:N {i: 3}) SET a.t = 'y' RETURN a.t`, "[['y']]"},
			{`MERGE (a:N {i: 30}) RETURN a.i`, "[[30]]"},
			{`MERGE (a:N {i: 31}) RETURN a.i`, "[[31]]"},
		} {
			require.Equal(t, s.want, fmt.Sprint(must(t, e, s.text)), s.text)
		}
		for _, column := range []string{"a.i + 1", "a.i + 22"} {
			res, err := e.Query(t.Context(), Request{Statement: "MATCH (a:N {i: 1}) RETURN " + column})
			require.NoError(t, err)
			require.Equal(t, []string{column}, res.Columns)
			res.Close()
		}
		_, err := e.rows(Request{Statement: "MATCH (a:N {i: 1}) WHERE a.i = $`literal 0` RETURN a"})
		require.Equal(t, "Neo.ClientError.Statement.ParameterMissing", code(err))
	})
}

// TestPlaceOfErrors requires errors to name the position in the text that was sent, whichever text was planned.
func TestPlaceOfErrors(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, `CREATE (:N {s: 'a'}), (:N {s: 'long'})`)
		for _, s := range []struct {
			text string
			want graph.Pos
		}{
			{"MATCH (n:N {s: 'a'})\nWHERE n.s = 'a' AND 1 / (size(n.s) - 1) = 0 RETURN n", graph.Pos{Line: 2, Column: 23, Offset: 43}},
			{"MATCH (n:N {s: 'long'})\nWHERE n.s = 'long' AND 1 / (size(n.s) - 4) = 0 RETURN n", graph.Pos{Line: 2, Column: 26, Offset: 49}},
		} {
			_, err := e.rows(Request{Statement: s.text})
			var ge *graph.Error
			require.True(t, errors.As(err, &ge), s.text)
			require.Equal(t, s.want, ge.Pos, ge.Msg)
		}
	})
}

// TestLengthByParameter passes the bounds of paths as parameters in each position that allows them.
func TestLengthByParameter(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, `UNWIND range(0, 9) AS i CREATE (:N {i: i})`)
		must(t, e, `MATCH (a:N), (b:N) WHERE b.i = a.i + 1 CREATE (a)-[:NEXT]->(b)`)
		for _, text := range []string{
			`MATCH (:N {i: 0})-[:NEXT*$a..$b]->(x) RETURN x.i ORDER BY x.i`,
			`MATCH (:N {i: 0})-[:NEXT]->{$a,$b}(x) RETURN x.i ORDER BY x.i`,
			`MATCH (:N {i: 0}) (()-[:NEXT]->()){$a,$b} (x) RETURN x.i ORDER BY x.i`,
			`MATCH (:N {i: 0})-[:NEXT*$a..$b]->(x) RETURN DISTINCT x.i ORDER BY x.i`,
		} {
			for _, n := range []int64{1, 2, 4} {
				params := map[string]graph.Value{"a": graph.IntValue(n), "b": graph.IntValue(n + 1)}
				rows, err := e.rows(Request{Statement: text, Params: params})
				require.NoError(t, err, text)
				require.Equal(t, fmt.Sprintf("[[%d] [%d]]", n, n+1), fmt.Sprint(rows), text)
			}
		}
	})
}
