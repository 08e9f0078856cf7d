package local

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
)

// tiny are sizes that make every path of the layout common.
func tiny(rng *rand.Rand, shards int) Options {
	threshold := 16 + rng.IntN(40)
	return Options{
		Dir: "data", Shards: shards, ValueThreshold: threshold, CacheBytes: 1 << 20, MemtableBytes: 256 << 10,
		Tuning: Tuning{
			PlaceBlock: 1 + rng.IntN(5), PackVertices: 1 + rng.IntN(6), PackEdges: 1 + rng.IntN(4), SegmentBytes: 30 + rng.IntN(100), ChunkBytes: 20 + rng.IntN(500), CompactRecords: 1 + rng.IntN(50),
			CompactIdle: time.Millisecond, CompactStep: 1 + rng.IntN(20), DenseRows: 1 + rng.IntN(12),
			// The race detector makes each table dear.
			IngestBytes: []int{size(1, 1<<8), 1 << 10, 1 << 20}[threshold%3], TableBytes: []int{size(1, 1<<8), 1 << 20}[threshold/2%2],
		},
	}
}

// seeds returns the seeds of a random test: a few, or as many as HOPGATE_SEEDS says.
func seeds(n int) int {
	if testing.Short() {
		n = max(1, n/8)
	}
	if s, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		return s
	}
	return n
}

// size returns a size of a random test, smaller in a short one.
func size(long, short int) int {
	if testing.Short() {
		return short
	}
	return long
}

// eachSeed returns the seeds below n, or the part of them that HOPGATE_PART asks for: 2/4 is the second of four. A long run says how long
// they took.
func eachSeed(t testing.TB, n int) iter.Seq[uint64] {
	part, parts := uint64(1), uint64(1)
	if text := os.Getenv("HOPGATE_PART"); text != "" {
		_, err := fmt.Sscanf(text, "%d/%d", &part, &parts)
		require.NoError(t, err, "HOPGATE_PART is %q, not of the form 2/4", text)
		require.True(t, 1 <= part && part <= parts, "HOPGATE_PART is %q", text)
	}
	return func(yield func(uint64) bool) {
		begin, ran := time.Now(), 0
		for seed := part - 1; seed < uint64(n); seed += parts {
			if !yield(seed) {
				return
			}
			ran++
		}
		if ran > 0 && os.Getenv("HOPGATE_SEEDS") != "" {
			took := time.Since(begin)
			t.Logf("%d seeds in %v, %v each", ran, took.Round(time.Millisecond), (took / time.Duration(ran)).Round(time.Millisecond))
		}
	}
}

// twin is a graph beside the oracle's, which has other ids.
type twin struct {
	t        *testing.T
	rng      *rand.Rand
	opts     Options
	lead     func(Options) (*Store, error) // instead of Open, or nil
	front    shard.Store                   // or nil: what stands before the store
	stop     func()                        // closes both instead of Close, or nil
	store    *Store
	g        shard.Graph
	o        shard.Graph
	vertices []pair[graph.VertexID] // ever made, in order
	edges    []pair[graph.Edge]
	labels   []graph.LabelID
	types    []graph.TypeID
	props    []graph.PropID
	unique   []pair[graph.IndexID] // over label 0 and property 0
	plain    []pair[graph.IndexID]
	pair     []pair[graph.IndexID]
	points   []pair[graph.IndexID]
}

// pair is an id here and the oracle's.
type pair[T any] struct{ here, there T }

// TestDifferential makes random changes to a graph and to the oracle's and compares what can be read of both.
func TestDifferential(t *testing.T) {
	for seed := range eachSeed(t, seeds(12)) {
		for _, shards := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("seed=%d/shards=%d", seed, shards), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(shards)))
				w := &twin{t: t, rng: rng, opts: tiny(rng, shards)}
				w.opts.FS = vfs.NewMem()
				w.open()
				o, err := oracle.New(shards), error(nil)
				require.NoError(t, o.CreateGraph(context.Background(), "default"))
				w.o, err = o.Graph("default")
				require.NoError(t, err)
				w.schema()
				for range 30 {
					w.step()
				}
				require.NoError(t, w.store.Close())
			})
		}
	}
}

func (w *twin) open() {
	var err error
	open := Open
	if w.lead != nil {
		open = w.lead
	}
	w.store, err = open(w.opts)
	require.NoError(w.t, err)
	front := shard.Store(w.store)
	if w.front != nil {
		front = w.front
	}
	w.g, err = front.Graph("default")
	require.NoError(w.t, err)
}

func (w *twin) close() {
	if w.stop != nil {
		w.stop()
		return
	}
	require.NoError(w.t, w.store.Close())
}

func (w *twin) begin(mode shard.Mode) (tx, o shard.Tx) {
	ctx := context.Background()
	tx, err := w.g.Begin(ctx, mode)
	require.NoError(w.t, err)
	for c := tx.Features().Validator; c != nil; c = tx.Features().Validator {
		if err = c.Check(ctx); !shard.Retriable(err) {
			require.NoError(w.t, err)
			break
		}
		tx.Rollback()
		tx, err = w.g.Begin(ctx, mode)
		require.NoError(w.t, err)
	}
	o, err = w.o.Begin(ctx, mode)
	require.NoError(w.t, err)
	return tx, o
}

// schema makes names, which get the same numbers on both sides, and indexes.
func (w *twin) schema() {
	ctx := context.Background()
	tx, o := w.begin(shard.Write)
	for i := range 3 {
		for _, x := range []shard.Tx{tx, o} {
			l, err := x.Label("L" + strconv.Itoa(i))
			require.NoError(w.t, err)
			ty, err := x.Type("T" + strconv.Itoa(i))
			require.NoError(w.t, err)
			p, err := x.Prop("p" + strconv.Itoa(i))
			require.NoError(w.t, err)
			if x == tx {
				w.labels, w.types, w.props = append(w.labels, l), append(w.types, ty), append(w.props, p)
			} else {
				require.Equal(w.t, w.labels[i], l)
				require.Equal(w.t, w.types[i], ty)
				require.Equal(w.t, w.props[i], p)
			}
		}
	}
	tx.Rollback()
	o.Rollback()
	for _, ix := range []graph.Index{
		{Name: "u", Label: "L0", Props: []string{"p0"}, Unique: true, Indexed: true},
		{Name: "i", Label: "L1", Props: []string{"p1"}, Indexed: true},
		{Name: "c", Label: "L2", Props: []string{"p0", "p1"}, Indexed: true},
		{Name: "d", Label: "L0", Props: []string{"p1", "p2"}, Unique: true, Indexed: true},
		{Name: "r", Label: "L2", Props: []string{"p2"}, Required: true},
		{Name: "e", Type: "T2", Props: []string{"p0"}, Unique: true, Indexed: true},
		{Name: "p", Label: "L1", Props: []string{"p1"}, Kind: graph.PointIndex, Indexed: true},
	} {
		if w.rng.IntN(4) == 0 {
			continue
		}
		require.NoError(w.t, w.g.CreateIndex(ctx, ix))
		require.NoError(w.t, w.o.CreateIndex(ctx, ix))
	}
	w.indexes()
}

// indexes finds the indexes' numbers.
func (w *twin) indexes() {
	w.unique, w.plain, w.pair, w.points = nil, nil, nil, nil
	for _, a := range w.g.Indexes() {
		for _, b := range w.o.Indexes() {
			if a.Name != b.Name {
				continue
			}
			p := pair[graph.IndexID]{a.ID, b.ID}
			switch a.Name {
			case "u":
				w.unique = append(w.unique, p)
			case "i":
				w.plain = append(w.plain, p)
			case "c", "d":
				w.pair = append(w.pair, p)
			case "p":
				w.points = append(w.points, p)
			}
		}
	}
	require.Equal(w.t, len(w.g.Indexes()), len(w.o.Indexes()))
}

// value is a random property value; many are equal to others.
func (w *twin) value() graph.Value {
	r := w.rng
	switch r.IntN(16) {
	case 14:
		return graph.PointValue(graph.Point{CRS: graph.Cartesian, X: float64(r.IntN(3)), Y: float64(r.IntN(2))})
	case 15:
		return graph.BytesValue([]byte(strings.Repeat("\x00\xff", r.IntN(40)) + strconv.Itoa(r.IntN(3))))
	case 0:
		return graph.Value{}
	case 1, 2, 3, 4:
		return graph.IntValue(int64(r.IntN(20)))
	case 5:
		return graph.IntValue(math.MaxInt64 - int64(r.IntN(3)))
	case 6:
		return graph.FloatValue([]float64{0.5, 1, 2, math.NaN(), math.Inf(1), math.Copysign(0, -1), -3.25}[r.IntN(7)])
	case 7, 8:
		return graph.StringValue(strings.Repeat("x\x00é", r.IntN(40)) + strconv.Itoa(r.IntN(3)))
	case 9:
		return graph.StringValue(strconv.Itoa(r.IntN(10)))
	case 10:
		return graph.BoolValue(r.IntN(2) == 0)
	case 11:
		return graph.DateValue(temporal.Date(r.IntN(5)))
	case 12:
		return graph.ListValue([]graph.Value{graph.IntValue(int64(r.IntN(3))), graph.StringValue(strings.Repeat("l", r.IntN(50)))})
	}
	return graph.DurationValue(temporal.Duration{Months: int64(r.IntN(2)), Days: int64(r.IntN(3))})
}

func (w *twin) someProps() []graph.Property {
	var ps []graph.Property
	for _, p := range w.props {
		if w.rng.IntN(2) == 0 {
			ps = append(ps, graph.Property{ID: p, Value: w.value()})
		}
	}
	if w.rng.IntN(5) == 0 {
		w.rng.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	}
	return ps
}

// mutation makes a change for both sides.
func (w *twin) mutation(tx, o shard.Tx) (a, b shard.Mutation) {
	r := w.rng
	set := func() {
		var ls []graph.LabelID
		for _, l := range w.labels {
			if r.IntN(2) == 0 {
				ls = append(ls, l)
			}
		}
		var err error
		a.Labels, err = tx.LabelSet(ls)
		require.NoError(w.t, err)
		b.Labels, err = o.LabelSet(ls)
		require.NoError(w.t, err)
		require.Equal(w.t, b.Labels, a.Labels)
	}
	vertex := func() pair[graph.VertexID] {
		if r.IntN(3) == 0 {
			return w.vertices[r.IntN(min(3, len(w.vertices)))] // hubs
		}
		return w.vertices[r.IntN(len(w.vertices))]
	}
	op := shard.Op([]int{0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 6}[r.IntN(14)])
	if len(w.vertices) == 0 || len(w.edges) == 0 && (op == shard.SetEdge || op == shard.DeleteEdge) {
		op = shard.CreateVertex
	}
	a.Op = op
	a.Props = w.someProps()
	switch op {
	case shard.CreateVertex:
		set()
	case shard.CreateEdge:
		src, dst := vertex(), vertex()
		if r.IntN(8) == 0 {
			dst = src
		}
		a.Edge = graph.Edge{Src: src.here, Dst: dst.here, Type: w.types[r.IntN(len(w.types))]}
		b.Edge = graph.Edge{Src: src.there, Dst: dst.there, Type: a.Edge.Type}
	case shard.SetEdge, shard.DeleteEdge:
		e := w.edges[r.IntN(len(w.edges))]
		a.Edge, b.Edge = e.here, e.there
	default:
		v := vertex()
		a.Vertex, b.Vertex = v.here, v.there
		if op == shard.SetLabels {
			set()
		}
	}
	b.Op, b.Props = a.Op, a.Props
	return a, b
}

// step is a transaction, or something that must not be noticed.
func (w *twin) step() {
	ctx := context.Background()
	switch w.rng.IntN(10) {
	case 0:
		g, err := w.store.Local("default")
		require.NoError(w.t, err)
		require.NoError(w.t, g.Settle(ctx))
	case 1:
		w.close()
		w.open()
		w.indexes()
	case 2:
		name := []string{"u", "i", "c", "e", "p"}[w.rng.IntN(5)]
		ix := map[string]graph.Index{
			"u": {Name: "u", Label: "L0", Props: []string{"p0"}, Unique: true, Indexed: true},
			"i": {Name: "i", Label: "L1", Props: []string{"p1"}, Indexed: true},
			"c": {Name: "c", Label: "L2", Props: []string{"p0", "p1"}, Indexed: true},
			"e": {Name: "e", Type: "T2", Props: []string{"p0"}, Unique: true, Indexed: true},
			"p": {Name: "p", Label: "L1", Props: []string{"p1"}, Kind: graph.PointIndex, Indexed: true},
		}[name]
		there := slices.ContainsFunc(w.g.Indexes(), func(o graph.Index) bool { return o.Name == name })
		var err, oerr error
		if there {
			err, oerr = w.g.DropIndex(ctx, name), w.o.DropIndex(ctx, name)
		} else {
			err, oerr = w.g.CreateIndex(ctx, ix), w.o.CreateIndex(ctx, ix)
		}
		w.same(err, oerr)
		w.indexes()
	}
	old, oldO := w.begin(shard.Read)
	defer func() { old.Rollback(); oldO.Rollback() }()
	w.transaction()
	tx, o := w.begin(shard.Read)
	w.compare(tx, o)
	tx.Rollback()
	o.Rollback()
	w.compare(old, oldO) // an older snapshot stays as it was
}

func (w *twin) same(err, oerr error) {
	w.t.Helper()
	if err == nil || oerr == nil {
		require.Equal(w.t, oerr, err)
		return
	}
	require.Equal(w.t, graph.AsError(oerr).Kind, graph.AsError(err).Kind, "%v against %v", err, oerr)
	require.Equal(w.t, graph.AsError(oerr).Detail, graph.AsError(err).Detail)
}

func (w *twin) transaction() {
	ctx := context.Background()
	tx, o := w.begin(shard.Write)
	defer func() { tx.Rollback(); o.Rollback() }()
	nv, ne := len(w.vertices), len(w.edges)
	forget := func() { w.vertices, w.edges = w.vertices[:nv], w.edges[:ne] }
	for range w.rng.IntN(5) {
		var ms, os []shard.Mutation
		for range 1 + w.rng.IntN(30) {
			a, b := w.mutation(tx, o)
			if a.Op == shard.DeleteVertex && w.rng.IntN(4) != 0 {
				x, y := w.detach(tx, o, a.Vertex, b.Vertex)
				ms, os = append(ms, x...), append(os, y...)
			}
			ms, os = append(ms, a), append(os, b)
		}
		err, oerr := tx.Apply(ctx, ms), o.Apply(ctx, os)
		w.same(err, oerr)
		if err != nil {
			forget()
			return
		}
		for i := range ms {
			switch ms[i].Op {
			case shard.CreateVertex:
				w.vertices = append(w.vertices, pair[graph.VertexID]{ms[i].Vertex, os[i].Vertex})
			case shard.CreateEdge:
				w.edges = append(w.edges, pair[graph.Edge]{ms[i].Edge, os[i].Edge})
			}
		}
		if w.rng.IntN(3) == 0 {
			w.compareReads(tx, o)
		}
	}
	if w.rng.IntN(6) == 0 {
		forget()
		return
	}
	err, oerr := tx.Commit(ctx), o.Commit(ctx)
	// Of several violations, each side may name another.
	require.Equal(w.t, oerr == nil, err == nil, "%v against %v", err, oerr)
	if err != nil {
		forget()
	}
}

// detach lists the deletions of a vertex's edges.
func (w *twin) detach(tx, o shard.Tx, id, oid graph.VertexID) (ms, os []shard.Mutation) {
	for i, x := range []shard.Tx{tx, o} {
		v := []graph.VertexID{id, oid}[i]
		var res shard.Neighbours
		require.NoError(w.t, x.Expand(context.Background(), &shard.Expand{Sources: []graph.VertexID{v}, Dir: graph.Both, Edges: true}, &res))
		var out []shard.Mutation
		for k, n := range res.Targets {
			e := graph.Edge{ID: res.Edges[k], Type: res.Types[k], Src: v, Dst: n}
			if res.Reverse[k] { // dir is Both
				e.Src, e.Dst = n, v
			}
			out = append(out, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
		}
		if i == 0 {
			ms = out
		} else {
			os = out
		}
	}
	return ms, os
}

// compare reads all there is on both sides.
func (w *twin) compare(tx, o shard.Tx) {
	w.t.Helper()
	w.compareCounts(tx.Statistics(), o.Statistics())
	w.compareReads(tx, o)
}

// compareReads leaves out the counts: they may differ while a deleted vertex has edges.
func (w *twin) compareReads(tx, o shard.Tx) {
	w.t.Helper()
	there := map[graph.VertexID]graph.VertexID{}
	edgeThere := map[graph.EdgeID]graph.EdgeID{}
	var ids, oids []graph.VertexID
	for _, v := range w.vertices {
		there[v.here] = v.there
		ids, oids = append(ids, v.here), append(oids, v.there)
	}
	for _, e := range w.edges {
		edgeThere[e.here.ID] = e.there.ID
	}
	if len(ids) == 0 {
		return
	}
	w.compareVertices(tx, o, ids, oids)
	w.compareScans(tx, o, there)
	w.compareEdges(tx, o)
	for _, dir := range []graph.Direction{graph.Out, graph.In, graph.Both} {
		w.compareExpand(tx, o, dir, there, edgeThere)
	}
	w.compareSeek(tx, o, there)
}

func (w *twin) compareCounts(a, b *graph.Counts) {
	w.t.Helper()
	require.Equal(w.t, b.Vertices, a.Vertices)
	require.Equal(w.t, b.Edges, a.Edges)
	require.Equal(w.t, b.ByLabel, a.ByLabel)
	require.Equal(w.t, b.ByType, a.ByType)
	require.Equal(w.t, b.Props, a.Props)
	for k, n := range b.Ends {
		if k.Src == "" || k.Dst == "" {
			require.Equal(w.t, n, a.Ends[k], "%v", k)
		}
	}
	for k := range a.Ends {
		require.Contains(w.t, b.Ends, k)
	}
}

func (w *twin) compareVertices(tx, o shard.Tx, ids, oids []graph.VertexID) {
	w.t.Helper()
	ctx := context.Background()
	// In any order, with repeats and ids that never were.
	var at []int
	for range len(ids) + w.rng.IntN(10) {
		at = append(at, w.rng.IntN(len(ids)))
	}
	if w.rng.IntN(2) == 0 {
		slices.SortFunc(at, func(a, b int) int { return int(int64(ids[a]) - int64(ids[b])) })
	}
	a, b := make([]graph.VertexID, len(at)), make([]graph.VertexID, len(at))
	for i, k := range at {
		a[i], b[i] = ids[k], oids[k]
	}
	a, b = append(a, graph.MakeVertexID(0, 1<<40), graph.MakeVertexID(9, 3)), append(b, graph.MakeVertexID(0, 1<<40), graph.MakeVertexID(9, 3))
	sa, sb := make([]graph.LabelSet, len(a)), make([]graph.LabelSet, len(a))
	require.NoError(w.t, tx.LabelSets(ctx, a, sa))
	require.NoError(w.t, o.LabelSets(ctx, b, sb))
	require.Equal(w.t, sb, sa)
	pa, pb := shard.Columns(len(w.props), len(a)), shard.Columns(len(w.props), len(a))
	pa[0][0] = graph.IntValue(77)
	require.NoError(w.t, tx.Properties(ctx, a, w.props, pa))
	require.NoError(w.t, o.Properties(ctx, b, w.props, pb))
	for p := range pa {
		for i := range a {
			require.Equal(w.t, text(pb[p][i]), text(pa[p][i]), "property %d of %d", p, a[i])
		}
	}
	ra, rb := make([]shard.Record, len(a)), make([]shard.Record, len(a))
	require.NoError(w.t, tx.Records(ctx, a, ra))
	require.NoError(w.t, o.Records(ctx, b, rb))
	for i := range ra {
		require.Equal(w.t, recordText(rb[i]), recordText(ra[i]))
	}
	for _, dir := range []graph.Direction{graph.Out, graph.In, graph.Both} {
		types := w.someTypes()
		da, db := make([]int, len(a)), make([]int, len(a))
		require.NoError(w.t, tx.Degrees(ctx, a, types, dir, da))
		require.NoError(w.t, o.Degrees(ctx, b, types, dir, db))
		require.Equal(w.t, db, da, "degrees %v %v", types, dir)
	}
}

func (w *twin) someTypes() []graph.TypeID {
	switch w.rng.IntN(3) {
	case 0:
		return nil
	case 1:
		return w.types[:1+w.rng.IntN(2)]
	}
	return []graph.TypeID{w.types[2], w.types[0]}
}

func (w *twin) compareScans(tx, o shard.Tx, there map[graph.VertexID]graph.VertexID) {
	w.t.Helper()
	for l := range graph.LabelID(4) {
		var got [2][]graph.VertexID
		for i, x := range []shard.Tx{tx, o} {
			for from, done := graph.VertexID(0), false; !done; {
				buf := make([]graph.VertexID, 0, 1+w.rng.IntN(9))
				var err error
				buf, from, done, err = x.Scan(context.Background(), l, from, buf)
				require.NoError(w.t, err)
				got[i] = append(got[i], buf...)
			}
			require.True(w.t, slices.IsSorted(got[i]))
		}
		require.Equal(w.t, sorted(got[1]), w.translate(got[0], there), "label %d", l)
	}
}

func sorted[T ~uint64](s []T) []T {
	s = append([]T{}, s...)
	slices.Sort(s)
	return s
}

func (w *twin) translate(ids []graph.VertexID, there map[graph.VertexID]graph.VertexID) []graph.VertexID {
	out := []graph.VertexID{}
	for _, id := range ids {
		o, ok := there[id]
		require.True(w.t, ok, "vertex %x is unknown", id)
		out = append(out, o)
	}
	slices.Sort(out)
	return out
}

func (w *twin) compareEdges(tx, o shard.Tx) {
	w.t.Helper()
	ctx := context.Background()
	var a, b []graph.Edge
	for _, e := range w.edges {
		a, b = append(a, e.here), append(b, e.there)
	}
	w.rng.Shuffle(len(a), func(i, j int) { a[i], a[j], b[i], b[j] = a[j], a[i], b[j], b[i] })
	ra, rb := make([]shard.Record, len(a)), make([]shard.Record, len(a))
	require.NoError(w.t, tx.EdgeRecords(ctx, a, ra))
	require.NoError(w.t, o.EdgeRecords(ctx, b, rb))
	for i := range ra {
		require.Equal(w.t, recordText(rb[i]), recordText(ra[i]), "edge %v", a[i])
	}
	pa, pb := shard.Columns(len(w.props), len(a)), shard.Columns(len(w.props), len(a))
	require.NoError(w.t, tx.EdgeProperties(ctx, a, w.props, pa))
	require.NoError(w.t, o.EdgeProperties(ctx, b, w.props, pb))
	for p := range pa {
		for i := range a {
			require.Equal(w.t, text(pb[p][i]), text(pa[p][i]))
		}
	}
}

// someRanges returns random conditions on edges.
func (w *twin) someRanges() []shard.EdgeRange {
	where := make([]shard.EdgeRange, w.rng.IntN(3))
	for i := range where {
		r := &where[i]
		r.Prop = w.props[w.rng.IntN(len(w.props))]
		r.In.LoOpen, r.In.HiOpen = w.rng.IntN(2) == 0, w.rng.IntN(2) == 0
		for r.In.Lo.IsNull() && r.In.Hi.IsNull() {
			if v := w.value(); graph.Bounds(v) {
				r.In.Lo = v
			}
			if v := w.value(); graph.Bounds(v) {
				r.In.Hi = v
			}
		}
	}
	return where
}

func (w *twin) compareExpand(tx, o shard.Tx, dir graph.Direction, there map[graph.VertexID]graph.VertexID, edgeThere map[graph.EdgeID]graph.EdgeID) {
	w.t.Helper()
	types := w.someTypes()
	var sources [2][]graph.VertexID
	for _, v := range w.vertices {
		if w.rng.IntN(3) > 0 {
			sources[0], sources[1] = append(sources[0], v.here), append(sources[1], v.there)
		}
	}
	where := w.someRanges()
	var got [2][]string
	for i, x := range []shard.Tx{tx, o} {
		slices.Sort(sources[i])
		req := shard.Expand{Sources: sources[i], Types: types, Dir: dir, Edges: true, Props: w.props[:2], Where: where, MaxEdges: w.rng.IntN(20)}
		var res shard.Neighbours
		for len(req.Sources) > 0 {
			require.NoError(w.t, x.Expand(context.Background(), &req, &res))
			require.Len(w.t, res.Offsets, res.Done+1)
			for s := range res.Done {
				src := req.Sources[s]
				if i == 0 {
					src = there[src]
				}
				last, lastTarget := "", graph.VertexID(0)
				for k := res.Offsets[s]; k < res.Offsets[s+1]; k++ {
					target, edge := res.Targets[k], res.Edges[k]
					if i == 0 {
						target, edge = there[target], edgeThere[edge]
					}
					reverse := dir != graph.Out && res.Reverse[k]
					group := fmt.Sprint(res.Types[k], reverse)
					if i == 0 && group == last {
						require.LessOrEqual(w.t, lastTarget, res.Targets[k], "edges of a group are sorted by far end")
					}
					last, lastTarget = group, res.Targets[k]
					got[i] = append(got[i], fmt.Sprint(src, target, edge, res.Types[k], reverse, text(res.Props[0][k]), text(res.Props[1][k])))
				}
			}
			req.Sources = req.Sources[res.Done:]
		}
		slices.Sort(got[i])
	}
	require.Equal(w.t, got[1], got[0], "dir %v types %v where %v", dir, types, where)

	var ends [2][]graph.VertexID // of each source, after it
	for i, edges := range []bool{true, false} {
		req := shard.Expand{Sources: sources[0], Types: types, Dir: dir, Edges: edges, MaxEdges: w.rng.IntN(20)}
		var res shard.Neighbours
		for len(req.Sources) > 0 {
			require.NoError(w.t, tx.Expand(context.Background(), &req, &res))
			require.Len(w.t, res.Offsets, res.Done+1)
			for s := range res.Done {
				ends[i] = append(append(ends[i], req.Sources[s]), res.Targets[res.Offsets[s]:res.Offsets[s+1]]...)
			}
			require.Equal(w.t, len(res.Targets), res.Seen)
			req.Sources = req.Sources[res.Done:]
		}
	}
	require.Equal(w.t, ends[0], ends[1], "far ends alone are those of the edges: dir %v types %v", dir, types)

	var marked [2]graph.VertexSet
	for i, x := range []shard.Tx{tx, o} {
		count := 0
		for k, v := range w.vertices {
			if k%3 == 0 && marked[i].Add([]graph.VertexID{v.here, v.there}[i]) {
				count++
			}
		}
		req := shard.Expand{Sources: sources[i], Types: types, Dir: dir, Where: where, MaxEdges: len(w.vertices) % 2 * 5, Into: &marked[i]}
		var res shard.Neighbours
		for len(req.Sources) > 0 {
			require.NoError(w.t, x.Expand(context.Background(), &req, &res))
			count += res.Added
			req.Sources = req.Sources[res.Done:]
		}
		require.Equal(w.t, marked[i].Len(), count)
	}
	require.Equal(w.t, sorted(marked[1].AppendTo(nil)), w.translate(marked[0].AppendTo(nil), there), "dir %v types %v where %v", dir, types, where)

	var from, to [2]graph.VertexSet
	for i, x := range []shard.Tx{tx, o} {
		for _, v := range sources[i] {
			from[i].Add(v)
		}
		require.NoError(w.t, x.Step(context.Background(), &from[i], types, dir, &to[i]))
	}
	require.Equal(w.t, sorted(to[1].AppendTo(nil)), w.translate(to[0].AppendTo(nil), there))
}

func (w *twin) compareSeek(tx, o shard.Tx, there map[graph.VertexID]graph.VertexID) {
	w.t.Helper()
	ctx := context.Background()
	for i, ps := range [][]pair[graph.IndexID]{w.unique, w.plain, w.pair} {
		for _, p := range ps {
			var keys []graph.Value
			for range 10 {
				keys = append(keys, w.value(), w.value())
			}
			var a, b shard.Found
			require.NoError(w.t, tx.Seek(ctx, &shard.Seek{Index: p.here, Keys: keys}, &a))
			require.NoError(w.t, o.Seek(ctx, &shard.Seek{Index: p.there, Keys: keys}, &b))
			require.Equal(w.t, b.Offsets, a.Offsets, "index %d keys %v", i, textAll(keys))
			for k := range len(a.Offsets) - 1 {
				require.Equal(w.t, sorted(b.IDs[b.Offsets[k]:b.Offsets[k+1]]), w.translate(a.IDs[a.Offsets[k]:a.Offsets[k+1]], there))
			}
			w.compareRange(tx, o, p, i, w.someRange(), there)
		}
	}
	for _, p := range w.points {
		r := pointRange(w.rng)
		r.Down = w.rng.IntN(2) == 0
		w.compareRange(tx, o, p, 3, r, there)
	}
}

// someRange makes a range that has no list for a bound.
func (w *twin) someRange() shard.Range {
	r := shard.Range{Lo: w.value(), Hi: w.value(), LoOpen: w.rng.IntN(2) == 0, HiOpen: w.rng.IntN(2) == 0}
	switch w.rng.IntN(6) {
	case 0:
		r.Lo = graph.Value{}
	case 1:
		r.Hi = graph.Value{}
	case 2:
		r = shard.Range{Lo: graph.StringValue([]string{"", "1", "x\x00"}[w.rng.IntN(3)]), Prefix: true}
	case 3:
		r = shard.Range{}
	}
	r.Down = w.rng.IntN(2) == 0
	for r.Lo.Kind() == graph.List {
		r.Lo = w.value()
	}
	for r.Hi.Kind() == graph.List {
		r.Hi = w.value()
	}
	return r
}

func (w *twin) compareRange(tx, o shard.Tx, p pair[graph.IndexID], i int, r shard.Range, there map[graph.VertexID]graph.VertexID) {
	w.t.Helper()
	var got [2][]graph.VertexID
	for k, x := range []shard.Tx{tx, o} {
		ix := []graph.IndexID{p.here, p.there}[k]
		var cursor []byte
		for {
			ids, err := x.SeekRange(context.Background(), ix, r, &cursor, make([]graph.VertexID, 0, 1+w.rng.IntN(4)))
			require.NoError(w.t, err)
			got[k] = append(got[k], ids...)
			if cursor == nil {
				break
			}
		}
	}
	require.Equal(w.t, sorted(got[1]), w.translate(got[0], there), "index %d from %s to %s", i, text(r.Lo), text(r.Hi))
}

// text prints a value with its type.
func text(v graph.Value) string {
	switch v.Kind() {
	case graph.Null:
		return "null"
	case graph.List:
		return textAll(v.List())
	case graph.Int, graph.Bool:
		return v.Kind().String() + " " + index.FormatValue(v)
	case graph.Float:
		return fmt.Sprintf("Float %x", math.Float64bits(v.Float()))
	case graph.String:
		return strconv.Quote(v.Str())
	case graph.Date:
		return fmt.Sprint("date ", v.Date())
	case graph.Duration:
		return fmt.Sprint("duration ", v.Duration())
	case graph.PointKind:
		return fmt.Sprint("point ", *v.Point())
	case graph.Bytes:
		return fmt.Sprintf("bytes %x", v.Bytes())
	}
	panic(errors.ErrUnsupported)
}

func textAll(vs []graph.Value) string {
	var parts []string
	for _, v := range vs {
		parts = append(parts, text(v))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func recordText(r shard.Record) string {
	var b strings.Builder
	fmt.Fprint(&b, r.Labels)
	for _, p := range r.Props {
		fmt.Fprint(&b, " ", p.ID, "=", text(p.Value))
	}
	return b.String()
}
