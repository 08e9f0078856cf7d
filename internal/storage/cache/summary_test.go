package cache

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
)

// checkSummary compares a column's summary, and what intervals make of it, with its cells.
func checkSummary(t *testing.T, rnd *rand.Rand, col *Column, n uint32) {
	t.Helper()
	cells, err := col.AppendTo(nil, 0, n, decodeList)
	if err != nil {
		t.Fatal(err)
	}
	s := col.Summary()
	want := Summary{Ordered: true, Summed: true}
	exact := true
	for _, v := range cells {
		if v.IsNull() {
			continue
		}
		want.Count++
		want.Ordered = want.Ordered && graph.Bounds(v) && (want.Count == 1 || v.Kind() == want.Min.Kind())
		want.Summed = want.Summed && v.Kind() == graph.Int
		if want.Ordered {
			if want.Count == 1 || less(v, want.Min) {
				want.Min = v
			}
			if want.Count == 1 || less(want.Max, v) {
				want.Max = v
			}
		}
		if want.Summed {
			sum := want.Sum + v.Int()
			exact = exact && (sum > want.Sum) == (v.Int() > 0)
			want.Sum = sum
		}
	}
	if s.Count != want.Count || s.Ordered != want.Ordered {
		t.Fatalf("%+v, want %+v", s, want)
	}
	if s.Ordered && (!sameValue(s.Min, want.Min) || !sameValue(s.Max, want.Max)) {
		t.Fatalf("%v … %v, want %v … %v", s.Min, s.Max, want.Min, want.Max)
	}
	if s.Summed && (!want.Summed || !exact || s.Sum != want.Sum) {
		t.Fatalf("%+v, want %+v", s, want)
	}
	bounds := append([]graph.Value{{}, graph.IntValue(0), graph.FloatValue(0.5), s.Min, s.Max}, cells[rnd.IntN(len(cells))])
	bounds = slices.DeleteFunc(bounds, func(v graph.Value) bool { return !v.IsNull() && !graph.Bounds(v) })
	for range 20 {
		iv := graph.Interval{
			Lo: bounds[rnd.IntN(len(bounds))], Hi: bounds[rnd.IntN(len(bounds))], LoOpen: rnd.IntN(2) == 0, HiOpen: rnd.IntN(2) == 0,
		}
		if iv.Lo.IsNull() && iv.Hi.IsNull() {
			iv.Lo = graph.IntValue(1)
		}
		in := 0
		for _, v := range cells {
			if iv.Holds(v) {
				in++
			}
		}
		if s.Misses(&iv) && in > 0 || s.Within(&iv) && in < s.Count {
			t.Fatalf("%+v: %d of the cells are in %+v", s, in, iv)
		}
		if s.Ordered && !s.Misses(&iv) && (iv.Lo.IsNull() || iv.Hi.IsNull()) && in == 0 {
			t.Fatalf("%+v: none of the cells is in %+v", s, iv)
		}
		if got, err := col.CountWithin(0, n, &iv, decodeList); err != nil || got != in {
			t.Fatalf("%d cells in %+v, want %d, %v", got, iv, in, err)
		}
	}
}

// less compares values of one kind that can be bounds.
func less(a, b graph.Value) bool {
	if a.Kind() == graph.Float {
		return a.Float() < b.Float()
	}
	return inside(a) != inside(b) && int64(inside(a)) < int64(inside(b))
}

// TestSummaryOfColumn covers what has no order or no sum.
func TestSummaryOfColumn(t *testing.T) {
	for name, tc := range map[string]struct {
		values          []graph.Value
		ordered, summed bool
	}{
		"nothing":   {[]graph.Value{{}}, true, true},
		"integers":  {[]graph.Value{graph.IntValue(-7), {}, graph.IntValue(9)}, true, true},
		"large sum": {[]graph.Value{graph.IntValue(math.MaxInt64), graph.IntValue(1)}, true, false},
		"least":     {[]graph.Value{graph.IntValue(math.MinInt64), graph.IntValue(-1)}, true, false},
		"floats":    {[]graph.Value{graph.FloatValue(math.Inf(1)), {}, graph.FloatValue(-0.5)}, true, false},
		"infinity":  {[]graph.Value{graph.FloatValue(math.Inf(1))}, true, false},
		"NaN":       {[]graph.Value{graph.FloatValue(1), graph.FloatValue(math.NaN())}, false, false},
		"dates":     {[]graph.Value{graph.DateValue(3), graph.DateValue(-3)}, true, false},
		"numbers":   {[]graph.Value{graph.IntValue(1), graph.FloatValue(2)}, false, false},
		"texts":     {[]graph.Value{graph.StringValue("b"), graph.StringValue("a")}, false, false},
		"truths":    {[]graph.Value{graph.BoolValue(true)}, false, false},
	} {
		var b ColumnBuilder
		b.reset()
		for i, v := range tc.values {
			b.Value(i, v)
		}
		b.finish(len(tc.values))
		col, _ := b.put(make([]byte, b.size()))
		if s := col.Summary(); s.Ordered != tc.ordered || s.Summed != tc.summed {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// checkBlocks compares the pieces of blocks, and the summaries of those that are whole, with the model.
func (m *model) checkBlocks(t *testing.T, rnd *rand.Rand, r *reader) (whole int) {
	t.Helper()
	var cur Cursor
	typ, dir := graph.TypeID(rnd.IntN(2)), graph.Direction(rnd.IntN(2))
	want := Want{Props: []graph.PropID{9}}
	r.lists.Cursor(&cur, typ, dir, want)
	for first := uint64(0); first < m.vertices; first += ListBlock {
		ok, err := cur.Seek(graph.MakeVertexID(m.shard, first), ListBlock)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		whole += m.checkPieces(t, rnd, cur.Prop(0), cur.Pieces(nil), first, ListBlock, func(local uint64) (out []graph.Value) {
			for _, e := range m.list(listKey{typ, dir, local}, r.seq) {
				out = append(out, graph.IntValue(e.prop))
			}
			return out
		})
	}
	props := []graph.PropID{1 + graph.PropID(rnd.IntN(3)), 1 + graph.PropID(rnd.IntN(3))}
	for first := uint64(0); first < m.vertices; first += ColumnBlock {
		cols, pieces, ok, err := r.columns.Block(props, first/ColumnBlock, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		for k, prop := range props {
			whole += m.checkPieces(t, rnd, cols[k], pieces, first, ColumnBlock, func(local uint64) []graph.Value {
				return []graph.Value{m.value(valueKey{prop, local}, r.seq)}
			})
		}
	}
	return whole
}

// checkPieces compares the pieces of a block of n vertices with the values that each vertex has, and gives 1 if it is whole.
func (m *model) checkPieces(t *testing.T, rnd *rand.Rand, col *Column, ps []Piece, first, n uint64, of func(local uint64) []graph.Value) int {
	t.Helper()
	elsewhere := map[uint64]bool{}
	var got, want []graph.Value
	var err error
	for _, p := range ps {
		for i := range p.N {
			elsewhere[p.First+i] = true
		}
		if got, err = col.AppendTo(got, p.Lo, p.Hi, decodeList); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if !elsewhere[first+i] {
			want = append(want, of(first+i)...)
		}
	}
	if !slices.EqualFunc(got, want, sameValue) {
		t.Fatalf("a block from %d with %d vertices elsewhere: %d cells, want %d, or others", first, len(elsewhere), len(got), len(want))
	}
	if len(elsewhere) > 0 || len(got) == 0 {
		return 0
	}
	checkSummary(t, rnd, col, uint32(len(got)))
	return 1
}

// TestSummariesFollowCommits changes the extreme of a block in each way. An older reader keeps its summary, a newer one does not
// get it.
func TestSummariesFollowCommits(t *testing.T) {
	m := newModel(0, 1, 100)
	cache := New(Options{Budget: 1 << 20})
	defer cache.Close()
	l, c := cache.NewLists(m.ids), cache.NewColumns(0)
	defer l.Close()
	defer c.Close()
	k := listKey{0, graph.Out, 7}
	for i := range 3 {
		m.lists[k] = append(m.lists[k], modelEdge{target: 1, edge: graph.EdgeID(i), prop: int64(10 * i), born: 1})
		m.values[valueKey{2, uint64(i)}] = []modelValue{{1, graph.IntValue(int64(10 * i))}}
	}
	edges := func(r *reader) (Summary, bool) {
		var cur Cursor
		r.lists.Cursor(&cur, 0, graph.Out, Want{Props: []graph.PropID{9}})
		ok, err := cur.Seek(graph.MakeVertexID(0, 0), ListBlock)
		if err != nil || !ok {
			return Summary{}, false
		}
		ps := cur.Pieces(nil)
		return cur.Prop(0).Summary(), len(ps) == 1 && ps[0].N == 0
	}
	values := func(r *reader) (Summary, bool) {
		cols, ps, ok, err := r.columns.Block([]graph.PropID{2}, 0, nil, nil)
		if err != nil || !ok {
			return Summary{}, false
		}
		return cols[0].Summary(), len(ps) == 1 && ps[0].N == 0
	}
	expect := func(r *reader, count int, hi int64) {
		t.Helper()
		for what, f := range map[string]func(*reader) (Summary, bool){"edges": edges, "values": values} {
			if s, ok := f(r); !ok || s.Count != count || s.Max.Int() != hi {
				t.Errorf("%s: %+v, %t, want %d up to %d", what, s, ok, count, hi)
			}
		}
	}
	first := m.open(l, c)
	expect(first, 3, 20)
	// The greatest value changes by a commit that tells it.
	m.lists[k][2].died = 2
	m.lists[k] = append(m.lists[k], modelEdge{target: 1, edge: 2, prop: 5, born: 2})
	m.values[valueKey{2, 2}] = append(m.values[valueKey{2, 2}], modelValue{2, graph.IntValue(5)})
	l.Apply(2, 0, graph.Out, []EdgeChange{{Vertex: 7, Target: 1, Edge: 2, Kind: EdgeChanged}})
	c.Apply(2, 2, []ValueChange{{Vertex: 2, Value: graph.IntValue(5)}})
	m.visible = 2
	second := m.open(l, c)
	for what, f := range map[string]func(*reader) (Summary, bool){"edges": edges, "values": values} {
		if _, ok := f(second); ok {
			t.Errorf("%s: a block with changes has a summary", what)
		}
	}
	// And by one that does not.
	m.lists[k][1].died = 3
	m.values[valueKey{2, 1}] = append(m.values[valueKey{2, 1}], modelValue{3, graph.Value{}})
	l.Invalidate(3, 0, graph.Out, 0)
	c.Invalidate(3, 2, 0)
	m.visible = 3
	third := m.open(l, c)
	expect(third, 2, 5)
	for _, r := range []*reader{first, second, third} {
		r.close()
	}
}

// TestPieces compares the pieces of a block with its cells, looked at one by one.
func TestPieces(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		changed := make([]uint64, 1+rnd.IntN(4))
		for range rnd.IntN(6) {
			lo := rnd.IntN(len(changed) << 6)
			for i := lo; i < min(lo+1+rnd.IntN(130), len(changed)<<6); i++ {
				changed[i>>6] ^= 1 << (i & 63)
			}
		}
		at := 0
		for k, p := range pieces(nil, 1000, nil, changed) {
			n, odd := int(p.Hi-p.Lo), p.N > 0
			if odd {
				n = int(p.N)
			}
			if n == 0 || odd && p.First != uint64(1000+at) || !odd && int(p.Lo) != at {
				t.Fatalf("piece %d of %x: %+v", k, changed, p)
			}
			for i := range n + 1 {
				end := at+i == len(changed)<<6
				if is := !end && changed[(at+i)>>6]>>((at+i)&63)&1 != 0; !end && (is == odd) != (i < n) {
					t.Fatalf("piece %d of %x: %+v, and cell %d", k, changed, p, at+i)
				}
			}
			at += n
		}
		if at != len(changed)<<6 {
			t.Fatalf("the pieces of %x end at %d", changed, at)
		}
	}
}
