package local

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// testClock is a clock that stands still until a test advances it.
type testClock struct{ ms atomic.Int64 }

func newTestClock() *testClock {
	c := &testClock{}
	c.ms.Store(1_800_000_000_000)
	return c
}

func (c *testClock) now() time.Time          { return time.UnixMilli(c.ms.Load()) }
func (c *testClock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// ttlWorld is a graph beside a model of what has not expired.
type ttlWorld struct {
	t     *testing.T
	rng   *rand.Rand
	clock *testClock
	opts  Options
	fs    *vfs.MemFS
	store *Store
	g     *Graph
	log   shardtest.Follower

	a, b  graph.LabelID // by the write, by the property at
	typ   graph.TypeID
	at, p graph.PropID
	space graph.IndexID
	key   int64

	ttls     map[string]graph.TTL // by label or type
	vertices map[graph.VertexID]*mortal
	edges    map[graph.EdgeID]*mortal
}

// mortal is a vertex or an edge of the model.
type mortal struct {
	labels  []graph.LabelID
	edge    graph.Edge
	at      graph.Value
	written map[string]int64 // milliseconds since 1970, by label or type
}

func openTTLWorld(t *testing.T, seed uint64) *ttlWorld {
	w := &ttlWorld{t: t, rng: rand.New(rand.NewPCG(seed, 77)), clock: newTestClock(), fs: vfs.NewCrashableMem()}
	w.opts = tiny(w.rng, 1+int(seed%3))
	w.opts.Tuning.ExpireBatch = 1 + w.rng.IntN(5)
	w.opts.Tuning.IndexBatch = 1 + w.rng.IntN(5)
	w.opts.Clock, w.opts.Logger = w.clock.now, quiet()
	w.ttls, w.vertices, w.edges = map[string]graph.TTL{}, map[graph.VertexID]*mortal{}, map[graph.EdgeID]*mortal{}
	w.open()
	tx := w.begin(shard.Write)
	defer tx.Rollback()
	var err error
	w.a, err = tx.Label("A")
	require.NoError(t, err)
	w.b, err = tx.Label("B")
	require.NoError(t, err)
	w.typ, err = tx.Type("T")
	require.NoError(t, err)
	w.at, err = tx.Prop("at")
	require.NoError(t, err)
	w.p, err = tx.Prop("p")
	require.NoError(t, err)
	require.NoError(t, w.g.CreateIndex(context.Background(), graph.Index{Name: "keys", Unique: true, Indexed: true}))
	w.space = w.g.Indexes()[0].ID
	for _, ix := range []graph.Index{
		{Name: "points", Label: "A", Props: []string{"p"}, Kind: graph.PointIndex, Indexed: true},
		{Name: "edge points", Type: "T", Props: []string{"p"}, Kind: graph.PointIndex, Indexed: true},
	} {
		require.NoError(t, w.g.CreateIndex(context.Background(), ix))
	}
	return w
}

func (w *ttlWorld) open() {
	w.opts.FS = w.fs
	var err error
	w.store, err = Open(w.opts)
	require.NoError(w.t, err)
	w.g, err = w.store.Local("default")
	require.NoError(w.t, err)
	w.log.T, w.log.Graph = w.t, w.g
}

func (w *ttlWorld) begin(mode shard.Mode) *Tx {
	tx, err := w.g.Begin(context.Background(), mode)
	require.NoError(w.t, err)
	return tx.(*Tx)
}

// crash goes on with what is on disk.
func (w *ttlWorld) crash() {
	fs := w.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: w.rng.IntN(101), RNG: w.rng})
	require.NoError(w.t, w.store.Close())
	w.fs = fs
	w.open()
}

// startMS is the time that a property of the test holds.
func startMS(v graph.Value) (int64, bool) {
	switch v.Kind() {
	case graph.Int:
		if v.Int() < 1e11 {
			return v.Int() * 1000, true
		}
		return v.Int(), true
	case graph.DateTime:
		return v.DateTime().Sec * 1000, true
	}
	return 0, false
}

// dead reports whether the model's thing has expired under its labels or type.
func (w *ttlWorld) dead(m *mortal, names []string) bool {
	now := w.clock.ms.Load()
	for _, name := range names {
		t, ok := w.ttls[name]
		start, has := m.written[name]
		if t.Property != "" {
			start, has = startMS(m.at)
		}
		if ok && has && start+t.After.Milliseconds() <= now {
			return true
		}
	}
	return false
}

func (w *ttlWorld) names(ls []graph.LabelID) []string {
	var out []string
	for _, l := range ls {
		out = append(out, w.g.LabelName(l))
	}
	return out
}

// expire takes what has expired out of the model.
func (w *ttlWorld) expire() {
	for id, m := range w.vertices {
		if w.dead(m, w.names(m.labels)) {
			delete(w.vertices, id)
		}
	}
	for id, e := range w.edges {
		if w.vertices[e.edge.Src] == nil || w.vertices[e.edge.Dst] == nil || w.dead(e, []string{"T"}) {
			delete(w.edges, id)
		}
	}
}

func (w *ttlWorld) touch(m *mortal, names []string) {
	m.written = map[string]int64{}
	for _, n := range names {
		m.written[n] = w.clock.ms.Load()
	}
}

// seen returns the vertices and edges that a transaction sees.
func (w *ttlWorld) seen(tx shard.Tx) (vs []graph.VertexID, es []graph.EdgeID) {
	ctx := context.Background()
	if vs = localtest.Vertices(w.t, tx, 0); len(vs) > 0 {
		var res shard.Neighbours
		require.NoError(w.t, tx.Expand(ctx, &shard.Expand{Sources: vs, Edges: true}, &res))
		es = append(es, res.Edges...)
	}
	slices.Sort(es)
	return vs, es
}

// compare holds a transaction that has just begun against the model.
func (w *ttlWorld) compare(tx shard.Tx) {
	w.t.Helper()
	w.expire()
	w.log.Check(tx)
	vs, es := w.seen(tx)
	require.Equal(w.t, slices.Sorted(maps.Keys(w.vertices)), vs)
	require.Equal(w.t, slices.Sorted(maps.Keys(w.edges)), es)
	c := tx.Counts()
	require.EqualValues(w.t, len(vs), c.Vertices)
	require.EqualValues(w.t, len(es), c.Edges)
	edges := make([]graph.Edge, 0, len(es))
	for _, id := range es {
		edges = append(edges, w.edges[id].edge)
	}
	recs := make([]shard.Record, len(edges))
	require.NoError(w.t, tx.EdgeRecords(context.Background(), edges, recs))
	for _, r := range recs {
		for _, p := range r.Props {
			require.False(w.t, index.Hidden(p.ID))
		}
	}
}

func (w *ttlWorld) some() graph.Value {
	s := w.clock.ms.Load()/1000 + int64(w.rng.IntN(20)) - 12
	switch w.rng.IntN(5) {
	case 0:
		return graph.IntValue(s)
	case 1:
		return graph.IntValue(s*1000 + int64(w.rng.IntN(1000)))
	case 2:
		return graph.DateTimeValue(temporal.DateTime{Sec: s, Offset: 3600})
	case 3:
		return graph.StringValue("never")
	}
	return graph.Value{}
}

func (w *ttlWorld) labels() []graph.LabelID {
	return [][]graph.LabelID{{}, {w.a}, {w.b}, {w.a, w.b}}[w.rng.IntN(4)]
}

func pick[K ~uint64, V any](rng *rand.Rand, m map[K]V) (k K, ok bool) {
	if len(m) == 0 {
		return 0, false
	}
	return slices.Sorted(maps.Keys(m))[rng.IntN(len(m))], true
}

// write makes a transaction of one random change, in the graph and in the model.
func (w *ttlWorld) write() {
	ctx := context.Background()
	tx := w.begin([]shard.Mode{shard.Write, shard.WriteExclusive}[w.rng.IntN(2)])
	defer tx.Rollback()
	w.compare(tx)
	m := shard.Mutation{Op: shard.Op([]int{0, 0, 0, 1, 1, 1, 2, 3, 4, 4, 5, 6}[w.rng.IntN(12)])}
	p := graph.IntValue(int64(w.rng.IntN(9)))
	if p.Int() > 3 {
		p = graph.PointValue(graph.Point{CRS: graph.Cartesian, X: float64(p.Int())})
	}
	m.Props = []graph.Property{{ID: w.p, Value: p}, {ID: w.at, Value: w.some()}}
	at := m.Props[1].Value
	v, some := pick(w.rng, w.vertices)
	e, someEdge := pick(w.rng, w.edges)
	ls := w.labels()
	var err error
	m.Labels, err = tx.LabelSet(ls)
	require.NoError(w.t, err)
	switch {
	case m.Op == shard.SetEdge && !someEdge, m.Op == shard.DeleteEdge && !someEdge, m.Op != shard.CreateVertex && !some:
		return
	case m.Op == shard.CreateEdge:
		other, _ := pick(w.rng, w.vertices)
		m.Edge = graph.Edge{Src: v, Dst: other, Type: w.typ}
	case m.Op == shard.SetEdge, m.Op == shard.DeleteEdge:
		m.Edge = w.edges[e].edge
	case m.Op == shard.DeleteVertex:
		for _, o := range w.edges {
			if o.edge.Src == v || o.edge.Dst == v {
				return
			}
		}
		m.Vertex = v
	default:
		m.Vertex = v
	}
	ms := []shard.Mutation{m}
	require.NoError(w.t, tx.Apply(ctx, ms))
	if w.rng.IntN(8) == 0 {
		return // without a commit
	}
	require.NoError(w.t, tx.Commit(ctx))
	switch m = ms[0]; m.Op {
	case shard.CreateVertex:
		w.vertices[m.Vertex] = &mortal{labels: ls, at: at}
		w.touch(w.vertices[m.Vertex], w.names(ls))
	case shard.SetVertex:
		w.vertices[v].at = at
		w.touch(w.vertices[v], w.names(w.vertices[v].labels))
	case shard.SetLabels:
		if !slices.Equal(w.vertices[v].labels, ls) {
			w.vertices[v].labels = ls
			w.touch(w.vertices[v], w.names(ls))
		}
	case shard.DeleteVertex:
		delete(w.vertices, v)
	case shard.CreateEdge:
		w.edges[m.Edge.ID] = &mortal{edge: m.Edge, at: at}
		w.touch(w.edges[m.Edge.ID], []string{"T"})
	case shard.SetEdge:
		w.edges[e].at = at
		w.touch(w.edges[e], []string{"T"})
	case shard.DeleteEdge:
		delete(w.edges, e)
	}
}

// load loads some vertices and edges between them.
func (w *ttlWorld) load() {
	ctx := context.Background()
	ls := w.labels()
	set, err := w.g.NewLabelSet(ls)
	require.NoError(w.t, err)
	n := 1 + w.rng.IntN(6)
	vs := shard.LoadVertices{Labels: set, Space: w.space}
	es := shard.LoadEdges{Type: w.typ, SrcSpace: w.space, DstSpace: w.space}
	ats := shard.LoadColumn{Prop: w.at}
	for range n {
		w.key++
		vs.Keys = append(vs.Keys, graph.IntValue(w.key))
		// Nothing expires before it has been seen.
		ats.Values = append(ats.Values, graph.IntValue(w.clock.ms.Load()/1000+1+int64(w.rng.IntN(9))))
		es.Src, es.Dst = append(es.Src, graph.IntValue(w.key)), append(es.Dst, vs.Keys[0])
	}
	vs.Props = []shard.LoadColumn{ats}
	before := w.begin(shard.Read)
	w.compare(before)
	oldV, oldE := w.seen(before)
	before.Rollback()
	l := &shard.Load{Vertices: []shard.LoadVertices{vs}, Edges: []shard.LoadEdges{es}}
	require.NoError(w.t, w.g.Load(ctx, l))
	require.Empty(w.t, l.Rejected)
	tx := w.begin(shard.Read)
	defer tx.Rollback()
	newV, _ := w.seen(tx)
	i := 0
	for _, id := range newV {
		if !slices.Contains(oldV, id) {
			w.vertices[id] = &mortal{labels: ls}
			w.touch(w.vertices[id], w.names(ls))
			var out [1][]graph.Value
			out[0] = make([]graph.Value, 1)
			require.NoError(w.t, tx.Properties(ctx, []graph.VertexID{id}, []graph.PropID{w.at}, out[:]))
			w.vertices[id].at = out[0][0]
			i++
		}
	}
	require.Equal(w.t, n, i)
	var res shard.Neighbours
	require.NoError(w.t, tx.Expand(ctx, &shard.Expand{Sources: newV, Edges: true}, &res))
	for k := range newV {
		for j := res.Offsets[k]; j < res.Offsets[k+1]; j++ {
			if !slices.Contains(oldE, res.Edges[j]) {
				w.edges[res.Edges[j]] = &mortal{edge: graph.Edge{ID: res.Edges[j], Src: newV[k], Dst: res.Targets[j], Type: w.typ}}
				w.touch(w.edges[res.Edges[j]], []string{"T"})
			}
		}
	}
}

// alter changes a TTL.
func (w *ttlWorld) alter() {
	ctx := context.Background()
	w.compareNow()
	name := []string{"A", "B", "T"}[w.rng.IntN(3)]
	t := graph.TTL{Label: name, After: time.Duration(1+w.rng.IntN(12)) * time.Second}
	if name == "T" {
		t.Label, t.Type = "", name
	}
	if name == "B" || w.rng.IntN(4) == 0 {
		t.Property = "at"
	}
	old, had := w.ttls[name]
	if had && w.rng.IntN(4) == 0 {
		require.NoError(w.t, w.g.DropTTL(ctx, t.Label, t.Type))
		delete(w.ttls, name)
		return
	}
	require.NoError(w.t, w.g.SetTTL(ctx, t))
	w.ttls[name] = t
	if t.Property == "" && (!had || old.Property != "") {
		for _, m := range w.vertices {
			m.written[name] = w.clock.ms.Load()
		}
		for _, m := range w.edges {
			m.written[name] = w.clock.ms.Load()
		}
	}
}

func (w *ttlWorld) compareNow() {
	w.t.Helper()
	tx := w.begin(shard.Read)
	defer tx.Rollback()
	w.compare(tx)
}

func (w *ttlWorld) clean() {
	w.t.Helper()
	rep, err := w.store.Check(context.Background(), "default", shard.CheckOptions{})
	require.NoError(w.t, err)
	for _, f := range rep.Findings {
		w.t.Errorf("%s: %v", f.Kind, f.Examples)
	}
	propCounts(w.t, w.g)
}

// TestTTL makes random changes while time goes by, with compacts, crashes and changed TTLs: every transaction sees what has not
// expired at its beginning, and those that run keep what they saw.
func TestTTL(t *testing.T) {
	for seed := range eachSeed(t, seeds(24)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := openTTLWorld(t, seed)
			defer func() { require.NoError(t, w.store.Close()) }()
			for range size(150, 90) {
				switch w.rng.IntN(24) {
				case 0, 1:
					w.alter()
				case 2:
					require.NoError(t, w.g.Settle(context.Background()))
				case 3:
					w.crash()
				case 4, 5:
					w.load()
				case 6:
					w.clean()
				case 7:
					tx := w.begin(shard.Read)
					vs, es := w.seen(tx)
					w.clock.advance(time.Duration(w.rng.IntN(9000)) * time.Millisecond)
					w.compareNow()
					vs2, es2 := w.seen(tx)
					require.Equal(t, vs, vs2)
					require.Equal(t, es, es2)
					tx.Rollback()
				default:
					w.write()
				}
				w.clock.advance(time.Duration(w.rng.IntN(1500)) * time.Millisecond)
			}
			w.compareNow()
			w.clean()
		})
	}
}
