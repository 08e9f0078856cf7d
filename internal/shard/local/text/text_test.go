package text

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage"
)

// world is a graph with one full-text index, which follows step by step.
type world struct {
	t   *testing.T
	g   *localtest.Bare
	all *Indexes
	x   *Index
	old *read.Tx // an older snapshot
	end func()
}

// TestIndex plays the steps of an index: changes are queued, followed and trimmed, searched and checked.
func TestIndex(t *testing.T) {
	datadriven.Walk(t, "testdata/index", func(t *testing.T, path string) {
		w := &world{t: t, g: localtest.NewBare(t, storage.Options{Shards: 2, Logger: localtest.Quiet(), Tuning: storage.Tuning{PlaceBlock: 1}})}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := w.run(d)
			if err != nil {
				out += graph.AsError(err).Msg + "\n"
			}
			return out
		})
		require.NoError(t, w.all.Close())
		if w.end != nil {
			w.end()
		}
	})
}

func (w *world) run(d *datadriven.TestData) (string, error) {
	ctx := context.Background()
	switch d.Cmd {
	case "index":
		ix := graph.Index{Name: "x", Kind: graph.FullTextIndex, Indexed: true}
		ix.Text.Analyzer, ix.Text.Eventual = graph.DefaultAnalyzer, d.HasArg("eventual")
		d.MaybeScanArgs(w.t, "label", &ix.Label)
		d.MaybeScanArgs(w.t, "type", &ix.Type)
		var props string
		d.ScanArgs(w.t, "props", &props)
		ix.Props = strings.Split(props, "+")
		ix.ID = w.g.Index(ix)
		var err error
		w.all, err = Open(Config{Graph: w.g, Readers: w.g.On, Catalog: w.g.Catalog, Shards: w.g.Parts, Stop: w.g.Stop, Room: w.g.Shared.Texts()})
		if err != nil {
			return "", err
		}
		w.x = w.all.find(ix.ID)
		ix.Online = true
		require.NoError(w.t, w.g.PutIndex(ix, nil))
		w.g.LoadDefs()
	case "do":
		n := 1
		d.MaybeScanArgs(w.t, "times", &n)
		return "", w.g.Do(strings.Repeat(d.Input+"\n", n))
	case "snapshot":
		if w.end != nil {
			w.end()
		}
		var err error
		w.old, w.end, err = w.g.ReadNewest()
		return "", err
	case "follow":
		more, err := w.x.follow()
		return fmt.Sprintf("more %t, next %v, mark %v\n", more, w.x.next, w.x.kept), err
	case "trim":
		if d.HasArg("locked") {
			require.True(w.t, w.g.TryLock())
			defer w.g.Unlock()
		}
		w.x.mu.Lock()
		copy(w.x.persisted, w.x.next) // an index in memory says so of no batch
		w.x.mu.Unlock()
		again, err := w.x.trim()
		c, release := w.g.Newest()
		defer release()
		var trims []uint64
		for _, v := range c.Views {
			at, err := v.TextTrim(w.x.id)
			require.NoError(w.t, err)
			trims = append(trims, at)
		}
		return fmt.Sprintf("again %t, trimmed before %v, %v left\n", again, trims, w.x.persisted), err
	case "search":
		return w.search(ctx, d)
	case "check":
		done := make(chan struct{})
		var follows sync.WaitGroup
		follows.Go(func() { // a repair waits until what it queues is in the index
			for {
				select {
				case <-w.x.wakes:
					_, err := w.x.follow()
					assert.NoError(w.t, err)
				case <-done:
					return
				}
			}
		})
		rep := &shard.CheckReport{}
		err := w.all.Check(ctx, rep, shard.CheckOptions{Repair: d.HasArg("repair")})
		close(done)
		follows.Wait()
		var out strings.Builder
		for _, f := range rep.Findings {
			fmt.Fprintf(&out, "%s: %d, %d repaired, %v\n", f.Kind, f.Count, f.Repaired, f.Examples)
		}
		return out.String(), err
	case "tamper": // with the documents of an index beside the graph
		b := &search.Batch{Mark: w.x.kept.encode()}
		r, _, err := w.x.reader()
		require.NoError(w.t, err)
		require.NoError(w.t, r.EachID(func(id search.ID) error {
			if b.Delete == nil {
				b.Delete = []search.ID{slices.Clone(id)}
			}
			return nil
		}))
		require.NoError(w.t, r.Close())
		ghost := EdgeDoc(graph.Edge{ID: 1 << 20, Type: 1, Src: 1, Dst: 2})
		if d.HasArg("vertex") {
			ghost = ghost[:8]
		}
		b.Docs = []search.Doc{{ID: ghost, Fields: []search.Field{{Name: "p", Texts: []string{"ghost"}}}}}
		return "", w.x.index.Apply(b)
	default:
		w.t.Fatalf("unknown command %s", d.Cmd)
	}
	return "", nil
}

// search answers a query by names; an index that has to wait for changes gives up.
func (w *world) search(ctx context.Context, d *datadriven.TestData) (string, error) {
	if d.HasArg("behind") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 1)
		defer cancel()
	}
	tx, end, err := w.g.ReadNewest()
	require.NoError(w.t, err)
	defer end()
	if d.HasArg("old") {
		tx = w.old
	}
	req, res := &shard.TextSearch{Index: w.x.id, Query: strings.TrimSpace(d.Input)}, &shard.TextHits{}
	d.MaybeScanArgs(w.t, "most", &req.Most)
	d.MaybeScanArgs(w.t, "analyzer", &req.Analyzer)
	if d.HasArg("full") {
		req.Room = func(int) error { return graph.BudgetError("full") }
	}
	if err := w.all.Search(ctx, tx, nil, req, res); err != nil {
		return "", err
	}
	var names []string
	for _, v := range res.Vertices {
		names = append(names, w.g.NameOf(graph.IndexOwner{Vertex: v}))
	}
	for _, e := range res.Edges {
		names = append(names, w.g.NameOf(index.EdgeOwner(e)))
	}
	return strings.Join(names, " ") + "\n", nil
}

// A mark is read as it was written, and nothing else is one.
func FuzzMark(f *testing.F) {
	f.Add((&textMark{[]uint64{1, 1 << 40}, []uint64{0, 7}}).encode(), 2)
	f.Add([]byte{0xff}, 1)
	f.Fuzz(func(t *testing.T, b []byte, shards int) {
		m, ok := decodeTextMark(b, shards&7)
		if !ok {
			return
		}
		again, ok := decodeTextMark(m.encode(), shards&7)
		require.True(t, ok)
		require.Equal(t, m, again)
	})
}
