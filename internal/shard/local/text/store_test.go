package text_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
)

// textWorld is a graph with full-text indexes over the labels A and B, and over edges of the type R.
type textWorld struct {
	t          *testing.T
	s          *local.Store
	g          *local.Graph
	sets       []graph.LabelSet
	labels     []graph.LabelID
	props      []graph.PropID
	typ        graph.TypeID
	nodes      graph.IndexID
	edges      graph.IndexID
	eventually graph.IndexID
}

var textIndexes = []graph.Index{
	{Name: "nodes", Label: "A", Props: []string{"p", "q"}, Kind: graph.FullTextIndex, Indexed: true, Text: graph.TextOptions{More: []string{"B"}, Analyzer: graph.DefaultAnalyzer}},
	{Name: "edges", Type: "R", Props: []string{"p"}, Kind: graph.FullTextIndex, Indexed: true, Text: graph.TextOptions{Analyzer: "english"}},
	{Name: "eventually", Label: "A", Props: []string{"p"}, Kind: graph.FullTextIndex, Indexed: true, Text: graph.TextOptions{Analyzer: graph.DefaultAnalyzer, Eventual: true}},
}

func openTextWorld(t *testing.T, opts local.Options) *textWorld {
	s, err := local.Open(opts)
	require.NoError(t, err)
	g, err := s.Local("default")
	require.NoError(t, err)
	w := &textWorld{t: t, s: s, g: g}
	for _, ix := range textIndexes {
		if err := g.CreateIndex(t.Context(), ix); err != nil {
			require.Equal(t, graph.KindExists, graph.AsError(err).Kind)
		}
	}
	tx, err := g.Begin(t.Context(), shard.Write)
	require.NoError(t, err)
	for _, names := range [][]string{{"A"}, {"B"}, {"A", "B"}, {"C"}} {
		var labels []graph.LabelID
		for _, n := range names {
			l, err := tx.Label(n)
			require.NoError(t, err)
			labels = append(labels, l)
		}
		set, err := tx.LabelSet(labels)
		require.NoError(t, err)
		w.sets = append(w.sets, set)
		w.labels = append(w.labels, labels[0])
	}
	for _, n := range []string{"p", "q"} {
		p, err := tx.Prop(n)
		require.NoError(t, err)
		w.props = append(w.props, p)
	}
	w.typ, err = tx.Type("R")
	require.NoError(t, err)
	tx.Rollback()
	for _, ix := range g.Indexes() {
		switch ix.Name {
		case "nodes":
			w.nodes = ix.ID
		case "edges":
			w.edges = ix.ID
		case "eventually":
			w.eventually = ix.ID
		}
	}
	return w
}

var textWords = strings.Fields("graph query index search shard store write read commit match path hop frontier vector term phrase")

func randomText(r *rand.Rand) graph.Value {
	words := make([]string, 1+r.IntN(6))
	for i := range words {
		words[i] = textWords[r.IntN(len(textWords))]
	}
	switch r.IntN(10) {
	case 0:
		return graph.IntValue(7)
	case 1:
		return graph.ListValue([]graph.Value{graph.StringValue(words[0]), graph.StringValue(strings.Join(words, " "))})
	case 2:
		return graph.StringValue(strings.Repeat(strings.Join(words, " ")+" ", 200)) // lies apart
	}
	return graph.StringValue(strings.Join(words, " "))
}

// mutations makes some random changes of what a transaction sees.
func (w *textWorld) mutations(tx shard.Tx, r *rand.Rand) (ms []shard.Mutation) {
	all := localtest.Vertices(w.t, tx, 0)
	prop := func() []graph.Property {
		return []graph.Property{{ID: w.props[r.IntN(2)], Value: randomText(r)}}
	}
	gone := map[graph.VertexID]bool{}
	for range 1 + r.IntN(6) {
		if len(all) < 5 || r.IntN(3) == 0 {
			ms = append(ms, shard.Mutation{Op: shard.CreateVertex, Labels: w.sets[r.IntN(len(w.sets))], Props: prop()})
			continue
		}
		v := all[r.IntN(len(all))]
		if gone[v] {
			continue
		}
		switch r.IntN(6) {
		case 0:
			ms = append(ms, shard.Mutation{Op: shard.SetLabels, Vertex: v, Labels: w.sets[r.IntN(len(w.sets))]})
		case 1:
			ms = append(ms, shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: []graph.Property{{ID: w.props[r.IntN(2)]}}})
		case 2:
			edges := w.edgesOf(tx, []graph.VertexID{v}, graph.Both)
			if len(edges) == 0 {
				gone[v] = true
				ms = append(ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: v})
				continue
			}
			ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: edges[0]})
		case 3:
			u := all[r.IntN(len(all))]
			if !gone[u] && r.IntN(2) == 0 {
				gone[u], gone[v] = true, true // kept from being deleted
				ms = append(ms, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: v, Dst: u, Type: w.typ}, Props: []graph.Property{{ID: w.props[0], Value: randomText(r)}}})
			} else if edges := w.edgesOf(tx, []graph.VertexID{v}, graph.Out); len(edges) > 0 {
				ms = append(ms, shard.Mutation{Op: shard.SetEdge, Edge: edges[0], Props: []graph.Property{{ID: w.props[0], Value: randomText(r)}}})
			}
		default:
			ms = append(ms, shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: prop()})
		}
	}
	return ms
}

func (w *textWorld) edgesOf(tx shard.Tx, ids []graph.VertexID, dir graph.Direction) (edges []graph.Edge) {
	if len(ids) == 0 {
		return nil
	}
	var res shard.Neighbours
	require.NoError(w.t, tx.Expand(context.Background(), &shard.Expand{Sources: ids, Types: []graph.TypeID{w.typ}, Dir: dir, Edges: true}, &res))
	for i := range ids {
		for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
			e := graph.Edge{ID: res.Edges[k], Src: ids[i], Dst: res.Targets[k], Type: w.typ}
			if dir != graph.Out && res.Reverse[k] {
				e.Src, e.Dst = e.Dst, e.Src
			}
			edges = append(edges, e)
		}
	}
	return edges
}

// scan makes an index of all that a transaction sees, by itself.
func (w *textWorld) scan(tx shard.Tx, edges bool) *search.Index {
	ctx := context.Background()
	analyzer := graph.DefaultAnalyzer
	if edges {
		analyzer = "english"
	}
	a, err := search.FindAnalyzer(analyzer)
	require.NoError(w.t, err)
	x, err := search.Open("", a)
	require.NoError(w.t, err)
	var b search.Batch
	add := func(id uint64, props []graph.Property, names ...graph.PropID) {
		d := search.Doc{ID: binary.BigEndian.AppendUint64(nil, id)}
		for i, p := range names {
			for _, have := range props {
				if have.ID != p {
					continue
				}
				f := search.Field{Name: []string{"p", "q"}[i]}
				if have.Value.Kind() == graph.String {
					f.Texts = []string{have.Value.Str()}
				} else if have.Value.Kind() == graph.List {
					for _, e := range have.Value.List() {
						f.Texts = append(f.Texts, e.Str())
					}
				}
				if len(f.Texts) > 0 {
					d.Fields = append(d.Fields, f)
				}
			}
		}
		if len(d.Fields) > 0 {
			b.Docs = append(b.Docs, d)
		}
	}
	ids := localtest.Vertices(w.t, tx, 0)
	if edges {
		all := w.edgesOf(tx, ids, graph.Out)
		recs := make([]shard.Record, len(all))
		require.NoError(w.t, tx.EdgeRecords(ctx, all, recs))
		for i, e := range all {
			add(uint64(e.ID), recs[i].Props, w.props[0])
		}
	} else {
		recs := make([]shard.Record, len(ids))
		require.NoError(w.t, tx.Records(ctx, ids, recs))
		for i, id := range ids {
			if recs[i].Labels != w.sets[3] {
				add(uint64(id), recs[i].Props, w.props...)
			}
		}
	}
	require.NoError(w.t, x.Apply(&b))
	return x
}

var textQueries = []string{
	"graph", "graph AND query", `"query index"`, `"graph store"~3`, "s*", "sh?rd", "quary~", "+read -write", "p:[c TO h]", "q:term OR p:phrase^3", "*", "*:* NOT graph", "nothing",
}

// compare compares the answers to queries with those of a scan.
func (w *textWorld) compare(tx shard.Tx, r *rand.Rand, queries int) {
	for _, edges := range []bool{false, true} {
		x := w.scan(tx, edges)
		reader, err := x.Reader()
		require.NoError(w.t, err)
		for range queries {
			q := textQueries[r.IntN(len(textQueries))]
			req := &shard.TextSearch{Index: w.nodes, Query: q}
			fields, analyzer := []string{"p", "q"}, graph.DefaultAnalyzer
			if edges {
				req.Index, fields, analyzer = w.edges, fields[:1], "english"
			}
			parsed, err := search.Parse(q)
			require.NoError(w.t, err)
			a, err := search.FindAnalyzer(analyzer)
			require.NoError(w.t, err)
			hits, err := search.Search(context.Background(), []search.Part{{Reader: reader}}, &search.Request{Query: parsed, Fields: fields, Analyzer: a})
			require.NoError(w.t, err)
			var want, got []uint64
			for _, h := range hits {
				want = append(want, binary.BigEndian.Uint64(h.ID))
			}
			var res shard.TextHits
			require.NoError(w.t, tx.Features().Text.SearchText(context.Background(), req, &res))
			for _, v := range res.Vertices {
				got = append(got, uint64(v))
			}
			for _, e := range res.Edges {
				got = append(got, uint64(e.ID))
			}
			require.True(w.t, slices.IsSortedFunc(res.Scores, func(a, b float64) int { return int(min(1, max(-1, 1e9*(b-a)))) }), "scores descend: %v", res.Scores)
			if len(got) > 2 {
				var few shard.TextHits
				req.Most = 2
				require.NoError(w.t, tx.Features().Text.SearchText(context.Background(), req, &few))
				require.Len(w.t, few.Scores, 2) // which may have changed with what others have committed
			}
			slices.Sort(want)
			slices.Sort(got)
			require.Equal(w.t, want, got, "%s, edges %t", q, edges)
		}
		require.NoError(w.t, reader.Close())
		require.NoError(w.t, x.Close())
	}
}

func textOptionsFor(t *testing.T, disk bool) local.Options {
	o := local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 3, Tuning: local.Tuning{IndexBatch: 3, CompactIdle: time.Millisecond}}
	if disk {
		o.Dir, o.FS = t.TempDir(), nil
	}
	return o
}

// TestTextDifferential compares full-text searches with scans of the same state: of snapshots, while others write, and of transactions
// with changes of their own.
func TestTextDifferential(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 12
	}
	for _, disk := range []bool{false, true} {
		t.Run(fmt.Sprintf("disk %t", disk), func(t *testing.T) {
			opts := textOptionsFor(t, disk)
			w := openTextWorld(t, opts)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			ctx := context.Background()
			var all sync.WaitGroup
			for n := range 2 {
				all.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(n)))
					for range rounds {
						w.writeBeside(r)
					}
				})
			}
			all.Go(func() {
				r := rand.New(rand.NewPCG(seed, 9))
				for range rounds / 4 {
					tx, err := w.g.Begin(ctx, shard.Read)
					if !assert.NoError(t, err) {
						return
					}
					defer tx.Rollback()
					for range 3 {
						w.compare(tx, r, 2)
					}
				}
			})
			all.Wait()
			r := rand.New(rand.NewPCG(seed, 10))
			w.check(r)
			require.NoError(t, w.s.Close())
			w = openTextWorld(t, opts)
			for _, ix := range w.g.Indexes() {
				for !w.online(ix.ID) { // one in memory is built again
					runtime.Gosched()
				}
			}
			w.check(r)
			require.NoError(t, w.s.Close())
		})
	}
}

// writeBeside commits a random transaction beside others, and compares what it sees before.
func (w *textWorld) writeBeside(r *rand.Rand) {
	ctx := context.Background()
	tx, err := w.g.Begin(ctx, shard.Write)
	require.NoError(w.t, err)
	defer tx.Rollback()
	require.NoError(w.t, tx.Apply(ctx, w.mutations(tx, r)))
	if r.IntN(4) == 0 {
		w.compare(tx, r, 2)
	}
	if err := tx.Commit(ctx); err != nil {
		e := graph.AsError(err)
		require.True(w.t, e.Kind == graph.KindConflict || e.Detail == "DeleteConnectedNode" || e.Detail == "DeletedEntityAccess", err)
	}
}

// check compares the newest state, and has the store find nothing wrong.
func (w *textWorld) check(r *rand.Rand) {
	ctx := context.Background()
	tx, err := w.g.Begin(ctx, shard.Read)
	require.NoError(w.t, err)
	w.compare(tx, r, 20)
	require.NoError(w.t, tx.Features().Text.SearchText(ctx, &shard.TextSearch{Index: w.eventually, Await: true}, &shard.TextHits{}))
	tx.Rollback()
	rep, err := w.s.Check(ctx, "default", shard.CheckOptions{})
	require.NoError(w.t, err)
	require.Empty(w.t, rep.Findings)
}

// writeTexts commits n random transactions.
func (w *textWorld) writeTexts(r *rand.Rand, n int, each func(i int)) {
	ctx := context.Background()
	for i := range n {
		tx, err := w.g.Begin(ctx, shard.WriteExclusive)
		require.NoError(w.t, err)
		require.NoError(w.t, tx.Apply(ctx, w.mutations(tx, r)))
		if err := tx.Commit(ctx); err != nil {
			require.Equal(w.t, "DeleteConnectedNode", graph.AsError(err).Detail)
		}
		if each != nil {
			each(i)
		}
	}
}

// TestTextRebuilt builds indexes again that are missing or damaged when the graph is opened, and goes on with a build.
func TestTextRebuilt(t *testing.T) {
	opts := textOptionsFor(t, true)
	r := rand.New(rand.NewPCG(1, 2))
	w := openTextWorld(t, opts)
	w.writeTexts(r, 60, nil)
	require.NoError(t, w.s.Close())
	dir := filepath.Join(opts.Dir, "graphs", "default", "search")
	dirs, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, dirs, 3)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, dirs[0].Name())))
	require.NoError(t, os.WriteFile(filepath.Join(dir, dirs[1].Name(), "commit"), []byte("no"), 0o600))
	require.NoError(t, os.Rename(filepath.Join(dir, dirs[2].Name(), "commit"), filepath.Join(dir, dirs[2].Name(), "root.bolt"))) // of another library
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "00000099"), 0o700))
	w = openTextWorld(t, opts)
	require.NoDirExists(t, filepath.Join(dir, "00000099"))
	for _, ix := range w.g.Indexes() {
		for !w.online(ix.ID) {
			w.writeTexts(r, 1, nil)
		}
	}
	w.check(r)
	require.NoError(t, w.s.Close())
}

func (w *textWorld) online(id graph.IndexID) bool {
	return slices.ContainsFunc(w.g.Indexes(), func(ix graph.Index) bool { return ix.ID == id && ix.Online })
}

// TestTextBuiltOnline builds an index over existing texts while others write, and drops it.
func TestTextBuiltOnline(t *testing.T) {
	opts := textOptionsFor(t, true)
	r := rand.New(rand.NewPCG(3, 4))
	w := openTextWorld(t, opts)
	w.writeTexts(r, 60, nil)
	require.NoError(t, w.g.DropIndex(t.Context(), "nodes"))
	require.NoError(t, w.g.DropIndex(t.Context(), "edges"))
	var beside sync.WaitGroup
	beside.Go(func() { w.writeTexts(r, 60, nil) })
	for _, ix := range textIndexes[:2] {
		require.NoError(t, w.g.CreateIndex(t.Context(), ix))
	}
	beside.Wait()
	require.NoError(t, w.s.Close())
	w = openTextWorld(t, opts)
	w.check(r)
	dirs, err := os.ReadDir(filepath.Join(opts.Dir, "graphs", "default", "search"))
	require.NoError(t, err)
	require.Len(t, dirs, 3)
	require.NoError(t, w.s.CreateGraph(t.Context(), "other"))
	g, err := w.s.Local("other")
	require.NoError(t, err)
	require.NoError(t, g.CreateIndex(t.Context(), textIndexes[0]))
	require.DirExists(t, filepath.Join(opts.Dir, "graphs", "other", "search"))
	require.NoError(t, w.s.DropGraph(t.Context(), "other"))
	require.NoDirExists(t, filepath.Join(opts.Dir, "graphs", "other"))
	require.NoError(t, w.s.Close())
}

const textChild = "HOPGATE_TEXT_CHILD"

// TestTextKilled kills a process that writes, several times, and compares what its successor finds.
func TestTextKilled(t *testing.T) {
	if dir := os.Getenv(textChild); dir != "" {
		opts := textOptionsFor(t, false)
		opts.Dir, opts.FS = dir, nil
		w := openTextWorld(t, opts)
		w.writeTexts(rand.New(rand.NewPCG(rand.Uint64(), 1)), 1<<20, func(i int) { fmt.Println("committed", i) })
		return
	}
	opts := textOptionsFor(t, true)
	w := openTextWorld(t, opts)
	require.NoError(t, w.s.Close())
	r := rand.New(rand.NewPCG(11, 12))
	for round := range 3 {
		child := exec.Command(os.Args[0], "-test.run=^TestTextKilled$", "-test.v")
		child.Env = append(os.Environ(), textChild+"="+opts.Dir)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		lines := bufio.NewScanner(out)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "committed "+strconv.Itoa(30+17*round)) {
		}
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
		w = openTextWorld(t, opts)
		for _, ix := range w.g.Indexes() {
			require.True(t, ix.Online, "nothing is built again")
		}
		w.check(r)
		require.NoError(t, w.s.Close())
	}
}
