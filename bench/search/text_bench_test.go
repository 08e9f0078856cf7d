package search

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// draw is splitmix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014). beside.py has the same, so that both
// make the same texts.
type draw uint64

func (d *draw) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// word draws one of 65,535 words of four letters. Each of 16 classes is as likely as the others, and a class has twice the words of the one
// before: about Zipf's law.
func (d *draw) word() string {
	const letters = "bcdfghjklmnprstv"
	class := d.next() % 16
	rank := 1<<class + d.next()%(1<<class)
	w := rank * 40503 % (1 << 16) // 40503 is odd, so that no two ranks have one word
	return string([]byte{letters[w>>12], letters[(w>>8)%16], letters[(w>>4)%16], letters[w%16]})
}

// texts makes n texts of 8 to 15 words.
func texts(n int) []string {
	d := draw(26)
	out := make([]string, n)
	words := make([]string, 0, 15)
	for i := range out {
		words = words[:0]
		for range 8 + d.next()%8 {
			words = append(words, d.word())
		}
		out[i] = strings.Join(words, " ")
	}
	return out
}

// textQueries makes queries from words of the texts: 200 words, 200 phrases of two words, 200 prefixes of three letters.
func textQueries(all []string) map[string][]string {
	d := draw(62)
	out := map[string][]string{}
	for range 200 {
		words := strings.Fields(all[d.next()%uint64(len(all))])
		k := d.next() % uint64(len(words)-1)
		out["term"] = append(out["term"], words[k])
		out["phrase"] = append(out["phrase"], `"`+words[k]+" "+words[k+1]+`"`)
		out["prefix"] = append(out["prefix"], words[k][:3]+"*")
	}
	return out
}

// matching counts the texts that a query of textQueries finds, by reading all of them.
func matching(all []string, q string) (n int64) {
	part := " " + strings.Trim(q, `"*`)
	if !strings.HasSuffix(q, "*") {
		part += " "
	}
	for _, t := range all {
		if strings.Contains(" "+t+" ", part) {
			n++
		}
	}
	return n
}

// BenchmarkText builds a full-text index over short texts and then finds the ten best by words, phrases and prefixes. It first compares the
// number of all hits of some queries with a scan of the texts.
func BenchmarkText(b *testing.B) {
	all := texts(number("HOPGATE_BENCH_TEXTS", 100_000))
	dir := b.TempDir()
	store, err := local.Open(local.Options{Dir: dir, Shards: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	w := &world{engine: query.New(store, query.Options{})}
	for lo := 0; lo < len(all); lo += 2000 {
		rows := make([]graph.Value, 0, 2000)
		for _, t := range all[lo:min(lo+2000, len(all))] {
			rows = append(rows, graph.StringValue(t))
		}
		w.run(b, "UNWIND $rows AS r CREATE (:Text {t: r})", map[string]graph.Value{"rows": graph.ListValue(rows)})
	}
	queries := textQueries(all)
	const count = "CALL db.index.fulltext.queryNodes('texts', $q) YIELD node RETURN count(node)"
	param := func(q string) map[string]graph.Value { return map[string]graph.Value{"q": graph.StringValue(q)} }

	heap := heapBytes()
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			w.run(b, "DROP INDEX texts IF EXISTS", nil)
			b.StartTimer()
			w.run(b, "CREATE FULLTEXT INDEX texts FOR (n:Text) ON EACH [n.t]", nil)
			w.run(b, count, param(queries["term"][0]))
		}
		b.ReportMetric(float64(len(all)*b.N)/b.Elapsed().Seconds(), "texts/s")
		time.Sleep(3 * time.Second) // an index at rest merges its segments
		b.ReportMetric(float64(heapBytes()-heap)/(1<<20), "heap-MB")
		b.ReportMetric(float64(size(b, dir))/(1<<20), "disk-MB")
	})
	for _, kind := range []string{"term", "phrase", "prefix"} {
		b.Run(kind, func(b *testing.B) {
			w.run(b, "CREATE FULLTEXT INDEX texts IF NOT EXISTS FOR (n:Text) ON EACH [n.t]", nil)
			hits := int64(0)
			for i, q := range queries[kind] {
				got := w.run(b, count, param(q))[0]
				if hits += got; i%10 == 0 && got != matching(all, q) {
					b.Fatalf("%s finds %d texts, not %d", q, got, matching(all, q))
				}
			}
			const best = "CALL db.index.fulltext.queryNodes('texts', $q, {limit: 10}) YIELD node, score RETURN id(node), score"
			var times []time.Duration
			for i := 0; b.Loop(); i++ {
				begin := time.Now()
				if got := w.run(b, best, param(queries[kind][i%200])); len(got) == 0 {
					b.Fatal("no row")
				}
				times = append(times, time.Since(begin))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(hits), "hits")
		})
	}
}

// heapBytes is what the heap holds after a collection.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// size is what the full-text indexes below a directory take. Files that the index removes meanwhile do not count.
func size(b *testing.B, dir string) (n int64) {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && !e.IsDir() && strings.Contains(path, string(filepath.Separator)+"search"+string(filepath.Separator)) {
			if info, err = e.Info(); err == nil {
				n += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
