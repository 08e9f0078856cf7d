package docs

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/loader/resource"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// engine runs the statements of the documents.
type engine struct{ *query.Engine }

// newEngine returns an engine with an empty graph, whose statements read the files of a directory.
func newEngine(t *testing.T, files string) engine {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 1, LogBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	moments := past.NewStore(store, 1<<20)
	return engine{query.New(moments, query.Options{Past: moments, Open: resource.NewOpener(files, resource.List{}).Open})}
}

// run runs a statement and returns its columns and the texts of its rows.
func (e engine) run(statement string) (columns []string, rows [][]string, err error) {
	res, err := e.Query(context.Background(), query.Request{Statement: statement})
	if err != nil {
		return nil, nil, err
	}
	defer res.Close()
	return read(res)
}

// read returns the columns of a result and the texts of its rows.
func read(res *query.Result) (columns []string, rows [][]string, err error) {
	for {
		b, err := res.Next()
		if b == nil || err != nil {
			return res.Columns, rows, err
		}
		for i := range b.N {
			row := make([]string, len(b.Cols))
			for k := range row {
				row[k] = string(notation.Append(nil, b.Cols[k].Value(i)))
			}
			rows = append(rows, row)
		}
	}
}

// answer runs a statement and shows what a reader gets.
func (e engine) answer(statement string) string { return show(e.run(statement)) }

// show returns what a reader gets: a value, a table, the code and the message of an error, or nothing.
func show(columns []string, rows [][]string, err error) string {
	switch {
	case err != nil:
		g := graph.AsError(err)
		return g.Code + ": " + g.Msg + "\n"
	case len(columns) == 0:
		return ""
	case len(columns) == 1 && len(rows) == 1:
		return rows[0][0] + "\n"
	}
	return table(columns, rows)
}

// failure returns an answer that is an error.
func failure(answer string) string {
	if strings.HasPrefix(answer, "Neo.") {
		return answer
	}
	return ""
}

// table aligns rows below the names of their columns.
func table(columns []string, rows [][]string) string {
	widths := make([]int, len(columns))
	lines := append([][]string{columns, nil}, rows...)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines[1] = make([]string, len(columns))
	for i, w := range widths {
		lines[1][i] = strings.Repeat("-", w)
	}
	var b strings.Builder
	for n, line := range lines {
		var out strings.Builder
		for i, cell := range line {
			if i > 0 {
				out.WriteString(map[bool]string{true: "-+-", false: " | "}[n == 1])
			}
			out.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
	}
	return b.String()
}

// explained runs a statement with parameters and shows what a reader gets: of EXPLAIN and PROFILE the plan, in which each operator is
// above its inputs, with the rows of each, and of others the notifications too.
func (e engine) explained(statement string, params map[string]graph.Value) string {
	res, err := e.Query(context.Background(), query.Request{Statement: statement, Params: params})
	if err != nil {
		return show(nil, nil, err)
	}
	defer res.Close()
	columns, rows, err := read(res)
	summary := res.Summary()
	root := summary.Plan
	if root == nil || err != nil {
		text := show(columns, rows, err)
		for _, n := range summary.Notifications {
			text += strings.ToLower(n.Severity) + ": " + n.Description + "\n"
		}
		return text
	}
	var lines [][]string
	var walk func(n *explain.Node, depth int)
	walk = func(n *explain.Node, depth int) {
		line := []string{strings.TrimRight(strings.Repeat("  ", depth)+n.Operator+" "+n.Args, " "), strconv.FormatFloat(math.Round(n.Estimate), 'f', 0, 64)}
		if n.Profiled {
			line = append(line, strconv.FormatInt(n.Rows, 10))
		}
		lines = append(lines, line)
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(root, 0)
	return table([]string{"operator", "estimated", "rows"}[:len(lines[0])], lines)
}
