package past_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// counted is a graph of vertices :L {p: i}, each with an edge :T {p: i} to the first, and indexes over both.
type counted struct {
	*logged
	prop     graph.PropID
	label    graph.LabelID
	typ      graph.TypeID
	vertices []graph.VertexID
	edges    []graph.Edge
	index    [2]graph.IndexID
	cleared  int
}

func count(t *testing.T, n int) *counted {
	ctx := context.Background()
	g := &counted{logged: open(t, rand.New(rand.NewPCG(1, 1)), 2)}
	var ms []shard.Mutation
	g.write(func(tx shard.Tx) {
		var err error
		g.prop, err = tx.Prop("p")
		require.NoError(t, err)
		g.label, err = tx.Label("L")
		require.NoError(t, err)
		g.typ, err = tx.Type("T")
		require.NoError(t, err)
		set, err := tx.LabelSet([]graph.LabelID{g.label})
		require.NoError(t, err)
		for i := range n {
			ms = append(ms, shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: g.value(i)})
		}
		require.NoError(t, tx.Apply(ctx, ms))
		var es []shard.Mutation
		for i := range n {
			g.vertices = append(g.vertices, ms[i].Vertex)
			es = append(es, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[i].Vertex, Dst: ms[0].Vertex, Type: g.typ}, Props: g.value(i)})
		}
		require.NoError(t, tx.Apply(ctx, es))
		for i := range es {
			g.edges = append(g.edges, es[i].Edge)
		}
	})
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "l", Label: "L", Props: []string{"p"}, Indexed: true}))
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "t", Type: "T", Props: []string{"p"}, Indexed: true}))
	for i, ix := range g.Indexes() {
		g.index[i] = ix.ID
	}
	return g
}

func (g *counted) value(i int) []graph.Property {
	return []graph.Property{{ID: g.prop, Value: graph.IntValue(int64(i))}}
}

// write makes a commit.
func (g *counted) write(f func(tx shard.Tx)) {
	tx, err := g.Begin(context.Background(), shard.Write)
	require.NoError(g.t, err)
	defer tx.Rollback()
	f(tx)
	require.NoError(g.t, tx.Commit(context.Background()))
	g.note()
}

func (g *counted) at(h *past.History, n uint64) (shard.Tx, error) {
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(g.t, err)
	g.t.Cleanup(tx.Rollback)
	p, err := h.At(context.Background(), tx, n, 0)
	if err == nil {
		g.t.Cleanup(p.Rollback)
	}
	return p, err
}

// clear deletes the edges, or gives all vertices another value.
func (g *counted) clear(edges bool) {
	g.cleared--
	g.write(func(tx shard.Tx) {
		var ms []shard.Mutation
		for i, v := range g.vertices {
			if edges {
				ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: g.edges[i]})
			} else {
				ms = append(ms, shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: g.value(g.cleared)})
			}
		}
		require.NoError(g.t, tx.Apply(context.Background(), ms))
	})
}

func (g *counted) ranges(tx shard.Tx, down bool, room int) (vertices, edges int) {
	r := shard.Range{Lo: graph.IntValue(0), Down: down}
	for cursor := []byte(nil); ; {
		ids, err := tx.SeekRange(context.Background(), g.index[0], r, &cursor, make([]graph.VertexID, 0, room))
		require.NoError(g.t, err)
		if vertices += len(ids); cursor == nil {
			break
		}
	}
	for cursor := []byte(nil); ; {
		es, err := tx.SeekEdgeRange(context.Background(), g.index[1], r, &cursor, make([]graph.Edge, 0, room))
		require.NoError(g.t, err)
		if edges += len(es); cursor == nil {
			return vertices, edges
		}
	}
}

// Entries that the index has no more come in as many parts as the caller wants, also to transactions older than what the moment has.
func TestRangesOfWhatIsGone(t *testing.T) {
	g := count(t, 10)
	h := past.New(g, past.DefaultBytes)
	old, err := g.at(h, 1)
	require.NoError(t, err)
	check := func(tx shard.Tx) {
		for room := 1; room < 12; room++ {
			v, e := g.ranges(tx, room%2 == 0, room)
			require.Equal(t, []int{10, 10}, []int{v, e}, "by %d", room)
		}
		var found shard.Found
		require.NoError(t, tx.Seek(context.Background(), &shard.Seek{Index: g.index[0], Keys: []graph.Value{graph.IntValue(3), graph.IntValue(-1)}}, &found))
		require.Equal(t, []int{0, 1, 1}, found.Offsets)
		var edges shard.FoundEdges
		require.NoError(t, tx.SeekEdges(context.Background(), &shard.Seek{Index: g.index[1], Keys: []graph.Value{graph.IntValue(3)}}, &edges))
		require.Equal(t, []graph.Edge{g.edges[3]}, edges.Edges)
	}
	g.write(func(tx shard.Tx) {
		require.NoError(t, tx.Apply(context.Background(), []shard.Mutation{{Op: shard.SetVertex, Vertex: g.vertices[1], Props: g.value(-1)}, {Op: shard.DeleteEdge, Edge: g.edges[1]}}))
	})
	g.edges[1] = graph.Edge{}
	between, err := g.at(h, 1)
	require.NoError(t, err)
	check(between)
	edges := slices.Clone(g.edges)
	edges[1] = edges[2]
	g.edges = edges
	g.clear(false)
	g.clear(true)
	last, err := g.at(h, 1)
	require.NoError(t, err)
	check(between)
	check(old)
	check(last)
	now, err := g.at(h, 4)
	require.NoError(t, err)
	v, e := g.ranges(now, false, 3)
	require.Equal(t, []int{0, 0}, []int{v, e})
}

func TestErrors(t *testing.T) {
	g := count(t, 10)
	g.clear(false)
	h := past.New(g, past.DefaultBytes)
	detail := func(err error) string { return graph.AsError(err).Detail }
	_, err := g.at(h, 7)
	require.Equal(t, "ChangeLogAhead", detail(err))
	require.Zero(t, h.Bytes())

	_, err = g.at(past.New(g, 1000), 1)
	require.Equal(t, "PastTooLarge", detail(err))
	require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)

	var e changelog.Encoder
	require.NoError(t, e.Add(&changelog.Change{Counts: [6]uint64{5}}))
	c := changelog.Commit{Number: 3}
	require.NoError(t, e.Records(0, nil, func(_ int, b []byte) error {
		c.Records = append(c.Records, b)
		return nil
	}))
	g.commits = append(g.commits, c.AppendTo(nil))
	for n, want := range map[uint64]string{1: "ChangeLogGap", 2: "ChangeLogGap", 3: ""} {
		_, err = g.at(h, n)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.Equal(t, want, detail(err), "commit %d", n)
		}
	}
}

// Moments that nobody reads make room for others; what is read does not.
func TestRoom(t *testing.T) {
	g := count(t, 20)
	for range 5 {
		g.clear(false)
		g.clear(false)
	}
	h := past.New(g, 1<<20)
	p, err := g.at(h, 1)
	require.NoError(t, err)
	p.Rollback()
	one := h.Bytes()
	require.Positive(t, one)
	h = past.New(g, 2*one+one/2)
	for n := uint64(1); n < 6; n++ {
		p, err := g.at(h, n)
		require.NoError(t, err)
		v, _ := g.ranges(p, false, 7)
		require.Equal(t, map[bool]int{true: 20}[n == 1], v)
		p.Rollback()
		require.LessOrEqual(t, h.Bytes(), 4*one) // entries come later
	}
	h = past.New(g, 2*one+one/2)
	for n := uint64(1); n < 3; n++ {
		_, err := g.at(h, n)
		require.NoError(t, err)
	}
	_, err = g.at(h, 3)
	require.Equal(t, "PastTooLarge", graph.AsError(err).Detail)
}

// Transactions that read one moment at once, while commits follow, share it.
func TestConcurrent(t *testing.T) {
	g := count(t, 50)
	h := past.New(g, past.DefaultBytes)
	for range 4 {
		var wait sync.WaitGroup
		for range 4 {
			p, err := g.at(h, 1)
			require.NoError(t, err)
			wait.Go(func() {
				v, e := g.ranges(p, false, 9)
				if v != 50 || e != 50 || p.Counts().Edges != 50 {
					t.Errorf("%d vertices and %d edges of 50", v, e)
				}
				var set graph.VertexSet
				set.AddAll(g.vertices)
				var out graph.VertexSet
				if err := p.Step(context.Background(), &set, nil, graph.Out, &out); err != nil || out.Len() != 1 {
					t.Errorf("%d vertices, %v", out.Len(), err)
				}
			})
			if i := g.rng.IntN(50); g.edges[i].Type != 0 {
				g.write(func(tx shard.Tx) {
					require.NoError(t, tx.Apply(context.Background(), []shard.Mutation{{Op: shard.SetVertex, Vertex: g.vertices[i], Props: g.value(-1)}, {Op: shard.DeleteEdge, Edge: g.edges[i]}}))
				})
			}
		}
		wait.Wait()
	}
}

// A search for vectors finds those of the moment, exactly.
func TestVectors(t *testing.T) {
	g := count(t, 12)
	vec := func(i int) []graph.Property {
		return []graph.Property{{ID: g.prop, Value: graph.ListValue([]graph.Value{graph.FloatValue(1), graph.FloatValue(float64(i))})}}
	}
	set := func(n int) {
		g.write(func(tx shard.Tx) {
			var ms []shard.Mutation
			for i, v := range g.vertices[:n] {
				ms = append(ms, shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: vec(i + 12 - n)}, shard.Mutation{Op: shard.SetEdge, Edge: g.edges[i], Props: vec(i + 12 - n)})
			}
			require.NoError(t, tx.Apply(context.Background(), ms))
		})
	}
	set(12)
	set(5)
	p, err := g.at(past.New(g, past.DefaultBytes), 2)
	require.NoError(t, err)
	probe := new(vector.Probe)
	require.True(t, probe.Set(graph.Euclidean, vec(4)[0].Value))
	scores := make([]float64, 12)
	_, err = p.Compare(context.Background(), g.prop, probe, g.vertices, scores)
	require.NoError(t, err)
	for i, s := range scores {
		require.InDelta(t, 1/(1+math.Pow(float64(i-4), 2)), s, 1e-6)
	}
	req := &shard.Nearest{Type: g.typ, Prop: g.prop, Probe: probe, K: 2}
	var best shard.Top
	sorted := slices.Clone(g.vertices)
	slices.Sort(sorted)
	_, err = p.CompareEdges(context.Background(), req, sorted, &best)
	require.NoError(t, err)
	best.Sort()
	require.Equal(t, g.edges[4], best.Hits[0].Edge)
	found, err := p.Nearest(context.Background(), &shard.Nearest{Label: g.label, Prop: g.prop, Probe: probe, K: 2}, &best)
	require.NoError(t, err)
	require.False(t, found.Done, "the caller compares all")
}

// Moments take their memory from a pool: those that nobody reads give way, and what has no room there is an error. Nothing is left of the
// histories of dropped graphs.
func TestPool(t *testing.T) {
	g := count(t, 20)
	for range 5 {
		g.clear(false)
		g.clear(false)
	}
	h := past.New(g, past.DefaultBytes)
	pool := &memory.Pool{Limit: 1 << 30}
	h.Share(pool)
	p, err := g.at(h, 1)
	require.NoError(t, err)
	one := pool.Held()
	require.Positive(t, one)
	require.EqualValues(t, h.Bytes(), one)
	require.Zero(t, h.Forget(1), "it is being read")
	p.Rollback()
	require.EqualValues(t, one, h.Forget(1))
	require.Zero(t, pool.Held())

	pool.Limit = 2*one + one/2
	for n := uint64(1); n < 6; n++ {
		p, err := g.at(h, n)
		require.NoError(t, err)
		p.Rollback()
		require.LessOrEqual(t, pool.Held(), pool.Limit)
		require.EqualValues(t, h.Bytes(), pool.Held())
	}
	h.Forget(math.MaxInt)
	require.True(t, pool.Take(one)) // of somebody else
	for n := uint64(1); n < 3; n++ {
		p, err := g.at(h, n)
		if n == 2 {
			require.Equal(t, "PastTooLarge", graph.AsError(err).Detail)
			break
		}
		require.NoError(t, err)
		t.Cleanup(p.Rollback)
	}
	require.EqualValues(t, int64(h.Bytes())+one, pool.Held())
}
