package local

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/spatial"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// indexedValues are values of all types that can be indexed, by type, with the corners of each.
var indexedValues = func() [][]graph.Value {
	zone := func(text string) temporal.Zone {
		z, err := temporal.ParseZone(text)
		if err != nil {
			panic(err)
		}
		return z
	}
	var zoned []graph.Value
	for _, text := range []string{
		"2026-03-29T01:30:00+01:00", "2026-03-29T00:30:00Z", "2026-03-29T02:30:00+02:00", "1969-12-31T23:59:59.999999999Z",
		"2026-10-25T02:30:00+02:00[Europe/Berlin]", "2026-10-25T02:30:00+01:00[Europe/Berlin]", "2026-10-25T01:30:00Z", "-0044-03-15T12:00:00Z",
	} {
		v, err := temporal.ParseDateTime(text, zone("Z"))
		if err != nil {
			panic(err)
		}
		zoned = append(zoned, graph.DateTimeValue(v))
	}
	all := [][]graph.Value{
		{graph.BoolValue(false), graph.BoolValue(true)},
		{
			graph.IntValue(0), graph.IntValue(1), graph.IntValue(-1), graph.IntValue(2), graph.IntValue(1 << 53), graph.IntValue(1<<53 + 1),
			graph.IntValue(math.MaxInt64), graph.IntValue(math.MaxInt64 - 1), graph.IntValue(math.MinInt64), graph.FloatValue(0.5), graph.FloatValue(1), graph.FloatValue(-1.5),
			graph.FloatValue(math.Copysign(0, -1)), graph.FloatValue(1 << 53), graph.FloatValue(1 << 63), graph.FloatValue(-1 << 63),
			graph.FloatValue(math.Inf(1)), graph.FloatValue(math.Inf(-1)), graph.FloatValue(math.NaN()), graph.FloatValue(5e-324), graph.FloatValue(math.MaxFloat64),
		},
		nil,
		{graph.DateValue(0), graph.DateValue(-1), graph.DateValue(20000), graph.DateValue(-720000)},
		{graph.LocalTimeValue(0), graph.LocalTimeValue(1), graph.LocalTimeValue(86399999999999)},
		{
			graph.TimeValue(temporal.Time{Local: 3600e9, Offset: 3600}), graph.TimeValue(temporal.Time{}), graph.TimeValue(temporal.Time{Local: 1, Offset: -64800}),
			graph.TimeValue(temporal.Time{Local: 86399999999999, Offset: 64800}),
		},
		{
			graph.LocalDateTimeValue(temporal.LocalDateTime{}), graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: -1, Nano: 999999999}),
			graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: 1, Nano: 1}), graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: 1}),
		},
		zoned,
		shardtest.Points(),
		{graph.DurationValue(temporal.Duration{Months: 1}), graph.DurationValue(temporal.Duration{Days: 30}), graph.DurationValue(temporal.Duration{Seconds: -1, Nanos: 5})},
		{graph.ListValue([]graph.Value{graph.IntValue(1)}), graph.ListValue([]graph.Value{graph.FloatValue(1), graph.StringValue("\x00")}), graph.ListValue(nil)},
	}
	for _, s := range []string{"", "\x00", "\x00\x00", "a", "a\x00", "a\x00b", "a\x01", "ab", "b", "é", "é\x00", "éa", "ÿ", "日本", "日", "\U0001F600", "\U0010FFFF", "\u007f"} {
		all[2] = append(all[2], graph.StringValue(s))
	}
	return all
}()

// seekWorld is a graph whose indexes are compared with the oracle's.
type seekWorld struct {
	t     *testing.T
	g     *Graph
	names seekNames

	mu       sync.Mutex
	vertices []graph.VertexID
	edges    []graph.Edge
}

type seekNames struct {
	label graph.LabelID
	set   graph.LabelSet
	types [2]graph.TypeID
	props [3]graph.PropID
}

var seekIndexes = []graph.Index{
	{Name: "vertices by one", Label: "L", Props: []string{"p0"}, Indexed: true},
	{Name: "vertices by three", Label: "L", Props: []string{"p0", "p1", "p2"}, Indexed: true},
	{Name: "edges by one", Type: "T0", Props: []string{"p0"}, Indexed: true},
	{Name: "edges by two", Type: "T0", Props: []string{"p1", "p0"}, Indexed: true},
	{Name: "edges by three", Type: "T1", Props: []string{"p2", "p1", "p0"}, Indexed: true},
	{Name: "unique edges", Type: "T1", Props: []string{"p0", "p1"}, Unique: true, Indexed: true},
	{Name: "unique vertices", Label: "L", Props: []string{"p1", "p2"}, Unique: true, Indexed: true},
	{Name: "vertices by point", Label: "L", Props: []string{"p0"}, Kind: graph.PointIndex, Indexed: true},
	{Name: "edges by point", Type: "T1", Props: []string{"p2"}, Kind: graph.PointIndex, Indexed: true},
}

// name makes the names of the graph, which are the same numbers everywhere.
func (n *seekNames) name(t *testing.T, g shard.Graph) {
	tx, err := g.Begin(context.Background(), shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	n.label, err = tx.Label("L")
	require.NoError(t, err)
	n.set, err = tx.LabelSet([]graph.LabelID{n.label})
	require.NoError(t, err)
	for i := range n.types {
		n.types[i], err = tx.Type(fmt.Sprint("T", i))
		require.NoError(t, err)
	}
	for i := range n.props {
		n.props[i], err = tx.Prop(fmt.Sprint("p", i))
		require.NoError(t, err)
	}
}

func someValue(rng *rand.Rand) graph.Value {
	kind := indexedValues[rng.IntN(len(indexedValues))]
	return kind[rng.IntN(len(kind))]
}

// changes makes random mutations.
func (w *seekWorld) changes(rng *rand.Rand, n int) []shard.Mutation {
	w.mu.Lock()
	vs, es := slices.Clone(w.vertices), slices.Clone(w.edges)
	w.mu.Unlock()
	ms := make([]shard.Mutation, n)
	for i := range ms {
		m := &ms[i]
		m.Op = shard.Op([]int{0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 5, 6}[rng.IntN(13)])
		for _, p := range w.names.props {
			switch rng.IntN(8) {
			case 0:
			case 1:
				m.Props = append(m.Props, graph.Property{ID: p})
			default:
				m.Props = append(m.Props, graph.Property{ID: p, Value: someValue(rng)})
			}
		}
		m.Labels = w.names.set
		if rng.IntN(6) == 0 {
			m.Labels = graph.NoLabels
		}
		switch {
		case len(vs) == 0 || len(es) == 0 && (m.Op == shard.SetEdge || m.Op == shard.DeleteEdge):
			m.Op = shard.CreateVertex
		case m.Op == shard.CreateEdge:
			m.Edge = graph.Edge{Src: vs[rng.IntN(len(vs))], Dst: vs[rng.IntN(len(vs))], Type: w.names.types[rng.IntN(2)]}
		case m.Op == shard.SetEdge, m.Op == shard.DeleteEdge:
			m.Edge = es[rng.IntN(len(es))]
		default:
			m.Vertex = vs[rng.IntN(len(vs))]
		}
	}
	return ms
}

// write makes a random transaction, which may meet what another has done.
func (w *seekWorld) write(rng *rand.Rand) error {
	ctx := context.Background()
	tx, err := w.g.Begin(ctx, shard.Write)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	ms := w.changes(rng, 1+rng.IntN(6))
	if err = tx.Apply(ctx, ms); err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		e := graph.AsError(err)
		gone := e.Detail == "DeletedEntityAccess" || e.Detail == "DeleteConnectedNode"
		if gone || e.Kind == graph.KindConflict || e.Kind == graph.KindExists || e.Type == "ConstraintValidationFailed" {
			return nil // what it changes was changed by others
		}
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range ms {
		switch ms[i].Op {
		case shard.CreateVertex:
			w.vertices = append(w.vertices, ms[i].Vertex)
		case shard.CreateEdge:
			w.edges = append(w.edges, ms[i].Edge)
		}
	}
	return nil
}

// seekImage is the oracle's copy of what a transaction sees.
type seekImage struct {
	tx       shard.Tx
	vertices map[graph.VertexID]graph.VertexID // to the oracle's
	edges    map[graph.EdgeID]graph.EdgeID
	values   map[uint64][]graph.Property // by our id
}

// image copies what a transaction sees to the oracle, without the help of any index.
func (w *seekWorld) image(tx shard.Tx) *seekImage {
	t, ctx := w.t, context.Background()
	store := oracle.New(1)
	require.NoError(t, store.CreateGraph(ctx, "default"))
	og, err := store.Graph("default")
	require.NoError(t, err)
	var names seekNames
	names.name(t, og)
	require.Equal(t, w.names, names)
	o, err := og.Begin(ctx, shard.Write)
	require.NoError(t, err)
	im := &seekImage{vertices: map[graph.VertexID]graph.VertexID{}, edges: map[graph.EdgeID]graph.EdgeID{}, values: map[uint64][]graph.Property{}}
	ids := localtest.Vertices(t, tx, 0)
	recs := make([]shard.Record, len(ids))
	require.NoError(t, tx.Records(ctx, ids, recs))
	var ms []shard.Mutation
	for i := range ids {
		ms = append(ms, shard.Mutation{Op: shard.CreateVertex, Labels: recs[i].Labels, Props: recs[i].Props})
		im.values[uint64(ids[i])] = recs[i].Props
	}
	require.NoError(t, o.Apply(ctx, ms))
	for i, id := range ids {
		im.vertices[id] = ms[i].Vertex
	}
	var res shard.Neighbours
	require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: ids, Edges: true}, &res))
	var edges []graph.Edge
	for i, id := range ids {
		for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
			edges = append(edges, graph.Edge{ID: res.Edges[k], Type: res.Types[k], Src: id, Dst: res.Targets[k]})
		}
	}
	recs = make([]shard.Record, len(edges))
	require.NoError(t, tx.EdgeRecords(ctx, edges, recs))
	ms = ms[:0]
	for i, e := range edges {
		im.values[uint64(e.ID)|1<<63] = recs[i].Props
		ms = append(ms, shard.Mutation{
			Op: shard.CreateEdge, Props: recs[i].Props, Edge: graph.Edge{Src: im.vertices[e.Src], Dst: im.vertices[e.Dst], Type: e.Type},
		})
	}
	require.NoError(t, o.Apply(ctx, ms))
	for i, e := range edges {
		im.edges[e.ID] = ms[i].Edge.ID
	}
	require.NoError(t, o.Commit(ctx))
	for _, ix := range seekIndexes {
		ix.Unique = false // what a transaction has not committed may violate it
		require.NoError(t, og.CreateIndex(ctx, ix))
	}
	im.tx, err = og.Begin(ctx, shard.Read)
	require.NoError(t, err)
	return im
}

// owners returns what a seek has found as the oracle's ids, and ours in their order.
func (im *seekImage) vertexOwners(t *testing.T, ids []graph.VertexID) (there []uint64) {
	for _, id := range ids {
		o, ok := im.vertices[id]
		require.True(t, ok, "vertex %x is not there", uint64(id))
		there = append(there, uint64(o))
	}
	return there
}

func (im *seekImage) edgeOwners(t *testing.T, edges []graph.Edge) (there []uint64) {
	for _, e := range edges {
		o, ok := im.edges[e.ID]
		require.True(t, ok, "edge %x is not there", uint64(e.ID))
		there = append(there, uint64(o))
	}
	return there
}

// compare compares seeks and ranges of all indexes that the transaction sees with those of its copy; all says that it
// must see them all.
func (w *seekWorld) compare(rng *rand.Rand, tx shard.Tx, all bool) (found int) {
	t, ctx := w.t, context.Background()
	im := w.image(tx)
	defer im.tx.Rollback()
	there := map[string]graph.IndexID{}
	// The oracle numbers indexes in the order in which they are made.
	for i, ix := range seekIndexes {
		there[ix.Name] = graph.IndexID(i + 1)
	}
	defs := tx.(*Tx).Defs()
	for _, ix := range w.g.Indexes() {
		d := defs.ByID[ix.ID]
		if d == nil || !d.Online {
			require.False(t, all)
			// What is older than the index must not be answered from it.
			var res shard.Found
			var eres shard.FoundEdges
			require.Error(t, tx.Seek(ctx, &shard.Seek{Index: ix.ID, Keys: make([]graph.Value, len(ix.Props))}, &res))
			require.Error(t, tx.SeekEdges(ctx, &shard.Seek{Index: ix.ID, Keys: make([]graph.Value, len(ix.Props))}, &eres))
			continue
		}
		width := len(ix.Props)
		// Half of the keys are those of somebody.
		tuple := func() []graph.Value {
			vals := make([]graph.Value, width)
			for i := range vals {
				vals[i] = someValue(rng)
			}
			if rng.IntN(2) == 0 {
				for id, props := range im.values { // any
					if (id>>63 == 1) != (ix.Type != "") {
						continue
					}
					for i := range vals {
						for _, p := range props {
							if p.ID == d.PropIDs[i] {
								vals[i] = p.Value
							}
						}
					}
					break
				}
			}
			return vals
		}
		if ix.Kind == graph.PointIndex {
			for range 12 {
				r := shardtest.PointRange(rng)
				r.Down = rng.IntN(4) == 0
				found += w.compareRange(rng, tx, im, d, there[ix.Name], &r)
			}
			continue
		}
		var keys []graph.Value
		for range 8 {
			keys = append(keys, tuple()...)
		}
		var have, want [][]uint64
		if ix.Type == "" {
			var a, b shard.Found
			require.NoError(t, tx.Seek(ctx, &shard.Seek{Index: ix.ID, Keys: keys}, &a))
			require.NoError(t, im.tx.Seek(ctx, &shard.Seek{Index: there[ix.Name], Keys: keys}, &b))
			for k := range 8 {
				have = append(have, sorted(im.vertexOwners(t, a.IDs[a.Offsets[k]:a.Offsets[k+1]])))
				var ids []uint64
				for _, id := range b.IDs[b.Offsets[k]:b.Offsets[k+1]] {
					ids = append(ids, uint64(id))
				}
				want = append(want, sorted(ids))
			}
		} else {
			var a, b shard.FoundEdges
			require.NoError(t, tx.SeekEdges(ctx, &shard.Seek{Index: ix.ID, Keys: keys}, &a))
			require.NoError(t, im.tx.SeekEdges(ctx, &shard.Seek{Index: there[ix.Name], Keys: keys}, &b))
			for k := range 8 {
				have = append(have, sorted(im.edgeOwners(t, a.Edges[a.Offsets[k]:a.Offsets[k+1]])))
				var ids []uint64
				for _, e := range b.Edges[b.Offsets[k]:b.Offsets[k+1]] {
					ids = append(ids, uint64(e.ID))
				}
				want = append(want, sorted(ids))
			}
		}
		require.Equal(t, want, have, "index %s, keys %v", ix.Name, keys)
		for range 6 {
			r := shard.Range{LoOpen: rng.IntN(2) == 0, HiOpen: rng.IntN(2) == 0}
			if n := rng.IntN(width); n > 0 {
				r.Equal = tuple()[:n]
			}
			kind := indexedValues[rng.IntN(len(indexedValues)-1)] // no bound is a list
			r.Lo, r.Hi = kind[rng.IntN(len(kind))], kind[rng.IntN(len(kind))]
			switch rng.IntN(6) {
			case 0:
				r.Lo = graph.Value{}
			case 1:
				r.Hi = graph.Value{}
			case 2:
				strs := indexedValues[2]
				r.Lo, r.Hi, r.LoOpen, r.HiOpen, r.Prefix = strs[rng.IntN(len(strs))], graph.Value{}, false, false, true
			case 3:
				if len(r.Equal) > 0 {
					r.Lo, r.Hi = graph.Value{}, graph.Value{}
				}
			}
			found += w.compareRange(rng, tx, im, d, there[ix.Name], &r)
		}
	}
	return found
}

func (w *seekWorld) compareRange(rng *rand.Rand, tx shard.Tx, im *seekImage, d *index.Def, there graph.IndexID, r *shard.Range) int {
	t, ctx := w.t, context.Background()
	var have, want []uint64
	var cursor []byte
	last := graph.Value{}
	// inOrder checks that each value is not before that of the one before.
	inOrder := func(id uint64) {
		v := graph.Value{}
		for _, p := range im.values[id] {
			if p.ID == d.PropIDs[len(r.Equal)] {
				v = p.Value
			}
		}
		if d.Kind == graph.PointIndex {
			v = graph.IntValue(spatial.Place(v.Point()))
		}
		if c, ok := fn.Compare(last, v); ok && r.Down {
			require.GreaterOrEqual(t, c, 0, "index %s is not in order", d.Name)
		} else if ok {
			require.LessOrEqual(t, c, 0, "index %s is not in order", d.Name)
		}
		last = v
	}
	for first := true; first || cursor != nil; first = false {
		if d.Type == "" {
			ids, err := tx.SeekRange(ctx, d.ID, *r, &cursor, make([]graph.VertexID, 0, 1+rng.IntN(5)))
			require.NoError(t, err)
			have = append(have, im.vertexOwners(t, ids)...)
			for _, id := range ids {
				inOrder(uint64(id))
			}
		} else {
			edges, err := tx.SeekEdgeRange(ctx, d.ID, *r, &cursor, make([]graph.Edge, 0, 1+rng.IntN(5)))
			require.NoError(t, err)
			have = append(have, im.edgeOwners(t, edges)...)
			for _, e := range edges {
				inOrder(uint64(e.ID) | 1<<63)
			}
		}
	}
	cursor = nil
	if d.Type == "" {
		ids, err := im.tx.SeekRange(ctx, there, *r, &cursor, make([]graph.VertexID, 0, 1<<16))
		require.NoError(t, err)
		for _, id := range ids {
			want = append(want, uint64(id))
		}
	} else {
		edges, err := im.tx.SeekEdgeRange(ctx, there, *r, &cursor, make([]graph.Edge, 0, 1<<16))
		require.NoError(t, err)
		for _, e := range edges {
			want = append(want, uint64(e.ID))
		}
	}
	require.Nil(t, cursor)
	require.Equal(t, sorted(want), sorted(have), "index %s, %+v", d.Name, *r)
	return len(have)
}

// TestSeekDifferential compares equality, range, prefix and composite look-ups of indexes over vertices and edges, on
// values of all types, with the oracle's look at everything: in snapshots taken while others write and indexes are made, in
// snapshots older than these, and in transactions that see their own changes.
func TestSeekDifferential(t *testing.T) {
	found := 0
	for seed := range eachSeed(t, seeds(12)) {
		for _, shards := range []int{1, 3} {
			t.Run(fmt.Sprintf("seed=%d/shards=%d", seed, shards), func(t *testing.T) {
				ctx := context.Background()
				rng := rand.New(rand.NewPCG(seed, uint64(shards)))
				opts := tiny(rng, shards)
				opts.FS, opts.Logger, opts.Tuning.IndexBatch = vfs.NewMem(), quiet(), 1+rng.IntN(30)
				store, err := Open(opts)
				require.NoError(t, err)
				g, err := store.Local("default")
				require.NoError(t, err)
				w := &seekWorld{t: t, g: g}
				w.names.name(t, g)
				for len(w.vertices) < 25 {
					require.NoError(t, w.write(rng))
				}
				old, err := g.Begin(ctx, shard.Read)
				require.NoError(t, err)
				end := make(chan struct{})
				var writers, makers sync.WaitGroup
				for i := range 2 {
					writers.Go(func() {
						rng := rand.New(rand.NewPCG(seed, uint64(i)))
						for range 400 {
							select {
							case <-end:
								return
							default:
							}
							if err := w.write(rng); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				for _, ix := range seekIndexes {
					makers.Go(func() {
						// Values that are there twice refuse a unique one; then there is one index less.
						if err := g.CreateIndex(ctx, ix); err != nil && !ix.Unique {
							t.Error(err)
						}
					})
				}
				for range 3 {
					tx, err := g.Begin(ctx, shard.Read)
					require.NoError(t, err)
					w.compare(rng, tx, false)
					tx.Rollback()
				}
				makers.Wait()
				for range 3 {
					tx, err := g.Begin(ctx, shard.Read)
					require.NoError(t, err)
					found += w.compare(rng, tx, true)
					tx.Rollback()
				}
				close(end)
				writers.Wait()
				w.compare(rng, old, false)
				old.Rollback()
				tx, err := g.Begin(ctx, shard.Write)
				require.NoError(t, err)
				for range 3 {
					if err := tx.Apply(ctx, w.changes(rng, 1+rng.IntN(20))); err != nil {
						break
					}
					if err := tx.(*Tx).Verify(ctx); err != nil {
						break // the edges of what was deleted have no end that a scan would give
					}
					found += w.compare(rng, tx, true)
				}
				tx.Rollback()
				checkClean(t, store, "default")
				require.NoError(t, store.Close())
			})
		}
	}
	require.Positive(t, found)
}
