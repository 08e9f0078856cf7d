package cost

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTold(t *testing.T) {
	require.Equal(t, `{"visits":12,"rows":3,"bytes":120,"cpuMs":0.41,"queueMs":0.0,"estimate":15}`,
		string(Told{Cost{Visits: 12, Rows: 3, Bytes: 120, CPU: 410 * time.Microsecond}, 14.6}.AppendJSON(nil)))
	for want, told := range map[string]Told{
		"visits=0, rows=0, bytes=0, cpu=0.0, queue=0.0": {Estimate: -1},
		"visits=12, rows=3, bytes=120, cpu=0.41, queue=12.005, estimate=15": {
			Cost:     Cost{Visits: 12, Rows: 3, Bytes: 120, CPU: 410*time.Microsecond + 999, Queue: 12_005 * time.Microsecond},
			Estimate: 14.6,
		},
		"visits=999999999999999, rows=0, bytes=0, cpu=999999999999.0, queue=0.3, estimate=999999999999999": {
			Cost: Cost{Visits: math.MaxInt64, CPU: math.MaxInt64, Queue: 300 * time.Microsecond}, Estimate: math.Inf(1),
		},
	} {
		require.Equal(t, want, told.String())
	}
}
