package commit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// vertices is the size of the graph that receives the edges.
const vertices = 10_000

// garbage is the garbage allowance of a server with 12 GiB.
const garbage = 192 << 20

func TestMain(m *testing.M) {
	request.SetGarbage(garbage, garbage/8) // the live heap is smaller
	os.Exit(m.Run())
}

// world is a graph in a directory of its own.
type world struct {
	store *local.Store
	g     shard.Graph
	e     *query.Engine
	set   graph.LabelSet
	typ   graph.TypeID
	props []graph.PropID
	ids   []graph.VertexID
}

func open(b *testing.B, opts local.Options) *world {
	b.Helper()
	w := &world{}
	opts.EnsureDefaults()
	var err error
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	w.store, err = local.Open(opts)
	must(err)
	b.Cleanup(func() { must(w.store.Close()) })
	w.e = query.New(w.store, query.Options{})
	w.g, err = w.store.Graph("default")
	must(err)
	ctx := context.Background()
	must(w.g.CreateIndex(ctx, graph.Index{Label: "N", Props: []string{"id"}, Unique: true, Indexed: true}))
	tx, err := w.g.Begin(ctx, shard.Write)
	must(err)
	for _, name := range []string{"id", "name", "age"} {
		p, err := tx.Prop(name)
		must(err)
		w.props = append(w.props, p)
	}
	w.typ, err = tx.Type("E")
	must(err)
	label, err := tx.Label("N")
	must(err)
	keyed, err := tx.LabelSet([]graph.LabelID{label})
	must(err)
	plain, err := tx.Label("M")
	must(err)
	w.set, err = tx.LabelSet([]graph.LabelID{plain})
	must(err)
	ms := make([]shard.Mutation, vertices)
	for i := range ms {
		ms[i] = shard.Mutation{Op: shard.CreateVertex, Labels: keyed, Props: []graph.Property{{ID: w.props[0], Value: graph.IntValue(int64(i))}}}
	}
	must(tx.Apply(ctx, ms))
	must(tx.Commit(ctx))
	for i := range ms {
		w.ids = append(w.ids, ms[i].Vertex)
	}
	must(w.g.(*local.Graph).Settle(ctx))
	return w
}

// BenchmarkFdatasync measures the disk: appends of 512 bytes, each synced.
func BenchmarkFdatasync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 512)
	for range b.N {
		appendSynced(b, f, buf)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "syncs/s")
}

func appendSynced(b *testing.B, f *os.File, buf []byte) {
	if _, err := f.Write(buf); err != nil {
		b.Fatal(err)
	}
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		b.Fatal(err)
	}
}

// edge commits an edge with a statement.
func (w *world) edge(b *testing.B, n int64) {
	run(b, w.e, "MATCH (a:N {id: $a}), (b:N {id: $b}) CREATE (a)-[:E]->(b)", map[string]graph.Value{
		"a": graph.IntValue(n * 7919 % vertices), "b": graph.IntValue(n * 104729 % vertices),
	})
}

// BenchmarkEdgeToFdatasync alternates 100 commits of edges by one client with 100 appends as in BenchmarkFdatasync, because the disk's
// speed varies from second to second. It reports the ratio of the times.
func BenchmarkEdgeToFdatasync(b *testing.B) {
	w := open(b, local.Options{Dir: b.TempDir()})
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 512)
	const turn = 100
	var commits, syncs time.Duration
	var ratios []float64
	for i := range b.N {
		start := time.Now()
		for k := range int64(turn) {
			w.edge(b, int64(i)*turn+k)
		}
		c := time.Since(start)
		start = time.Now()
		for range turn {
			appendSynced(b, f, buf)
		}
		s := time.Since(start)
		commits, syncs = commits+c, syncs+s
		ratios = append(ratios, s.Seconds()/c.Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(float64(turn*b.N)/commits.Seconds(), "commits/s")
	b.ReportMetric(float64(turn*b.N)/syncs.Seconds(), "syncs/s")
	b.ReportMetric(ratios[len(ratios)/2], "times")
}

func run(b *testing.B, e *query.Engine, statement string, params map[string]graph.Value) {
	res, err := e.Query(context.Background(), query.Request{Statement: statement, Params: params})
	if err != nil {
		b.Error(err)
		return
	}
	res.Close()
}

// BenchmarkEdge commits edges one by one, each synced, with several concurrent clients.
func BenchmarkEdge(b *testing.B) {
	edges(b, func(b *testing.B) local.Options { return local.Options{Dir: b.TempDir()} })
}

// BenchmarkEdgeInMemory is BenchmarkEdge on a disk in memory whose syncs take 0.2 ms, so that other users of the disk do not matter.
func BenchmarkEdgeInMemory(b *testing.B) {
	edges(b, func(*testing.B) local.Options { return local.Options{Dir: "data", FS: slowFS{vfs.NewMem()}} })
}

func edges(b *testing.B, opts func(b *testing.B) local.Options) {
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			w := open(b, opts(b))
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			before := processor(b)
			for range clients {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						w.edge(b, i)
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N), "cpu-µs/commit")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			b.ReportMetric(float64(w.e.Metrics().Conflicts.Load()), "conflicts")
		})
	}
}

// processor returns the CPU time of the process.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// slowFS is a file system whose syncs take 0.2 ms.
type slowFS struct{ vfs.FS }

type slowFile struct{ vfs.File }

func (fs slowFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	return slowFile{f}, err
}

func (fs slowFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(from, to, c)
	return slowFile{f}, err
}

func (f slowFile) Sync() error {
	// The thread sleeps, as in a sync, because the timers of the runtime are not exact enough.
	_ = unix.Nanosleep(&unix.Timespec{Nsec: 150_000}, nil)
	return f.File.Sync()
}

func (f slowFile) SyncData() error { return f.Sync() }

// BenchmarkUnwind creates 100 edges in one statement, synced.
func BenchmarkUnwind(b *testing.B) {
	w := open(b, local.Options{Dir: b.TempDir()})
	b.ResetTimer()
	before := processor(b)
	for i := range b.N {
		rows := make([]graph.Value, 100)
		for k := range rows {
			n := int64(i*100 + k)
			rows[k] = graph.ListValue([]graph.Value{graph.IntValue(n * 7919 % vertices), graph.IntValue(n * 104729 % vertices)})
		}
		run(b, w.e, "UNWIND $rows AS r MATCH (a:N {id: r[0]}), (b:N {id: r[1]}) CREATE (a)-[:E]->(b)", map[string]graph.Value{"rows": graph.ListValue(rows)})
	}
	b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N), "cpu-µs/commit")
	b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "edges/s")
}

// each measures commits of 100 mutations by one goroutine, on the disk, where each is synced, and in memory, where syncs take no time.
func each(b *testing.B, what string, mutation func(w *world, i int) shard.Mutation) {
	b.Run("synced", func(b *testing.B) { insert(b, b.TempDir(), what, mutation) })
	b.Run("unsynced", func(b *testing.B) {
		dir, err := os.MkdirTemp("/dev/shm", "commit") //nolint:usetesting // b.TempDir is on the disk
		if err != nil {
			b.Skip("no file system in memory: ", err)
		}
		b.Cleanup(func() { os.RemoveAll(dir) })
		insert(b, dir, what, mutation)
	})
}

func insert(b *testing.B, dir, what string, mutation func(w *world, i int) shard.Mutation) {
	w := open(b, local.Options{Dir: dir})
	ctx := context.Background()
	ms := []shard.Mutation{}
	n := 0
	b.ResetTimer()
	before := processor(b)
	for range b.N {
		tx, err := w.g.Begin(ctx, shard.Write)
		if err != nil {
			b.Fatal(err)
		}
		ms = ms[:0]
		for range 100 {
			ms = append(ms, mutation(w, n))
			n++
		}
		if err := tx.Apply(ctx, ms); err != nil {
			b.Fatal(err)
		}
		if err := tx.Commit(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N), "cpu-µs/commit")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), what+"/s")
}

// BenchmarkVertices inserts vertices with three properties, 100 to a commit.
func BenchmarkVertices(b *testing.B) {
	names := [...]string{"Ada", "Grace", "Barbara", "Frances", "Edith"}
	each(b, "vertices", func(w *world, i int) shard.Mutation {
		return shard.Mutation{Op: shard.CreateVertex, Labels: w.set, Props: []graph.Property{
			{ID: w.props[0], Value: graph.IntValue(int64(i))},
			{ID: w.props[1], Value: graph.StringValue(names[i%len(names)])},
			{ID: w.props[2], Value: graph.IntValue(int64(i % 90))},
		}}
	})
}

// BenchmarkEdges inserts edges, 100 to a commit.
func BenchmarkEdges(b *testing.B) {
	each(b, "edges", func(w *world, i int) shard.Mutation {
		return shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: w.ids[i*7919%vertices], Dst: w.ids[i*104729%vertices], Type: w.typ}}
	})
}
