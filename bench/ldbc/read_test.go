package ldbc

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/conformance"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// bags are columns built by collect, whose order is undefined.
var bags = map[string][]string{
	"interactive-complex-1":  {"friendUniversities", "friendCompanies"},
	"interactive-complex-12": {"tagNames"},
}

// unordered are the queries whose ORDER BY is ambiguous, with the column that it does order.
var unordered = map[string]string{"interactive-complex-14": "pathWeight"}

// text formats a value so that equal values have equal texts.
func text(v graph.Value) string { return string(notation.Append(nil, v)) }

// The short and complex reads run unchanged and return Neo4j's answers.
func TestReads(t *testing.T) {
	answers := conformance.LDBCAnswers.Need(t)
	dir := Data(t)
	all := Statements(t, filepath.Join(dir, "ldbc-queries.jsonl"))
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			e, rep := Load(t, filepath.Join(dir, "ldbc-sf0.003"), shards)
			require.Zero(t, rep.Rejects)
			ran, total := map[string]int{}, 0
			for _, line := range Lines(t, answers) {
				var answer struct {
					Query   string
					Params  map[string]any
					Columns []string
					Rows    [][]any
				}
				decode(t, line, &answer)
				ran[answer.Query]++
				total++
				t.Run(fmt.Sprintf("%s/%d", answer.Query, ran[answer.Query]), func(t *testing.T) {
					params := map[string]graph.Value{}
					for k, v := range answer.Params {
						params[k] = value(t, v)
					}
					columns, rows := Run(t.Context(), t, e, all[answer.Query], params)
					require.Equal(t, answer.Columns, columns)
					var want, got []string
					for _, row := range answer.Rows {
						vs := make([]graph.Value, len(row))
						for i, x := range row {
							vs[i] = value(t, x)
						}
						want = append(want, rowText(answer.Query, columns, vs))
					}
					for _, row := range rows {
						got = append(got, rowText(answer.Query, columns, row))
					}
					if by, ok := unordered[answer.Query]; ok {
						at := slices.Index(columns, by)
						require.True(t, slices.IsSortedFunc(rows, func(a, b []graph.Value) int { return fn.Order(b[at], a[at]) }))
						slices.Sort(want)
						slices.Sort(got)
					}
					require.Equal(t, want, got)
				})
			}
			require.Len(t, ran, 21)
			conformance.LDBCAnswers.Ran(t, fmt.Sprintf("shards=%d", shards), total)
		})
	}
}

// LSQB's statements count the same on one shard and on three.
func TestLSQB(t *testing.T) {
	dir := Data(t)
	all := Statements(t, filepath.Join(dir, "lsqb-queries.jsonl"))
	require.Len(t, all, 9)
	one, _ := Load(t, filepath.Join(dir, "ldbc-sf0.003"), 1)
	three, _ := Load(t, filepath.Join(dir, "ldbc-sf0.003"), 3)
	for name, statement := range all {
		want := number(t, one, statement, nil)
		require.Positive(t, want, name)
		require.Equal(t, want, number(t, three, statement, nil), name)
	}
	conformance.LDBC.Ran(t, "counts of LSQB", len(all))
}

// rowText formats a row, with the elements of bags sorted.
func rowText(name string, columns []string, row []graph.Value) string {
	var out []byte
	for i, v := range row {
		if v.Kind() == graph.List && slices.Contains(bags[name], columns[i]) {
			l := slices.Clone(v.List())
			slices.SortFunc(l, func(a, b graph.Value) int {
				x, y := text(a), text(b)
				if x < y {
					return -1
				} else if x > y {
					return 1
				}
				return 0
			})
			v = graph.ListValue(l)
		}
		if v.Kind() == graph.Float {
			out = fmt.Appendf(out, "%.9g", v.Float())
		} else {
			out = append(out, text(v)...)
		}
		out = append(out, " | "...)
	}
	return string(out)
}
