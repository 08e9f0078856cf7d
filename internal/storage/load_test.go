package storage

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// bulkModel is what a shard should hold.
type bulkModel struct {
	sets  []graph.LabelSet
	props []map[graph.PropID]string
	lists [2]map[uint64][]codec.ListEdge // by direction; Row is the edge's property
	edge  graph.EdgeID
}

// TestBulk commits bulks of all sizes, as tables and through the log, among single writes and compacts, and compares what
// can be read with a model, before and after the shard is opened again.
func TestBulk(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			o := &Options{Dir: "data", FS: vfs.NewMem(), ValueThreshold: 64}
			o.Tuning.IngestBytes = []int{1, 1 << 30, 4 << 10}[seed%3]
			o.Tuning.TableBytes = []int{1, 1 << 20}[seed%2]
			o.Tuning.ChunkBytes = []int{64, 8 << 10}[seed%2]
			o.Tuning.SegmentBytes = 100
			o.EnsureDefaults()
			sh := NewShared(o)
			defer sh.Close()
			s, err := CreateShard(o, sh, "data/0", 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			intents, err := Recover([]*Shard{s})
			if err != nil {
				t.Fatal(err)
			}
			m := &bulkModel{lists: [2]map[uint64][]codec.ListEdge{{}, {}}}
			for round := range 12 {
				w := s.NewWriter()
				if rnd.IntN(2) == 0 {
					m.single(t, rnd, w)
				}
				b := w.NewBulk()
				for range rnd.IntN(4) {
					m.vertices(t, rnd, b)
				}
				if len(m.sets) > 0 {
					m.edges(t, rnd, b)
				}
				if rnd.IntN(2) == 0 {
					m.single(t, rnd, w)
				}
				if rnd.IntN(3) == 0 {
					if err := w.Spill(); err != nil {
						t.Fatal(err)
					}
					m.vertices(t, rnd, b)
					m.edges(t, rnd, b)
				}
				w.SetMark("stream", uint64(round+1), []byte{byte(round)})
				wait, err := Commit([]*Shard{s}, []*staging.Writer{w}, &CommitInfo{}, &intents)
				if err != nil {
					t.Fatal(err)
				}
				if err := wait(); err != nil {
					t.Fatal(err)
				}
				if rnd.IntN(2) == 0 {
					if _, err := s.CompactDeltas(context.Background(), 1+rnd.IntN(200), true); err != nil {
						t.Fatal(err)
					}
				}
				m.check(t, s, uint64(round+1))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = OpenShard(o, sh, "data/0", 0, 1); err != nil {
				t.Fatal(err)
			}
			if _, err := Recover([]*Shard{s}); err != nil {
				t.Fatal(err)
			}
			m.check(t, s, 12)
			for {
				n, err := s.CompactDeltas(context.Background(), 1000, true)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
			}
			m.check(t, s, 12)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// text makes a value, now and then one that is large.
func text(rnd *rand.Rand) string {
	if rnd.IntN(20) == 0 {
		return fmt.Sprintf("%0100d", rnd.IntN(1000))
	}
	return strconv.Itoa(rnd.IntN(1000))
}

func (m *bulkModel) single(t *testing.T, rnd *rand.Rand, w *staging.Writer) {
	for range 1 + rnd.IntN(5) {
		id := w.NewVertex()
		if int(id) != len(m.sets) {
			t.Fatalf("vertex %d, want %d", id, len(m.sets))
		}
		v := text(rnd)
		if err := w.Vertices.Put(id, 2, []graph.LabelID{1}, []graph.Property{{ID: 1, Value: graph.StringValue(v)}}); err != nil {
			t.Fatal(err)
		}
		m.sets, m.props = append(m.sets, 2), append(m.props, map[graph.PropID]string{1: v})
	}
}

func (m *bulkModel) vertices(t *testing.T, rnd *rand.Rand, b *pack.Bulk) {
	n := 1 + rnd.IntN(1+rnd.IntN(1500))
	var cols []pack.Column
	props := make([]map[graph.PropID]string, n)
	for i := range props {
		props[i] = map[graph.PropID]string{}
	}
	for p := graph.PropID(1); p <= 3; p++ {
		if rnd.IntN(3) == 0 {
			continue
		}
		vals := make([]graph.Value, n)
		for i := range vals {
			if rnd.IntN(4) > 0 {
				s := text(rnd)
				vals[i], props[i][p] = graph.StringValue(s), s
			}
		}
		col, err := b.Column(p, vals)
		if err != nil {
			t.Fatal(err)
		}
		cols = append(cols, col)
	}
	set := graph.LabelSet(2 + rnd.IntN(2))
	first, err := b.Vertices(n, set, []graph.LabelID{graph.LabelID(set - 1)}, cols)
	if err != nil || int(first) != len(m.sets) {
		t.Fatalf("vertices from %d, want %d: %v", first, len(m.sets), err)
	}
	var tuples pack.Tuples
	var locals []uint64
	for i := range n {
		m.sets = append(m.sets, set)
		if _, _, err := tuples.Add(graph.IntValue(int64(first) + int64(i))); err != nil {
			t.Fatal(err)
		}
		locals = append(locals, first+uint64(i))
	}
	b.Entries(1, &tuples, locals, false)
	m.props = append(m.props, props...)
}

func (m *bulkModel) edges(t *testing.T, rnd *rand.Rand, b *pack.Bulk) {
	n := rnd.IntN(300)
	vals := make([]graph.Value, n)
	var lists [2][]codec.ListEdge
	for i := range n {
		src, dst := rnd.Uint64N(uint64(len(m.sets))), rnd.Uint64N(1+rnd.Uint64N(uint64(len(m.sets))))
		m.edge++
		vals[i] = graph.IntValue(int64(m.edge))
		lists[0] = append(lists[0], codec.ListEdge{Vertex: src, Neighbour: graph.VertexID(dst), Edge: m.edge, Row: int32(i)})
		lists[1] = append(lists[1], codec.ListEdge{Vertex: dst, Neighbour: graph.VertexID(src), Edge: m.edge, Row: int32(i)})
	}
	col, err := b.Column(7, vals)
	if err != nil {
		t.Fatal(err)
	}
	for dir, l := range lists {
		for _, e := range l {
			m.lists[dir][e.Vertex] = append(m.lists[dir][e.Vertex], e)
		}
		b.Edges(5, graph.Direction(dir), pack.SortEdges(l), []pack.Column{col})
	}
}

func (m *bulkModel) check(t *testing.T, s *Shard, mark uint64) {
	t.Helper()
	ctx := context.Background()
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	ids := make([]graph.VertexID, len(m.sets))
	for i := range ids {
		ids[i] = graph.VertexID(i)
	}
	sets := make([]graph.LabelSet, len(ids))
	if err := v.LabelSets(ctx, ids, nil, sets); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sets, m.sets) {
		t.Fatal("label sets differ")
	}
	props := []graph.PropID{1, 2, 3}
	out := make([][]graph.Value, len(props))
	for i := range out {
		out[i] = make([]graph.Value, len(ids))
	}
	var pending []view.Pending
	if err := v.Properties(ctx, ids, nil, props, out, &pending); err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		val, err := v.Large(p.Ref)
		if err != nil {
			t.Fatal(err)
		}
		out[p.P][p.I] = val
	}
	for p, prop := range props {
		for i := range ids {
			want, has := m.props[i][prop]
			if got := out[p][i]; got.IsNull() == has || has && got.Str() != want {
				t.Fatalf("property %d of %d differs", prop, i)
			}
		}
	}
	for label := graph.LabelID(0); label <= 2; label++ {
		var want []graph.VertexID
		for i, set := range m.sets {
			if label == 0 || graph.LabelID(set-1) == label {
				want = append(want, graph.VertexID(i))
			}
		}
		got, done, err := v.Scan(ctx, label, 0, make([]graph.VertexID, 0, len(ids)+1))
		if err != nil || !done || !slices.Equal(got, want) {
			t.Fatalf("scan of label %d: %d vertices, want %d: %v", label, len(got), len(want), err)
		}
	}
	for dir := range m.lists {
		m.checkLists(t, v, graph.Direction(dir))
	}
	if seq, _, err := v.Mark("stream"); err != nil || seq != mark {
		t.Fatalf("mark %d, want %d: %v", seq, mark, err)
	}
	if n := s.Counters().Of(stats.Count{Kind: stats.CountVertices}); n != int64(len(ids)) {
		t.Fatalf("%d vertices counted, want %d", n, len(ids))
	}
}

func (m *bulkModel) checkLists(t *testing.T, v *view.View, dir graph.Direction) {
	t.Helper()
	ctx := context.Background()
	ls, err := v.Lists(5, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ls.Close()
	for id := range graph.VertexID(len(m.sets)) {
		out := view.Edges{Props: make([][]graph.Value, 1)}
		var pending []view.Pending
		if err := ls.Append(ctx, id, view.Want{IDs: true, Props: []graph.PropID{7}}, &out, &pending); err != nil {
			t.Fatal(err)
		}
		want := slices.SortedFunc(slices.Values(m.lists[dir][uint64(id)]), func(a, b codec.ListEdge) int {
			return cmp.Or(cmp.Compare(a.Neighbour, b.Neighbour), cmp.Compare(a.Edge, b.Edge))
		})
		if len(out.Targets) != len(want) {
			t.Fatalf("list of %d: %d edges, want %d", id, len(out.Targets), len(want))
		}
		for i, e := range want {
			if out.Targets[i] != e.Neighbour || out.IDs[i] != e.Edge || out.Props[0][i].Int() != int64(e.Edge) {
				t.Fatalf("list of %d: edge %d differs", id, i)
			}
			if (i+int(id))%4 > 0 {
				continue
			}
			ok, err := ls.Edge(ctx, uint64(id), e.Neighbour, e.Edge, func(graph.PropID, graph.Value, keys.Ref, bool) error { return nil })
			if err != nil || !ok {
				t.Fatalf("list of %d: edge %d is not found: %v", id, i, err)
			}
		}
	}
}
