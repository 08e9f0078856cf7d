// Package ldbc runs LDBC's Social Network Benchmark, Interactive v1, over the graph of its data generator.
package ldbc

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/conformance"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

//go:embed mapping.yaml
var mappingText []byte

// Data returns the directory of the benchmark's data, or skips the test if it is nowhere.
func Data(t testing.TB) string {
	t.Helper()
	return filepath.Dir(conformance.LDBC.Need(t))
}

// Load creates an engine over the graph of the data in a directory.
func Load(t testing.TB, dir string, shards int) (*query.Engine, *loader.Report) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: shards})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	m, err := mapping.Parse("mapping.yaml", mappingText)
	require.NoError(t, err)
	plan, err := loader.NewPlan(t.Context(), m, dir, nil)
	require.NoError(t, err)
	rep, err := plan.Run(t.Context(), loader.NewLocal(loader.New(store)), loader.Options{})
	require.NoError(t, err)
	g, err := store.Local(query.DefaultGraph)
	require.NoError(t, err)
	require.NoError(t, g.Settle(t.Context()))
	return query.New(restricted.NewStore(store), query.Options{}), rep
}

// Statements returns the benchmark's statements by name.
func Statements(t testing.TB, file string) map[string]string {
	out := map[string]string{}
	for _, s := range conformance.Lines[struct{ Name, Statement string }](t, file) {
		out[s.Name] = s.Statement
	}
	return out
}

// Lines returns the lines of a file.
func Lines(t testing.TB, file string) [][]byte {
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

// Run runs a statement and returns its columns and rows.
func Run(ctx context.Context, t testing.TB, e *query.Engine, statement string, params map[string]graph.Value) (columns []string, rows [][]graph.Value) {
	res, err := e.Query(ctx, query.Request{Statement: statement, Params: params})
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

// Open loads scale factor 0.1, which creates the indexes on ids, and creates those on names.
func Open(b testing.TB) (e *query.Engine, dir string) {
	dir = Data(b)
	e, _ = Load(b, filepath.Join(dir, "ldbc-sf0.1"), 1)
	for _, label := range []string{"Tag", "TagClass", "Country"} {
		Run(b.Context(), b, e, fmt.Sprintf("CREATE INDEX FOR (n:%s) ON (n.name)", label), nil)
	}
	Run(b.Context(), b, e, "CREATE INDEX FOR (n:Person) ON (n.firstName)", nil)
	Settle(b)
	return e, dir
}

// Settle waits until the store has compacted what was loaded.
func Settle(b testing.TB) {
	for idle := false; !idle; {
		before := ProcessorTime(b)
		<-time.After(100 * time.Millisecond)
		idle = ProcessorTime(b)-before < 5*time.Millisecond
	}
}

// Read is one of the benchmark's reads.
type Read struct {
	Name, Statement string
	Params          []map[string]graph.Value
}

// Reads returns the complex and short reads with their parameters for the graph of Open.
func Reads(b testing.TB, e *query.Engine, dir string) (all []Read) {
	texts := Statements(b, filepath.Join(dir, "ldbc-queries.jsonl"))
	for read := 1; read <= 14; read++ {
		name := fmt.Sprintf("complex-%d", read)
		all = append(all, Read{name, texts["interactive-"+name], substitutions(b, dir, read)})
	}
	for read := 1; read <= 7; read++ {
		name, label, param := fmt.Sprintf("short-%d", read), "Person", "personId"
		if read > 3 {
			label, param = "Message", "messageId"
		}
		_, ids := Run(b.Context(), b, e, fmt.Sprintf("MATCH (n:%s) RETURN n.id AS id ORDER BY n.creationDate SKIP 1000 LIMIT 60", label), nil)
		r := Read{Name: name, Statement: texts["interactive-"+name]}
		for _, id := range ids {
			r.Params = append(r.Params, map[string]graph.Value{param: id[0]})
		}
		all = append(all, r)
	}
	return all
}

// substitutions returns the parameters of a complex read.
func substitutions(b testing.TB, dir string, read int) []map[string]graph.Value {
	rows := Lines(b, filepath.Join(dir, "ldbc-sf0.1", "substitution_parameters", fmt.Sprintf("interactive_%d_param.txt", read)))
	names := strings.Split(string(rows[0]), "|")
	var out []map[string]graph.Value
	for _, row := range rows[1:] {
		p := map[string]graph.Value{}
		for i, text := range strings.Split(string(row), "|") {
			p[names[i]] = graph.StringValue(text)
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				p[names[i]] = graph.IntValue(n)
			}
		}
		if days, ok := p["durationDays"]; ok {
			p["endDate"] = graph.IntValue(p["startDate"].Int() + days.Int()*24*time.Hour.Milliseconds())
		}
		out = append(out, p)
	}
	return out
}

// ProcessorTime returns the CPU time of this process.
func ProcessorTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Drain runs a statement and discards its rows.
func Drain(ctx context.Context, b testing.TB, e *query.Engine, statement string, params map[string]graph.Value) {
	res, err := e.Query(ctx, query.Request{Statement: statement, Params: params})
	require.NoError(b, err)
	defer res.Close()
	for {
		batch, err := res.Next()
		require.NoError(b, err)
		if batch == nil {
			return
		}
	}
}
