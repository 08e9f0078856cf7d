package loader

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/shard"
	disk "github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
)

func offlineOptions(dir string, shards int) disk.Options {
	return disk.Options{
		Dir: dir, Shards: shards, Logger: slog.New(slog.DiscardHandler), ValueThreshold: 64, TopologyBytes: -1,
		Tuning: disk.Tuning{CompactRecords: -1, SegmentBytes: 256, PlaceBlock: 16},
	}
}

// runOffline runs a load into a directory.
func runOffline(t *testing.T, ctx context.Context, dir string, shards int, memory int64, text, inputs string, o Options) (*Report, error) {
	return runOfflineWith(t, ctx, offlineOptions(dir, shards), memory, text, inputs, o)
}

func runOfflineWith(t *testing.T, ctx context.Context, opts disk.Options, memory int64, text, inputs string, o Options) (*Report, error) {
	f, err := disk.OpenOffline(opts, "default", disk.OfflineOptions{Memory: memory, Workers: 2})
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, f.Close()) }()
	m, err := mapping.Parse("m.yaml", []byte(text))
	require.NoError(t, err)
	p, err := NewPlan(t.Context(), m, inputs, nil)
	require.NoError(t, err)
	p.chunk = 700
	return p.Run(ctx, p.NewOffline(New(f.Store()), f), o)
}

// TestOffline loads random files offline and online and compares the refused rows, the graphs and their counters.
func TestOffline(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			w := newWorld(t)
			text := randomInputs(w, r)
			var mu sync.Mutex
			collect := func(into *[]string) Options {
				return Options{Workers: 2, MaxRejects: Budget{Rows: 1 << 40}, OnReject: func(x Reject) {
					mu.Lock()
					defer mu.Unlock()
					*into = append(*into, fmt.Sprint(x.File, ":", x.Line, " ", x.Code, " ", x.Message))
				}}
			}
			var want, got []string
			p, err := w.plan(text)
			require.NoError(t, err)
			p.chunk = 700
			store, err := disk.Open(offlineOptions(t.TempDir(), 1))
			require.NoError(t, err)
			defer store.Close()
			online, err := p.Run(t.Context(), NewLocal(New(store)), collect(&want))
			require.NoError(t, err)
			same, err := store.Graph("default")
			require.NoError(t, err)

			dir, shards := t.TempDir(), 1+2*r.IntN(2)
			offline, err := runOffline(t, t.Context(), dir, shards, 1<<(10+r.IntN(16)), text, w.dir, collect(&got))
			require.NoError(t, err)
			slices.Sort(want)
			slices.Sort(got)
			require.Equal(t, want, got)
			for i := range online.Inputs {
				require.Equal(t, online.Inputs[i].Totals, offline.Inputs[i].Totals, text)
			}
			require.Equal(t, online.Totals, offline.Totals, text)
			require.Equal(t, online.VertexCounts, offline.VertexCounts, text)

			s, err := disk.Open(offlineOptions(dir, shards))
			require.NoError(t, err)
			defer s.Close()
			g, err := s.Graph("default")
			require.NoError(t, err)
			require.Equal(t, strings.Split(stateOf(t, same), "\n"), strings.Split(stateOf(t, g), "\n"))
			rep, err := s.Check(t.Context(), "default", shard.CheckOptions{})
			require.NoError(t, err)
			require.Empty(t, rep.Findings)
			lg, err := store.Local("default")
			require.NoError(t, err)
			require.NoError(t, lg.Settle(t.Context()))
			require.Equal(t, countsOf(t, same), countsOf(t, g))
			if lg, err = s.Local("default"); err != nil {
				t.Fatal(err)
			}
			for _, shard := range lg.Stats() {
				levels := shard.Graph.Levels
				for i := range levels[:len(levels)-1] {
					require.Zero(t, levels[i].Tables, "tables of level %d", i)
				}
			}
		})
	}
}

func countsOf(t *testing.T, g shard.Graph) *graph.Counts {
	tx, err := g.Begin(t.Context(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	return tx.Statistics()
}

// randomInputs writes files with repeated, dangling and broken rows and returns a mapping of them.
func randomInputs(w *world, r *rand.Rand) string {
	persons := 1 + r.IntN(300)
	var b strings.Builder
	fmt.Fprintln(&b, "id,name,note")
	for range persons {
		fmt.Fprintf(&b, "%d,%s,%s\n", r.IntN(persons), []string{"", "ann", "bob"}[r.IntN(3)], strings.Repeat("n", r.IntN(100)))
	}
	w.file("person.csv", b.String())
	b.Reset()
	fmt.Fprintln(&b, "id,kind")
	for i := range 20 {
		fmt.Fprintf(&b, "c%d,%s\n", i, []string{"city", "land"}[r.IntN(2)])
	}
	w.file("place.csv", b.String())
	edges := func(name string, to func() string) {
		b.Reset()
		fmt.Fprintln(&b, "a,b,since,note,n")
		for range r.IntN(3000) {
			src := r.IntN(persons + 3)
			if r.IntN(4) == 0 {
				src = 1 // has many
			}
			fmt.Fprintf(&b, "%d,%s,%s,%s,%d\n", src, to(), []string{"", "1", "300", "x"}[min(3, r.IntN(100)/30)],
				strings.Repeat("z", r.IntN(2)*r.IntN(150)), r.IntN(9))
		}
		w.file(name, b.String())
	}
	person := func() string { return strconv.Itoa(r.IntN(persons + 3)) }
	edges("knows.csv", person)
	edges("likes.csv", person)
	edges("lives.csv", func() string { return fmt.Sprint("c", r.IntN(22)) })
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	return fmt.Sprintf(`
version: 1
defaults: {onDuplicate: %s}
inputs:
  - path: person.csv
    vertices:
      - {label: Person, id: id, properties: {id: {type: int}, name: {}, note: {}}}
  - path: place.csv
    vertices:
      - {labels: [Place, {column: kind, values: {city: City, land: Land}}], id: id, properties: {id: {}, kind: {}}}
  - path: knows.csv
    edges:
      - {type: KNOWS, from: {column: a, idSpace: Person}, to: {column: b, idSpace: Person}, onDangling: %s, action: %s,
         properties: {since: {type: int}, note: {}}}
  - path: likes.csv
    edges:
      - {type: LIKES, from: {column: a, idSpace: Person}, to: {column: b, idSpace: Person}, onDangling: %s,
         properties: {n: {type: int}, since: {type: int}}}
    update: {strategies: {n: %s}}
  - path: lives.csv
    edges:
      - {type: %s, from: {column: a, idSpace: Person}, to: {column: b, idSpace: Place}, onDangling: %s, properties: {since: {type: int}}}
`, pick("overwrite", "keep-first", "error"), pick("reject", "skip", "create"), pick("insert", "upsert"), pick("reject", "create"), pick("SUM", "OVERRIDE"),
		pick("LIVES_IN", "KNOWS"), pick("reject", "skip", "create"))
}

// TestOfflineMemory loads the same files with memory for all keys and for none: the refused rows and the graph are equal.
func TestOfflineMemory(t *testing.T) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 11))
			w := newWorld(t)
			text := strings.Replace(randomInputs(w, r), "label: Person, id: id,", "label: Person, id: id, action: "+[]string{"insert", "upsert"}[seed%2]+",", 1)
			if seed%3 == 0 {
				// The keys become texts.
				text = strings.ReplaceAll(text, "{id: {type: int}, name", "{id: {}, name")
			}
			shards := 1 + 2*r.IntN(2)
			type result struct {
				report  *Report
				rejects string
				state   []string
				counts  *graph.Counts
			}
			load := func(memory int64) (out result) {
				dir, rejects := t.TempDir(), t.TempDir()
				rep, err := runOffline(t, t.Context(), dir, shards, memory, text, w.dir, Options{
					Workers: 2, MaxRejects: Budget{Rows: 1 << 40}, RejectsDir: rejects,
				})
				require.NoError(t, err)
				s, err := disk.Open(offlineOptions(dir, shards))
				require.NoError(t, err)
				defer s.Close()
				g, err := s.Graph("default")
				require.NoError(t, err)
				check, err := s.Check(t.Context(), "default", shard.CheckOptions{})
				require.NoError(t, err)
				require.Empty(t, check.Findings)
				return result{rep, readAll(t, rejects), strings.Split(stateOf(t, g), "\n"), countsOf(t, g)}
			}
			want, got := load(1<<30), load(1<<14)
			require.Equal(t, want.report.Totals, got.report.Totals, text)
			require.Equal(t, want.rejects, got.rejects, text)
			require.Equal(t, want.state, got.state, text)
			require.Equal(t, want.counts, got.counts, text)
		})
	}
}

// An offline load refuses a graph that holds something, and its rest is thrown away when it is run again.
func TestOfflineAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	w := newWorld(t)
	text := randomInputs(w, r)
	o := Options{Workers: 2, MaxRejects: Budget{Rows: 1 << 40}}
	p, err := w.plan(text)
	require.NoError(t, err)
	_, err = p.Run(t.Context(), NewLocal(w.l), o)
	require.NoError(t, err)
	dir := t.TempDir()

	s, err := disk.Open(offlineOptions(dir, 3))
	require.NoError(t, err)
	g, err := s.Graph("default")
	require.NoError(t, err)
	require.NoError(t, g.CreateIndex(t.Context(), graph.Index{Label: "Person", Props: []string{"name"}, Indexed: true}))
	require.NoError(t, g.SetTTL(t.Context(), graph.TTL{Label: "Person", After: 99 * time.Hour}))
	require.NoError(t, g.SetTTL(t.Context(), graph.TTL{Type: "LIKES", After: 99 * time.Hour, Property: "at"}))
	ttls := g.TTLs()
	require.NoError(t, s.Close())

	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		cut := o
		var mu sync.Mutex
		cut.OnReject = func(Reject) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n == 5 {
				cancel()
			}
		}
		_, err = runOffline(t, ctx, dir, 1, 1<<20, text, w.dir, cut)
		require.Error(t, err)
		_, err = disk.Open(offlineOptions(dir, 1))
		require.ErrorContains(t, err, "holds an interrupted offline load")
	}
	_, err = runOffline(t, t.Context(), dir, 1, 1<<20, text, w.dir, o)
	require.NoError(t, err)
	_, err = runOffline(t, t.Context(), dir, 1, 1<<20, text, w.dir, o)
	require.ErrorContains(t, err, "empty graph")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, []string{"sorting", datadir.LoadingName}, e.Name())
	}

	s, err = disk.Open(offlineOptions(dir, 1))
	require.NoError(t, err)
	defer s.Close()
	g, err = s.Graph("default")
	require.NoError(t, err)
	require.Equal(t, w.state(), stateOf(t, g))
	found := false
	for _, ix := range g.Indexes() {
		found = found || cmp.Compare(ix.Label, "Person") == 0 && ix.Props[0] == "name" && ix.Online
	}
	require.True(t, found)
	require.Equal(t, ttls, g.TTLs())
	require.NoFileExists(t, filepath.Join(dir, "LOADING"))
}
