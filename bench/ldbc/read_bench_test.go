package ldbc

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// measure runs a statement with each set of parameters in turn and returns the CPU time per run.
func measure(b *testing.B, e *query.Engine, statement string, params []map[string]graph.Value) {
	for _, p := range params {
		Run(b.Context(), b, e, statement, p)
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := ProcessorTime(b)
	for i := range b.N {
		Drain(b.Context(), b, e, statement, params[i%len(params)])
	}
	b.ReportMetric(float64((ProcessorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// BenchmarkReads runs the complex and short reads at scale factor 0.1 in the engine.
func BenchmarkReads(b *testing.B) {
	e, dir := Open(b)
	for _, r := range Reads(b, e, dir) {
		b.Run(r.Name, func(b *testing.B) { measure(b, e, r.Statement, r.Params) })
	}
}

// BenchmarkLSQB runs LSQB's statements at scale factor 0.1 in the engine.
func BenchmarkLSQB(b *testing.B) {
	e, dir := Open(b)
	all := Statements(b, filepath.Join(dir, "lsqb-queries.jsonl"))
	for q := 1; q <= 9; q++ {
		name := fmt.Sprintf("q%d", q)
		b.Run(name, func(b *testing.B) { measure(b, e, all[name], []map[string]graph.Value{nil}) })
	}
}
