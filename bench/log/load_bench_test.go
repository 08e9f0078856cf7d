package log

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

const (
	loadPeople = 20_000
	loadBatch  = 5_000
	loadEdges  = 100_000 // of a batch
)

// loads are the batches of loads, each of its own label: texts of .5 to 1.5 kB, or edges between people with the time since which they exist.
var loads = []struct {
	name    string
	batches func(tx shard.Tx, space graph.IndexID) []shard.Load
}{
	{"texts", func(tx shard.Tx, space graph.IndexID) (ls []shard.Load) {
		random := rand.New(rand.NewPCG(1, 2))
		words := make([]string, 2000)
		for i := range words {
			letters := make([]byte, 2+random.IntN(9))
			for k := range letters {
				letters[k] = 'a' + byte(random.IntN(26))
			}
			words[i] = string(letters)
		}
		set, _ := tx.LabelSet(nil)
		text, _ := tx.Prop("text")
		for from := 0; from < 2*loadPeople; from += loadBatch {
			v := shard.LoadVertices{Labels: set, Space: space, Props: []shard.LoadColumn{{Prop: text}}}
			for i := range loadBatch {
				var s strings.Builder
				for most := 500 + random.IntN(1000); s.Len() < most; {
					s.WriteString(words[random.IntN(len(words))])
					s.WriteByte(' ')
				}
				v.Keys = append(v.Keys, graph.IntValue(int64(loadPeople+from+i)))
				v.Props[0].Values = append(v.Props[0].Values, graph.StringValue(s.String()))
			}
			ls = append(ls, shard.Load{Vertices: []shard.LoadVertices{v}})
		}
		return ls
	}},
	{"edges", func(tx shard.Tx, space graph.IndexID) (ls []shard.Load) {
		random := rand.New(rand.NewPCG(1, 3))
		knows, _ := tx.Type("KNOWS")
		since, _ := tx.Prop("since")
		for range 8 {
			e := shard.LoadEdges{Type: knows, SrcSpace: space, DstSpace: space, Props: []shard.LoadColumn{{Prop: since}}}
			for range loadEdges {
				e.Src = append(e.Src, graph.IntValue(random.Int64N(loadPeople)))
				e.Dst = append(e.Dst, graph.IntValue(random.Int64N(loadPeople)))
				e.Props[0].Values = append(e.Props[0].Values, graph.IntValue(1_000_000_000_000+random.Int64N(1<<37)))
			}
			ls = append(ls, shard.Load{Edges: []shard.LoadEdges{e}})
		}
		return ls
	}},
}

// BenchmarkLoad loads graphs without a log, with one of differences and with one of whole elements, in turns, on disk. It reports the medians of
// the ratios of the processor time of each load, and of the bytes of its files, to those without a log.
func BenchmarkLoad(b *testing.B) {
	modes := []changelog.Mode{changelog.Off, changelog.Diff, changelog.Full}
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			var ratios, bytes [3][]float64
			var off time.Duration
			n := 0
			for b.Loop() {
				var took [3]time.Duration
				var size [3]float64
				for k := range modes {
					k = (k + n) % len(modes)
					took[k], size[k] = load(b, modes[k], l.batches)
				}
				n++
				off += took[0]
				for k := range took {
					ratios[k] = append(ratios[k], float64(took[k])/float64(took[0]))
					bytes[k] = append(bytes[k], size[k]/size[0])
				}
			}
			b.ReportMetric(float64(off.Milliseconds())/float64(n), "off-cpu-ms")
			for k, name := range []string{"diff", "full"} {
				b.ReportMetric(median(ratios[k+1]), name+"/off")
				b.ReportMetric(median(bytes[k+1]), name+"/off-bytes")
			}
		})
	}
}

// load loads batches into a new graph of people, and returns the processor time, and the size of the files afterwards.
func load(b *testing.B, mode changelog.Mode, batches func(tx shard.Tx, space graph.IndexID) []shard.Load) (took time.Duration, size float64) {
	opts := local.Options{Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler), LogBytes: -1}
	if mode != changelog.Off {
		opts.LogBytes = 1 << 30
	}
	store := must[*local.Store](b)(local.Open(opts))
	g := must[shard.Graph](b)(store.Graph("default"))
	if mode != changelog.Off {
		if err := g.ChangeLog().SetLogMode(b.Context(), mode); err != nil {
			b.Fatal(err)
		}
	}
	if err := g.CreateIndex(b.Context(), graph.Index{Name: "n", Label: "N", Props: []string{"id"}, Unique: true, Indexed: true}); err != nil {
		b.Fatal(err)
	}
	space := g.Indexes()[0].ID
	tx := must[shard.Tx](b)(g.Begin(b.Context(), shard.Write))
	set, _ := tx.LabelSet(nil)
	people := shard.LoadVertices{Labels: set, Space: space}
	for i := range loadPeople {
		people.Keys = append(people.Keys, graph.IntValue(int64(i)))
	}
	all := batches(tx, space)
	tx.Rollback()
	apply := func(l *shard.Load) {
		if err := g.Load(b.Context(), l); err != nil {
			b.Fatal(err)
		}
		if len(l.Rejected) > 0 {
			b.Fatal(l.Rejected[0])
		}
	}
	apply(&shard.Load{Vertices: []shard.LoadVertices{people}})
	start := processTime(b)
	for i := range all {
		apply(&all[i])
	}
	took = processTime(b) - start
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	err := filepath.WalkDir(opts.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("size of a file: %w", err)
		}
		size += float64(info.Size())
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return took, size
}

// processTime is the processor time of this process, which a machine that is shared does not falsify.
func processTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
