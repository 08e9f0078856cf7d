package cache

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// model is a plain multi-version graph of one shard. Everything that was ever committed stays, with its sequences.
type model struct {
	mu       sync.RWMutex
	visible  uint64
	shard    int
	ids      IDs
	vertices uint64
	nextEdge uint64
	lists    map[listKey][]modelEdge
	values   map[valueKey][]modelValue
	compared atomic.Int64 // vectors that the cache compared
	edges    atomic.Int64 // of edges
}

type listKey struct {
	typ   graph.TypeID
	dir   graph.Direction
	local uint64
}

type modelEdge struct {
	target     graph.VertexID
	edge       graph.EdgeID
	prop       int64
	propSeq    uint64 // when prop was set last
	born, died uint64 // died 0: never
}

type valueKey struct {
	prop  graph.PropID
	local uint64
}

type modelValue struct {
	seq   uint64
	value graph.Value
}

func newModel(shard, shards int, vertices uint64) *model {
	return &model{
		shard: shard, ids: NewIDs(shards), vertices: vertices, visible: 1,
		lists: map[listKey][]modelEdge{}, values: map[valueKey][]modelValue{},
	}
}

// list returns a list at a sequence, sorted.
func (m *model) list(k listKey, seq uint64) []modelEdge {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []modelEdge
	for _, e := range m.lists[k] {
		if e.born <= seq && (e.died == 0 || e.died > seq) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b modelEdge) int {
		return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.edge, b.edge))
	})
	return out
}

func (m *model) value(k valueKey, seq uint64) graph.Value {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.values[k]
	for _, v := range slices.Backward(h) {
		if v.seq <= seq {
			return v.value
		}
	}
	return graph.Value{}
}

// snapshot is the model as the source of a view.
type snapshot struct {
	m   *model
	seq uint64
}

func (s snapshot) ReadLists(typ graph.TypeID, dir graph.Direction, first uint64, b *ListBuilder) error {
	want := b.Want()
	for local := first; local < min(first+ListBlock, s.m.vertices); local++ {
		var targets []graph.VertexID
		var edges []graph.EdgeID
		for i, e := range s.m.list(listKey{typ, dir, local}, s.seq) {
			targets, edges = append(targets, e.target), append(edges, e.edge)
			for k := range want.Props {
				b.Prop(k).Value(b.Edges()+i, graph.IntValue(e.prop))
			}
		}
		if len(targets) > 0 {
			b.Add(local, targets, edges)
		}
	}
	return nil
}

func (s snapshot) ReadColumn(prop graph.PropID, first uint64, b *ColumnBuilder) error {
	for i := range ColumnBlock {
		v := s.m.value(valueKey{prop, first + uint64(i)}, s.seq)
		if v.IsNull() {
			continue
		}
		if Simple(v.Kind()) {
			b.Value(i, v)
		} else {
			b.Opaque(i, encodeList(v))
		}
	}
	return nil
}

func (s snapshot) ReadVectors(prop graph.PropID, first uint64, b *VectorBuilder) error {
	for i := range ColumnBlock {
		if v := s.m.value(valueKey{prop, first + uint64(i)}, s.seq); v.Kind() == graph.List {
			b.Put(i, func(dst []float32) ([]float32, int, bool) {
				x, ok := vector.Pack(dst, v)
				return x, len(v.List()), ok
			})
		}
	}
	return nil
}

// edgeProp is the property of edges whose values are those of edgeVector.
const edgeProp graph.PropID = 10

// edgeVector returns a vector, or what is none, for an edge whose other property has a value.
func edgeVector(prop int64) graph.Value {
	if prop%11 == 0 {
		return graph.Value{}
	}
	list := []graph.Value{graph.IntValue(prop%5 - 2), graph.IntValue(prop % 7), graph.IntValue(1)}
	if prop > 1000 && prop%13 == 0 {
		list = list[:2]
	}
	return graph.ListValue(list)
}

func (s snapshot) ReadEdgeVectors(typ graph.TypeID, prop graph.PropID, first uint64, b *VectorBuilder) error {
	for i := range min(ColumnBlock, int(s.m.vertices-first)) {
		list := s.m.list(listKey{typ, graph.Out, first + uint64(i)}, s.seq)
		var targets []graph.VertexID
		var edges []graph.EdgeID
		for _, e := range list {
			targets, edges = append(targets, e.target), append(edges, e.edge)
		}
		if len(list) == 0 {
			continue
		}
		b.Edges(i, targets, edges)
		for k, e := range slices.Backward(list) { // large values come late
			if v := edgeVector(e.prop); prop == edgeProp && v.Kind() == graph.List {
				b.Put(k, func(dst []float32) ([]float32, int, bool) {
					x, ok := vector.Pack(dst, v)
					return x, len(v.List()), ok
				})
			}
		}
	}
	return nil
}

// encodeList and decodeList know lists of integers.
func encodeList(v graph.Value) []byte {
	b := []byte{}
	for _, e := range v.List() {
		b = binary.BigEndian.AppendUint64(b, uint64(e.Int()))
	}
	return b
}

func decodeList(b []byte) (graph.Value, error) {
	var l []graph.Value
	for ; len(b) > 0; b = b[8:] {
		l = append(l, graph.IntValue(int64(binary.BigEndian.Uint64(b))))
	}
	return graph.ListValue(l), nil
}

// commit makes random changes and tells the cache before they become visible.
func (m *model) commit(r *rand.Rand, l *Lists, c *Columns, n int) {
	seq := m.visible + 1
	var lists [2][2][]EdgeChange
	m.mu.Lock()
	for range n {
		typ, dir := graph.TypeID(r.IntN(2)), graph.Direction(r.IntN(2))
		k := listKey{typ, dir, m.pick(r)}
		h := m.lists[k]
		ch := EdgeChange{Vertex: k.local}
		switch i := r.IntN(10); {
		case i < 6 || len(h) == 0:
			m.nextEdge++
			e := modelEdge{
				target: graph.MakeVertexID(r.IntN(m.ids.shards), m.pick(r)),
				edge:   graph.MakeEdgeID(m.shard, m.nextEdge), born: seq, propSeq: seq, prop: int64(r.IntN(100)),
			}
			m.lists[k] = append(h, e)
			ch.Target, ch.Edge, ch.Kind = e.target, e.edge, EdgeAdded
		case i < 9:
			e := &h[r.IntN(len(h))]
			if e.died != 0 {
				continue
			}
			e.died = seq
			ch.Target, ch.Edge, ch.Kind = e.target, e.edge, EdgeRemoved
		default: // a new version of the edge, with another property
			e := &h[r.IntN(len(h))]
			if e.died != 0 || e.born == seq {
				continue
			}
			n := *e
			e.died = seq
			n.born, n.prop, n.propSeq = seq, n.prop+1000, seq
			m.lists[k] = append(m.lists[k], n)
			ch.Target, ch.Edge, ch.Kind = n.target, n.edge, EdgeChanged
		}
		lists[typ][dir] = append(lists[typ][dir], ch)
	}
	values := map[graph.PropID][]ValueChange{}
	for range n {
		k := valueKey{graph.PropID(r.IntN(5)), m.pick(r)}
		v := randomValue(r, k.prop)
		m.values[k] = append(m.values[k], modelValue{seq, v})
		ch := ValueChange{Vertex: k.local}
		if Simple(v.Kind()) {
			ch.Value = v
		} else {
			ch.Opaque = encodeList(v)
		}
		values[k.prop] = append(values[k.prop], ch)
	}
	m.mu.Unlock()
	for typ := range lists {
		for dir, chs := range lists[typ] {
			if r.IntN(20) == 0 {
				for _, ch := range chs {
					l.Invalidate(seq, graph.TypeID(typ), graph.Direction(dir), ch.Vertex/ListBlock)
				}
			} else if len(chs) > 0 {
				l.Apply(seq, graph.TypeID(typ), graph.Direction(dir), chs)
			}
			l.Changed(seq, graph.TypeID(typ), graph.Direction(dir), len(chs), func(i int) uint64 { return chs[i].Vertex })
		}
	}
	for prop, chs := range values {
		switch r.IntN(10) {
		case 0: // known by their blocks alone
			for _, ch := range chs {
				c.Invalidate(seq, prop, ch.Vertex/ColumnBlock)
			}
			continue
		case 1:
			for _, ch := range chs {
				c.InvalidateColumn(seq, prop, ch.Vertex/ColumnBlock)
			}
		default:
			c.Apply(seq, prop, chs)
		}
		c.Changed(seq, prop, chs)
	}
	m.mu.Lock()
	m.visible = seq
	m.mu.Unlock()
}

// pick picks a vertex, more often a small one.
func (m *model) pick(r *rand.Rand) uint64 {
	return r.Uint64N(1 + r.Uint64N(m.vertices))
}

// randomValue returns label sets for property 0, and for others values of a kind or of several.
func randomValue(r *rand.Rand, prop graph.PropID) graph.Value {
	switch prop {
	case LabelProp:
		return graph.IntValue(int64(r.IntN(5)))
	case 1:
		if r.IntN(4) == 0 {
			return graph.Value{}
		}
		return graph.StringValue(string(rune('a'+r.IntN(26))) + "text")
	case 2:
		return graph.IntValue(int64(r.Uint64()))
	}
	if prop == vectorProp {
		list := make([]graph.Value, []int{3, 3, 3, 2}[r.IntN(4)])
		for i := range list {
			list[i] = graph.IntValue(int64(r.IntN(5) - 2))
		}
		return graph.ListValue(list)
	}
	switch r.IntN(6) {
	case 0:
		return graph.BoolValue(r.IntN(2) == 0)
	case 1:
		return graph.FloatValue(r.Float64())
	case 2:
		return graph.StringValue("mixed")
	case 3:
		return graph.ListValue([]graph.Value{graph.IntValue(7), graph.IntValue(int64(r.IntN(9)))})
	case 4:
		return graph.Value{}
	}
	return graph.IntValue(int64(r.IntN(100)))
}

// reader is a pair of views at one sequence.
type reader struct {
	seq     uint64
	lists   ListView
	columns ColumnView
}

func (m *model) open(l *Lists, c *Columns) *reader {
	m.mu.RLock()
	seq := m.visible
	m.mu.RUnlock()
	r := &reader{seq: seq}
	l.Open(&r.lists, seq, m.vertices, snapshot{m, seq}, nil)
	c.Open(&r.columns, seq, m.vertices, snapshot{m, seq}, decodeList, nil)
	return r
}

func (r *reader) close() {
	r.lists.Close()
	r.columns.Close()
}

// check compares some of what a reader sees with the model, and gives the number of lists that the cache had.
func (m *model) check(t *testing.T, rnd *rand.Rand, r *reader) int {
	t.Helper()
	var cur Cursor
	want := Want{Edges: rnd.IntN(2) == 0}
	if rnd.IntN(3) == 0 {
		want.Props = []graph.PropID{9}
	}
	typ, dir := graph.TypeID(rnd.IntN(2)), graph.Direction(rnd.IntN(2))
	r.lists.Cursor(&cur, typ, dir, want)
	found := 0
	for range 20 {
		local := m.pick(rnd)
		v := graph.MakeVertexID(m.shard, local)
		ok, err := cur.Seek(v, 1+rnd.IntN(100))
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		model := m.list(listKey{typ, dir, local}, r.seq)
		if n, ok := cur.Degree(v); !ok || n != len(model) {
			t.Fatalf("degree of %d at %d: %d, want %d", local, r.seq, n, len(model))
		}
		list, ok := cur.List(v)
		if !ok {
			if len(want.Props) == 0 {
				t.Fatal("a list was left out for nothing")
			}
			continue
		}
		found++
		if len(list.Targets) != len(model) {
			t.Fatalf("list of %d at %d: %d edges, want %d", local, r.seq, len(list.Targets), len(model))
		}
		for i, e := range model {
			if m.ids.unpack(list.Targets[i]) != e.target {
				t.Fatalf("list of %d at %d: target %d is %x, want %x", local, r.seq, i, list.Targets[i], e.target)
			}
			if want.Edges && uint64(list.Edges[i]) != e.edge.Local() {
				t.Fatalf("list of %d at %d: edge %d is %d, want %d", local, r.seq, i, list.Edges[i], e.edge.Local())
			}
			if len(want.Props) > 0 {
				p, err := cur.Prop(0).Value(list.Offset+uint32(i), nil)
				if err != nil || p.Int() != e.prop {
					t.Fatalf("property of edge %d of %d at %d: %v, want %d", i, local, r.seq, p, e.prop)
				}
			}
		}
	}
	m.checkValues(t, rnd, r)
	m.checkEdgeVectors(t, rnd, r)
	return found
}

func (m *model) checkValues(t *testing.T, rnd *rand.Rand, r *reader) {
	t.Helper()
	ids := make([]graph.VertexID, 30)
	for i := range ids {
		ids[i] = graph.MakeVertexID(m.shard, m.pick(rnd))
	}
	if rnd.IntN(2) == 0 {
		slices.Sort(ids)
	}
	prop := graph.PropID(rnd.IntN(4))
	out := make([]graph.Value, len(ids))
	var opaque []Cell
	missing, err := r.columns.Fill(prop, ids, out, nil, &opaque)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range opaque {
		if out[c.At], err = r.columns.decode(c.Enc); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range ids {
		if slices.Contains(missing, i) {
			continue
		}
		if want := m.value(valueKey{prop, id.Local()}, r.seq); !sameValue(out[i], want) {
			t.Fatalf("property %d of %d at %d: %v, want %v", prop, id.Local(), r.seq, out[i], want)
		}
	}
	m.checkVectors(t, rnd, r, ids)
	sets := make([]graph.LabelSet, len(ids))
	missing, err = r.columns.FillLabels(ids, sets, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		want := graph.LabelSet(0)
		if v := m.value(valueKey{LabelProp, id.Local()}, r.seq); !v.IsNull() {
			want = graph.LabelSet(v.Int())
		}
		if !slices.Contains(missing, i) && sets[i] != want {
			t.Fatalf("labels of %d at %d: %d, want %d", id.Local(), r.seq, sets[i], want)
		}
	}
}

// vectorProp is the property whose values are vectors.
const vectorProp graph.PropID = 4

// checkVectors compares vectors with a probe.
func (m *model) checkVectors(t *testing.T, rnd *rand.Rand, r *reader, ids []graph.VertexID) {
	t.Helper()
	var probe vector.Probe
	if by := graph.Similarity(rnd.IntN(2)); !probe.Set(by, graph.ListValue([]graph.Value{graph.IntValue(1), graph.IntValue(2), graph.IntValue(int64(rnd.IntN(3)))})) {
		t.Fatal("no vector")
	}
	prop := graph.PropID(rnd.IntN(2)) + 3
	scores := make([]float64, len(ids))
	missing, _, err := r.columns.Compare(prop, &probe, ids, scores, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if slices.Contains(missing, i) {
			continue
		}
		m.compared.Add(1)
		v, ok, want := m.value(valueKey{prop, id.Local()}, r.seq), false, math.NaN()
		if v.Kind() == graph.List && len(v.List()) == 3 {
			if want, ok = probe.Score(v); !ok {
				want = math.NaN()
			}
		}
		if math.Float64bits(scores[i]) != math.Float64bits(want) && !(math.IsNaN(scores[i]) && math.IsNaN(want)) {
			t.Fatalf("score of %d at %d: %v, want %v", id.Local(), r.seq, scores[i], want)
		}
	}
}

// checkEdgeVectors compares vectors of edges with a probe.
func (m *model) checkEdgeVectors(t *testing.T, rnd *rand.Rand, r *reader) {
	t.Helper()
	var probe vector.Probe
	if by := graph.Similarity(rnd.IntN(2)); !probe.Set(by, graph.ListValue([]graph.Value{graph.IntValue(1), graph.IntValue(2), graph.IntValue(int64(rnd.IntN(3)))})) {
		t.Fatal("no vector")
	}
	sources := make([]graph.VertexID, 100)
	for i := range sources {
		sources[i] = graph.MakeVertexID(m.shard, m.pick(rnd))
	}
	slices.Sort(sources)
	sources = slices.Compact(sources)
	var got []EdgeHit
	c := EdgeComparison{Type: graph.TypeID(rnd.IntN(2)), Prop: edgeProp, Probe: &probe, Take: func(hits []EdgeHit) { got = append(got, hits...) }}
	if err := r.lists.CompareEdges(&c, m.shard, sources); err != nil {
		t.Fatal(err)
	}
	var want []EdgeHit
	for _, source := range sources {
		if slices.Contains(c.Missing, source) {
			continue
		}
		for _, e := range m.list(listKey{c.Type, graph.Out, source.Local()}, r.seq) {
			v := edgeVector(e.prop)
			if v.Kind() != graph.List || len(v.List()) != 3 {
				continue
			}
			if score, ok := probe.Score(v); ok {
				want = append(want, EdgeHit{score, source, e.target, e.edge})
			}
		}
	}
	order := func(a, b EdgeHit) int { return cmp.Compare(a.Edge, b.Edge) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		t.Fatalf("edges of type %d at %d: %v, want %v", c.Type, r.seq, got, want)
	}
	if len(got) > c.Compared || c.Bytes != 4*vector.Stride(3)*c.Compared {
		t.Fatalf("%d hits of %d vectors, %d bytes", len(got), c.Compared, c.Bytes)
	}
	m.edges.Add(int64(len(got)))
}

func sameValue(a, b graph.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case graph.Null:
		return true
	case graph.String:
		return a.Str() == b.Str()
	case graph.List:
		return slices.EqualFunc(a.List(), b.List(), sameValue)
	case graph.Bool:
		return a.Bool() == b.Bool()
	case graph.Float:
		return a.Float() == b.Float()
	}
	return a.Int() == b.Int()
}

// step computes Step on the model.
func (m *model) step(typ graph.TypeID, dir graph.Direction, seq uint64, from *graph.VertexSet, out *graph.VertexSet) {
	for _, v := range from.AppendTo(nil) {
		if v.Shard() == m.shard {
			for _, e := range m.list(listKey{typ, dir, v.Local()}, seq) {
				out.Add(e.target)
			}
		}
	}
}

// TestAgainstModel lets a writer and readers at many sequences act in a random order, with budgets from nothing to
// plenty, and compares all that the cache says with the model.
func TestAgainstModel(t *testing.T) {
	merges, whole, compared, edges := uint64(0), 0, int64(0), int64(0)
	seeds := uint64(24)
	if testing.Short() {
		seeds = 9
	}
	// Overlays are merged in the background, so it may take more seeds until one was.
	for seed := uint64(0); seed < seeds || merges == 0 && seed < 10*seeds; seed++ {
		rnd := rand.New(rand.NewPCG(seed, 1))
		m := newModel(int(seed)%3, 1+int(seed)%3+int(seed)%2, []uint64{100, 5000, 20000}[seed%3])
		cache := New(Options{Budget: []int{1 << 20, 1 << 18, 1 << 24}[rnd.IntN(3)]})
		l, c := cache.NewLists(m.ids), cache.NewColumns(m.shard)
		l.spare = 200
		var open []*reader
		found := 0
		for range 600 {
			switch i := rnd.IntN(20); {
			case i < 4:
				m.commit(rnd, l, c, 1+rnd.IntN(60))
			case i < 6:
				open = append(open, m.open(l, c))
			case i < 8 && len(open) > 0:
				k := rnd.IntN(len(open))
				open[k].close()
				open = slices.Delete(open, k, k+1)
			case i == 8 && rnd.IntN(10) == 0:
				cache.SetBudget(rnd.IntN(1 << 21))
			case i == 9 && len(open) > 0 && m.shard == 0:
				m.checkStep(t, rnd, open[rnd.IntN(len(open))])
			case i == 10 && len(open) > 0 && rnd.IntN(3) == 0:
				whole += m.checkBlocks(t, rnd, open[rnd.IntN(len(open))])
			case len(open) > 0:
				found += m.check(t, rnd, open[rnd.IntN(len(open))])
			}
		}
		for _, r := range open {
			r.close()
		}
		s := cache.Stats()
		if s.Mapped > s.Budget || found == 0 {
			t.Fatalf("seed %d: %d lists found, %+v", seed, found, s)
		}
		merges += s.Merges
		compared += m.compared.Load()
		edges += m.edges.Load()
		l.Close()
		c.Close()
		cache.Close()
		if s := cache.Stats(); s.Mapped != 0 || s.Used != 0 || s.Segments != 0 || s.Overlay != 0 {
			t.Fatalf("seed %d: after Close: %+v", seed, s)
		}
	}
	if merges == 0 || whole == 0 || compared == 0 || edges == 0 {
		t.Fatalf("%d overlays were merged, %d blocks had summaries, %d vectors were compared, and of edges %d", merges, whole, compared, edges)
	}
}

func (m *model) checkStep(t *testing.T, rnd *rand.Rand, r *reader) {
	t.Helper()
	var from, out, missed, want graph.VertexSet
	for range 1 + rnd.IntN(500) {
		from.Add(graph.MakeVertexID(m.shard, m.pick(rnd)))
	}
	typ, dir := graph.TypeID(rnd.IntN(2)), graph.Direction(rnd.IntN(2))
	if err := Step([]*ListView{&r.lists}, typ, dir, &from, &out, &missed, 2); err != nil {
		t.Fatal(err)
	}
	m.step(typ, dir, r.seq, &missed, &out)
	m.step(typ, dir, r.seq, &from, &want)
	if !slices.Equal(out.AppendTo(nil), want.AppendTo(nil)) {
		t.Fatalf("step at %d: %d vertices, want %d", r.seq, out.Len(), want.Len())
	}
}

// TestConcurrently is the same with readers and the writer on goroutines of their own; it is meant for the race detector.
func TestConcurrently(t *testing.T) {
	m := newModel(0, 1, 3000)
	cache := New(Options{Budget: 1 << 22})
	l, c := cache.NewLists(m.ids), cache.NewColumns(0)
	l.spare = 100
	done := make(chan struct{})
	var wg sync.WaitGroup
	var rounds atomic.Int64
	for g := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 7))
			for {
				select {
				case <-done:
					return
				default:
				}
				r := m.open(l, c)
				for range 1 + rnd.IntN(10) {
					m.check(t, rnd, r)
				}
				m.checkStep(t, rnd, r)
				r.close()
				rounds.Add(1)
			}
		})
	}
	rnd := rand.New(rand.NewPCG(99, 7))
	for i := range 400 {
		m.commit(rnd, l, c, 1+rnd.IntN(40))
		if i > 200 && i%50 == 0 {
			cache.SetBudget(1 << (17 + i/50%3))
		}
		// Now and then readers catch up with the writer.
		for until := rounds.Load() + 8; i%20 == 0 && rounds.Load() < until; {
			runtime.Gosched()
		}
	}
	close(done)
	wg.Wait()
	if s := cache.Stats(); s.Hits == 0 || s.Loads == 0 || m.compared.Load() == 0 || m.edges.Load() == 0 {
		t.Fatalf("%+v, %d vectors compared, and of edges %d", s, m.compared.Load(), m.edges.Load())
	}
}
