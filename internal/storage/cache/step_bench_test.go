package cache

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
)

// csr is the reference: bare arrays of a graph with a heavy tail.
type csr struct {
	offsets, targets []uint32
}

const benchVertices = 100_000

// benchGraph is a symmetric graph of 100,000 vertices and 3.6 million edges a direction.
var benchGraph = sync.OnceValue(func() *csr {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func() uint32 {
		if rnd.IntN(2) == 0 {
			return rnd.Uint32N(benchVertices)
		}
		x := rnd.Float64()
		return uint32(x * x * x * benchVertices)
	}
	adj := make([][]uint32, benchVertices)
	for range benchVertices * 18 {
		a, b := pick(), pick()
		adj[a], adj[b] = append(adj[a], b), append(adj[b], a)
	}
	g := &csr{offsets: make([]uint32, 1, benchVertices+1)}
	for _, l := range adj {
		slices.Sort(l)
		g.targets = append(g.targets, slices.Compact(l)...)
		g.offsets = append(g.offsets, uint32(len(g.targets)))
	}
	return g
})

func (g *csr) ReadEdgeVectors(graph.TypeID, graph.PropID, uint64, *VectorBuilder) error { return nil }

func (g *csr) ReadLists(_ graph.TypeID, _ graph.Direction, first uint64, b *ListBuilder) error {
	var targets []graph.VertexID
	for v := first; v < min(first+ListBlock, benchVertices); v++ {
		targets = targets[:0]
		for _, t := range g.targets[g.offsets[v]:g.offsets[v+1]] {
			targets = append(targets, graph.VertexID(t))
		}
		b.Add(v, targets, nil)
	}
	return nil
}

// hops counts the distinct vertices at each distance up to n by walking the bare arrays.
func (g *csr) hops(start uint32, n int, seen, cur, next graph.Bitmap) int {
	clear(seen)
	clear(cur)
	seen[start>>6] |= 1 << (start & 63)
	cur[start>>6] |= 1 << (start & 63)
	count := 0
	for range n {
		clear(next)
		for w, word := range cur {
			for ; word != 0; word &= word - 1 {
				v := w<<6 + bits.TrailingZeros64(word)
				for _, t := range g.targets[g.offsets[v]:g.offsets[v+1]] {
					next[t>>6] |= 1 << (t & 63)
				}
			}
		}
		count = 0
		for w := range next {
			next[w] &^= seen[w]
			seen[w] |= next[w]
			count += bits.OnesCount64(next[w])
		}
		cur, next = next, cur
	}
	return count
}

func BenchmarkThreeHops(b *testing.B) {
	g := benchGraph()
	for _, hops := range []int{2, 3, 5} {
		name := string(rune('0'+hops)) + "hops/"
		b.Run(name+"csr", func(b *testing.B) {
			words := (benchVertices + 63) / 64
			seen, cur, next := make(graph.Bitmap, words), make(graph.Bitmap, words), make(graph.Bitmap, words)
			rnd := rand.New(rand.NewPCG(3, 3))
			for b.Loop() {
				g.hops(rnd.Uint32N(benchVertices), hops, seen, cur, next)
			}
		})
		for _, workers := range []int{1, 2} {
			b.Run(name+"cache/workers="+string(rune('0'+workers)), func(b *testing.B) {
				l := New(Options{Budget: 256 << 20}).NewLists(NewIDs(1))
				rnd := rand.New(rand.NewPCG(3, 3))
				var seen, cur, next, missed graph.VertexSet
				b.ReportAllocs()
				warm := func(v *ListView) {
					var c Cursor
					for _, dir := range []graph.Direction{graph.Out, graph.In} {
						v.Cursor(&c, 1, dir, Want{})
						for block := range uint64(benchVertices/ListBlock + 1) {
							c.seek(block, ListBlock)
						}
					}
				}
				var v ListView
				l.Open(&v, 1, benchVertices, g, nil)
				warm(&v)
				v.Close()
				for b.Loop() {
					l.Open(&v, 1, benchVertices, g, nil)
					start := rnd.Uint32N(benchVertices)
					seen.Clear()
					cur.Clear()
					seen.Add(graph.VertexID(start))
					cur.Add(graph.VertexID(start))
					for range hops {
						next.Clear()
						if err := Step([]*ListView{&v}, 1, graph.Out, &cur, &next, &missed, workers); err != nil || missed.Len() > 0 {
							b.Fatal(err)
						}
						next.Subtract(&seen)
						seen.Union(&next)
						cur, next = next, cur
					}
					v.Close()
				}
			})
		}
	}
}

var sink int

func BenchmarkLists(b *testing.B) {
	g := benchGraph()
	rnd := rand.New(rand.NewPCG(5, 5))
	var sources []graph.VertexID
	for v := range graph.VertexID(benchVertices) {
		if rnd.IntN(10) == 0 {
			sources = append(sources, v)
		}
	}
	b.Run("csr", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for _, s := range sources {
				for _, t := range g.targets[g.offsets[s]:g.offsets[s+1]] {
					n += int(t)
				}
			}
		}
		sink = n
	})
	b.Run("cursor", func(b *testing.B) {
		l := New(Options{Budget: 256 << 20}).NewLists(NewIDs(1))
		var v ListView
		l.Open(&v, 1, benchVertices, g, nil)
		var c Cursor
		v.Cursor(&c, 1, graph.Out, Want{})
		for id := graph.VertexID(0); id < benchVertices; id += ListBlock {
			if ok, err := c.Seek(id, ListBlock); !ok {
				b.Fatal(err)
			}
		}
		n := 0
		for b.Loop() {
			for i := 0; i < len(sources); {
				k := SameBlock(sources[i:])
				if ok, err := c.Seek(sources[i], k); !ok {
					b.Fatal(err)
				}
				for _, s := range sources[i : i+k] {
					list, _ := c.List(s)
					for _, t := range list.Targets {
						n += int(t)
					}
				}
				i += k
			}
		}
		sink = n
		v.Close()
	})
}

type benchColumns struct{}

func (benchColumns) ReadColumn(prop graph.PropID, first uint64, b *ColumnBuilder) error {
	for i := range ColumnBlock {
		switch prop {
		case 1:
			b.Value(i, graph.IntValue(int64(first)+int64(i)<<20))
		default:
			b.Value(i, graph.StringValue("some name"))
		}
	}
	return nil
}

func (benchColumns) ReadVectors(graph.PropID, uint64, *VectorBuilder) error { return nil }

func BenchmarkFill(b *testing.B) {
	c := New(Options{Budget: 256 << 20}).NewColumns(0)
	var v ColumnView
	c.Open(&v, 1, benchVertices, benchColumns{}, nil, nil)
	rnd := rand.New(rand.NewPCG(5, 5))
	var ids []graph.VertexID
	for id := range graph.VertexID(benchVertices) {
		if rnd.IntN(10) == 0 {
			ids = append(ids, id)
		}
	}
	out := make([]graph.Value, len(ids))
	for name, prop := range map[string]graph.PropID{"int": 1, "string": 2} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if missing, err := v.Fill(prop, ids, out, nil, nil); err != nil || len(missing) > 0 {
					b.Fatal(missing, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/value")
		})
	}
	v.Close()
}
