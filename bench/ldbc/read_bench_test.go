package ldbc

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// open loads scale factor 0.1, which creates the indexes on ids, and creates those on names.
func open(b *testing.B) (e *query.Engine, dir string) {
	dir = data(b)
	e, _ = load(b, filepath.Join(dir, "ldbc-sf0.1"), 1)
	for _, label := range []string{"Tag", "TagClass", "Country"} {
		run(b, e, fmt.Sprintf("CREATE INDEX FOR (n:%s) ON (n.name)", label), nil)
	}
	run(b, e, "CREATE INDEX FOR (n:Person) ON (n.firstName)", nil)
	for idle := false; !idle; { // until the store has compacted the load
		before := processorTime(b)
		<-time.After(100 * time.Millisecond)
		idle = processorTime(b)-before < 5*time.Millisecond
	}
	return e, dir
}

// substitutions returns the parameters of a complex read.
func substitutions(b *testing.B, dir string, read int) []map[string]graph.Value {
	rows := lines(b, filepath.Join(dir, "ldbc-sf0.1", "substitution_parameters", fmt.Sprintf("interactive_%d_param.txt", read)))
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

// processorTime returns the CPU time of this process.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs a statement with each set of parameters in turn and returns the CPU time per run.
func measure(b *testing.B, e *query.Engine, statement string, params []map[string]graph.Value) {
	for _, p := range params {
		run(b, e, statement, p)
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	for i := range b.N {
		drain(b, e, statement, params[i%len(params)])
	}
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// drain runs a statement and discards its rows.
func drain(b *testing.B, e *query.Engine, statement string, params map[string]graph.Value) {
	res, err := e.Query(b.Context(), query.Request{Statement: statement, Params: params})
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

// BenchmarkReads runs the complex and short reads at scale factor 0.1 in the engine.
func BenchmarkReads(b *testing.B) {
	e, dir := open(b)
	all := statements(b, filepath.Join(dir, "ldbc-queries.jsonl"))
	for read := 1; read <= 14; read++ {
		name := fmt.Sprintf("complex-%d", read)
		b.Run(name, func(b *testing.B) {
			measure(b, e, all["interactive-"+name], substitutions(b, dir, read))
		})
	}
	for read := 1; read <= 7; read++ {
		name, label, param := fmt.Sprintf("short-%d", read), "Person", "personId"
		if read > 3 {
			label, param = "Message", "messageId"
		}
		b.Run(name, func(b *testing.B) {
			_, ids := run(b, e, fmt.Sprintf("MATCH (n:%s) RETURN n.id AS id ORDER BY n.creationDate SKIP 1000 LIMIT 60", label), nil)
			if len(ids) == 0 {
				_, ids = run(b, e, fmt.Sprintf("MATCH (n:%s) RETURN n.id AS id LIMIT 60", label), nil)
			}
			var params []map[string]graph.Value
			for _, id := range ids {
				params = append(params, map[string]graph.Value{param: id[0]})
			}
			measure(b, e, all["interactive-"+name], params)
		})
	}
}

// BenchmarkLSQB runs LSQB's statements at scale factor 0.1 in the engine.
func BenchmarkLSQB(b *testing.B) {
	e, dir := open(b)
	all := statements(b, filepath.Join(dir, "lsqb-queries.jsonl"))
	for q := 1; q <= 9; q++ {
		name := fmt.Sprintf("q%d", q)
		b.Run(name, func(b *testing.B) { measure(b, e, all[name], []map[string]graph.Value{nil}) })
	}
}
