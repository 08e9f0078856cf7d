package remote_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// open returns a store of some shards in this process, and one whose shards are behind gRPC servers, with options of their
// own.
func open(t testing.TB, shards int, more ...grpc.ServerOption) (whole, spread shard.Store) {
	one, err := local.Open(memoryOptions(shards))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, one.Close()) })
	return one, served(t, shards, more...)()
}

func memoryOptions(shards int) local.Options {
	return local.Options{Dir: "data", FS: vfs.NewMem(), Shards: shards, Tuning: local.Tuning{PlaceBlock: 16}}
}

// served serves shards, and gives what opens gateways to them.
func served(t testing.TB, shards int, more ...grpc.ServerOption) (open func() shard.Store) {
	return servedOver(t, shards, grpc.WithContextDialer, more...)
}

// servedOver is served with gateways that dial in their own way.
func servedOver(
	t testing.TB, shards int, via func(dial func(ctx context.Context, address string) (net.Conn, error)) grpc.DialOption, more ...grpc.ServerOption,
) (open func() shard.Store) {
	c := unstarted(t, shards, shards, local.Tuning{PlaceBlock: 16})
	c.layout.Replicas, c.more = 1, more
	for i := range shards {
		c.start(i)
	}
	require.Eventually(t, func() bool { return c.processes[0].Leading() != nil }, time.Minute, time.Millisecond)
	return func() shard.Store {
		store, err := gateway.Open(c.addresses, via(c.dial))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	}
}

// world is a graph of n vertices of the label V, known by a number, with edges of the type A between them at
// random, which have a number too and some a text, and of the type B from each vertex to the next.
type world struct {
	n    int
	ids  []graph.VertexID
	a, b graph.TypeID
	num  graph.PropID
	text graph.PropID
	g    shard.Graph
}

// fill makes a world in a store; all worlds of a seed are equal but for their ids, which are those of their stores.
func fill(t testing.TB, s shard.Store, n, degree int, seed uint64) *world {
	ctx := context.Background()
	g, err := s.Graph(local.DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	w := &world{n: n, g: g}
	label, err := tx.Label("V")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	w.a, err = tx.Type("A")
	require.NoError(t, err)
	w.b, err = tx.Type("B")
	require.NoError(t, err)
	w.num, err = tx.Prop("num")
	require.NoError(t, err)
	w.text, err = tx.Prop("text")
	require.NoError(t, err)
	vertices := make([]shard.Mutation, n)
	for i := range vertices {
		vertices[i] = shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: w.num, Value: graph.IntValue(int64(i))}}}
	}
	require.NoError(t, tx.Apply(ctx, vertices))
	for i := range vertices {
		w.ids = append(w.ids, vertices[i].Vertex)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	var edges []shard.Mutation
	add := func(typ graph.TypeID, from, to int) {
		props := []graph.Property{{ID: w.num, Value: graph.IntValue(rng.Int64N(100))}}
		if rng.IntN(4) == 0 {
			props = append(props, graph.Property{ID: w.text, Value: graph.StringValue(fmt.Sprint("edge ", rng.IntN(10)))})
		}
		edges = append(edges, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: w.ids[from], Dst: w.ids[to], Type: typ}, Props: props})
	}
	for i := range n {
		add(w.b, i, (i+1)%n)
		for range rng.IntN(2 * degree) {
			add(w.a, i, rng.IntN(n))
		}
	}
	require.NoError(t, tx.Apply(ctx, edges))
	require.NoError(t, tx.Commit(ctx))
	return w
}

// numbers returns which vertices of the world are in a set.
func (w *world) numbers(s *graph.VertexSet) (out []int) {
	for i, id := range w.ids {
		if s.Has(id) {
			out = append(out, i)
		}
	}
	return out
}

// begin begins a transaction that is known to read the present.
func (w *world) begin(t testing.TB) shard.Tx {
	for {
		tx, err := w.g.Begin(context.Background(), shard.Read)
		require.NoError(t, err)
		t.Cleanup(tx.Rollback)
		c := tx.Features().Validator
		if c == nil {
			return tx
		}
		if err = c.Check(context.Background()); err == nil {
			return tx
		}
		require.True(t, shard.Retriable(err), "%v", err)
	}
}

// TestSteps takes steps from sets of many sizes in one process and through shards.
func TestSteps(t *testing.T) {
	const n = 12_000
	whole, spread := open(t, 3)
	one, many := fill(t, whole, n, 6, 1), fill(t, spread, n, 6, 1)
	a, b := one.begin(t), many.begin(t)
	rng := rand.New(rand.NewPCG(2, 2))
	for _, size := range []int{1, 10, 1000, 3000, 9000, n} {
		for _, dir := range []graph.Direction{graph.Out, graph.In, graph.Both} {
			for _, types := range [][]string{{"A"}, {"A", "B"}, nil} {
				var from [2]graph.VertexSet
				for _, i := range rng.Perm(n)[:size] {
					from[0].Add(one.ids[i])
					from[1].Add(many.ids[i])
				}
				for range 2 { // the second time from decoded lists
					var out [2]graph.VertexSet
					for k, w := range []*world{one, many} {
						var ts []graph.TypeID
						for _, name := range types {
							ts = append(ts, map[string]graph.TypeID{"A": w.a, "B": w.b}[name])
						}
						tx := []shard.Tx{a, b}[k]
						require.NoError(t, tx.Step(context.Background(), &from[k], ts, dir, &out[k]))
					}
					want, got := one.numbers(&out[0]), many.numbers(&out[1])
					require.True(t, slices.Equal(want, got), "from %d vertices, %v, %v: %d and not %d", size, dir, types, len(got), len(want))
				}
			}
		}
	}
}

// edge is an edge that an expansion has found, by the numbers of its ends.
type edge struct {
	from, to  int
	typ       graph.TypeID
	reverse   bool
	num, text string
}

// expand returns the edges that an expansion finds in so many requests as it takes, sorted, with the numbers that it counts.
func (w *world) expand(t testing.TB, tx shard.Tx, req shard.Expand, from []int) (found []edge, seen int) {
	number := make(map[graph.VertexID]int, w.n)
	for i, id := range w.ids {
		number[id] = i
	}
	for _, i := range from {
		req.Sources = append(req.Sources, w.ids[i])
	}
	slices.Sort(req.Sources)
	var res shard.Neighbours
	for len(req.Sources) > 0 {
		require.NoError(t, tx.Expand(context.Background(), &req, &res))
		require.Positive(t, res.Done)
		seen += res.Seen
		if req.Into == nil {
			require.Len(t, res.Offsets, res.Done+1)
		}
		for u := range res.Done {
			if req.Into != nil {
				break
			}
			for i := res.Offsets[u]; i < res.Offsets[u+1]; i++ {
				e := edge{from: number[req.Sources[u]], to: number[res.Targets[i]]}
				if req.Edges {
					e.typ = res.Types[i]
					e.reverse = req.Dir == graph.In || req.Dir == graph.Both && res.Reverse[i]
				}
				if len(req.Props) > 0 {
					e.num, e.text = cell(t, res.Props[0][i]), cell(t, res.Props[1][i])
				}
				found = append(found, e)
			}
		}
		req.Sources = req.Sources[res.Done:]
	}
	slices.SortFunc(found, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.typ, b.typ), strings.Compare(a.num, b.num), strings.Compare(a.text, b.text))
	})
	return found, seen
}

// TestExpands asks for the edges of vertices in one process and through shards, with and without conditions on them, as
// columns and as a set.
func TestExpands(t *testing.T) {
	const n = 3000
	whole, spread := open(t, 3)
	one, many := fill(t, whole, n, 3, 4), fill(t, spread, n, 3, 4)
	a, b := one.begin(t), many.begin(t)
	rng := rand.New(rand.NewPCG(5, 5))
	conditions := [][]shard.EdgeRange{
		nil,
		{{Prop: one.num, In: graph.Interval{Lo: graph.IntValue(30), Hi: graph.FloatValue(60), HiOpen: true}}},
		{{Prop: one.num, In: graph.Interval{Lo: graph.IntValue(90), LoOpen: true}}, {Prop: one.num, In: graph.Interval{Hi: graph.IntValue(95)}}},
	}
	require.Equal(t, one.num, many.num)
	for _, size := range []int{1, 40, 2000} {
		for _, dir := range []graph.Direction{graph.Out, graph.In, graph.Both} {
			for _, where := range conditions {
				for _, most := range []int{0, 1, 200} {
					if most == 1 && size > 40 {
						continue
					}
					from := rng.Perm(n)[:size]
					for _, columns := range []bool{false, true} {
						req := shard.Expand{Dir: dir, Where: where, MaxEdges: most}
						if columns {
							req.Edges, req.Props = true, []graph.PropID{one.num, one.text}
						} else {
							req.Types = []graph.TypeID{one.a}
						}
						want, wantSeen := one.expand(t, a, req, from)
						got, gotSeen := many.expand(t, b, req, from)
						require.True(t, slices.Equal(want, got), "%d vertices, %v, %v: %d and not %d edges", size, dir, where, len(got), len(want))
						require.Equal(t, wantSeen, gotSeen)
					}
					// A set that holds some of the ends already.
					var into [2]graph.VertexSet
					for _, i := range rng.Perm(n)[:n/10] {
						into[0].Add(one.ids[i])
						into[1].Add(many.ids[i])
					}
					before := into[0].Len()
					_, wantSeen := one.expand(t, a, shard.Expand{Dir: dir, Where: where, MaxEdges: most, Into: &into[0]}, from)
					_, gotSeen := many.expand(t, b, shard.Expand{Dir: dir, Where: where, MaxEdges: most, Into: &into[1]}, from)
					require.Equal(t, wantSeen, gotSeen)
					require.True(t, slices.Equal(one.numbers(&into[0]), many.numbers(&into[1])))
					require.GreaterOrEqual(t, into[1].Len(), before)
				}
			}
		}
	}
}

// TestExpandAdds counts what a set had not held, whatever the form that it travels in.
func TestExpandAdds(t *testing.T) {
	_, spread := open(t, 2)
	w := fill(t, spread, 2000, 3, 6)
	tx := w.begin(t)
	for _, size := range []int{1, 10, 2000} {
		var into graph.VertexSet
		for range 2 {
			sources := slices.Sorted(slices.Values(w.ids[:size]))
			before := into.Len()
			var res shard.Neighbours
			require.NoError(t, tx.Expand(context.Background(), &shard.Expand{Sources: sources, Into: &into}, &res))
			require.Equal(t, size, res.Done)
			require.Equal(t, into.Len()-before, res.Added)
		}
		require.Positive(t, into.Len())
	}
}

// cell returns a value's encoded form.
func cell(t testing.TB, v graph.Value) string {
	b, ok := keys.AppendCell(nil, v)
	require.True(t, ok)
	return string(b)
}

// TestLargeValues writes and reads more at once than a message of gRPC may hold.
func TestLargeValues(t *testing.T) {
	_, spread := open(t, 2)
	w := fill(t, spread, 10, 1, 7)
	ctx := context.Background()
	tx, err := w.g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	var changes []shard.Mutation
	for i, id := range w.ids {
		text := strings.Repeat(string(rune('a'+i)), 1<<20)
		changes = append(changes, shard.Mutation{Op: shard.SetVertex, Vertex: id, Props: []graph.Property{{ID: w.text, Value: graph.StringValue(text)}}})
	}
	require.NoError(t, tx.Apply(ctx, changes))
	require.NoError(t, tx.Commit(ctx))
	out := [][]graph.Value{make([]graph.Value, len(w.ids))}
	require.NoError(t, w.begin(t).Properties(ctx, w.ids, []graph.PropID{w.text}, out))
	for i, v := range out[0] {
		require.True(t, strings.Repeat(string(rune('a'+i)), 1<<20) == v.Str())
	}
}

// TestWire counts the requests of a transaction and their bytes, while it is asked to.
func TestWire(t *testing.T) {
	_, spread := open(t, 3)
	w := fill(t, spread, 3000, 3, 8)
	tx := w.begin(t)
	sources := slices.Sorted(slices.Values(w.ids))
	expand := func() {
		var res shard.Neighbours
		require.NoError(t, tx.Expand(context.Background(), &shard.Expand{Sources: sources, Types: []graph.TypeID{w.b}}, &res))
		require.Equal(t, len(w.ids), res.Seen)
	}
	var n graph.Wire
	wired := tx.Features().Wire
	require.NotNil(t, wired)
	wired.Wire(&n)
	expand()
	require.EqualValues(t, 3, n.Requests.Load())
	for _, bytes := range []int64{n.Sent.Load(), n.Received.Load()} {
		require.Greater(t, bytes, int64(len(w.ids)))
		require.Less(t, bytes, int64(6*len(w.ids)))
	}
	before := n.Received.Load()
	wired.Wire(nil)
	expand()
	require.Equal(t, before, n.Received.Load())
}

// TestSeekNext looks a vertex up together with its edges, which then take no request of their own, if they are what was
// prefetched.
func TestSeekNext(t *testing.T) {
	const n = 300
	whole, spread := open(t, 3)
	one, many := fill(t, whole, n, 3, 8), fill(t, spread, n, 3, 8)
	ctx := t.Context()
	for _, w := range []*world{one, many} {
		require.NoError(t, w.g.CreateIndex(ctx, graph.Index{Name: "num", Label: "V", Props: []string{"num"}, Unique: true, Indexed: true}))
	}
	prefetched := func(most int) shard.Expand {
		return shard.Expand{
			Types: []graph.TypeID{one.a}, Dir: graph.Both, Edges: true, Props: []graph.PropID{one.num, one.text}, MaxEdges: most,
			Where: []shard.EdgeRange{{Prop: one.num, In: graph.Interval{Lo: graph.IntValue(20)}}},
		}
	}
	for _, c := range []struct {
		change   func(req *shard.Expand)
		requests int64 // the second time, when it is known where the vertex is
	}{
		{func(*shard.Expand) {}, 1},
		{func(req *shard.Expand) { req.Types = append(req.Types, one.b) }, 2},
		{func(req *shard.Expand) { req.Dir = graph.In }, 2},
		{func(req *shard.Expand) { req.Edges = false }, 2},
		{func(req *shard.Expand) { req.Props = []graph.PropID{one.text, one.num} }, 2},
		{func(req *shard.Expand) { req.Where[0].In.Lo = graph.IntValue(50) }, 2},
		{func(req *shard.Expand) { req.MaxEdges = 2 }, 2},
		{func(req *shard.Expand) { req.Where = nil }, 2},
	} {
		for _, most := range []int{0, 1000} {
			for _, i := range []int{0, 100, 200} { // few enough that no call is made twice because it takes long
				var found [2][]edge
				for k, w := range []*world{one, many} {
					for known := range 2 {
						tx := w.begin(t)
						var wire graph.Wire
						if wired := tx.Features().Wire; wired != nil {
							wired.Wire(&wire)
						}
						next := prefetched(most)
						var res shard.Found
						indexes := w.g.Indexes()
						require.NoError(t, tx.Seek(ctx, &shard.Seek{Index: indexes[len(indexes)-1].ID, Keys: []graph.Value{graph.IntValue(int64(i))}, Then: []*shard.Expand{&next}}, &res))
						require.Equal(t, w.ids[i:i+1], res.IDs)
						req := prefetched(most)
						c.change(&req)
						if most == 0 && c.requests == 1 && known == 0 { // what comes along is for no other vertex
							other, _ := w.expand(t, tx, req, []int{i + 1})
							again, _ := w.expand(t, w.begin(t), req, []int{i + 1})
							require.Equal(t, again, other)
						}
						found[k], _ = w.expand(t, tx, req, []int{i})
						if k == 1 && known == 1 {
							require.Equal(t, c.requests, wire.Requests.Load())
						}
					}
				}
				require.Equal(t, found[0], found[1])
			}
		}
	}
}

// TestProperties reads properties of vertices in any order, some of them often and some that are not there.
func TestProperties(t *testing.T) {
	const n = 500
	whole, spread := open(t, 3)
	one, many := fill(t, whole, n, 1, 9), fill(t, spread, n, 1, 9)
	rng := rand.New(rand.NewPCG(9, 9))
	for _, size := range []int{0, 1, 10, 2000, 70_000} {
		var cells [2][]string
		at := make([]int, size)
		for i := range at {
			at[i] = rng.IntN(n + 2)
		}
		for k, w := range []*world{one, many} {
			ids := make([]graph.VertexID, size)
			for i, v := range at {
				switch {
				case v < n:
					ids[i] = w.ids[v]
				case v == n:
					ids[i] = graph.MakeVertexID(2, 1<<30)
				default:
					ids[i] = graph.MakeVertexID(7, 0)
				}
			}
			out := [][]graph.Value{make([]graph.Value, size), make([]graph.Value, size)}
			require.NoError(t, w.begin(t).Properties(context.Background(), ids, []graph.PropID{w.text, w.num}, out))
			for _, col := range out {
				for _, v := range col {
					cells[k] = append(cells[k], cell(t, v))
				}
			}
		}
		require.Equal(t, cells[0], cells[1])
	}
}

// TestSeekBeyond looks a vertex up together with two hops from it: then the shard that has the vertex is not asked again for
// the second, if that is what was prefetched.
func TestSeekBeyond(t *testing.T) {
	const n = 300
	whole, spread := open(t, 3)
	one, many := fill(t, whole, n, 3, 8), fill(t, spread, n, 3, 8)
	ctx := t.Context()
	for _, w := range []*world{one, many} {
		require.NoError(t, w.g.CreateIndex(ctx, graph.Index{Name: "num", Label: "V", Props: []string{"num"}, Unique: true, Indexed: true}))
	}
	first := shard.Expand{Types: []graph.TypeID{one.a}, Dir: graph.Both}
	second := shard.Expand{Types: []graph.TypeID{one.a, one.b}, Where: []shard.EdgeRange{{Prop: one.num, In: graph.Interval{Lo: graph.IntValue(20)}}}}
	columns := second
	columns.Edges, columns.Props = true, []graph.PropID{one.num, one.text}
	for _, c := range []struct {
		name       string
		prefetched shard.Expand
		asked      func(req *shard.Expand)
		less       int  // sources
		step       bool // instead of an Expand
		known      bool
	}{
		{"as a set", second, func(*shard.Expand) {}, 0, false, true},
		{"as columns", columns, func(*shard.Expand) {}, 0, false, true},
		{"as a step", shard.Expand{Types: first.Types}, func(*shard.Expand) {}, 0, true, true},
		{"of another type", second, func(req *shard.Expand) { req.Types = first.Types }, 0, false, false},
		{"without its condition", second, func(req *shard.Expand) { req.Where = nil }, 0, false, false},
		{"with its condition as a step", second, func(*shard.Expand) {}, 0, true, false},
		{"from less", second, func(*shard.Expand) {}, 1, false, false},
		{"from less as a step", shard.Expand{Types: first.Types}, func(*shard.Expand) {}, 1, true, false},
	} {
		for _, i := range []int{0, 100, 200} {
			var found [2][]edge
			var ends [2][]int
			for k, w := range []*world{one, many} {
				for known := range 2 {
					tx := w.begin(t)
					var wire graph.Wire
					if wired := tx.Features().Wire; wired != nil {
						wired.Wire(&wire)
					}
					var set graph.VertexSet
					next, beyond := first, c.prefetched
					if !beyond.Edges {
						beyond.Into = &set
					}
					var res shard.Found
					indexes := w.g.Indexes()
					require.NoError(t, tx.Seek(ctx, &shard.Seek{Index: indexes[len(indexes)-1].ID, Keys: []graph.Value{graph.IntValue(int64(i))}, Then: []*shard.Expand{&next, &beyond}}, &res))
					near, _ := w.expand(t, tx, first, []int{i})
					var from []int
					asked := map[int]bool{}
					for _, e := range near {
						if !slices.Contains(from, e.to) {
							from = append(from, e.to)
						}
					}
					home := res.IDs[0].Shard()
					// The last ones are of the shard that the vertex is in.
					slices.SortStableFunc(from, func(a, b int) int {
						own := func(v int) int { return cmp.Compare(w.ids[v].Shard()^home, 0) }
						return own(b) - own(a)
					})
					hasOwn := len(from) > 0 && w.ids[from[len(from)-1]].Shard() == home
					from = from[:max(0, len(from)-c.less)]
					for _, v := range from {
						if no := w.ids[v].Shard(); no != home || !c.known || !hasOwn {
							asked[no] = true
						}
					}
					before := wire.Requests.Load()
					req := c.prefetched
					c.asked(&req)
					switch {
					case c.step:
						var sources graph.VertexSet
						for _, v := range from {
							sources.Add(w.ids[v])
						}
						require.NoError(t, tx.Step(ctx, &sources, req.Types, req.Dir, &set), c.name)
					case req.Edges:
						found[k], _ = w.expand(t, tx, req, from)
					default:
						req.Into = &set
						w.expand(t, tx, req, from)
					}
					ends[k] = w.numbers(&set)
					if k == 1 && known == 1 {
						require.EqualValues(t, len(asked), wire.Requests.Load()-before, "%s, %d", c.name, i)
					}
				}
			}
			require.Equal(t, found[0], found[1], c.name)
			require.Equal(t, ends[0], ends[1], c.name)
		}
	}
}

// TestPresent reads a snapshot that others share, before and after a commit that it does not see: whatever is read first, and
// whether or not the leader is among those who are asked, the transaction finds that out.
func TestPresent(t *testing.T) {
	const n = 60
	_, spread := open(t, 3)
	w := fill(t, spread, n, 3, 8)
	ctx := t.Context()
	require.NoError(t, w.g.CreateIndex(ctx, graph.Index{Name: "num", Label: "V", Props: []string{"num"}, Unique: true, Indexed: true}))
	indexes := w.g.Indexes()
	index := indexes[len(indexes)-1].ID
	of := func(no int) []graph.VertexID {
		return slices.Sorted(func(yield func(graph.VertexID) bool) {
			for _, v := range w.ids {
				if v.Shard() == no && !yield(v) {
					return
				}
			}
		})
	}
	read := func(tx shard.Tx, ids []graph.VertexID) error {
		return tx.Properties(ctx, ids, []graph.PropID{w.num}, [][]graph.Value{make([]graph.Value, len(ids))})
	}
	seek := func(tx shard.Tx, i int, beyond bool) error {
		next := shard.Expand{Types: []graph.TypeID{w.a}}
		req := shard.Seek{Index: index, Keys: []graph.Value{graph.IntValue(int64(i))}, Then: []*shard.Expand{&next}}
		if beyond {
			second := next
			req.Then = append(req.Then, &second)
		}
		return tx.Seek(ctx, &req, new(shard.Found))
	}
	reads := map[string]func(tx shard.Tx) error{
		"nothing":    func(shard.Tx) error { return nil },
		"the leader": func(tx shard.Tx) error { return read(tx, of(0)) },
		"another":    func(tx shard.Tx) error { return read(tx, of(1)) },
		"all":        func(tx shard.Tx) error { return read(tx, slices.Sorted(slices.Values(w.ids))) },
		"another and all": func(tx shard.Tx) error {
			return errors.Join(read(tx, of(2)), read(tx, slices.Sorted(slices.Values(w.ids))))
		},
		"a key":            func(tx shard.Tx) error { return seek(tx, 20, false) },
		"a key and beyond": func(tx shard.Tx) error { return seek(tx, 20, true) },
		"two keys": func(tx shard.Tx) error {
			return errors.Join(seek(tx, 20, true), seek(tx, 40, true), read(tx, of(0)))
		},
	}
	for name, read := range reads {
		for range 2 { // the second time it is known where keys are
			w.begin(t) // the snapshot that is shared from now on
			for _, commit := range []bool{false, true} {
				tx, err := w.g.Begin(ctx, shard.Read)
				require.NoError(t, err)
				if commit {
					other, err := w.g.Begin(ctx, shard.Write)
					require.NoError(t, err)
					require.NoError(t, other.Apply(ctx, []shard.Mutation{{Op: shard.SetVertex, Vertex: w.ids[7], Props: []graph.Property{{ID: w.text, Value: graph.StringValue(name)}}}}))
					require.NoError(t, other.Commit(ctx))
				}
				err = read(tx)
				checked := tx.Features().Validator.Check(ctx)
				tx.Rollback()
				if commit {
					require.True(t, shard.Retriable(checked), "%s: %v", name, checked)
					require.True(t, err == nil || shard.Retriable(err), "%s: %v", name, err)
				} else {
					require.NoError(t, err, name)
					require.NoError(t, checked, name)
				}
			}
		}
	}
}

// TestSideBySide reads with one transaction from many goroutines at a time: each gets what it gets alone.
func TestSideBySide(t *testing.T) {
	whole, spread := open(t, 3)
	for _, s := range []shard.Store{whole, spread} {
		w := fill(t, s, 200, 6, 5)
		ask := func(tx shard.Tx, at int) string {
			ctx := context.Background()
			ids := slices.Clone(w.ids[at : at+50])
			slices.Sort(ids)
			out := [][]graph.Value{make([]graph.Value, len(ids))}
			require.NoError(t, tx.Properties(ctx, ids, []graph.PropID{w.num}, out))
			degrees, sets := make([]int, len(ids)), make([]graph.LabelSet, len(ids))
			require.NoError(t, tx.Degrees(ctx, ids, []graph.TypeID{w.a}, graph.Out, degrees))
			require.NoError(t, tx.LabelSets(ctx, ids, sets))
			var res shard.Neighbours
			require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: ids, Dir: graph.Both, Edges: true, Props: []graph.PropID{w.num, w.text}}, &res))
			var cells []string
			for _, col := range append(out, res.Props...) {
				for _, v := range col {
					cells = append(cells, cell(t, v))
				}
			}
			return fmt.Sprint(cells, degrees, sets, res.Targets, res.Edges)
		}
		var want []string
		alone := w.begin(t)
		for at := range 150 {
			want = append(want, ask(alone, at))
		}
		tx := w.begin(t)
		var all sync.WaitGroup
		for first := range 4 {
			all.Go(func() {
				for at := first; at < 150; at += 3 {
					if got := ask(tx, at); got != want[at] {
						t.Errorf("the answer at %d differs from that of one goroutine", at)
					}
				}
			})
		}
		all.Wait()
	}
}

// Ids of what is not there, at shards that are not there too, find nothing in one process and in several: clients send any.
func TestUnknownIDs(t *testing.T) {
	whole, spread := open(t, 3)
	ctx := context.Background()
	for _, w := range []*world{fill(t, whole, 200, 3, 5), fill(t, spread, 200, 3, 5)} {
		tx := w.begin(t)
		far := graph.MakeVertexID(9, 1)
		ids := []graph.VertexID{w.ids[0], graph.MakeVertexID(1, 1<<40-1), far, ^graph.VertexID(0)}
		sets := make([]graph.LabelSet, len(ids))
		require.NoError(t, tx.LabelSets(ctx, ids, sets))
		require.NotZero(t, sets[0])
		require.Equal(t, []graph.LabelSet{0, 0, 0}, sets[1:])

		known := w.ids[0]
		edges := []graph.Edge{
			{ID: graph.MakeEdgeID(known.Shard(), 1<<39), Src: known, Dst: known, Type: 1},
			{ID: 1, Src: far, Dst: known, Type: 1},
			{ID: 1, Src: known, Dst: far, Type: 1},
			{ID: 1, Src: known, Dst: known, Type: 1 << 30},
			{Src: ids[3], Dst: ids[3]},
		}
		recs := make([]shard.Record, len(edges))
		require.NoError(t, tx.EdgeRecords(ctx, edges, recs))
		for i := range recs {
			require.Zero(t, recs[i].Labels, edges[i])
		}
		got, _, done, err := tx.Scan(ctx, 0, far, make([]graph.VertexID, 0, 8))
		require.NoError(t, err)
		require.True(t, done)
		require.Empty(t, got)
	}
}
