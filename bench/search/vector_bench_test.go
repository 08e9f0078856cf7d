package search

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// clusters is how many centres the vectors lie around.
const clusters = 200

// number reads a setting of a benchmark.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// clustered makes vectors around centres, from a seed, as long as 1.
func clustered(n, dimensions int) [][]float32 {
	rng := rand.New(rand.NewPCG(26, 2))
	centres := make([][]float64, clusters)
	for c := range centres {
		centres[c] = make([]float64, dimensions)
		for i := range centres[c] {
			centres[c][i] = rng.NormFloat64()
		}
	}
	out := make([][]float32, n)
	mem := make([]float32, n*dimensions)
	for k := range out {
		c, square := centres[rng.IntN(clusters)], 0.0
		v := mem[k*dimensions : (k+1)*dimensions]
		for i := range v {
			x := c[i] + 0.5*rng.NormFloat64()
			v[i] = float32(x)
			square += x * x
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(square))
		}
		out[k] = v
	}
	return out
}

func list(v []float32) graph.Value {
	out := make([]graph.Value, len(v))
	for i, x := range v {
		out[i] = graph.FloatValue(float64(x))
	}
	return graph.ListValue(out)
}

// world is a graph of documents with vectors: one user knows ten people, and each of these has written 1,000 documents.
type world struct {
	engine     *query.Engine
	vectors    [][]float32
	dimensions int
}

var open struct {
	sync.Mutex
	worlds map[int]*world
	stop   []func()
}

// data makes the graph once a process.
func data(b *testing.B, n, dimensions int) *world {
	open.Lock()
	defer open.Unlock()
	if w := open.worlds[dimensions]; w != nil {
		return w
	}
	dir, err := directory()
	if err != nil {
		b.Fatal(err)
	}
	o := local.Options{Dir: dir, Shards: 1, Logger: slog.New(slog.DiscardHandler)}
	o.TopologyBytes = int64(3*4*n*dimensions + 256<<20)
	store, err := local.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	open.stop = append(open.stop, func() {
		_ = store.Close()
		_ = os.RemoveAll(dir)
	})
	w := &world{engine: query.New(store, query.Options{}), vectors: clustered(n, dimensions), dimensions: dimensions}
	begin := time.Now()
	for lo := 0; lo < n; lo += 2000 {
		rows := make([]graph.Value, 0, 2000)
		for i := lo; i < min(lo+2000, n); i++ {
			rows = append(rows, graph.ListValue([]graph.Value{graph.IntValue(int64(i)), list(w.vectors[i])}))
		}
		w.run(b, "UNWIND $rows AS r CREATE (:Doc {n: r[0], embedding: r[1]})", map[string]graph.Value{"rows": graph.ListValue(rows)})
	}
	w.run(b, "CREATE VECTOR INDEX docs FOR (d:Doc) ON d.embedding OPTIONS {indexConfig: {`vector.dimensions`: "+strconv.Itoa(dimensions)+"}}", nil)
	w.run(b, "CREATE INDEX FOR (u:User) ON (u.id)", nil)
	w.run(b, "CREATE INDEX FOR (d:Doc) ON (d.n)", nil)
	w.run(b, "CREATE (u:User {id: 1}) WITH u UNWIND range(0, 9) AS i CREATE (u)-[:KNOWS]->(:User {id: 10 + i})", nil)
	w.run(b, "MATCH (p:User) WHERE p.id >= 10 UNWIND range(0, 999) AS k MATCH (d:Doc {n: (p.id - 10) * 1000 + k}) CREATE (p)<-[:BY]-(d)", nil)
	b.Logf("%d vectors of %d dimensions stored in %v", n, dimensions, time.Since(begin).Round(time.Millisecond))
	if open.worlds == nil {
		open.worlds = map[int]*world{}
	}
	open.worlds[dimensions] = w
	return w
}

// directory makes one that outlasts a benchmark; TestMain removes it.
func directory() (string, error) { return os.MkdirTemp("", "vectors") }

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range open.stop {
		stop()
	}
	os.Exit(code)
}

// run runs a statement and returns the integers of its first column.
func (w *world) run(b *testing.B, text string, params map[string]graph.Value) []int64 {
	out, _ := w.profile(b, text, params)
	return out
}

// profile is run, and returns the plan too, if the statement asks for it.
func (w *world) profile(b *testing.B, text string, params map[string]graph.Value) (out []int64, plan *explain.Node) {
	res, err := w.engine.Query(context.Background(), query.Request{Statement: text, Params: params})
	if err != nil {
		b.Fatal(err)
	}
	defer res.Close()
	for {
		batch, err := res.Next()
		if err != nil {
			b.Fatal(err)
		}
		if batch == nil {
			return out, res.Summary().Plan
		}
		for i := range batch.N {
			out = append(out, batch.Cols[0].Value(i).Int())
		}
	}
}

// queries makes vectors to search for, near vectors of the graph.
func (w *world) queries(n int) []graph.Value {
	rng := rand.New(rand.NewPCG(3, 26))
	out := make([]graph.Value, n)
	for i := range out {
		v := slices.Clone(w.vectors[rng.IntN(len(w.vectors))])
		for k := range v {
			v[k] += float32(0.02 * rng.NormFloat64())
		}
		out[i] = list(v)
	}
	return out
}

// each runs a benchmark for 384 and 1,536 dimensions, or for the number that a setting gives.
func each(b *testing.B, f func(b *testing.B, w *world)) {
	all := []int{384, 1536}
	if only := number("HOPGATE_BENCH_DIMENSIONS", 0); only > 0 {
		all = []int{only}
	}
	for _, dimensions := range all {
		n := number("HOPGATE_BENCH_VECTORS", 100_000)
		if dimensions == 1536 {
			n = min(n, 100_000)
		}
		b.Run(fmt.Sprintf("%dx%d", n, dimensions), func(b *testing.B) { f(b, data(b, n, dimensions)) })
	}
}

// BenchmarkExact finds the ten most similar of all vectors, on all processors, beside a sum over as many bytes on one.
func BenchmarkExact(b *testing.B) {
	each(b, func(b *testing.B, w *world) {
		const search = "CALL db.index.vector.queryNodes('docs', 10, $q) YIELD node RETURN node.n"
		qs := w.queries(16)
		w.run(b, search, map[string]graph.Value{"q": qs[0]})
		bytes := int64(4 * len(w.vectors) * w.dimensions)
		b.Run("search", func(b *testing.B) {
			b.SetBytes(bytes)
			for i := 0; b.Loop(); i++ {
				if got := w.run(b, search, map[string]graph.Value{"q": qs[i%len(qs)]}); len(got) != 10 {
					b.Fatalf("%d rows", len(got))
				}
			}
		})
		b.Run("sum", func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				for _, v := range w.vectors {
					total += sum(v)
				}
			}
		})
	})
}

var total float32

// sum adds numbers up, eight sums side by side.
func sum(v []float32) float32 {
	var a, b, c, d, e, f, g, h float32
	for len(v) >= 8 {
		a, b, c, d, e, f, g, h = a+v[0], b+v[1], c+v[2], d+v[3], e+v[4], f+v[5], g+v[6], h+v[7]
		v = v[8:]
	}
	return a + b + c + d + e + f + g + h
}

// BenchmarkFiltered finds the ten most similar of the 10,000 documents that a hop leads to.
func BenchmarkFiltered(b *testing.B) {
	each(b, func(b *testing.B, w *world) {
		const search = "MATCH (:User {id: 1})-[:KNOWS]->()<-[:BY]-(d:Doc) RETURN d.n ORDER BY vector.similarity.cosine(d.embedding, $q) DESC LIMIT 10"
		qs := w.queries(16)
		w.run(b, search, map[string]graph.Value{"q": qs[0]})
		for i := 0; b.Loop(); i++ {
			if got := w.run(b, search, map[string]graph.Value{"q": qs[i%len(qs)]}); len(got) != 10 {
				b.Fatalf("%d rows", len(got))
			}
		}
	})
}
