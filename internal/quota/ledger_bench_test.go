package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/cost"
)

// accounting returns what a request does for three quotas.
func accounting(t testing.TB) func() {
	l := NewLedger(nil, nil)
	s := set(t, nil,
		Quota{Name: "a", For: "everyone", Measure: Requests, Amount: 1e12, Window: Day, Mode: Enforced},
		Quota{Name: "b", For: "everyone", Each: true, Measure: Cost, Amount: 1e12, Window: Hour, Mode: Enforced},
		Quota{Name: "c", For: "token=ann", Measure: CPU, Amount: 1e6, Window: Minute, Mode: Measured})
	id := &access.Identity{Name: "ann"}
	took := cost.Cost{Visits: 10, Rows: 1, CPU: time.Microsecond}
	return func() {
		c := l.Of("g", s, id, "")
		if err := c.Enter(); err != nil {
			t.Fatal(err)
		}
		c.Charge(took)
	}
}

func TestAllocations(t *testing.T) { require.Zero(t, alloctest.Least(1000, accounting(t))) }

func BenchmarkAccounting(b *testing.B) {
	f := accounting(b)
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}
