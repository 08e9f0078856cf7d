package runtime

import (
	"testing"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// BenchmarkTotals is what a run of four operators pays for the metrics of operators and shard requests.
func BenchmarkTotals(b *testing.B) {
	p := &Program{Stages: []*Stage{{Node: &plan.Seek{}}, {Node: &plan.Expand{}}, {Node: &plan.Project{}}, {Node: &plan.Project{}}}}
	r := &Run{Program: p, Stats: make([]Stat, len(p.Stages)), Env: Env{Totals: &Totals{}}}
	for i := range r.Stats {
		r.Stats[i] = Stat{Rows: 1, Batches: 1}
	}
	for b.Loop() {
		r.Tally.n[requestSeek], r.Tally.n[requestExpand], r.Tally.n[requestProperties] = 1, 1, 1
		r.AddTotals()
	}
}
