package ldbc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/conformance"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// data returns the directory of the benchmark's data, or skips the test if it is nowhere.
func data(t testing.TB) string {
	t.Helper()
	return filepath.Dir(conformance.LDBC.Need(t))
}

// load creates an engine over the graph of the data in a directory.
func load(t testing.TB, dir string, shards int) (*query.Engine, *loader.Report) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: shards})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	text, err := os.ReadFile("mapping.yaml")
	require.NoError(t, err)
	m, err := mapping.Parse("mapping.yaml", text)
	require.NoError(t, err)
	plan, err := loader.NewPlan(t.Context(), m, dir, nil)
	require.NoError(t, err)
	rep, err := plan.Run(t.Context(), loader.NewLocal(loader.New(store)), loader.Options{})
	require.NoError(t, err)
	g, err := store.Local(query.DefaultGraph)
	require.NoError(t, err)
	require.NoError(t, g.Settle(t.Context()))
	return query.New(store, query.Options{}), rep
}

// statements returns the benchmark's statements by name.
func statements(t testing.TB, file string) map[string]string {
	out := map[string]string{}
	for _, s := range conformance.Lines[struct{ Name, Statement string }](t, file) {
		out[s.Name] = s.Statement
	}
	return out
}

func lines(t testing.TB, file string) [][]byte {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var out [][]byte
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		out = append(out, bytes.Clone(s.Bytes()))
	}
	require.NoError(t, s.Err())
	return out
}

// run runs a statement and returns its columns and rows.
func run(t testing.TB, e *query.Engine, statement string, params map[string]graph.Value) (columns []string, rows [][]graph.Value) {
	res, err := e.Query(t.Context(), query.Request{Statement: statement, Params: params})
	require.NoError(t, err)
	defer res.Close()
	for {
		b, err := res.Next()
		require.NoError(t, err)
		if b == nil {
			return res.Columns, rows
		}
		for i := range b.N {
			row := make([]graph.Value, len(b.Cols))
			for c := range b.Cols {
				row[c] = b.Cols[c].Value(i).Clone()
			}
			rows = append(rows, row)
		}
	}
}

// value converts JSON decoded with numbers as written.
func value(t testing.TB, x any) graph.Value {
	switch v := x.(type) {
	case nil:
		return graph.Value{}
	case bool:
		return graph.BoolValue(v)
	case string:
		return graph.StringValue(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return graph.IntValue(i)
		}
		f, err := v.Float64()
		require.NoError(t, err)
		return graph.FloatValue(f)
	case []any:
		l := make([]graph.Value, len(v))
		for i, e := range v {
			l[i] = value(t, e)
		}
		return graph.ListValue(l)
	}
	t.Fatalf("no value: %T", x)
	return graph.Value{}
}

// decode decodes JSON and keeps numbers as written.
func decode(t testing.TB, text []byte, into any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(into))
}
