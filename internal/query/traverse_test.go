package query_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec/search"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/traverse"
	"github.com/hopgate/hopgate/internal/shard"
)

// network is a random graph as plain lists, and an engine over the same.
type network struct {
	e     *query.Engine
	ids   []graph.VertexID
	key   map[graph.VertexID]int // property k
	edges []plainEdge
}

// plainEdge is an edge with its property w.
type plainEdge struct {
	graph.Edge
	typ string
	w   int
}

// newNetwork makes n vertices, with the label N and the key k, and m edges of the types A and B with the weight w.
func newNetwork(t *testing.T, rnd *rand.Rand, n, m int) *network {
	t.Helper()
	ctx := context.Background()
	store := oracle.New(1 + rnd.IntN(3))
	require.NoError(t, store.CreateGraph(ctx, query.DefaultGraph))
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	label, err := tx.Label("N")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	k, err := tx.Prop("k")
	require.NoError(t, err)
	w, err := tx.Prop("w")
	require.NoError(t, err)
	types := map[string]graph.TypeID{}
	for _, name := range []string{"A", "B"} {
		types[name], err = tx.Type(name)
		require.NoError(t, err)
	}
	net := &network{e: query.New(store, query.Options{}), key: map[graph.VertexID]int{}}
	ms := make([]shard.Mutation, n)
	for i := range ms {
		ms[i] = shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: k, Value: graph.IntValue(int64(i))}}}
	}
	require.NoError(t, tx.Apply(ctx, ms))
	for i := range ms {
		net.ids = append(net.ids, ms[i].Vertex)
		net.key[ms[i].Vertex] = i
	}
	ms = make([]shard.Mutation, m)
	for i := range ms {
		name := []string{"A", "A", "B"}[rnd.IntN(3)]
		e := plainEdge{typ: name, w: rnd.IntN(8)}
		e.Edge = graph.Edge{Src: net.ids[rnd.IntN(n)], Dst: net.ids[rnd.IntN(n)], Type: types[name]}
		ms[i] = shard.Mutation{Op: shard.CreateEdge, Edge: e.Edge, Props: []graph.Property{{ID: w, Value: graph.IntValue(int64(e.w))}}}
		net.edges = append(net.edges, e)
	}
	require.NoError(t, tx.Apply(ctx, ms))
	for i := range ms {
		net.edges[i].ID = ms[i].Edge.ID
	}
	require.NoError(t, tx.Commit(ctx))
	return net
}

// step is an edge as a vertex sees it.
type step struct {
	e  plainEdge
	to graph.VertexID
}

// steps returns the edges of a vertex that a hop takes, by the letter of its description.
func (n *network) steps(h *traverse.Hop, seed int64, v graph.VertexID, holds func(plainEdge, graph.VertexID) bool) []step {
	var all []step
	for _, e := range n.edges {
		if len(h.Types) > 0 && !slices.Contains(h.Types, e.typ) {
			continue
		}
		if e.Src == v && h.Direction != graph.In {
			all = append(all, step{e, e.Dst})
		}
		if e.Dst == v && (h.Direction == graph.In || h.Direction == graph.Both && e.Src != v) {
			all = append(all, step{e, e.Src})
		}
	}
	if h.SkipSupernodes > 0 && len(all) > int(h.SkipSupernodes) {
		return nil
	}
	all = slices.DeleteFunc(all, func(s step) bool { return !holds(s.e, s.to) })
	if h.Sample > 0 && len(all) > int(h.Sample) {
		sort.Slice(all, func(i, j int) bool {
			return search.SampleOrder(seed, all[i].e.ID) < search.SampleOrder(seed, all[j].e.ID)
		})
		all = all[:h.Sample]
	}
	return all
}

// way is a walk with its last vertex last.
type way struct {
	vertices []graph.VertexID
	edges    []plainEdge
}

func (w *way) end() graph.VertexID { return w.vertices[len(w.vertices)-1] }

// enumerate returns the rows "hop key edge" of a traversal from starts, hop by hop.
func (n *network) enumerate(t *traverse.Traversal, lo, hi int, starts []graph.VertexID, holds func(plainEdge, graph.VertexID) bool) []string {
	var rows []string
	row := func(h int, v graph.VertexID, e string) {
		if h >= lo {
			rows = append(rows, fmt.Sprintf("%d %d %s", h, n.key[v], e))
		}
	}
	id := func(e plainEdge) string { return fmt.Sprint(n.key[e.Src], "-", e.typ, e.w, "-", n.key[e.Dst]) }
	hop := func(i int) *traverse.Hop { return &t.Hops[min(i, len(t.Hops)-1)] }
	switch t.Mode {
	case plan.ModeFrontier, plan.ModeNearest:
		set := map[graph.VertexID]bool{}
		for _, v := range starts {
			set[v] = true
		}
		seen := maps.Clone(set)
		for v := range set {
			row(0, v, "")
		}
		for i := range hi {
			next := map[graph.VertexID]bool{}
			for v := range set {
				for _, s := range n.steps(hop(i), t.Seed, v, holds) {
					if t.Mode == plan.ModeFrontier {
						row(i+1, s.to, id(s.e))
					} else if seen[s.to] {
						continue
					}
					next[s.to], seen[s.to] = true, true
				}
			}
			if t.Mode == plan.ModeNearest {
				for v := range next {
					row(i+1, v, "")
				}
			}
			set = next
		}
		return rows
	}
	var ways []way
	for _, v := range starts {
		ways = append(ways, way{vertices: []graph.VertexID{v}})
	}
	for i := range hi + 1 {
		var next []way
		for _, w := range ways {
			last := ""
			if i > 0 {
				last = id(w.edges[i-1])
			}
			row(i, w.end(), last)
			if i == hi {
				continue
			}
			for _, s := range n.steps(hop(i), t.Seed, w.end(), holds) {
				if t.Mode == plan.ModeTrail && slices.ContainsFunc(w.edges, func(e plainEdge) bool { return e.ID == s.e.ID }) ||
					t.Mode == plan.ModeAcyclic && slices.Contains(w.vertices, s.to) {
					continue
				}
				next = append(next, way{append(slices.Clone(w.vertices), s.to), append(slices.Clone(w.edges), s.e)})
			}
		}
		ways = next
	}
	return rows
}

// ask runs a traversal and returns its rows as text.
func (n *network) ask(t *testing.T, tr *traverse.Traversal, limits query.Limits) (rows []string, s query.Summary) {
	t.Helper()
	res, err := n.e.Traverse(context.Background(), query.TypedRequest{Typed: tr, Limits: limits})
	require.NoError(t, err)
	defer res.Close()
	for {
		b, err := res.Next()
		require.NoError(t, err)
		if b == nil {
			return rows, res.Summary()
		}
		for i := range b.N {
			var cells []string
			for c := range b.Cols {
				v := b.Cols[c].Value(i)
				switch v.Kind() {
				case graph.Int:
					cells = append(cells, strconv.FormatInt(v.Int(), 10))
				case graph.String:
					cells = append(cells, v.Str())
				case graph.Null:
					cells = append(cells, "")
				case graph.VertexKind:
					cells = append(cells, strconv.FormatUint(uint64(v.Vertex()), 10))
				default:
					t.Fatalf("a value of kind %v", v.Kind())
				}
			}
			rows = append(rows, strings.Join(cells, " "))
		}
	}
}

const edgeText = "toString(startNode(e).k) + '-' + type(e) + toString(e.w) + '-' + toString(endNode(e).k)"

// TestTraverseEqualsEnumeration compares all modes, directions, conditions and caps with plain enumeration.
func TestTraverseEqualsEnumeration(t *testing.T) {
	conditions := []struct {
		text  string
		holds func(n *network, e plainEdge, v graph.VertexID) bool
	}{
		{"", func(*network, plainEdge, graph.VertexID) bool { return true }},
		{"e.w > 2", func(_ *network, e plainEdge, _ graph.VertexID) bool { return e.w > 2 }},
		{"v.k % 3 <> 0", func(n *network, _ plainEdge, v graph.VertexID) bool { return n.key[v]%3 != 0 }},
		// The last alternative reads a property that nothing before has read.
		{"v.k <> 3 AND (v.k > 9 OR e.w > 2)", func(n *network, e plainEdge, v graph.VertexID) bool {
			return n.key[v] != 3 && (n.key[v] > 9 || e.w > 2)
		}},
		{"e.w <> 4 AND (e.w > 5 OR v.k < 4)", func(n *network, e plainEdge, v graph.VertexID) bool { return e.w != 4 && (e.w > 5 || n.key[v] < 4) }},
		{"e.w < 6 AND v.k > e.w", func(n *network, e plainEdge, v graph.VertexID) bool { return e.w < 6 && n.key[v] > e.w }},
	}
	seeds := 12
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		n := newNetwork(t, rnd, 8+rnd.IntN(30), 20+rnd.IntN(60))
		for range 60 {
			tr := &traverse.Traversal{Mode: plan.TraverseMode(rnd.IntN(5)), Seed: rnd.Int64()}
			hi := 1 + rnd.IntN(3)
			lo := rnd.IntN(hi + 1)
			if rnd.IntN(2) == 0 {
				lo = hi
			}
			low := uint32(lo)
			tr.Min, tr.Max = &low, uint32(hi)
			c := conditions[rnd.IntN(len(conditions))]
			hops := 1
			if rnd.IntN(3) == 0 {
				hops = hi
			}
			for range hops {
				h := traverse.Hop{Direction: graph.Direction(rnd.IntN(3)), Where: c.text}
				h.Types = [][]string{nil, {"A"}, {"B"}, {"A", "B"}, {"None", "A"}}[rnd.IntN(5)]
				if rnd.IntN(4) == 0 {
					h.SkipSupernodes = uint64(1 + rnd.IntN(8))
				}
				if rnd.IntN(4) == 0 {
					h.Sample = uint64(1 + rnd.IntN(3))
				}
				tr.Hops = append(tr.Hops, h)
			}
			var starts []graph.VertexID
			for range 1 + rnd.IntN(2) {
				if v := n.ids[rnd.IntN(len(n.ids))]; !slices.Contains(starts, v) {
					starts = append(starts, v)
				}
			}
			tr.From = traverse.Selector{Label: "N", Property: "k"}
			for _, v := range starts {
				tr.From.Values = append(tr.From.Values, graph.IntValue(int64(n.key[v])))
			}
			want := n.enumerate(tr, lo, hi, starts, func(e plainEdge, v graph.VertexID) bool { return c.holds(n, e, v) })
			slices.Sort(want)
			tr.Returns = "h, v.k, " + edgeText
			if tr.Mode == plan.ModeNearest {
				tr.Returns = "h, v.k, null"
			}
			got, _ := n.ask(t, tr, query.Limits{})
			for i, g := range got {
				got[i] = strings.TrimRight(g, " ")
			}
			for i, w := range want {
				want[i] = strings.TrimRight(w, " ")
			}
			slices.Sort(got)
			require.Equal(t, want, got, "%+v from %v", tr, starts)

			// The same as a set of vertices.
			ends := map[string]bool{}
			for _, w := range want {
				ends[strings.Fields(w)[1]] = true
			}
			tr.Returns = "count"
			tr.Distinct = true
			got, _ = n.ask(t, tr, query.Limits{})
			require.Equal(t, []string{strconv.Itoa(len(ends))}, got, "%+v", tr)
			tr.Returns = "v.k"
			got, _ = n.ask(t, tr, query.Limits{})
			require.Len(t, got, len(ends), "%+v", tr)
		}
	}
}
