package remote_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkHop takes steps from sets through a gateway to three processes of a few shards, all in this process: calls are those of one step,
// and so is the time of processors, less what the cluster uses when nobody asks it.
func BenchmarkHop(b *testing.B) {
	const n = 20_000
	for _, shards := range []int{3, 16} {
		c := newReplicated(b, 3, shards)
		w := fill(b, c.gateway(), n, 4, 1)
		for _, size := range []int{20, 2000} {
			b.Run(fmt.Sprintf("shards=%d/from=%d", shards, size), func(b *testing.B) {
				var from graph.VertexSet
				for _, i := range rand.Perm(n)[:size] {
					from.Add(w.ids[i])
				}
				tx := w.begin(b)
				var wire graph.Wire
				tx.Features().Wire.Wire(&wire)
				ctx, types := context.Background(), []graph.TypeID{w.a}
				b.ReportAllocs()
				before, began := processorTime(b), time.Now()
				<-time.After(time.Second)
				idle := float64(processorTime(b)-before) / float64(time.Since(began))
				before, began = processorTime(b), time.Now()
				steps := 0
				for b.Loop() {
					var out graph.VertexSet
					require.NoError(b, tx.Step(ctx, &from, types, graph.Out, &out))
					steps++
				}
				b.ReportMetric((float64(processorTime(b)-before)-idle*float64(time.Since(began)))/float64(steps), "cpu-ns/op")
				b.ReportMetric(idle*100, "idle-%")
				b.ReportMetric(float64(wire.Requests.Load())/float64(steps), "calls/op")
			})
		}
	}
}
