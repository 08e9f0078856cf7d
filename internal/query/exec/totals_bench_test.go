package exec

import (
	"testing"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// BenchmarkTotals is what a run of four operators pays for the metrics of operators and shard requests.
func BenchmarkTotals(b *testing.B) {
	p := &program{stages: []*stage{{node: &plan.Seek{}}, {node: &plan.Expand{}}, {node: &plan.Project{}}, {node: &plan.Project{}}}}
	r := &run{p: p, stats: make([]Stat, len(p.stages)), env: Env{Totals: &Totals{}}}
	for i := range r.stats {
		r.stats[i] = Stat{Rows: 1, Batches: 1}
	}
	for b.Loop() {
		r.tally.n[requestSeek], r.tally.n[requestExpand], r.tally.n[requestProperties] = 1, 1, 1
		r.total()
	}
}
