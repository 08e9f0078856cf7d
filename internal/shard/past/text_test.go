package past_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/past"
)

var textQueries = []string{"red", "red blue", "+green -red", `"red blue"`, "gre*", "blue~", "name:red"}

// texts writes random texts into a graph.
type texts struct {
	t        *testing.T
	rng      *rand.Rand
	g        shard.Graph
	name     graph.PropID
	sets     [4]graph.LabelSet // none, A, B, A and B
	typ      graph.TypeID
	vertices map[graph.VertexID][2]string // labels and text
	edges    map[graph.Edge]string
}

func (w *texts) text() string {
	words := make([]string, 1+w.rng.IntN(6))
	for i := range words {
		words[i] = []string{"red", "green", "blue", "greenish", "so"}[w.rng.IntN(5)]
	}
	return strings.Join(words, " ")
}

func (w *texts) commit(f func(tx shard.Tx) []shard.Mutation) []shard.Mutation {
	tx, err := w.g.Begin(context.Background(), shard.Write)
	require.NoError(w.t, err)
	ms := f(tx)
	require.NoError(w.t, tx.Apply(context.Background(), ms))
	require.NoError(w.t, tx.Commit(context.Background()))
	return ms
}

// change commits some additions, with more than that if all is set.
func (w *texts) change(all bool) {
	set := func(text string) []graph.Property {
		return []graph.Property{{ID: w.name, Value: graph.StringValue(text)}}
	}
	ids := slices.Sorted(maps.Keys(w.vertices))
	var added []string
	var kinds []int
	ms := w.commit(func(shard.Tx) (ms []shard.Mutation) {
		for range 3 {
			added, kinds = append(added, w.text()), append(kinds, w.rng.IntN(4))
			ms = append(ms, shard.Mutation{Op: shard.CreateVertex, Labels: w.sets[kinds[len(kinds)-1]], Props: set(added[len(added)-1])})
		}
		return ms
	})
	for i, text := range added {
		w.vertices[ms[i].Vertex] = [2]string{[]string{"", "A", "B", "AB"}[kinds[i]], text}
	}
	if len(ids) == 0 {
		return
	}
	edge, text := graph.Edge{Src: ids[w.rng.IntN(len(ids))], Dst: ids[w.rng.IntN(len(ids))], Type: w.typ}, w.text()
	ms = w.commit(func(shard.Tx) []shard.Mutation {
		return []shard.Mutation{{Op: shard.CreateEdge, Edge: edge, Props: set(text)}}
	})
	w.edges[ms[0].Edge] = text
	if !all {
		return
	}
	v, text := ids[w.rng.IntN(len(ids))], w.text()
	w.commit(func(shard.Tx) []shard.Mutation {
		return []shard.Mutation{{Op: shard.SetVertex, Vertex: v, Props: set(text)}}
	})
	w.vertices[v] = [2]string{w.vertices[v][0], text}
	for e := range w.edges {
		w.commit(func(shard.Tx) []shard.Mutation { return []shard.Mutation{{Op: shard.DeleteEdge, Edge: e}} })
		delete(w.edges, e)
		break
	}
	for id := range w.vertices {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(w.edges)), func(e graph.Edge) bool { return e.Src == id || e.Dst == id }) {
			w.commit(func(shard.Tx) []shard.Mutation { return []shard.Mutation{{Op: shard.DeleteVertex, Vertex: id}} })
			delete(w.vertices, id)
			break
		}
	}
}

// answers searches both indexes.
func (w *texts) answers(tx shard.Tx) (out []shard.TextHits) {
	for _, ix := range w.g.Indexes() {
		for i, q := range textQueries {
			var res shard.TextHits
			require.NoError(w.t, tx.Features().Text.SearchText(context.Background(), &shard.TextSearch{Index: ix.ID, Query: q, Most: 5 * (i % 2)}, &res))
			out = append(out, res)
		}
	}
	return out
}

// afresh answers the same by indexes of what there is now.
func (w *texts) afresh() (out []shard.TextHits) {
	a, err := search.FindAnalyzer(graph.DefaultAnalyzer)
	require.NoError(w.t, err)
	for _, ix := range w.g.Indexes() {
		x, err := search.Open("", a)
		require.NoError(w.t, err)
		var b search.Batch
		add := func(id uint64, text string) {
			b.Docs = append(b.Docs, search.Doc{ID: binary.BigEndian.AppendUint64(nil, id), Fields: []search.Field{{Name: "name", Texts: []string{text}}}})
		}
		edges := map[graph.EdgeID]graph.Edge{}
		if ix.Type != "" {
			for _, e := range slices.SortedFunc(maps.Keys(w.edges), func(a, b graph.Edge) int { return cmp.Compare(a.ID, b.ID) }) {
				add(uint64(e.ID), w.edges[e])
				edges[e.ID] = e
			}
		} else {
			for _, id := range slices.Sorted(maps.Keys(w.vertices)) {
				if v := w.vertices[id]; v[0] != "" {
					add(uint64(id), v[1])
				}
			}
		}
		require.NoError(w.t, x.Apply(&b))
		r, err := x.Reader()
		require.NoError(w.t, err)
		for _, text := range textQueries {
			q, err := search.Parse(text)
			require.NoError(w.t, err)
			hits, err := search.Search(context.Background(), []search.Part{{Reader: r}}, &search.Request{Query: q, Fields: []string{"name"}, Analyzer: a})
			require.NoError(w.t, err)
			var res shard.TextHits
			for _, h := range hits {
				if id := binary.BigEndian.Uint64(h.ID); ix.Type != "" {
					res.Edges = append(res.Edges, edges[graph.EdgeID(id)])
				} else {
					res.Vertices = append(res.Vertices, graph.VertexID(id))
				}
				res.Scores = append(res.Scores, h.Score)
			}
			out = append(out, res)
		}
		require.NoError(w.t, r.Close())
		require.NoError(w.t, x.Close())
	}
	return out
}

// requireHits compares answers, got perhaps cut short, by elements and, if scored is set, by scores.
func requireHits(t *testing.T, want, got []shard.TextHits, scored bool) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		w, g := want[i], got[i]
		if n := len(g.Scores); n == 5 && n < len(w.Scores) { // the best; others may have the score of the last
			if scored {
				require.InDeltaSlice(t, w.Scores[:n], g.Scores, 1e-9)
			}
			continue
		}
		require.ElementsMatch(t, w.Vertices, g.Vertices, textQueries[i%len(textQueries)])
		require.ElementsMatch(t, w.Edges, g.Edges, textQueries[i%len(textQueries)])
		if scored && len(w.Scores) > 0 {
			require.InDeltaSlice(t, w.Scores, g.Scores, 1e-9)
		}
	}
}

// Full-text searches as of each commit find what the index found then, also where it has moved on, with the scores of an index made afresh;
// these are the index's own as long as nothing was replaced.
func TestTexts(t *testing.T) {
	for seed := range localtest.EachSeed(t, localtest.Seeds(3)) {
		rng := rand.New(rand.NewPCG(seed, 9))
		opts := localtest.Options(rng, 1+int(seed)%3)
		opts.FS, opts.LogBytes, opts.Dir = vfs.Default, 1<<30, t.TempDir()
		s, err := local.Open(opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		g, err := s.Graph("default")
		require.NoError(t, err)
		w := &texts{t: t, rng: rng, g: g, vertices: map[graph.VertexID][2]string{}, edges: map[graph.Edge]string{}}
		w.commit(func(tx shard.Tx) []shard.Mutation {
			w.name, err = tx.Prop("name")
			require.NoError(t, err)
			w.typ, err = tx.Type("T")
			require.NoError(t, err)
			a, err := tx.Label("A")
			require.NoError(t, err)
			b, err := tx.Label("B")
			require.NoError(t, err)
			for i, labels := range [][]graph.LabelID{nil, {a}, {b}, {a, b}} {
				w.sets[i], err = tx.LabelSet(labels)
				require.NoError(t, err)
			}
			return []shard.Mutation{{Op: shard.CreateVertex, Labels: graph.NoLabels}}
		})
		options := graph.TextOptions{Analyzer: graph.DefaultAnalyzer, More: []string{"B"}}
		require.NoError(t, g.CreateIndex(t.Context(), graph.Index{Name: "v", Label: "A", Props: []string{"name"}, Kind: graph.FullTextIndex, Text: options, Indexed: true}))
		options.More = nil
		require.NoError(t, g.CreateIndex(t.Context(), graph.Index{Name: "e", Type: "T", Props: []string{"name"}, Kind: graph.FullTextIndex, Text: options, Indexed: true}))
		h := past.New(g, past.DefaultBytes)
		type then struct {
			number       uint64
			live, afresh []shard.TextHits
			fresh        bool // nothing was replaced until then
		}
		var all []then
		for n := range 12 {
			w.change(n >= 5)
			tx, err := g.Begin(t.Context(), shard.Read)
			require.NoError(t, err)
			number, _ := tx.Features().Commits.Position()
			all = append(all, then{number, w.answers(tx), w.afresh(), n < 5})
			tx.Rollback()
			for _, m := range all {
				tx, err := g.Begin(t.Context(), shard.Read)
				require.NoError(t, err)
				p, err := h.At(t.Context(), tx, m.number, 0)
				require.NoError(t, err)
				got := w.answers(p)
				requireHits(t, m.afresh, got, n > 0 && m.number != number)
				requireHits(t, m.afresh, m.live, m.fresh)
				p.Rollback()
			}
		}
		require.Positive(t, h.Bytes())
		h = past.New(g, past.DefaultBytes)
		var at [4]shard.Tx // whose searches share what the first one makes
		for i := range at {
			tx, err := g.Begin(t.Context(), shard.Read)
			require.NoError(t, err)
			at[i], err = h.At(t.Context(), tx, all[6].number, 0)
			require.NoError(t, err)
			t.Cleanup(at[i].Rollback)
		}
		var got [len(at)][]shard.TextHits
		var wait sync.WaitGroup
		for i := range at {
			wait.Go(func() { got[i] = w.answers(at[i]) })
		}
		wait.Wait()
		for i := range at {
			requireHits(t, all[6].afresh, got[i], true)
		}
	}
}
