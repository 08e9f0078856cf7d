package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// BenchmarkUpdate loads a million people and then as many rows as HOPGATE_BENCH_UPDATES says, a million by default, that
// add to a number and to a set of random ones, in batches, to disk. It reports the rate of the first and of the last tenth of them, by
// the time of all processors, for a processor.
func BenchmarkUpdate(b *testing.B) {
	const people, batch = 1_000_000, 250_000
	updates := 1_000_000
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_BENCH_UPDATES")); err == nil {
		updates = n
	}
	for b.Loop() {
		ctx := context.Background()
		s, err := Open(Options{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		g, err := s.Graph("default")
		if err != nil {
			b.Fatal(err)
		}
		tx, err := g.Begin(ctx, shard.Write)
		if err != nil {
			b.Fatal(err)
		}
		person, _ := tx.Label("Person")
		id, _ := tx.Prop("id")
		visits, _ := tx.Prop("visits")
		tags, _ := tx.Prop("tags")
		set, _ := tx.LabelSet([]graph.LabelID{person})
		tx.Rollback()
		if err := g.CreateIndex(ctx, graph.Index{Name: "person", Label: "Person", Props: []string{"id"}, Unique: true, Indexed: true}); err != nil {
			b.Fatal(err)
		}
		space := g.Indexes()[0].ID
		names := make([]graph.Value, 64)
		for i := range names {
			names[i] = graph.StringValue(fmt.Sprint("tag", i))
		}
		rng := rand.New(rand.NewPCG(1, 1))
		seq := uint64(0)
		load := func(n int, key func(i int) int) time.Duration {
			v := shard.LoadVertices{Labels: set, Space: space, Props: []shard.LoadColumn{
				{Prop: id}, {Prop: visits, Strategy: shard.Sum}, {Prop: tags, Strategy: shard.Union},
			}}
			for i := range n {
				k := graph.IntValue(int64(key(i)) * 7)
				v.Keys = append(v.Keys, k)
				v.Props[0].Values = append(v.Props[0].Values, k)
				v.Props[1].Values = append(v.Props[1].Values, graph.IntValue(int64(i%10)))
				v.Props[2].Values = append(v.Props[2].Values, graph.ListValue([]graph.Value{names[rng.IntN(len(names))]}))
			}
			seq++
			began := processTime()
			if err := g.Load(ctx, &shard.Load{Stream: "s", Seq: seq, Vertices: []shard.LoadVertices{v}}); err != nil {
				b.Fatal(err)
			}
			return processTime() - began
		}
		for from := 0; from < people; from += batch {
			load(batch, func(i int) int { return from + i })
		}
		var took []time.Duration
		for n := 0; n < updates; n += batch {
			took = append(took, load(batch, func(int) int { return rng.IntN(people) }))
		}
		tenth := max(1, len(took)/10)
		rate := func(of []time.Duration) float64 {
			sum := time.Duration(0)
			for _, t := range of {
				sum += t
			}
			return float64(len(of)*batch) / sum.Seconds()
		}
		b.ReportMetric(rate(took[:tenth]), "first-rows/cpu-s")
		b.ReportMetric(rate(took[len(took)-tenth:]), "last-rows/cpu-s")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// processTime is the processor time of the process.
func processTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
