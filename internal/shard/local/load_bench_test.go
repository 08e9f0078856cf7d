package local

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

const (
	benchPeople = 100_000
	benchBatch  = 250_000
	benchEdges  = 3_500_000
)

// BenchmarkLoad loads people and then edges between them, in batches, to disk; one of them with a commit log.
func BenchmarkLoad(b *testing.B) {
	for _, tc := range []struct {
		name   string
		action shard.Action
		sorted bool
		log    int64
	}{
		{"insert", shard.Insert, false, 0},
		{"insert/log", shard.Insert, false, 1 << 30},
		{"upsert", shard.Upsert, false, 0},
		{"upsert/sorted", shard.Upsert, true, 0},
	} {
		b.Run(tc.name, func(b *testing.B) {
			for b.Loop() {
				loadPeople(b, tc.action, tc.sorted, tc.log)
			}
		})
	}
}

func loadPeople(b *testing.B, action shard.Action, sorted bool, log int64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx := context.Background()
	s, err := Open(Options{Dir: b.TempDir(), LogBytes: log})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	g, err := s.Graph("default")
	if err != nil {
		b.Fatal(err)
	}
	tx, err := g.Begin(ctx, shard.Write)
	if err != nil {
		b.Fatal(err)
	}
	person, _ := tx.Label("Person")
	knows, _ := tx.Type("KNOWS")
	id, _ := tx.Prop("id")
	name, _ := tx.Prop("name")
	since, _ := tx.Prop("since")
	set, _ := tx.LabelSet([]graph.LabelID{person})
	tx.Rollback()
	if err := g.CreateIndex(ctx, graph.Index{Name: "person", Label: "Person", Props: []string{"id"}, Unique: true, Indexed: true}); err != nil {
		b.Fatal(err)
	}
	space := g.Indexes()[0].ID
	rnd := rand.New(rand.NewPCG(1, 1))
	load := func(l *shard.Load) time.Duration {
		start := threadTime()
		if err := g.Load(ctx, l); err != nil {
			b.Fatal(err)
		}
		if len(l.Rejected) > 0 {
			b.Fatal(l.Rejected[0])
		}
		return threadTime() - start
	}
	v := shard.LoadVertices{Labels: set, Space: space, Props: []shard.LoadColumn{{Prop: id}, {Prop: name}}}
	for i := range benchPeople {
		k := graph.IntValue(int64(i) * 7)
		v.Keys = append(v.Keys, k)
		v.Props[0].Values = append(v.Props[0].Values, k)
		v.Props[1].Values = append(v.Props[1].Values, graph.StringValue("a person's name"))
	}
	took := load(&shard.Load{Stream: "s", Seq: 1, Vertices: []shard.LoadVertices{v}})
	b.ReportMetric(benchPeople/took.Seconds(), "vertices/cpu-s")
	took = 0
	for n := 0; n < benchEdges; n += benchBatch {
		e := shard.LoadEdges{Type: knows, SrcSpace: space, DstSpace: space, Action: action, Props: []shard.LoadColumn{{Prop: since}}}
		for i := range benchBatch {
			src := rnd.IntN(benchPeople)
			if sorted {
				src = int(int64(n+i) * benchPeople / benchEdges)
			}
			e.Src = append(e.Src, graph.IntValue(int64(src)*7))
			e.Dst = append(e.Dst, graph.IntValue(int64(rnd.IntN(benchPeople))*7))
			e.Props[0].Values = append(e.Props[0].Values, graph.IntValue(int64(1_000_000_000+rnd.IntN(1<<28))))
		}
		took += load(&shard.Load{Stream: "s", Seq: uint64(2 + n/benchBatch), Edges: []shard.LoadEdges{e}})
	}
	b.ReportMetric(benchEdges/took.Seconds(), "edges/cpu-s")
	start := threadTime()
	if err := g.(*Graph).Settle(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric((threadTime()-start).Seconds()/benchEdges*1e9, "compact-ns/edge")
}

// threadTime is the processor time of the calling thread, which a machine that is shared does not falsify.
func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
