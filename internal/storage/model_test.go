package storage

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

const modelType = graph.TypeID(5)

// model is a naive graph. Vertices have the label set 2 (label 1) or 3 (label 2), edges the type modelType.
type model struct {
	t     *testing.T
	rnd   *rand.Rand
	verts map[graph.VertexID]*modelVertex
	edges map[graph.EdgeID]*modelEdge
	keys  map[int]graph.VertexID // of the unique index 1
	ids   []graph.VertexID       // of all vertices so far, with those that were deleted
}

type modelVertex struct {
	set   graph.LabelSet
	props map[graph.PropID]string
	key   int
}

type modelEdge struct {
	graph.Edge
	props map[graph.PropID]string
}

// modelProps are the properties that vertices and edges may have.
var modelProps = []graph.PropID{1, 2, 3}

// props makes up properties; of those of a change, some remove.
func (m *model) props(change bool) (props []graph.Property) {
	for _, p := range modelProps {
		switch m.rnd.IntN(3) {
		case 0:
			props = append(props, graph.Property{ID: p, Value: graph.StringValue(text(m.rnd))})
		case 1:
			if change {
				props = append(props, graph.Property{ID: p})
			}
		}
	}
	return props
}

// was returns what some of the properties that props sets are now.
func (m *model) was(id graph.VertexID, props []graph.Property) (was []graph.Property) {
	for _, p := range staging.SortedProps(props) {
		if m.rnd.IntN(2) == 0 {
			continue
		}
		now := graph.Property{ID: p.ID}
		if v, ok := m.verts[id].props[p.ID]; ok {
			now.Value = graph.StringValue(v)
		}
		was = append(was, now)
	}
	return was
}

func assign(to map[graph.PropID]string, props []graph.Property) {
	for _, p := range props {
		if p.Value.IsNull() {
			delete(to, p.ID)
		} else {
			to[p.ID] = p.Value.Str()
		}
	}
}

func (m *model) vertex() graph.VertexID {
	ids := slices.Sorted(maps.Keys(m.verts))
	return ids[m.rnd.IntN(len(ids))]
}

func (m *model) add(id graph.VertexID, set graph.LabelSet, props []graph.Property) {
	v := &modelVertex{set: set, props: map[graph.PropID]string{}}
	assign(v.props, props)
	m.verts[id] = v
	m.ids = append(m.ids, id)
}

// step makes a random change.
func (m *model) step(w *staging.Writer) {
	t := m.t
	set := graph.LabelSet(2 + m.rnd.IntN(2))
	labels := []graph.LabelID{graph.LabelID(set - 1)}
	op := m.rnd.IntN(12)
	if len(m.verts) < 5 {
		op = 0
	}
	switch op {
	case 0: // a vertex, with an index entry
		if m.rnd.IntN(3) == 0 {
			w.NewVertices(m.rnd.IntN(80_000)) // so that lists lie in several chunks
		}
		id, props := w.NewVertex(), m.props(false)
		require.NoError(t, w.Vertices.Put(id, set, labels, props))
		m.add(id, set, props)
		m.verts[id].key = 1 + int(id)
		m.keys[1+int(id)] = id
		w.Entries.Put(1, m.tuple(1+int(id)), false, graph.IndexOwner{Vertex: id})
	case 1: // a run of vertices
		rows := make([][]graph.Property, 1+m.rnd.IntN(1+m.rnd.IntN(700)))
		first := w.NewVertices(len(rows))
		for i := range rows {
			rows[i] = []graph.Property{{ID: 1, Value: graph.StringValue(text(m.rnd))}, {ID: 3}}
			if m.rnd.IntN(2) == 0 {
				rows[i][1].Value = graph.StringValue(text(m.rnd))
			}
			m.add(first+graph.VertexID(i), set, rows[i])
		}
		require.NoError(t, w.Vertices.PutRun(first, set, labels, rows))
	case 2, 3: // properties
		id, props := m.vertex(), m.props(true)
		require.NoError(t, w.Vertices.SetProps(id, m.verts[id].set, props, m.was(id, props)))
		assign(m.verts[id].props, props)
	case 4: // labels
		id := m.vertex()
		v := m.verts[id]
		if now := 5 - v.set; true {
			require.NoError(t, w.Vertices.SetLabels(id, v.set, now, []graph.LabelID{graph.LabelID(now - 1)}, []graph.LabelID{graph.LabelID(v.set - 1)}, modelProps))
			v.set = now
		}
	case 5: // a vertex without edges goes
		id := m.vertex()
		for _, e := range m.edges {
			if e.Src == id || e.Dst == id {
				return
			}
		}
		v := m.verts[id]
		if v.key > 0 {
			w.Entries.Delete(1, m.tuple(v.key), false, graph.IndexOwner{Vertex: id})
			delete(m.keys, v.key)
		}
		require.NoError(t, w.Vertices.Drop(id, v.set, []graph.LabelID{graph.LabelID(v.set - 1)}, modelProps))
		delete(m.verts, id)
	case 6: // an edge
		e := &modelEdge{graph.Edge{ID: w.NewEdge(), Type: modelType, Src: m.vertex(), Dst: m.vertex()}, map[graph.PropID]string{}}
		props := m.props(false)
		body, err := w.Edges.Body(nil, modelType, props)
		require.NoError(t, err)
		w.Edges.Add(e.Edge, graph.Out, body)
		w.Edges.Add(e.Edge, graph.In, body)
		assign(e.props, props)
		m.edges[e.ID] = e
	case 7, 8: // a run of edges, many of them of one vertex
		var lists [2][]codec.ListEdge
		var bodies [][]byte
		hub := m.vertex()
		for i := range 1 + m.rnd.IntN(60) {
			e := &modelEdge{graph.Edge{ID: w.NewEdge(), Type: modelType, Src: hub, Dst: m.vertex()}, map[graph.PropID]string{}}
			if m.rnd.IntN(2) == 0 {
				e.Src = m.vertex()
			}
			props := m.props(false)
			body, err := w.Edges.Body(nil, modelType, props)
			require.NoError(t, err)
			bodies = append(bodies, body)
			assign(e.props, props)
			m.edges[e.ID] = e
			lists[0] = append(lists[0], codec.ListEdge{Vertex: e.Src.Local(), Neighbour: e.Dst, Edge: e.ID, Row: int32(i)})
			lists[1] = append(lists[1], codec.ListEdge{Vertex: e.Dst.Local(), Neighbour: e.Src, Edge: e.ID, Row: int32(i)})
		}
		for dir := range lists {
			slices.SortFunc(lists[dir], func(a, b codec.ListEdge) int {
				return slices.Compare([]uint64{a.Vertex, uint64(a.Neighbour), uint64(a.Edge)}, []uint64{b.Vertex, uint64(b.Neighbour), uint64(b.Edge)})
			})
			require.NoError(t, w.Edges.AddRun(modelType, graph.Direction(dir), lists[dir], bodies))
		}
	default: // change or remove some edges
		ids := slices.Sorted(maps.Keys(m.edges))
		out, err := w.Lists(modelType, graph.Out)
		require.NoError(t, err)
		defer out.Close()
		in, err := w.Lists(modelType, graph.In)
		require.NoError(t, err)
		defer in.Close()
		for range min(len(ids), m.rnd.IntN(8)) {
			e := m.edges[ids[m.rnd.IntN(len(ids))]]
			switch {
			case e == nil:
			case m.rnd.IntN(2) == 0:
				props := m.props(true)
				body, ok, err := w.Edges.SetProps(out, e.Edge, props, nil)
				require.NoError(t, err)
				require.True(t, ok)
				require.NoError(t, w.Edges.Mirror(in, e.Edge, body))
				assign(e.props, props)
			default:
				for _, ls := range []*view.Lists{out, in} {
					ok, err := w.Edges.Remove(ls, e.Edge, nil)
					require.NoError(t, err)
					require.True(t, ok)
				}
				delete(m.edges, e.ID)
			}
		}
	}
}

func (*model) tuple(key int) []byte {
	k, _, _, err := view.AppendTuple(nil, []graph.Value{graph.IntValue(int64(key))})
	if err != nil {
		panic(err)
	}
	return k
}

// check compares all that a view shows with the model.
func (m *model) check(v *view.View) {
	t, ctx := m.t, context.Background()
	t.Helper()
	ids := m.ids
	sets, out := make([]graph.LabelSet, len(ids)), make([][]graph.Value, len(modelProps))
	for i := range out {
		out[i] = make([]graph.Value, len(ids))
	}
	require.NoError(t, v.LabelSets(ctx, ids, nil, sets))
	var pending []view.Pending
	require.NoError(t, v.Properties(ctx, ids, nil, modelProps, out, &pending))
	slices.SortFunc(pending, func(a, b view.Pending) int { return int(a.Ref.ID) - int(b.Ref.ID) })
	require.NoError(t, v.LargeValues(pending, out))
	for i, id := range ids {
		want := m.verts[id]
		if want == nil {
			m.same(graph.LabelSet(0), sets[i], "label set", id)
			continue
		}
		m.same(want.set, sets[i], "label set", id)
		for p, prop := range modelProps {
			m.same(want.props[prop], textOf(out[p][i]), "property", prop, id)
		}
	}
	for l := range graph.LabelID(3) {
		m.scan(v, l)
	}
	for _, id := range ids {
		key := 1 + int(id)
		o, ok, err := v.Lookup(1, m.tuple(key))
		require.NoError(t, err)
		want, has := m.keys[key]
		m.same(has, ok, "key", key)
		m.same(want, o.Vertex, "key", key)
	}
	for dir := range graph.Direction(2) {
		m.checkLists(v, dir, ids)
	}
}

// scan compares the vertices of a label, 0 for all.
func (m *model) scan(v *view.View, label graph.LabelID) {
	m.t.Helper()
	want := []graph.VertexID{}
	for _, id := range m.ids {
		if v := m.verts[id]; v != nil && (label == 0 || graph.LabelID(v.set-1) == label) {
			want = append(want, id)
		}
	}
	got, done, err := v.Scan(m.t.Context(), label, 0, make([]graph.VertexID, 0, len(m.ids)+1))
	require.NoError(m.t, err)
	require.True(m.t, done)
	if !slices.Equal(want, got) {
		m.t.Fatalf("label %d: %d vertices, want %d", label, len(got), len(want))
	}
}

// same compares two values; package require would take most of the time.
func (m *model) same(want, got any, what ...any) {
	if want != got {
		m.t.Helper()
		m.t.Fatalf("%v: %v, want %v", what, got, want)
	}
}

func textOf(v graph.Value) string {
	if v.IsNull() {
		return ""
	}
	return v.Str()
}

func (m *model) checkLists(v *view.View, dir graph.Direction, ids []graph.VertexID) {
	t, ctx := m.t, context.Background()
	want := map[graph.VertexID][]*modelEdge{}
	for _, e := range m.edges {
		if dir == graph.Out {
			want[e.Src] = append(want[e.Src], e)
		} else {
			want[e.Dst] = append(want[e.Dst], e)
		}
	}
	empty, err := v.ListsEmpty(modelType, dir)
	require.NoError(t, err)
	if len(m.edges) > 0 {
		require.False(t, empty)
	}
	ls, err := v.Lists(modelType, dir)
	require.NoError(t, err)
	defer ls.Close()
	for _, id := range ids {
		far := func(e *modelEdge) graph.VertexID {
			if dir == graph.Out {
				return e.Dst
			}
			return e.Src
		}
		slices.SortFunc(want[id], func(a, b *modelEdge) int {
			return slices.Compare([]uint64{uint64(far(a)), uint64(a.ID)}, []uint64{uint64(far(b)), uint64(b.ID)})
		})
		got := view.Edges{Props: make([][]graph.Value, len(modelProps))}
		var pending []view.Pending
		require.NoError(t, ls.Append(ctx, id, view.Want{IDs: true, Props: modelProps}, &got, &pending))
		require.NoError(t, v.LargeValues(pending, got.Props))
		m.same(len(want[id]), len(got.IDs), "list", id)
		loops := 0
		for i, e := range want[id] {
			m.same(e.ID, got.IDs[i], "list", id)
			m.same(far(e), got.Targets[i], "list", id)
			for p, prop := range modelProps {
				m.same(e.props[prop], textOf(got.Props[p][i]), "property of edge", prop, e.ID)
			}
			if far(e) == id {
				loops++
			}
		}
		n, _, err := ls.Degree(ctx, id, false)
		require.NoError(t, err)
		m.same(len(want[id]), n, "degree", id)
		_, l, err := ls.Degree(ctx, id, true)
		require.NoError(t, err)
		m.same(loops, l, "loops", id)
	}
	for _, e := range m.edges {
		vertex, other := e.Src, e.Dst
		if dir == graph.In {
			vertex, other = other, vertex
		}
		props := map[graph.PropID]string{}
		ok, err := ls.Edge(ctx, vertex.Local(), other, e.ID, func(p graph.PropID, val graph.Value, ref keys.Ref, isRef bool) (err error) {
			if isRef {
				val, err = v.Large(ref)
			}
			props[p] = textOf(val)
			return err
		})
		require.NoError(t, err)
		m.same(true, ok, "edge", e.ID)
		if !maps.Equal(e.props, props) {
			t.Fatalf("edge %d: %v, want %v", e.ID, props, e.props)
		}
	}
}

// counts compares the counters with the model.
func (m *model) counts(s *Shard) {
	want := map[stats.Count]int64{}
	for _, v := range m.verts {
		want[stats.Count{Kind: stats.CountVertices}]++
		want[stats.Count{Kind: stats.CountLabel, Label: graph.LabelID(v.set - 1)}]++
		for p := range v.props {
			want[stats.Count{Kind: stats.CountProp, Set: v.set, Prop: p}]++
		}
	}
	for _, e := range m.edges {
		for p := range e.props {
			want[stats.Count{Kind: stats.CountEdgeProp, Type: modelType, Prop: p}]++
		}
	}
	got := map[stats.Count]int64{}
	for _, c := range s.Counters() {
		got[c.Count] = c.N
	}
	require.Equal(m.t, want, got)
}

// TestModel makes random changes, reads them through their writer and after the commit, compacts in all ways, and compares everything with
// a naive graph. Snapshots from before must not notice.
func TestModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			o := &Options{Dir: "data", FS: vfs.NewMem(), ValueThreshold: 64}
			o.Tuning = Tuning{SegmentBytes: 120, ChunkBytes: 300, PackEdges: 1 + rnd.IntN(30), CompactStep: 4 + rnd.IntN(200), IngestBytes: []int{1, 1 << 20}[seed%2]}
			o.EnsureDefaults()
			s := open(t, o, CreateShard)
			m := &model{t: t, rnd: rnd, verts: map[graph.VertexID]*modelVertex{}, edges: map[graph.EdgeID]*modelEdge{}, keys: map[int]graph.VertexID{}}
			intents := uint64(0)
			for range 12 {
				w := s.NewWriter()
				for range rnd.IntN(12) {
					m.step(w)
					m.scan(w.View, 1)
				}
				if rnd.IntN(3) == 0 {
					m.check(w.View)
				}
				var running *Compaction
				var err error
				if rnd.IntN(3) == 0 {
					running, err = s.BeginCompaction()
					require.NoError(t, err)
				}
				wait, err := Commit([]*Shard{s}, []*staging.Writer{w}, &CommitInfo{}, &intents)
				require.NoError(t, err)
				require.NoError(t, wait())
				old, err := s.Snapshot()
				require.NoError(t, err)
				if running != nil {
					require.NoError(t, running.Run(t.Context(), 1+rnd.IntN(300)))
					_, _, err = running.End()
				} else {
					_, err = s.CompactDeltas(t.Context(), 1+rnd.IntN(300), rnd.IntN(2) == 0)
				}
				require.NoError(t, err)
				v, err := s.Snapshot()
				require.NoError(t, err)
				m.check(v)
				m.check(old)
				require.NoError(t, v.Close())
				require.NoError(t, old.Close())
				m.counts(s)
			}
			require.NoError(t, s.Close())
			s = open(t, o, OpenShard)
			compactAll(t, s)
			v, err := s.Snapshot()
			require.NoError(t, err)
			m.check(v)
			m.counts(s)
			m.packed(v, s)
			require.NoError(t, v.Close())
			require.NoError(t, s.Close())
		})
	}
}

// packed checks that a shard without delta records has the degree histograms of its lists and no large value without a reference.
func (m *model) packed(v *view.View, s *Shard) {
	for _, space := range []keys.Space{keys.DeltaEdge, keys.DeltaGroup, keys.DeltaProp, keys.DeltaLabel, keys.Garbage} {
		lower, upper := keys.Bounds(space)
		it, err := v.Graph().NewIter(nil)
		require.NoError(m.t, err)
		if it.SeekGE(lower) {
			require.GreaterOrEqual(m.t, string(it.Key()), string(upper), "records of the keyspace %x are left", space)
		}
		require.NoError(m.t, it.Close())
	}
	want := map[stats.Degree]int64{}
	for dir := range graph.Direction(2) {
		degrees := map[graph.VertexID]int{}
		for _, e := range m.edges {
			if dir == graph.Out {
				degrees[e.Src]++
			} else {
				degrees[e.Dst]++
			}
		}
		for _, n := range degrees {
			stats.ResizeList(want, modelType, dir, 0, n)
		}
	}
	require.Equal(m.t, want, map[stats.Degree]int64(s.Degrees()))
	large := 0
	for _, v := range m.verts {
		for _, text := range v.props {
			large += len(text) / 100
		}
	}
	for _, e := range m.edges {
		for _, text := range e.props {
			large += len(text) / 100
		}
	}
	it, err := v.Values().NewIter(nil)
	require.NoError(m.t, err)
	n := 0
	for ok := it.SeekGE([]byte{0, 0}); ok; ok = it.Next() {
		if len(it.Key()) == 8 {
			n++
		}
	}
	require.NoError(m.t, it.Close())
	require.Equal(m.t, large, n, "large values")
}

func open(t *testing.T, o *Options, how func(o *Options, sh *Shared, dir string, no, shards int) (*Shard, error)) *Shard {
	sh := NewShared(o)
	t.Cleanup(sh.Close)
	s, err := how(o, sh, "data/0", 0, 1)
	require.NoError(t, err)
	_, err = Recover([]*Shard{s})
	require.NoError(t, err)
	return s
}

// compactAll compacts until nothing is left to do.
func compactAll(t *testing.T, s *Shard) {
	for n := 1; n > 0; {
		var err error
		n, err = s.CompactDeltas(t.Context(), 1000, true)
		require.NoError(t, err)
	}
}

// TestCompactedAlike checks that the order of compactions makes no difference to edge lists and label bitmaps: what small steps have packed
// equals what one large step has packed.
func TestCompactedAlike(t *testing.T) {
	records := func(limit int) (all []string) {
		o := &Options{Dir: "data", FS: vfs.NewMem(), Tuning: Tuning{ChunkBytes: 300, PackEdges: 8}}
		o.EnsureDefaults()
		s := open(t, o, CreateShard)
		m := &model{t: t, rnd: rand.New(rand.NewPCG(1, 1)), verts: map[graph.VertexID]*modelVertex{}, edges: map[graph.EdgeID]*modelEdge{}, keys: map[int]graph.VertexID{}}
		intents := uint64(0)
		for range 10 {
			w := s.NewWriter()
			for range 10 {
				m.step(w)
			}
			wait, err := Commit([]*Shard{s}, []*staging.Writer{w}, &CommitInfo{}, &intents)
			require.NoError(t, err)
			require.NoError(t, wait())
			if limit > 0 {
				_, err = s.CompactDeltas(t.Context(), limit, true)
				require.NoError(t, err)
			}
		}
		compactAll(t, s)
		v, err := s.Snapshot()
		require.NoError(t, err)
		it, err := v.Graph().NewIter(nil)
		require.NoError(t, err)
		for ok := it.SeekGE([]byte{byte(keys.Adjacency)}); ok; ok = it.Next() {
			if keys.Space(it.Key()[0]) != keys.Column { // of which a grid cell may have several chunks
				all = append(all, fmt.Sprintf("%x = %x", it.Key(), it.Value()))
			}
		}
		require.NoError(t, it.Close())
		require.NoError(t, v.Close())
		require.NoError(t, s.Close())
		return all
	}
	want := records(0)
	require.NotEmpty(t, want)
	for _, limit := range []int{1, 50, 1000} {
		got := records(limit)
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Fatalf("in steps of %d: %s, want %s", limit, got[i], want[i])
			}
		}
		require.Len(t, got, len(want))
	}
}

// TestListsEmpty asks for lists when there are only groups of delta edges.
func TestListsEmpty(t *testing.T) {
	o := &Options{Dir: "data", FS: vfs.NewMem(), Tuning: Tuning{PackEdges: 2}}
	o.EnsureDefaults()
	s := open(t, o, CreateShard)
	defer func() { require.NoError(t, s.Close()) }()
	w := s.NewWriter()
	var edges []codec.ListEdge
	for i := range graph.EdgeID(3) {
		edges = append(edges, codec.ListEdge{Vertex: uint64(i), Neighbour: 1, Edge: i, Row: int32(i)})
	}
	require.NoError(t, w.Edges.AddRun(modelType, graph.Out, edges, make([][]byte, len(edges))))
	for dir, want := range []bool{graph.Out: false, graph.In: true} {
		empty, err := w.ListsEmpty(modelType, graph.Direction(dir))
		require.NoError(t, err)
		require.Equal(t, want, empty)
	}
	require.NoError(t, w.Discard())
}
