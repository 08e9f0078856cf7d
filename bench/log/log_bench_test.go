package log

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/named"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// vertices is the size of the graph that the commits change.
const vertices = 10_000

func TestMain(m *testing.M) {
	request.SetGarbage(192<<20, 24<<20) // that of a server with 12 GiB; the live heap is smaller
	os.Exit(m.Run())
}

// world is a graph in a directory of its own.
type world struct {
	past  *past.Store
	store *local.Store
	e     *query.Engine
	g     shard.Graph
}

func must[T any](b *testing.B) func(T, error) T {
	return func(v T, err error) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// open opens a graph of vertices whose log has a mode.
func open(b *testing.B, mode changelog.Mode, inMemory bool) *world {
	b.Helper()
	opts := local.Options{Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler), LogBytes: -1}
	if inMemory {
		opts.Dir, opts.FS = "data", vfs.NewMem()
	}
	if mode != changelog.Off {
		opts.LogBytes = 1 << 30
	}
	w := &world{store: must[*local.Store](b)(local.Open(opts))}
	b.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			b.Fatal(err)
		}
	})
	w.past = past.NewStore(w.store, 64<<20)
	w.e = query.New(w.past, query.Options{})
	w.g = must[shard.Graph](b)(w.store.Graph(query.DefaultGraph))
	if mode != changelog.Off {
		if err := w.g.ChangeLog().SetLogMode(b.Context(), mode); err != nil {
			b.Fatal(err)
		}
	}
	w.run(b, "CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE", nil)
	w.run(b, fmt.Sprintf("UNWIND range(0, %d) AS i CREATE (:N {id: i, name: 'name ' + i, age: i %% 90, city: 'city ' + i %% 100, at: i, x: 1.5 * i})", vertices-1), nil)
	if err := w.g.(*local.Graph).Settle(b.Context()); err != nil {
		b.Fatal(err)
	}
	return w
}

func (w *world) run(b *testing.B, statement string, params map[string]graph.Value) {
	b.Helper()
	res := must[*query.Result](b)(w.e.Query(context.Background(), query.Request{Statement: statement, Params: params}))
	defer res.Close()
	for {
		if batch := must[*graph.Batch](b)(res.Next()); batch == nil {
			return
		}
	}
}

// writes are statements, each for a number.
var writes = []struct{ name, statement string }{
	{"edge", "MATCH (a:N {id: $a}), (b:N {id: $b}) CREATE (a)-[:E {since: $n}]->(b)"},
	{"vertex", "CREATE (:M {id: $n, name: 'a name', age: 30, city: 'a city'})"},
	{"set", "MATCH (a:N {id: $a}) SET a.age = $n"},
	{"delete", "MATCH (a:N {id: $n}) DETACH DELETE a"}, // for fewer than 200 turns
	{"edges100", "UNWIND range(0, 99) AS i MATCH (a:N {id: ($n * 31 + i * 7919) % 10000}), (b:N {id: ($n * 17 + i * 104729) % 10000}) CREATE (a)-[:E {since: i}]->(b)"},
	{"sets100", "UNWIND range(0, 99) AS i MATCH (a:N {id: ($n * 31 + i * 7919) % 10000}) SET a.age = i, a.city = 'city'"},
}

// turn is how many commits one world makes before the next one.
const turn = 50

// BenchmarkCommit commits to graphs without a log, with one of differences and with one of whole elements, in turns. It reports the median
// of the ratios of the times of each turn to that without a log.
func BenchmarkCommit(b *testing.B) {
	for _, inMemory := range []bool{true, false} {
		for _, w := range writes {
			b.Run(fmt.Sprintf("%s/memory=%v", w.name, inMemory), func(b *testing.B) {
				worlds := []*world{open(b, changelog.Off, inMemory), open(b, changelog.Diff, inMemory), open(b, changelog.Full, inMemory)}
				var ratios [3][]float64
				var off time.Duration
				n := int64(0)
				for b.Loop() {
					var took [3]time.Duration
					for k := range worlds {
						k = (k + int(n)) % len(worlds) // each goes first as often as the others
						start := time.Now()
						for i := range int64(turn) {
							x := n*turn + i
							worlds[k].run(b, w.statement, map[string]graph.Value{
								"a": graph.IntValue(x * 7919 % vertices), "b": graph.IntValue(x * 104729 % vertices), "n": graph.IntValue(x),
							})
						}
						took[k] = time.Since(start)
					}
					n++
					off += took[0]
					for k := range took {
						ratios[k] = append(ratios[k], float64(took[k])/float64(took[0]))
					}
				}
				b.ReportMetric(float64(off.Microseconds())/float64(n*turn), "off-µs")
				b.ReportMetric(median(ratios[1]), "diff/off")
				b.ReportMetric(median(ratios[2]), "full/off")
			})
		}
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkBytes reports how many bytes the log takes for a byte of the values of its vertices: integers and floats count 8, texts their
// length.
func BenchmarkBytes(b *testing.B) {
	w := open(b, changelog.Diff, true)
	log := w.g.ChangeLog()
	for b.Loop() {
		var bytes []byte
		st := must[shard.LogState](b)(log.LogState(b.Context()))
		for at := st.First; at < st.Last; {
			chunk := must[[]byte](b)(log.ReadLog(b.Context(), at, 1<<20, nil))
			bytes = append(bytes, chunk...)
			for len(chunk) > 0 {
				c, rest, err := changelog.ReadCommit(chunk)
				if err != nil {
					b.Fatal(err)
				}
				at, chunk = c.Number, rest
			}
		}
		values := 0
		for i := range vertices {
			values += 4*8 + len(fmt.Sprintf("name %d", i)) + len(fmt.Sprintf("city %d", i%100))
		}
		b.ReportMetric(float64(len(bytes))/float64(values), "bytes/byte")
	}
}

// BenchmarkStream reads the changes of all vertices, and reports how many come in a second.
func BenchmarkStream(b *testing.B) {
	w := open(b, changelog.Diff, true)
	events := 0
	for b.Loop() {
		s := must[*changes.Stream](b)(w.e.Changes(b.Context(), "", changes.Request{From: changes.Earliest, Bounded: true}))
		var dst []byte
		for {
			some, err := s.Next(b.Context(), 0, 1024)
			if err != nil || len(some) == 0 {
				break
			}
			dst = dst[:0]
			for i := range some {
				dst = some[i].AppendJSON(dst)
			}
			events += len(some)
		}
		s.Close()
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkAsOf reads the graph as of the commit before some others, and live, in turns. It reports the median of the ratios.
func BenchmarkAsOf(b *testing.B) {
	w := open(b, changelog.Diff, true)
	res := must[*query.Result](b)(w.e.Query(b.Context(), query.Request{Statement: "RETURN 1"}))
	token := res.Snapshot()
	res.Close()
	for i := range int64(100) {
		w.run(b, writes[4].statement, map[string]graph.Value{"n": graph.IntValue(i)})
		w.run(b, writes[5].statement, map[string]graph.Value{"n": graph.IntValue(i)})
	}
	for _, r := range []struct{ name, statement string }{
		{"key", "MATCH (a:N {id: $n}) RETURN a.name"},
		{"hop", "MATCH (a:N {id: $n})-[:E]->(b) RETURN b.name"},
		{"hops2", "MATCH (a:N {id: $n})-[:E]->()-[:E]->(c) RETURN count(DISTINCT c)"},
		{"count", "MATCH (n:N) WHERE n.age > 40 RETURN count(*)"},
	} {
		b.Run(r.name, func(b *testing.B) {
			var ratios []float64
			n := int64(0)
			for b.Loop() {
				var took [2]time.Duration
				for k, prefix := range []string{"", "USE default AS OF $token "} {
					start := time.Now()
					for i := range int64(20) {
						w.run(b, prefix+r.statement, map[string]graph.Value{"n": graph.IntValue((n*20 + i) * 7919 % vertices), "token": graph.StringValue(token)})
					}
					took[k] = time.Since(start)
				}
				n++
				ratios = append(ratios, float64(took[1])/float64(took[0]))
			}
			b.ReportMetric(median(ratios), "past/live")
		})
	}
}

// BenchmarkSnapshot reads a named snapshot for the first time after some changes. It reports what each change takes: of the log on disk, which
// the snapshot holds, of the time of that read, and of memory.
func BenchmarkSnapshot(b *testing.B) {
	for _, r := range []struct{ name, statement string }{
		{"set", "UNWIND range(0, 999) AS i MATCH (a:N {id: ($n * 1000 + i) % 10000}) SET a.age = $n"},
		{"again", "UNWIND range(0, 999) AS i MATCH (a:N {id: i}) SET a.age = $n"},
		{"create", "UNWIND range(0, 999) AS i CREATE (:M {id: i, name: 'a name', age: 30, city: 'a city'})"},
	} {
		b.Run(r.name, func(b *testing.B) {
			w := open(b, changelog.Diff, true)
			w.run(b, "CREATE SNAPSHOT s", nil)
			s := must[*named.Snapshot](b)(named.Get(w.g.Definitions(), "s", time.Now()))
			const commits, changes = 100, 100 * 1000
			for n := range int64(commits) {
				w.run(b, r.statement, map[string]graph.Value{"n": graph.IntValue(n)})
			}
			st := must[shard.LogState](b)(w.g.ChangeLog().LogState(b.Context()))
			freed := 0
			for b.Loop() {
				w.run(b, "USE default AS OF SNAPSHOT s MATCH (a:N {id: 7}) RETURN a.age", nil)
				b.StopTimer()
				freed = w.past.Forget(math.MaxInt)
				b.StartTimer()
			}
			b.ReportMetric(float64(st.Bytes-s.Bytes)/changes, "logB/change")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/changes, "ns/change")
			b.ReportMetric(float64(freed)/changes, "memB/change")
		})
	}
}
