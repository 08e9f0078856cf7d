package search

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/explain"
)

// BenchmarkHNSW finds the ten most similar by a graph. It reports the recall, the vectors compared by a search, and how many vectors a second the
// graph was built of, with one goroutine on two processors. HOPGATE_BENCH_WRITE names a directory for the vectors, the queries and
// the exact answers, which beside_vectors.py reads.
func BenchmarkHNSW(b *testing.B) {
	each(b, func(b *testing.B, w *world) {
		const search = "CALL db.index.vector.queryNodes('docs', 10, $q) YIELD node RETURN node.n"
		qs := w.queries(200)
		param := func(i int) map[string]graph.Value { return map[string]graph.Value{"q": qs[i%len(qs)]} }
		config := "OPTIONS {indexConfig: {`vector.dimensions`: " + strconv.Itoa(w.dimensions)
		index := func(more string) {
			w.run(b, "DROP INDEX docs", nil)
			w.run(b, "CREATE VECTOR INDEX docs FOR (d:Doc) ON d.embedding "+config+more+"}}", nil)
		}
		index("")
		defer index("")
		var want [][]int64
		for i := range qs {
			want = append(want, w.run(b, search, param(i)))
		}
		if dir := os.Getenv("HOPGATE_BENCH_WRITE"); dir != "" {
			if err := w.write(dir, qs, want); err != nil {
				b.Fatal(err)
			}
		}
		index(", `vector.hnsw.m`: 16, `vector.hnsw.ef_construction`: 100")
		begin := time.Now()
		for {
			asked := time.Now()
			if _, plan := w.profile(b, "PROFILE "+search, param(0)); total64(plan, func(n *explain.Node) int64 { return n.Candidates }) > 0 {
				break
			}
			time.Sleep(max(100*time.Millisecond, 20*time.Since(asked))) // the searches meanwhile are exact
		}
		built := float64(len(w.vectors)) / time.Since(begin).Seconds()
		found, compared := 0, int64(0)
		for i := range qs {
			got, plan := w.profile(b, "PROFILE "+search, param(i))
			compared += total64(plan, func(n *explain.Node) int64 { return n.Compared })
			for _, n := range want[i] {
				if slices.Contains(got, n) {
					found++
				}
			}
		}
		for i := 0; b.Loop(); i++ {
			if got := w.run(b, search, param(i)); len(got) != 10 {
				b.Fatalf("%d rows", len(got))
			}
		}
		b.ReportMetric(float64(found)/float64(10*len(qs)), "recall@10")
		b.ReportMetric(float64(compared)/float64(len(qs)), "compared/op")
		b.ReportMetric(built, "built/s")
	})
}

// total64 adds a figure of all operators up.
func total64(n *explain.Node, figure func(*explain.Node) int64) int64 {
	sum := figure(n)
	for _, c := range n.Children {
		sum += total64(c, figure)
	}
	return sum
}

// write writes the vectors, the queries and the answers to files, as 32-bit floats and integers.
func (w *world) write(dir string, qs []graph.Value, want [][]int64) error {
	var vectors, queries, answers []byte
	var err error
	for _, v := range w.vectors {
		if vectors, err = binary.Append(vectors, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	for i, q := range qs {
		for _, x := range q.List() {
			if queries, err = binary.Append(queries, binary.LittleEndian, float32(x.Float())); err != nil {
				return err
			}
		}
		for _, n := range want[i] {
			answers = binary.LittleEndian.AppendUint32(answers, uint32(n))
		}
	}
	for name, data := range map[string][]byte{"vectors": vectors, "queries": queries, "answers": answers} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
