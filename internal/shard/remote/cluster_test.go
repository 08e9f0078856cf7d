package remote_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote"
)

// open gives a store of some shards in this process, and one whose shards are behind gRPC servers, with options of their
// own.
func open(t testing.TB, shards int, more ...grpc.ServerOption) (whole, spread shard.Store) {
	options := func() local.Options {
		return local.Options{Dir: "data", FS: vfs.NewMem(), Shards: shards, Tuning: local.Tuning{PlaceBlock: 16}}
	}
	one, err := local.Open(options())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, one.Close()) })

	listeners, addresses := make([]*bufconn.Listener, shards), make([]string, shards)
	for no := range shards {
		listeners[no], addresses[no] = bufconn.Listen(1<<20), "passthrough:"+strconv.Itoa(no)
	}
	serve := func(no int, register func(s *grpc.Server)) {
		s := grpc.NewServer(append(remote.ServerOptions(nil), more...)...)
		register(s)
		go func() { _ = s.Serve(listeners[no]) }()
		t.Cleanup(s.Stop)
	}
	for no := 1; no < shards; no++ {
		parts, err := local.OpenParts(options(), no)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, parts.Close()) })
		serve(no, func(s *grpc.Server) { remote.ServeParts(s, parts) })
	}
	dialer := grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		no, err := strconv.Atoi(address)
		if err != nil {
			return nil, err
		}
		return listeners[no].DialContext(ctx)
	})
	peers, err := remote.NewPeers(addresses, dialer)
	require.NoError(t, err)
	t.Cleanup(func() { _ = peers.Close() })
	o := options()
	o.Peers = peers
	leader, err := local.Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, leader.Close()) })
	serve(0, func(s *grpc.Server) { remote.ServeLeader(s, leader, peers) })
	gateway, err := remote.Open(addresses, dialer)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, gateway.Close()) })
	return one, gateway
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

// numbers gives which vertices of the world are in a set.
func (w *world) numbers(s *graph.VertexSet) (out []int) {
	for i, id := range w.ids {
		if s.Has(id) {
			out = append(out, i)
		}
	}
	return out
}

func (w *world) begin(t testing.TB) shard.Tx {
	tx, err := w.g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	t.Cleanup(tx.Rollback)
	return tx
}

// TestSteps takes steps from sets of many sizes in one process and through shards.
func TestSteps(t *testing.T) {
	const n = 12_000
	whole, spread := open(t, 3)
	one, many := fill(t, whole, n, 3, 1), fill(t, spread, n, 3, 1)
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
