package cache

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
)

// mirrored is a graph over some shards whose edges stand in both directions, as Step expects.
type mirrored struct {
	shards []*model
	lists  []*Lists
}

func newMirrored(rnd *rand.Rand, cache *Cache, shards int, vertices uint64, edges int) *mirrored {
	g := new(mirrored)
	for i := range shards {
		g.shards = append(g.shards, newModel(i, shards, vertices))
		g.lists = append(g.lists, cache.NewLists(NewIDs(shards)))
	}
	for range edges {
		g.add(rnd, 1, false)
	}
	return g
}

func (g *mirrored) add(rnd *rand.Rand, seq uint64, tell bool) {
	pick := func() graph.VertexID {
		s := rnd.IntN(len(g.shards))
		return graph.MakeVertexID(s, g.shards[s].pick(rnd))
	}
	src, dst := pick(), pick()
	m := g.shards[src.Shard()]
	m.nextEdge++
	id := graph.MakeEdgeID(src.Shard(), m.nextEdge)
	put := func(v, far graph.VertexID, dir graph.Direction) {
		k := listKey{1, dir, v.Local()}
		m := g.shards[v.Shard()]
		m.lists[k] = append(m.lists[k], modelEdge{target: far, edge: id, born: seq})
		if tell {
			g.lists[v.Shard()].Apply(seq, 1, dir, []EdgeChange{{Vertex: v.Local(), Target: far, Edge: id}})
		}
	}
	put(src, dst, graph.Out)
	put(dst, src, graph.In)
}

func (g *mirrored) views(seq uint64, touched *Touched) []*ListView {
	var out []*ListView
	for i, m := range g.shards {
		v := new(ListView)
		g.lists[i].Open(v, seq, m.vertices, snapshot{m, seq}, touched)
		out = append(out, v)
	}
	return out
}

// TestStep compares Step with the model for frontiers from one vertex to all, so that it pushes and pulls, with one
// worker and more, over one shard and more, and with changes that some views see.
func TestStep(t *testing.T) {
	for _, shards := range []int{1, 3} {
		rnd := rand.New(rand.NewPCG(uint64(shards), 4))
		cache := New(Options{Budget: 64 << 20})
		g := newMirrored(rnd, cache, shards, 9000, 60000)
		old := g.views(1, nil)
		g.check(t, rnd, old, 1)
		for range 500 {
			g.add(rnd, 2, true)
		}
		views := g.views(2, nil)
		g.check(t, rnd, old, 1)
		g.check(t, rnd, views, 2)
		var touched Touched
		for range 100 {
			touched.AddList(1, graph.Out, g.shards[0].pick(rnd))
		}
		g.check(t, rnd, g.views(2, &touched), 2)
	}
}

func (g *mirrored) check(t *testing.T, rnd *rand.Rand, views []*ListView, seq uint64) {
	t.Helper()
	for _, size := range []int{1, 100, 3000, 8000, 30000} {
		for _, workers := range []int{1, 3} {
			for _, dir := range []graph.Direction{graph.Out, graph.In} {
				var from, out, missed, want graph.VertexSet
				for range size {
					s := rnd.IntN(len(g.shards))
					from.Add(graph.MakeVertexID(s, rnd.Uint64N(9000)))
					if rnd.IntN(5) == 0 {
						v := graph.MakeVertexID(s, rnd.Uint64N(9000))
						out.Add(v)
						want.Add(v)
					}
				}
				if err := Step(views, 1, dir, &from, &out, &missed, workers); err != nil {
					t.Fatal(err)
				}
				for _, m := range g.shards {
					m.step(1, dir, seq, &missed, &out)
					m.step(1, dir, seq, &from, &want)
				}
				if !slices.Equal(out.AppendTo(nil), want.AppendTo(nil)) {
					t.Fatalf("step of %d at %d: %d vertices, want %d", size, seq, out.Len(), want.Len())
				}
			}
		}
	}
}

// TestStepAllocates holds that a step of a warm cache does not allocate per vertex or edge.
func TestStepAllocates(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 4))
	g := newMirrored(rnd, New(Options{Budget: 64 << 20}), 1, 9000, 60000)
	views := g.views(1, nil)
	var from, out, missed graph.VertexSet
	for range 900 {
		from.Add(graph.VertexID(rnd.Uint64N(9000)))
	}
	step := func() {
		out.Clear()
		if err := Step(views, 1, graph.Out, &from, &out, &missed, 1); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := alloctest.Least(20, step); n > 10 {
		t.Fatalf("%v allocations for a step", n)
	}
}

func TestTouched(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 4))
	g := newMirrored(rnd, New(Options{Budget: 64 << 20}), 1, 9000, 60000)
	var touched Touched
	touched.AddList(1, graph.Out, 5)
	v := g.views(1, &touched)[0]
	var c Cursor
	v.Cursor(&c, 1, graph.Out, Want{})
	if ok, err := c.Seek(5, 1000); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for id := range graph.VertexID(10) {
		_, ok := c.List(id)
		_, counted := c.Degree(id)
		if ok != (id != 5) || counted != ok {
			t.Fatalf("list of %d: %v, degree: %v", id, ok, counted)
		}
	}
}

func TestFind(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		lists := [2][]uint32{}
		for i := range lists {
			n, limit := rnd.IntN(1+rnd.IntN(400)), 1+rnd.Uint32N(500)
			for range n {
				lists[i] = append(lists[i], rnd.Uint32N(limit))
			}
			slices.Sort(lists[i])
			lists[i] = slices.Compact(lists[i])
		}
		a, b := lists[0], lists[1]
		for _, x := range a {
			lo, hi := Find(b, x)
			if hi-lo != 0 != slices.Contains(b, x) {
				t.Fatalf("Find(%v, %d) = %d, %d", b, x, lo, hi)
			}
		}
	}
}

// TestPack shows the limits of the packing.
func TestPack(t *testing.T) {
	for _, tc := range []struct {
		shards int
		shard  int
		local  uint64
		ok     bool
	}{
		{1, 0, 1<<32 - 1, true},
		{1, 0, 1 << 32, false},
		{2, 1, 1<<31 - 1, true},
		{2, 0, 1 << 31, false},
		{2, 2, 0, false},
		{3, 2, 1<<30 - 1, true},
		{4, 3, 1<<30 - 1, true},
		{5, 4, 1<<29 - 1, true},
		{5, 4, 1 << 29, false},
	} {
		p := NewIDs(tc.shards)
		v := graph.MakeVertexID(tc.shard, tc.local)
		c, ok := p.Pack(v)
		if ok != tc.ok || ok && (p.unpack(c) != v || p.Shard(c) != tc.shard || uint64(p.Local(c)) != tc.local) {
			t.Errorf("%+v: %x, %v", tc, c, ok)
		}
		if ok && !slices.Equal(p.AppendTo(nil, []uint32{c}), []graph.VertexID{v}) {
			t.Errorf("%+v: AppendTo differs", tc)
		}
	}
}

// TestLoadsAreSpread asks for a few lists of each block: a view loads one block, and one more for each manyLists lists that it finds
// elsewhere, and as many views as there are blocks load all. One that wants many lists of a block loads it in any case.
func TestLoadsAreSpread(t *testing.T) {
	const blocks = 8
	rnd := rand.New(rand.NewPCG(2, 9))
	g := newMirrored(rnd, New(Options{Budget: 64 << 20}), 1, blocks*ListBlock, 20000)
	// ask wants n lists of each block and returns how many blocks are decoded.
	ask := func(n int) (decoded int) {
		v := g.views(1, nil)[0]
		defer v.Close()
		var c Cursor
		v.Cursor(&c, 1, graph.Out, Want{})
		for b := range uint64(blocks) {
			if _, err := c.Seek(graph.MakeVertexID(0, b*ListBlock), n); err != nil {
				t.Fatal(err)
			}
		}
		for b := range uint64(blocks) {
			if s := v.lists.tables.at(tableIndex(1, graph.Out)).find(b); s != nil && s.seg.Load() != nil {
				decoded++
			}
		}
		return decoded
	}
	const few = manyLists / 4
	for loaded := 0; loaded < blocks; {
		before := loaded
		missing := blocks - before
		loaded = ask(few)
		if most := before + 1 + missing*few/manyLists; loaded <= before || loaded > most {
			t.Fatalf("%d blocks after %d, want at most %d", loaded, before, most)
		}
	}
	g = newMirrored(rnd, New(Options{Budget: 64 << 20}), 1, blocks*ListBlock, 20000)
	if n := ask(manyLists); n != blocks {
		t.Fatalf("%d blocks, want all", n)
	}
}
