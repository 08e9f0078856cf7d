package local

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// lease is a vertex that one writer keeps alive: each renewal counts its property p up and makes an edge to the hub.
type lease struct {
	id        graph.VertexID
	n         int64
	low, high int64 // between which it was written last, in milliseconds since 1970
}

// mortalsOf returns the vertices of label A with the value of p and how many edges go out, each as one transaction sees them.
func (w *ttlWorld) mortalsOf(tx shard.Tx) map[graph.VertexID][2]int64 {
	ctx := context.Background()
	ids := localtest.Vertices(w.t, tx, w.a)
	out := map[graph.VertexID][2]int64{}
	if len(ids) == 0 {
		return out
	}
	cols := shard.Columns(2, len(ids))
	require.NoError(w.t, tx.Properties(ctx, ids, []graph.PropID{w.p, w.at}, cols))
	var res shard.Neighbours
	require.NoError(w.t, tx.Expand(ctx, &shard.Expand{Sources: ids, Dir: graph.Out, Edges: true}, &res))
	for i, id := range ids {
		require.Equal(w.t, cols[0][i], cols[1][i], "a write is half visible")
		out[id] = [2]int64{cols[0][i].Int(), int64(res.Offsets[i+1] - res.Offsets[i])}
	}
	return out
}

// whole checks that each vertex is there with all of its edges, at both ends, or not at all.
func (w *ttlWorld) whole(tx shard.Tx, hub graph.VertexID) map[graph.VertexID][2]int64 {
	seen := w.mortalsOf(tx)
	sum := 0
	for id, m := range seen {
		require.Equal(w.t, m[0], m[1], "vertex %d lacks edges", id)
		sum += int(m[1])
	}
	var in shard.Neighbours
	require.NoError(w.t, tx.Expand(context.Background(), &shard.Expand{Sources: []graph.VertexID{hub}, Dir: graph.In, Edges: true}, &in))
	require.Len(w.t, in.Targets, sum, "edges are left of what has expired")
	require.EqualValues(w.t, len(seen)+1, tx.Counts().Vertices)
	require.EqualValues(w.t, sum, tx.Counts().Edges)
	return seen
}

// renew rewrites a lease, or makes another if it has expired; some transactions stay open while time goes by.
func (w *ttlWorld) renew(rng *rand.Rand, l *lease, hub graph.VertexID, ttl time.Duration) {
	ctx := context.Background()
	before := w.clock.ms.Load()
	tx := w.begin([]shard.Mode{shard.Write, shard.Write, shard.WriteExclusive}[rng.IntN(3)])
	defer tx.Rollback()
	after := w.clock.ms.Load()
	seen, there := w.mortalsOf(tx)[l.id]
	switch {
	case l.n > 0 && after < l.low+ttl.Milliseconds():
		require.True(w.t, there, "a lease that was renewed is lost")
	case before >= l.high+ttl.Milliseconds():
		require.False(w.t, there, "what has expired is visible")
	}
	if rng.IntN(3) == 0 {
		w.clock.advance(time.Duration(rng.IntN(6000)) * time.Millisecond)
		_, still := w.mortalsOf(tx)[l.id]
		require.Equal(w.t, there, still)
	}
	next := lease{id: l.id, n: l.n + 1, low: w.clock.ms.Load()}
	if !there {
		next.n = 1
	} else {
		require.Equal(w.t, [2]int64{l.n, l.n}, seen)
	}
	props := []graph.Property{{ID: w.p, Value: graph.IntValue(next.n)}, {ID: w.at, Value: graph.IntValue(next.n)}}
	ms := []shard.Mutation{{Op: shard.SetVertex, Vertex: l.id, Props: props}}
	if !there {
		set, err := tx.LabelSet([]graph.LabelID{w.a})
		require.NoError(w.t, err)
		ms[0] = shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: props}
	}
	require.NoError(w.t, tx.Apply(ctx, ms))
	next.id = ms[0].Vertex
	require.NoError(w.t, tx.Apply(ctx, []shard.Mutation{{Op: shard.CreateEdge, Edge: graph.Edge{Src: next.id, Dst: hub, Type: w.typ}}}))
	next.high = w.clock.ms.Load()
	if err := tx.Commit(ctx); err != nil {
		require.Equal(w.t, graph.KindConflict, graph.AsError(err).Kind, "%v", err)
		require.True(w.t, there)
		require.GreaterOrEqual(w.t, w.clock.ms.Load(), l.low+ttl.Milliseconds(), "a conflict with nothing")
		return
	}
	*l = next
}

// TestExpireBesideWriters renews leases in some goroutines while others read and time goes by: what was renewed in time
// stays, what was not is gone with all of its edges, and no reader sees a state between.
func TestExpireBesideWriters(t *testing.T) {
	const ttl = 10 * time.Second
	for seed := range eachSeed(t, seeds(9)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := openTTLWorld(t, seed)
			defer func() { require.NoError(t, w.store.Close()) }()
			tx := w.begin(shard.Write)
			ms := []shard.Mutation{{Op: shard.CreateVertex}}
			require.NoError(t, tx.Apply(context.Background(), ms))
			require.NoError(t, tx.Commit(context.Background()))
			hub := ms[0].Vertex
			require.NoError(t, w.g.SetTTL(context.Background(), graph.TTL{Label: "A", After: ttl}))
			var writers, readers sync.WaitGroup
			done := make(chan struct{})
			for k := range uint64(3) {
				rng := rand.New(rand.NewPCG(seed, k))
				writers.Go(func() {
					leases := make([]lease, 4)
					for range size(120, 60) {
						w.renew(rng, &leases[rng.IntN(len(leases))], hub, ttl)
						w.clock.advance(time.Duration(rng.IntN(1200)) * time.Millisecond)
					}
				})
			}
			readers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					tx := w.begin(shard.Read)
					seen := w.whole(tx, hub)
					w.begin(shard.Read).Rollback()
					require.Equal(t, seen, w.whole(tx, hub))
					tx.Rollback()
				}
			})
			writers.Wait()
			close(done)
			readers.Wait()
			w.clean()
			require.NotZero(t, w.g.expirer.Deleted()[0])
			w.clock.advance(time.Hour)
			last := w.begin(shard.Read)
			require.Empty(t, w.whole(last, hub))
			last.Rollback()
			w.clean()
		})
	}
}

// TestCrashWhileExpiring crashes while what is due is being deleted, step by step: nothing else is lost, and the rest of it
// is not seen either afterwards.
func TestCrashWhileExpiring(t *testing.T) {
	ctx := context.Background()
	var middle atomic.Int64
	// On a busy machine it takes more of them until a crash comes in time.
	for seed := uint64(0); seed < uint64(seeds(24)) || seed < 100 && middle.Load() == 0; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := openTTLWorld(t, seed)
			defer func() { require.NoError(t, w.store.Close()) }()
			for range 120 {
				w.write()
			}
			for _, ttl := range []graph.TTL{{Label: "A", After: 30 * time.Second}, {Label: "B", After: 30 * time.Second, Property: "at"}, {Type: "T", After: 25 * time.Second, Property: "at"}} {
				require.NoError(t, w.g.SetTTL(ctx, ttl))
				w.ttls[ttl.Label+ttl.Type] = ttl
				for _, m := range w.vertices {
					m.written[ttl.Label] = w.clock.ms.Load()
				}
			}
			w.compareNow()
			all := len(w.vertices)
			w.clock.advance(31 * time.Second)
			fs, until := w.fs, uint64(w.rng.IntN(all/2))
			begun := make(chan struct{})
			go func() {
				defer close(begun)
				w.begin(shard.Read).Rollback()
			}()
			for waiting := true; waiting && w.g.expirer.Deleted()[0] < until; {
				select {
				case <-begun:
					waiting = false
				default:
					runtime.Gosched()
				}
			}
			crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: w.rng.IntN(101), RNG: w.rng})
			<-begun
			require.NoError(t, w.store.Close())
			w.expire()

			// Before its time, what has not been deleted is still there, and so is what does not expire.
			w.clock.advance(-31 * time.Second)
			w.fs = crashed
			w.open()
			tx := w.begin(shard.Read)
			vs, es := w.seen(tx)
			tx.Rollback()
			require.Subset(t, vs, slices.Collect(maps.Keys(w.vertices)))
			require.Subset(t, es, slices.Collect(maps.Keys(w.edges)))
			if len(vs) > len(w.vertices) && len(vs) < all {
				middle.Add(1)
			}
			w.clean()
			w.clock.advance(31 * time.Second)
			w.compareNow()
			w.clean()
			w.crash()
			w.compareNow()
		})
	}
	require.NotZero(t, middle.Load(), "no crash met an expiry at work")
}

// mortalStep is a statement at a time, in seconds since 1970.
type mortalStep struct {
	now int64
	statement
}

// mortalHistory makes random statements over vertices and edges some of which expire ttl seconds after their property at.
func mortalHistory(rng *rand.Rand, n int, ttl int64) (out []mortalStep) {
	now, keys := int64(1_800_000_000), 0
	key := func() int { return rng.IntN(keys + 1) }
	at := func() string {
		if rng.IntN(5) == 0 {
			return "null"
		}
		return strconv.FormatInt(now-ttl-2+rng.Int64N(2*ttl), 10)
	}
	for range n {
		s := mortalStep{now: now}
		switch op := rng.IntN(16); {
		case op < 4 || keys == 0:
			s.text = fmt.Sprintf("UNWIND range(%d, %d) AS k CREATE (:%s {k: k, at: %s})", keys, keys+rng.IntN(6), []string{"S", "K", "S:K"}[rng.IntN(3)], at())
			keys += 6
		case op < 7:
			s.text = fmt.Sprintf("MATCH (x {k: %d}), (y) WHERE y.k %% %d = 0 CREATE (x)-[:%s {at: %s}]->(y)", key(), 2+rng.IntN(9), []string{"U", "V"}[rng.IntN(2)], at())
		case op == 7:
			s.text = fmt.Sprintf("MATCH (n {k: %d}) SET n.at = %s", key(), at())
		case op == 8:
			s.text = fmt.Sprintf("MATCH (n:K {k: %d}) SET n:S", key())
		case op == 9:
			s.text = fmt.Sprintf("MATCH (n {k: %d}) REMOVE n:S", key())
		case op == 10:
			s.text = fmt.Sprintf("MATCH ({k: %d})-[e:U]-() SET e.at = %s", key(), at())
		case op == 11:
			s.text = fmt.Sprintf("MATCH (n {k: %d}) DETACH DELETE n", key())
		default:
			s.read = true
			s.text = []string{
				"MATCH (n) RETURN n.k, n:S, n:K, n.at",
				"MATCH (x)-[e]->(y) RETURN x.k, type(e), e.at, y.k",
				"MATCH (n:S) RETURN count(*), min(n.at), max(n.k)",
				"MATCH (x:K)-[:V*1..2]-(y) RETURN count(DISTINCT y), count(*)",
				fmt.Sprintf("MATCH (x {k: %d}) OPTIONAL MATCH (x)-[e:U]-(y) RETURN x.k, e.at, y.k", key()),
				"MATCH ()-[e:U]->() RETURN count(e)",
			}[rng.IntN(6)]
		}
		out = append(out, s)
		now += int64(rng.IntN(4))
	}
	return out
}

// TestMetamorphicTTL plays one history on stores with many options, and on the oracle, which deletes what is due itself
// before each statement: the answers are the same.
func TestMetamorphicTTL(t *testing.T) {
	const ttl = 12
	sets, statements := size(6, 4), size(100, 50)
	for seed := range eachSeed(t, seeds(4)) {
		rng := rand.New(rand.NewPCG(seed, 31))
		h := mortalHistory(rng, statements, ttl)
		o := oracle.New(1)
		require.NoError(t, o.CreateGraph(context.Background(), DefaultGraph))
		e := query.New(o, query.Options{})
		var want []string
		for _, s := range h {
			answer(t, e, fmt.Sprintf("MATCH ()-[e:U]->() WHERE e.at <= %d DELETE e", s.now-ttl))
			answer(t, e, fmt.Sprintf("MATCH (n:S) WHERE n.at <= %d DETACH DELETE n", s.now-ttl))
			if rows := answer(t, e, s.text); s.read {
				want = append(want, fmt.Sprint(s.text, rows))
			}
		}
		for set := range sets {
			clock := newTestClock()
			opts := tiny(rng, 1+set%4)
			opts.FS, opts.Logger, opts.Clock = vfs.NewMem(), quiet(), clock.now
			opts.CacheMode = kv.CacheMode(set % 2)
			opts.Tuning.ExpireBatch = 1 + rng.IntN(9)
			opts.TopologyBytes = []int64{-1, 1 << 20, 64 << 20}[rng.IntN(3)]
			opts.Tuning.CompactRecords = []int{-1, 1, 50, 1000}[rng.IntN(4)]
			name := fmt.Sprintf("seed %d, set %d: %d shards, %d decoded, compactions at %d, expires by %d", seed, set, opts.Shards, opts.TopologyBytes, opts.Tuning.CompactRecords, opts.Tuning.ExpireBatch)
			st, err := Open(opts)
			require.NoError(t, err, name)
			e := query.New(st, query.Options{})
			for _, kind := range []string{"LABEL S", "RELATIONSHIP TYPE U"} {
				answer(t, e, fmt.Sprintf("CREATE %s OPTIONS {ttl: %d, property: 'at'}", kind, ttl))
			}
			var got []string
			for _, s := range h {
				clock.ms.Store(s.now * 1000)
				if rows := answer(t, e, s.text); s.read {
					got = append(got, fmt.Sprint(s.text, rows))
				}
				g, err := st.Local(DefaultGraph)
				require.NoError(t, err)
				switch rng.IntN(12) {
				case 0:
					err = g.Flush(context.Background())
				case 1:
					err = g.Settle(context.Background())
				case 2:
					require.NoError(t, st.Close())
					st, err = Open(opts)
					e = query.New(st, query.Options{})
				}
				require.NoError(t, err, name)
			}
			require.Equal(t, want, got, name)
			require.NoError(t, st.Close())
		}
	}
}
