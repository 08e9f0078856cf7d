package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// loadTwin is a graph beside the oracle's that loads are applied to.
type loadTwin struct {
	t       *testing.T
	rng     *rand.Rand
	opts    Options
	store   *Store
	graphs  [2]shard.Graph // here, the oracle's
	labels  []graph.LabelID
	types   []graph.TypeID
	props   []graph.PropID
	seq     map[string]uint64
	derived map[graph.PropID]derived
	runs    int  // loads without a stream
	begins  bool // the next batch is the first of its run
	follow  shardtest.Follower
	changes []changelog.Change // that follow has told of since the last step
	told    map[uint64]string  // what the commit log has told of a commit
}

// TestLoad applies random load batches to a graph and to the oracle's, among compacts, restarts and transactions, and
// compares what they refuse, what they count and all that is there.
func TestLoad(t *testing.T) {
	for seed := range eachSeed(t, seeds(25)) {
		for _, shards := range []int{1, 3} {
			t.Run(fmt.Sprintf("seed=%d/shards=%d", seed, shards), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(shards)))
				w := &loadTwin{t: t, rng: rng, opts: tiny(rng, shards), seq: map[string]uint64{}, derived: map[graph.PropID]derived{}}
				w.opts.FS = vfs.NewMem()
				if rng.IntN(2) == 0 {
					w.opts.Tuning.IngestBytes = 1
				}
				w.opts.Tuning.RangeRows, w.told = 1+8*int(seed%2), map[uint64]string{}
				w.opts.LogBytes = []int64{0, 4 << 10, 1 << 30, 1 << 30}[rng.IntN(4)]
				w.follow = shardtest.Follower{T: t, Each: func(c *changelog.Change) {
					own := *c
					own.Keys, own.Src.Keys, own.Dst.Keys = slices.Clone(c.Keys), slices.Clone(c.Src.Keys), slices.Clone(c.Dst.Keys)
					w.changes = append(w.changes, own)
				}}
				w.open()
				o := oracle.New(shards)
				require.NoError(t, o.CreateGraph(context.Background(), "default"))
				var err error
				w.graphs[1], err = o.Graph("default")
				require.NoError(t, err)
				w.schema()
				for range 12 {
					w.step()
				}
				w.forget()
				checkClean(t, w.store, "default")
				require.NoError(t, w.store.Close())
			})
		}
	}
}

func (w *loadTwin) open() {
	var err error
	w.runs, w.begins = w.runs+1, true // a run ends with its process
	w.store, err = Open(w.opts)
	require.NoError(w.t, err)
	w.graphs[0], err = w.store.Graph("default")
	require.NoError(w.t, err)
	w.follow.Graph = w.graphs[0]
}

func (w *loadTwin) both(f func(g shard.Graph)) {
	for _, g := range w.graphs {
		f(g)
	}
}

func (w *loadTwin) schema() {
	ctx := context.Background()
	w.both(func(g shard.Graph) {
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(w.t, err)
		defer tx.Rollback()
		w.labels, w.types, w.props = nil, nil, nil
		for i := range 3 {
			l, err := tx.Label(fmt.Sprint("L", i))
			require.NoError(w.t, err)
			ty, err := tx.Type(fmt.Sprint("T", i))
			require.NoError(w.t, err)
			w.labels, w.types = append(w.labels, l), append(w.types, ty)
		}
		for i := range 6 {
			p, err := tx.Prop(fmt.Sprint("p", i))
			require.NoError(w.t, err)
			w.props = append(w.props, p)
		}
	})
	for i, ix := range []graph.Index{
		{Name: "a", Label: "L0", Props: []string{"p0"}, Unique: true, Indexed: true, Required: w.rng.IntN(2) == 0},
		{Name: "b", Label: "L1", Props: []string{"p0"}, Unique: true, Indexed: true, Required: w.rng.IntN(2) == 0},
		{Name: "bare", Unique: true, Indexed: true},
		{Name: "plain", Label: "L2", Props: []string{"p1"}, Indexed: true},
		{Name: "pair", Label: "L0", Props: []string{"p1", "p2"}, Indexed: true},
		{Name: "unique", Label: "L2", Props: []string{"p2"}, Unique: true, Indexed: true},
		{Name: "required", Label: "L1", Props: []string{"p3"}, Required: true},
		{Name: "edges", Type: "T1", Props: []string{"p1"}, Indexed: true},
		{Name: "edge", Type: "T2", Props: []string{"p0"}, Unique: true, Indexed: true},
		{Name: "key", Label: "L2", Props: []string{"p1", "p5"}, Unique: true, Indexed: true, Required: true},
		{Name: "edge key", Type: "T2", Props: []string{"p3"}, Unique: true, Indexed: true, Required: true},
		{Name: "points", Label: "L2", Props: []string{"p1"}, Kind: graph.PointIndex, Indexed: true},
		{Name: "edge points", Type: "T1", Props: []string{"p1"}, Kind: graph.PointIndex, Indexed: true},
	} {
		if i > 2 && w.rng.IntN(3) > 0 {
			continue
		}
		w.both(func(g shard.Graph) { require.NoError(w.t, g.CreateIndex(ctx, ix)) })
	}
}

func (w *loadTwin) step() {
	ctx := context.Background()
	switch w.rng.IntN(8) {
	case 0:
		require.NoError(w.t, w.graphs[0].(*Graph).Settle(ctx))
		checkDegrees(w.t, w.graphs[0].(*Graph))
	case 1:
		require.NoError(w.t, w.store.Close())
		w.open()
		w.graphs[1].(*oracle.Graph).Restart()
	case 2:
		w.transaction()
	case 3:
		if w.opts.LogBytes > 0 {
			require.NoError(w.t, w.graphs[0].ChangeLog().SetLogMode(ctx, changelog.Mode(w.rng.IntN(3))))
		}
	}
	w.check()
	loads := w.load()
	loads[0].Unlogged = w.rng.IntN(8) == 0
	errs := [2]error{w.graphs[0].Load(ctx, loads[0]), w.graphs[1].Load(ctx, loads[1])}
	if errs[1] != nil {
		w.seq[loads[0].Stream]--
		require.EqualError(w.t, errs[0], errs[1].Error())
		return
	}
	require.NoError(w.t, errs[0])
	a, b := loads[0], loads[1]
	sortRejected(a.Rejected)
	sortRejected(b.Rejected)
	require.Equal(w.t, rejections(b.Rejected), rejections(a.Rejected))
	require.Equal(w.t, []any{b.Counts, b.Skipped}, []any{a.Counts, a.Skipped})
	require.Equal(w.t, w.dump(w.graphs[1]), w.dump(w.graphs[0]))
	w.checkChanges()
	w.checkLog(loads[0])
	var counts [2]*graph.Counts
	for i, g := range w.graphs {
		tx, err := g.Begin(ctx, shard.Read)
		require.NoError(w.t, err)
		counts[i] = tx.Statistics()
		tx.Rollback()
	}
	(&shardtest.Model{T: w.t}).CompareCounts(counts[0], counts[1])
	for stream := range w.seq {
		var states [2]string
		for i, g := range w.graphs {
			seq, mark, err := g.LoadState(ctx, stream)
			require.NoError(w.t, err)
			if len(mark) == 0 {
				continue
			}
			counts, refused, err := shard.ReadOutcome(mark[1:])
			require.NoError(w.t, err)
			sortRejected(refused)
			states[i] = fmt.Sprint(seq, mark[0], counts, rejections(refused))
		}
		require.Equal(w.t, states[1], states[0])
	}
}

// check compares what the commit log tells with the graph.
func (w *loadTwin) check() {
	tx, err := w.graphs[0].Begin(context.Background(), shard.Read)
	require.NoError(w.t, err)
	defer tx.Rollback()
	w.changes = w.changes[:0]
	w.follow.Check(tx)
	w.again()
}

// again reads the whole commit log, which must tell of each commit what it has told before.
func (w *loadTwin) again() {
	ctx, log := context.Background(), w.graphs[0].ChangeLog()
	st, err := log.LogState(ctx)
	require.NoError(w.t, err)
	if st.Mode == changelog.Off {
		return
	}
	b, err := log.ReadLog(ctx, st.First, 1<<30, nil)
	require.NoError(w.t, err)
	for len(b) > 0 {
		var c *changelog.Commit
		c, b, err = changelog.ReadCommit(b)
		require.NoError(w.t, err)
		var now strings.Builder
		require.NoError(w.t, c.Each(func(ch *changelog.Change) error {
			fmt.Fprintln(&now, ch.Op, ch.IsEdge, ch.Vertex, ch.Edge, ch.Before.Labels, ch.After.Labels, ch.Src.Labels, ch.Dst.Labels, ch.Counts)
			for _, ps := range [][]graph.Property{ch.Before.Props, ch.After.Props, ch.Keys, ch.Src.Keys, ch.Dst.Keys} {
				for _, p := range ps {
					fmt.Fprint(&now, p.ID, " ", dumpValue(p.Value), " ")
				}
				fmt.Fprintln(&now)
			}
			return nil
		}))
		if then, ok := w.told[c.Number]; ok {
			require.Equal(w.t, then, now.String(), "commit %d", c.Number)
		}
		w.told[c.Number] = now.String()
	}
}

// checkLog compares what the commit log tells of a load with the graph: its changes, the keys of what it has created or changed, and the
// labels and keys of the ends of new edges, which have all been written before.
func (w *loadTwin) checkLog(l *shard.Load) {
	before := [2]int{len(w.follow.Vertices), len(w.follow.Edges)}
	w.check()
	if len(w.follow.Skipped) > 0 {
		require.True(w.t, l.Unlogged)
		require.Len(w.t, w.follow.Skipped, 1)
		require.Empty(w.t, w.changes)
		n := w.follow.Skipped[0]
		require.Equal(w.t, len(w.follow.Vertices)-before[0], int(n[0])-int(n[2]))
		require.Equal(w.t, len(w.follow.Edges)-before[1], int(n[3])-int(n[5]))
		require.Equal(w.t, []int{l.Counts.Vertices.Created, l.Counts.Vertices.Overwritten, l.Counts.Edges.Overwritten}, []int{int(n[0]), int(n[1]), int(n[4])})
		return
	}
	require.False(w.t, l.Unlogged && len(w.changes) > 0)
	for _, c := range w.changes {
		switch v, e := w.follow.Vertices[c.Vertex], w.follow.Edges[c.Edge.ID]; {
		case c.Op == changelog.Deleted:
		case !c.IsEdge:
			w.keyed(v, c.Keys)
		default:
			w.keyed(e, c.Keys)
			for id, end := range map[graph.VertexID]changelog.End{c.Edge.Src: c.Src, c.Edge.Dst: c.Dst} {
				v := w.follow.Vertices[id]
				require.Equal(w.t, v.Labels, end.Labels, "%+v", c)
				w.keyed(v, end.Keys)
			}
		}
	}
}

// keyed compares the values of the node keys and relationship keys of an element.
func (w *loadTwin) keyed(e shardtest.Element, got []graph.Property) {
	g := w.graphs[0].(*Graph)
	defs := g.defs.Load().ByType[e.Edge.Type]
	for _, l := range g.Labels(e.Labels) {
		defs = append(slices.Clip(defs), g.defs.Load().ByLabel[l]...)
	}
	want := map[graph.PropID]string{}
	for _, d := range defs {
		for _, p := range d.PropIDs {
			if d.IsKey() {
				want[p] = dumpValue(e.Props[p])
			}
		}
	}
	have := map[graph.PropID]string{}
	for _, p := range got {
		have[p.ID] = dumpValue(p.Value)
	}
	require.Equal(w.t, want, have)
}

// forget ends all loads, of which nothing is left.
func (w *loadTwin) forget() {
	for stream := range w.seq {
		require.NoError(w.t, w.graphs[0].Load(context.Background(), &shard.Load{Stream: stream, Restart: true}))
		tx, err := w.graphs[0].Begin(context.Background(), shard.Read)
		require.NoError(w.t, err)
		require.NoError(w.t, tx.(*Tx).Views()[0].Written(stream, func(key, _ []byte) error { return fmt.Errorf("left: %x", key) }))
		tx.Rollback()
	}
}

func sortRejected(rs []shard.Rejected) {
	slices.SortFunc(rs, func(a, b shard.Rejected) int {
		return strings.Compare(rejections([]shard.Rejected{a})[0], rejections([]shard.Rejected{b})[0])
	})
}

func rejections(rs []shard.Rejected) []string {
	out := []string{}
	for _, r := range rs {
		out = append(out, fmt.Sprintf("%v %03d %03d %s", r.Edge, r.Group, r.Row, r.Code))
	}
	return out
}

// load makes one batch for both sides, in which the same names may have other numbers.
func (w *loadTwin) load() [2]*shard.Load {
	r := w.rng
	l := [2]*shard.Load{{}, {}}
	if r.IntN(3) > 0 {
		stream := fmt.Sprint("s", r.IntN(2))
		restart := r.IntN(10) == 0
		if restart {
			w.seq[stream] = 0
		}
		if r.IntN(5) > 0 {
			w.seq[stream]++
		}
		mark := []byte{byte(r.IntN(100))}
		for i := range l {
			l[i].Stream, l[i].Seq, l[i].Mark, l[i].Restart = stream, w.seq[stream], mark, restart
		}
	} else if r.IntN(3) > 0 {
		for i := range l {
			l[i].Run, l[i].Restart = fmt.Sprint("run", w.runs), w.begins
		}
		w.begins = false
	}
	for range r.IntN(4) {
		names := []string{"a", "b", "bare"}
		space := names[r.IntN(3)]
		var labels []graph.LabelID
		for _, label := range w.labels {
			if r.IntN(4) == 0 {
				labels = append(labels, label)
			}
		}
		n := r.IntN(1 + r.IntN(60))
		v := shard.LoadVertices{Action: []shard.Action{shard.Upsert, shard.Upsert, shard.Insert, shard.Update, shard.Delete}[r.IntN(5)]}
		v.OnDuplicate = shard.OnDuplicate(max(0, r.IntN(5)-2))
		v.Keys = w.keys(n)
		v.Props = w.columns(n)
		if space != "bare" && r.IntN(2) == 0 {
			v.Props = append(v.Props, shard.LoadColumn{Prop: w.props[0], Values: v.Keys})
		}
		for i, g := range w.graphs {
			v.Labels, v.Space = w.labelSet(g, labels), w.index(g, space)
			l[i].Vertices = append(l[i].Vertices, v)
		}
	}
	for range r.IntN(4) {
		names := []string{"a", "b", "bare"}
		src, dst := names[r.IntN(3)], names[r.IntN(3)]
		n := r.IntN(1 + r.IntN(60))
		e := shard.LoadEdges{
			Type: w.types[r.IntN(3)], Src: w.keys(n), Dst: w.keys(n), Props: w.columns(n),
			Action:   []shard.Action{shard.Upsert, shard.Upsert, shard.Insert, shard.Insert, shard.Update, shard.Delete}[r.IntN(6)],
			Dangling: shard.Dangling(r.IntN(3)),
		}
		for i, g := range w.graphs {
			e.SrcSpace, e.DstSpace = w.index(g, src), w.index(g, dst)
			l[i].Edges = append(l[i].Edges, e)
		}
	}
	return l
}

func (w *loadTwin) labelSet(g shard.Graph, labels []graph.LabelID) graph.LabelSet {
	tx, err := g.Begin(context.Background(), shard.Write)
	require.NoError(w.t, err)
	defer tx.Rollback()
	set, err := tx.LabelSet(labels)
	require.NoError(w.t, err)
	return set
}

func (w *loadTwin) index(g shard.Graph, name string) graph.IndexID {
	for _, ix := range g.Indexes() {
		if ix.Name == name {
			return ix.ID
		}
	}
	w.t.Fatalf("no index %s", name)
	return 0
}

func (w *loadTwin) keys(n int) []graph.Value {
	out := make([]graph.Value, n)
	for i := range out {
		switch k := w.rng.IntN(40); {
		case k == 0:
			out[i] = graph.Value{}
		case k < 8:
			out[i] = graph.StringValue(fmt.Sprint("k", w.rng.IntN(20)))
		case k == 8:
			out[i] = graph.IntValue(1<<53 + int64(w.rng.IntN(3)))
		default:
			out[i] = graph.IntValue(int64(w.rng.IntN(60)) - 20)
		}
	}
	return out
}

func (w *loadTwin) columns(n int) []shard.LoadColumn {
	var out []shard.LoadColumn
	for i, p := range w.props[1:] {
		if w.rng.IntN(2) == 0 {
			continue
		}
		c := shard.LoadColumn{Prop: p, Values: make([]graph.Value, n)}
		if w.rng.IntN(2) == 0 {
			c.Strategy = shard.Strategy(w.rng.IntN(8))
		}
		for j := range c.Values {
			c.Values[j] = w.value(i)
		}
		out = append(out, c)
	}
	return out
}

func (w *loadTwin) value(column int) graph.Value {
	r := w.rng
	if r.IntN(6) == 0 {
		return graph.Value{}
	}
	if r.IntN(20) == 0 {
		column = r.IntN(6)
	}
	switch column {
	case 0:
		if r.IntN(3) == 0 {
			return graph.PointValue(graph.Point{CRS: graph.WGS84, X: float64(r.IntN(4)), Y: float64(r.IntN(3))})
		}
		return graph.IntValue(int64(r.IntN(10)))
	case 1:
		return graph.StringValue(strings.Repeat("s", r.IntN(80)) + strconv.Itoa(r.IntN(10)))
	case 2:
		return graph.FloatValue(float64(r.IntN(10)) / 2)
	case 3:
		return graph.DateValue(temporal.Date(r.IntN(5)))
	case 4:
		var l []graph.Value
		for range r.IntN(4) {
			l = append(l, graph.IntValue(int64(r.IntN(4))))
		}
		return graph.ListValue(l)
	}
	return graph.MapValue(nil)
}

// transaction deletes and changes vertices by key, so that what loads remember of keys goes out of date.
func (w *loadTwin) transaction() {
	ctx := context.Background()
	space := []string{"a", "b"}[w.rng.IntN(2)]
	keys := w.keys(3)
	to := graph.IntValue(int64(w.rng.IntN(60)))
	deletes := w.rng.IntN(2) == 0
	var errs [2]error
	for i, g := range w.graphs {
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(w.t, err)
		var f shard.Found
		require.NoError(w.t, tx.Seek(ctx, &shard.Seek{Index: w.index(g, space), Keys: keys}, &f))
		var ms []shard.Mutation
		if deletes {
			slices.Sort(f.IDs)
		}
		for _, id := range slices.Compact(f.IDs) {
			if !deletes {
				ms = append(ms, shard.Mutation{Op: shard.SetVertex, Vertex: id, Props: []graph.Property{{ID: w.props[0], Value: to}}})
				break
			}
			var res shard.Neighbours
			require.NoError(w.t, tx.Expand(ctx, &shard.Expand{Sources: []graph.VertexID{id}, Dir: graph.Both, Edges: true}, &res))
			for k, far := range res.Targets {
				e := graph.Edge{ID: res.Edges[k], Type: res.Types[k], Src: id, Dst: far}
				if res.Reverse[k] {
					e.Src, e.Dst = far, id
				}
				ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
			}
			ms = append(ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: id})
		}
		require.NoError(w.t, tx.Apply(ctx, ms))
		errs[i] = tx.Commit(ctx)
	}
	if errs[0] == nil || errs[1] == nil {
		require.Equal(w.t, errs[1], errs[0])
	}
}

// dump prints all vertices and edges, sorted, without their ids.
func (w *loadTwin) dump(g shard.Graph) []string {
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Read)
	require.NoError(w.t, err)
	defer tx.Rollback()
	ids, _, done, err := tx.Scan(ctx, 0, 0, make([]graph.VertexID, 0, 5000))
	require.NoError(w.t, err)
	require.True(w.t, done)
	recs := make([]shard.Record, len(ids))
	require.NoError(w.t, tx.Records(ctx, ids, recs))
	// The keys of a vertex tell it apart.
	keys := map[graph.VertexID][]string{}
	for _, space := range []string{"a", "b"} {
		var all []graph.Value
		for i := range 60 {
			all = append(all, graph.IntValue(int64(i)-20))
		}
		for i := range 20 {
			all = append(all, graph.StringValue(fmt.Sprint("k", i)), graph.IntValue(1<<53+int64(i)))
		}
		var f shard.Found
		require.NoError(w.t, tx.Seek(ctx, &shard.Seek{Index: w.index(g, space), Keys: all}, &f))
		for k := range all {
			for _, id := range f.IDs[f.Offsets[k]:f.Offsets[k+1]] {
				keys[id] = append(keys[id], fmt.Sprint(space, "=", dumpValue(all[k])))
			}
		}
	}
	names := map[graph.VertexID]string{}
	var out []string
	for i, id := range ids {
		var labels []string
		for _, l := range g.Labels(recs[i].Labels) {
			labels = append(labels, g.LabelName(l))
		}
		slices.Sort(labels)
		names[id] = fmt.Sprint(keys[id], labels, dumpProps(g, recs[i].Props))
		out = append(out, names[id])
	}
	for rest := ids; len(rest) > 0; {
		var res shard.Neighbours
		require.NoError(w.t, tx.Expand(ctx, &shard.Expand{Sources: rest, Edges: true, Props: w.props}, &res))
		for i := range res.Done {
			for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
				var props []graph.Property
				for p := range w.props {
					if v := res.Props[p][k]; !v.IsNull() {
						props = append(props, graph.Property{ID: w.props[p], Value: v})
					}
				}
				require.Contains(w.t, names, res.Targets[k])
				out = append(out, fmt.Sprint(names[rest[i]], "-", g.TypeName(res.Types[k]), dumpProps(g, props), "->", names[res.Targets[k]]))
			}
		}
		rest = rest[res.Done:]
	}
	in := 0
	var res shard.Neighbours
	require.NoError(w.t, tx.Expand(ctx, &shard.Expand{Sources: ids, Dir: graph.In}, &res))
	in = len(res.Targets)
	require.Equal(w.t, len(out)-len(ids), in, "edges by their targets")
	slices.Sort(out)
	return out
}

func dumpProps(g shard.Graph, props []graph.Property) string {
	var out []string
	for _, p := range props {
		out = append(out, g.PropName(p.ID)+":"+dumpValue(p.Value))
	}
	slices.Sort(out)
	return "{" + strings.Join(out, " ") + "}"
}

func dumpValue(v graph.Value) string {
	switch v.Kind() {
	case graph.Null:
		return "null"
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10)
	case graph.Float:
		return fmt.Sprintf("%gf", v.Float())
	case graph.String:
		return fmt.Sprintf("%q", v.Str())
	case graph.Date:
		return fmt.Sprintf("d%d", v.Date())
	case graph.PointKind:
		return string(v.Point().Append(nil))
	case graph.List:
		var out []string
		for _, e := range v.List() {
			out = append(out, dumpValue(e))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	return v.Kind().String()
}
