package shardtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/spatial"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// Model is a graph beside the oracle's, which has other ids. Its methods make the same changes to both, and compare what can be read.
type Model struct {
	T             *testing.T
	Rng           *rand.Rand
	Graph, Oracle shard.Graph
	// Settle has the graph do what it does in its own time, as compactions; nil: nothing.
	Settle func(ctx context.Context) error
	// Reopen closes the graph and opens it again; nil: it lasts as long as the process.
	Reopen func() shard.Graph

	Vertices []Pair[graph.VertexID] // ever made, in order
	Edges    []Pair[graph.Edge]
	Labels   []graph.LabelID
	Types    []graph.TypeID
	Props    []graph.PropID
	unique   []Pair[graph.IndexID] // over label 0 and property 0
	plain    []Pair[graph.IndexID]
	follower Follower
	pair     []Pair[graph.IndexID]
	points   []Pair[graph.IndexID]
}

// Pair is an id of the graph and the oracle's.
type Pair[T any] struct{ Here, There T }

// NewModel returns a graph's model, without names. The graph is empty.
func NewModel(t *testing.T, rng *rand.Rand, g shard.Graph, shards int) *Model {
	o := oracle.New(shards)
	require.NoError(t, o.CreateGraph(context.Background(), "default"))
	og, err := o.Graph("default")
	require.NoError(t, err)
	return &Model{T: t, Rng: rng, Graph: g, Oracle: og}
}

// Begin begins a transaction on both sides. That of the graph is known to read the present state.
func (w *Model) Begin(mode shard.Mode) (tx, o shard.Tx) {
	ctx := context.Background()
	tx, err := w.Graph.Begin(ctx, mode)
	require.NoError(w.T, err)
	for c := tx.Features().Validator; c != nil; c = tx.Features().Validator {
		if err = c.Check(ctx); !shard.Retriable(err) {
			require.NoError(w.T, err)
			break
		}
		tx.Rollback()
		tx, err = w.Graph.Begin(ctx, mode)
		require.NoError(w.T, err)
	}
	o, err = w.Oracle.Begin(ctx, mode)
	require.NoError(w.T, err)
	return tx, o
}

// Schema makes names, which get the same numbers on both sides, and indexes.
func (w *Model) Schema() {
	ctx := context.Background()
	tx, o := w.Begin(shard.Write)
	for i := range 3 {
		for _, x := range []shard.Tx{tx, o} {
			l, err := x.Label("L" + strconv.Itoa(i))
			require.NoError(w.T, err)
			ty, err := x.Type("T" + strconv.Itoa(i))
			require.NoError(w.T, err)
			p, err := x.Prop("p" + strconv.Itoa(i))
			require.NoError(w.T, err)
			if x == tx {
				w.Labels, w.Types, w.Props = append(w.Labels, l), append(w.Types, ty), append(w.Props, p)
			} else {
				require.Equal(w.T, w.Labels[i], l)
				require.Equal(w.T, w.Types[i], ty)
				require.Equal(w.T, w.Props[i], p)
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
		if w.Rng.IntN(4) == 0 {
			continue
		}
		require.NoError(w.T, w.Graph.CreateIndex(ctx, ix))
		require.NoError(w.T, w.Oracle.CreateIndex(ctx, ix))
	}
	w.indexes()
}

// indexes finds the indexes' numbers.
func (w *Model) indexes() {
	w.unique, w.plain, w.pair, w.points = nil, nil, nil, nil
	for _, a := range w.Graph.Indexes() {
		for _, b := range w.Oracle.Indexes() {
			if a.Name != b.Name {
				continue
			}
			p := Pair[graph.IndexID]{a.ID, b.ID}
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
	require.Equal(w.T, len(w.Graph.Indexes()), len(w.Oracle.Indexes()))
}

// value is a random property value; many are equal to others.
func (w *Model) value() graph.Value {
	r := w.Rng
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

func (w *Model) someProps() []graph.Property {
	var ps []graph.Property
	for _, p := range w.Props {
		if w.Rng.IntN(2) == 0 {
			ps = append(ps, graph.Property{ID: p, Value: w.value()})
		}
	}
	if w.Rng.IntN(5) == 0 {
		w.Rng.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	}
	return ps
}

// op is a random kind of change.
func (w *Model) op() shard.Op {
	return shard.Op([]int{0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 6}[w.Rng.IntN(14)])
}

// mutation makes a change of a kind, if that is possible, for both sides.
func (w *Model) mutation(tx, o shard.Tx, op shard.Op) (a, b shard.Mutation) {
	r := w.Rng
	set := func() {
		var ls []graph.LabelID
		for _, l := range w.Labels {
			if r.IntN(2) == 0 {
				ls = append(ls, l)
			}
		}
		var err error
		a.Labels, err = tx.LabelSet(ls)
		require.NoError(w.T, err)
		b.Labels, err = o.LabelSet(ls)
		require.NoError(w.T, err)
		require.Equal(w.T, b.Labels, a.Labels)
	}
	vertex := func() Pair[graph.VertexID] {
		if r.IntN(3) == 0 {
			return w.Vertices[r.IntN(min(3, len(w.Vertices)))] // hubs
		}
		return w.Vertices[r.IntN(len(w.Vertices))]
	}
	if len(w.Vertices) == 0 || len(w.Edges) == 0 && (op == shard.SetEdge || op == shard.DeleteEdge) {
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
		a.Edge = graph.Edge{Src: src.Here, Dst: dst.Here, Type: w.Types[r.IntN(len(w.Types))]}
		b.Edge = graph.Edge{Src: src.There, Dst: dst.There, Type: a.Edge.Type}
	case shard.SetEdge, shard.DeleteEdge:
		e := w.Edges[r.IntN(len(w.Edges))]
		a.Edge, b.Edge = e.Here, e.There
	default:
		v := vertex()
		a.Vertex, b.Vertex = v.Here, v.There
		if op == shard.SetLabels {
			set()
		}
	}
	b.Op, b.Props = a.Op, a.Props
	return a, b
}

// Step is a transaction, or something that must not be noticed.
func (w *Model) Step() {
	ctx := context.Background()
	switch w.Rng.IntN(10) {
	case 0:
		if w.Settle != nil {
			require.NoError(w.T, w.Settle(ctx))
		}
	case 1:
		if w.Reopen != nil {
			w.Graph = w.Reopen()
			w.indexes()
			require.Equal(w.T, rules.Of(w.Oracle.Definitions()), rules.Of(w.Graph.Definitions()))
		}
	case 2:
		w.changeIndex(ctx)
	case 3:
		w.changeRules(ctx)
	case 4:
		if log := w.Graph.ChangeLog(); log != nil {
			if err := log.SetLogMode(ctx, changelog.Mode(w.Rng.IntN(3))); graph.AsError(err).Detail != "ChangeLogOff" { // the store keeps none
				require.NoError(w.T, err)
			}
		}
	}
	old, oldO := w.Begin(shard.Read)
	defer func() { old.Rollback(); oldO.Rollback() }()
	w.Transaction()
	tx, o := w.Begin(shard.Read)
	w.Compare(tx, o)
	w.follower.T, w.follower.Graph = w.T, w.Graph
	w.follower.Check(tx)
	tx.Rollback()
	o.Rollback()
	w.Compare(old, oldO) // an older snapshot stays as it was
}

// changeIndex drops one of the indexes, or makes it again.
func (w *Model) changeIndex(ctx context.Context) {
	name := []string{"u", "i", "c", "e", "p"}[w.Rng.IntN(5)]
	ix := map[string]graph.Index{
		"u": {Name: "u", Label: "L0", Props: []string{"p0"}, Unique: true, Indexed: true},
		"i": {Name: "i", Label: "L1", Props: []string{"p1"}, Indexed: true},
		"c": {Name: "c", Label: "L2", Props: []string{"p0", "p1"}, Indexed: true},
		"e": {Name: "e", Type: "T2", Props: []string{"p0"}, Unique: true, Indexed: true},
		"p": {Name: "p", Label: "L1", Props: []string{"p1"}, Kind: graph.PointIndex, Indexed: true},
	}[name]
	there := slices.ContainsFunc(w.Graph.Indexes(), func(o graph.Index) bool { return o.Name == name })
	var err, oerr error
	if there {
		err, oerr = w.Graph.DropIndex(ctx, name), w.Oracle.DropIndex(ctx, name)
	} else {
		err, oerr = w.Graph.CreateIndex(ctx, ix), w.Oracle.CreateIndex(ctx, ix)
	}
	w.same(err, oerr)
	w.indexes()
}

// StepLogged is a change that the commit log tells of: a transaction, or one of indexes or rules.
func (w *Model) StepLogged() {
	ctx := context.Background()
	switch w.Rng.IntN(8) {
	case 0:
		w.changeIndex(ctx)
	case 1:
		w.changeRules(ctx)
	}
	w.Transaction()
	tx, o := w.Begin(shard.Read)
	defer func() { tx.Rollback(); o.Rollback() }()
	w.Compare(tx, o)
}

// changeRules adds and removes access rules, some of which there are.
func (w *Model) changeRules(ctx context.Context) {
	var add, remove []rules.Rule
	for range w.Rng.IntN(3) {
		r := rules.Rule{Effect: rules.Grant, Action: rules.Match, Names: []string{"L" + strconv.Itoa(w.Rng.IntN(3))}, Role: "r"}
		if w.Rng.IntN(2) == 0 {
			add = append(add, r)
		} else {
			remove = append(remove, r)
		}
	}
	before := w.Graph.Version()
	had := rules.Of(w.Graph.Definitions())
	w.same(shard.ChangeRules(ctx, w.Graph, add, remove), shard.ChangeRules(ctx, w.Oracle, add, remove))
	require.Equal(w.T, rules.Of(w.Oracle.Definitions()), rules.Of(w.Graph.Definitions()))
	if !slices.EqualFunc(had, rules.Of(w.Graph.Definitions()), func(a, b rules.Rule) bool { return a.Key() == b.Key() }) {
		require.Greater(w.T, w.Graph.Version(), before)
	}
}

func (w *Model) same(err, oerr error) {
	w.T.Helper()
	if err == nil || oerr == nil {
		require.Equal(w.T, oerr, err)
		return
	}
	require.Equal(w.T, graph.AsError(oerr).Kind, graph.AsError(err).Kind, "%v against %v", err, oerr)
	require.Equal(w.T, graph.AsError(oerr).Detail, graph.AsError(err).Detail)
}

// Transaction makes random changes, and commits them or not.
func (w *Model) Transaction() {
	ctx := context.Background()
	tx, o := w.Begin(shard.Write)
	defer func() { tx.Rollback(); o.Rollback() }()
	nv, ne := len(w.Vertices), len(w.Edges)
	forget := func() { w.Vertices, w.Edges = w.Vertices[:nv], w.Edges[:ne] }
	for range w.Rng.IntN(5) {
		var ms, os []shard.Mutation
		op, alike := w.op(), w.Rng.IntN(3) == 0 // changes that are alike are made together
		for range 1 + w.Rng.IntN(30) {
			if !alike {
				op = w.op()
			}
			a, b := w.mutation(tx, o, op)
			if a.Op == shard.DeleteVertex && w.Rng.IntN(4) != 0 {
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
				w.Vertices = append(w.Vertices, Pair[graph.VertexID]{ms[i].Vertex, os[i].Vertex})
			case shard.CreateEdge:
				w.Edges = append(w.Edges, Pair[graph.Edge]{ms[i].Edge, os[i].Edge})
			}
		}
		if w.Rng.IntN(3) == 0 {
			w.compareReads(tx, o)
		}
	}
	if w.Rng.IntN(6) == 0 {
		forget()
		return
	}
	err, oerr := tx.Commit(ctx), o.Commit(ctx)
	// Of several violations, each side may name another.
	require.Equal(w.T, oerr == nil, err == nil, "%v against %v", err, oerr)
	if err != nil {
		forget()
	}
}

// detach lists the deletions of a vertex's edges.
func (w *Model) detach(tx, o shard.Tx, id, oid graph.VertexID) (ms, os []shard.Mutation) {
	for i, x := range []shard.Tx{tx, o} {
		v := []graph.VertexID{id, oid}[i]
		var res shard.Neighbours
		require.NoError(w.T, x.Expand(context.Background(), &shard.Expand{Sources: []graph.VertexID{v}, Dir: graph.Both, Edges: true}, &res))
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

// Compare reads all there is on both sides.
func (w *Model) Compare(tx, o shard.Tx) {
	w.T.Helper()
	w.CompareCounts(tx.Statistics(), o.Statistics())
	w.compareReads(tx, o)
	w.compareAggregates(tx, true)
}

// compareReads leaves out the counts: they may differ while a deleted vertex has edges.
func (w *Model) compareReads(tx, o shard.Tx) {
	w.T.Helper()
	there := map[graph.VertexID]graph.VertexID{}
	edgeThere := map[graph.EdgeID]graph.EdgeID{}
	var ids, oids []graph.VertexID
	for _, v := range w.Vertices {
		there[v.Here] = v.There
		ids, oids = append(ids, v.Here), append(oids, v.There)
	}
	for _, e := range w.Edges {
		edgeThere[e.Here.ID] = e.There.ID
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
	w.compareAggregates(tx, false)
}

// CompareCounts compares the counts of the graph with the oracle's.
func (w *Model) CompareCounts(a, b *graph.Counts) {
	w.T.Helper()
	require.Equal(w.T, b.Vertices, a.Vertices)
	require.Equal(w.T, b.Edges, a.Edges)
	require.Equal(w.T, b.ByLabel, a.ByLabel)
	require.Equal(w.T, b.ByType, a.ByType)
	require.Equal(w.T, b.Props, a.Props)
	for k, n := range b.Ends {
		if k.Src == "" || k.Dst == "" {
			require.Equal(w.T, n, a.Ends[k], "%v", k)
		}
	}
	for k := range a.Ends {
		require.Contains(w.T, b.Ends, k)
	}
}

func (w *Model) compareVertices(tx, o shard.Tx, ids, oids []graph.VertexID) {
	w.T.Helper()
	ctx := context.Background()
	// In any order, with repeats and ids that never were.
	var at []int
	for range len(ids) + w.Rng.IntN(10) {
		at = append(at, w.Rng.IntN(len(ids)))
	}
	if w.Rng.IntN(2) == 0 {
		slices.SortFunc(at, func(a, b int) int { return int(int64(ids[a]) - int64(ids[b])) })
	}
	a, b := make([]graph.VertexID, len(at)), make([]graph.VertexID, len(at))
	for i, k := range at {
		a[i], b[i] = ids[k], oids[k]
	}
	a, b = append(a, graph.MakeVertexID(0, 1<<40), graph.MakeVertexID(9, 3)), append(b, graph.MakeVertexID(0, 1<<40), graph.MakeVertexID(9, 3))
	sa, sb := make([]graph.LabelSet, len(a)), make([]graph.LabelSet, len(a))
	require.NoError(w.T, tx.LabelSets(ctx, a, sa))
	require.NoError(w.T, o.LabelSets(ctx, b, sb))
	for i := range sa {
		require.Equal(w.T, labelsText(w.Oracle, sb[i]), labelsText(w.Graph, sa[i]))
	}
	pa, pb := shard.Columns(len(w.Props), len(a)), shard.Columns(len(w.Props), len(a))
	pa[0][0] = graph.IntValue(77)
	require.NoError(w.T, tx.Properties(ctx, a, w.Props, pa))
	require.NoError(w.T, o.Properties(ctx, b, w.Props, pb))
	for p := range pa {
		for i := range a {
			require.Equal(w.T, Text(pb[p][i]), Text(pa[p][i]), "property %d of %d", p, a[i])
		}
	}
	ra, rb := make([]shard.Record, len(a)), make([]shard.Record, len(a))
	require.NoError(w.T, tx.Records(ctx, a, ra))
	require.NoError(w.T, o.Records(ctx, b, rb))
	for i := range ra {
		require.Equal(w.T, labelsText(w.Oracle, rb[i].Labels), labelsText(w.Graph, ra[i].Labels))
		ra[i].Labels, rb[i].Labels = 0, 0
		require.Equal(w.T, RecordText(rb[i]), RecordText(ra[i]))
	}
	for _, dir := range []graph.Direction{graph.Out, graph.In, graph.Both} {
		types := w.someTypes()
		da, db := make([]int, len(a)), make([]int, len(a))
		require.NoError(w.T, tx.Degrees(ctx, a, types, dir, da))
		require.NoError(w.T, o.Degrees(ctx, b, types, dir, db))
		require.Equal(w.T, db, da, "degrees %v %v", types, dir)
	}
}

func (w *Model) someTypes() []graph.TypeID {
	switch w.Rng.IntN(3) {
	case 0:
		return nil
	case 1:
		return w.Types[:1+w.Rng.IntN(2)]
	}
	return []graph.TypeID{w.Types[2], w.Types[0]}
}

func (w *Model) compareScans(tx, o shard.Tx, there map[graph.VertexID]graph.VertexID) {
	w.T.Helper()
	for _, l := range append([]graph.LabelID{0}, w.Labels...) {
		var got [2][]graph.VertexID
		for i, x := range []shard.Tx{tx, o} {
			for from, done := graph.VertexID(0), false; !done; {
				buf := make([]graph.VertexID, 0, 1+w.Rng.IntN(9))
				var err error
				buf, from, done, err = x.Scan(context.Background(), l, from, buf)
				require.NoError(w.T, err)
				got[i] = append(got[i], buf...)
			}
			require.True(w.T, slices.IsSorted(got[i]))
		}
		require.Equal(w.T, sorted(got[1]), w.translate(got[0], there), "label %d", l)
	}
}

func sorted[T ~uint64](s []T) []T {
	s = append([]T{}, s...)
	slices.Sort(s)
	return s
}

func (w *Model) translate(ids []graph.VertexID, there map[graph.VertexID]graph.VertexID) []graph.VertexID {
	out := []graph.VertexID{}
	for _, id := range ids {
		o, ok := there[id]
		require.True(w.T, ok, "vertex %x is unknown", id)
		out = append(out, o)
	}
	slices.Sort(out)
	return out
}

func (w *Model) compareEdges(tx, o shard.Tx) {
	w.T.Helper()
	ctx := context.Background()
	var a, b []graph.Edge
	for _, e := range w.Edges {
		a, b = append(a, e.Here), append(b, e.There)
	}
	w.Rng.Shuffle(len(a), func(i, j int) { a[i], a[j], b[i], b[j] = a[j], a[i], b[j], b[i] })
	ra, rb := make([]shard.Record, len(a)), make([]shard.Record, len(a))
	require.NoError(w.T, tx.EdgeRecords(ctx, a, ra))
	require.NoError(w.T, o.EdgeRecords(ctx, b, rb))
	for i := range ra {
		require.Equal(w.T, RecordText(rb[i]), RecordText(ra[i]), "edge %v", a[i])
	}
	pa, pb := shard.Columns(len(w.Props), len(a)), shard.Columns(len(w.Props), len(a))
	require.NoError(w.T, tx.EdgeProperties(ctx, a, w.Props, pa))
	require.NoError(w.T, o.EdgeProperties(ctx, b, w.Props, pb))
	for p := range pa {
		for i := range a {
			require.Equal(w.T, Text(pb[p][i]), Text(pa[p][i]))
		}
	}
}

// someRanges returns random conditions on edges.
func (w *Model) someRanges() []shard.EdgeRange {
	where := make([]shard.EdgeRange, w.Rng.IntN(3))
	for i := range where {
		r := &where[i]
		r.Prop = w.Props[w.Rng.IntN(len(w.Props))]
		r.In.LoOpen, r.In.HiOpen = w.Rng.IntN(2) == 0, w.Rng.IntN(2) == 0
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

func (w *Model) compareExpand(tx, o shard.Tx, dir graph.Direction, there map[graph.VertexID]graph.VertexID, edgeThere map[graph.EdgeID]graph.EdgeID) {
	w.T.Helper()
	types := w.someTypes()
	var sources [2][]graph.VertexID
	for _, v := range w.Vertices {
		if w.Rng.IntN(3) > 0 {
			sources[0], sources[1] = append(sources[0], v.Here), append(sources[1], v.There)
		}
	}
	where := w.someRanges()
	var got [2][]string
	for i, x := range []shard.Tx{tx, o} {
		slices.Sort(sources[i])
		req := shard.Expand{Sources: sources[i], Types: types, Dir: dir, Edges: true, Props: w.Props[:2], Where: where, MaxEdges: w.Rng.IntN(20)}
		var res shard.Neighbours
		for len(req.Sources) > 0 {
			require.NoError(w.T, x.Expand(context.Background(), &req, &res))
			require.Len(w.T, res.Offsets, res.Done+1)
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
						require.LessOrEqual(w.T, lastTarget, res.Targets[k], "edges of a group are sorted by far end")
					}
					last, lastTarget = group, res.Targets[k]
					got[i] = append(got[i], fmt.Sprint(src, target, edge, res.Types[k], reverse, Text(res.Props[0][k]), Text(res.Props[1][k])))
				}
			}
			req.Sources = req.Sources[res.Done:]
		}
		slices.Sort(got[i])
	}
	require.Equal(w.T, got[1], got[0], "dir %v types %v where %v", dir, types, where)

	var ends [2][]graph.VertexID // of each source, after it
	for i, edges := range []bool{true, false} {
		req := shard.Expand{Sources: sources[0], Types: types, Dir: dir, Edges: edges, MaxEdges: w.Rng.IntN(20)}
		var res shard.Neighbours
		for len(req.Sources) > 0 {
			require.NoError(w.T, tx.Expand(context.Background(), &req, &res))
			require.Len(w.T, res.Offsets, res.Done+1)
			for s := range res.Done {
				ends[i] = append(append(ends[i], req.Sources[s]), res.Targets[res.Offsets[s]:res.Offsets[s+1]]...)
			}
			require.Equal(w.T, len(res.Targets), res.Seen)
			req.Sources = req.Sources[res.Done:]
		}
	}
	require.Equal(w.T, ends[0], ends[1], "far ends alone are those of the edges: dir %v types %v", dir, types)

	var marked [2]graph.VertexSet
	for i, x := range []shard.Tx{tx, o} {
		count := 0
		for k, v := range w.Vertices {
			if k%3 == 0 && marked[i].Add([]graph.VertexID{v.Here, v.There}[i]) {
				count++
			}
		}
		req := shard.Expand{Sources: sources[i], Types: types, Dir: dir, Where: where, MaxEdges: len(w.Vertices) % 2 * 5, Into: &marked[i]}
		var res shard.Neighbours
		for len(req.Sources) > 0 {
			require.NoError(w.T, x.Expand(context.Background(), &req, &res))
			count += res.Added
			req.Sources = req.Sources[res.Done:]
		}
		require.Equal(w.T, marked[i].Len(), count)
	}
	require.Equal(w.T, sorted(marked[1].AppendTo(nil)), w.translate(marked[0].AppendTo(nil), there), "dir %v types %v where %v", dir, types, where)

	var from, to [2]graph.VertexSet
	for i, x := range []shard.Tx{tx, o} {
		for _, v := range sources[i] {
			from[i].Add(v)
		}
		require.NoError(w.T, x.Step(context.Background(), &from[i], types, dir, &to[i]))
	}
	require.Equal(w.T, sorted(to[1].AppendTo(nil)), w.translate(to[0].AppendTo(nil), there))
}

func (w *Model) compareSeek(tx, o shard.Tx, there map[graph.VertexID]graph.VertexID) {
	w.T.Helper()
	ctx := context.Background()
	for i, ps := range [][]Pair[graph.IndexID]{w.unique, w.plain, w.pair} {
		for _, p := range ps {
			var keys []graph.Value
			for range 10 {
				keys = append(keys, w.value(), w.value())
			}
			var a, b shard.Found
			require.NoError(w.T, tx.Seek(ctx, &shard.Seek{Index: p.Here, Keys: keys}, &a))
			require.NoError(w.T, o.Seek(ctx, &shard.Seek{Index: p.There, Keys: keys}, &b))
			require.Equal(w.T, b.Offsets, a.Offsets, "index %d keys %v", i, textAll(keys))
			for k := range len(a.Offsets) - 1 {
				require.Equal(w.T, sorted(b.IDs[b.Offsets[k]:b.Offsets[k+1]]), w.translate(a.IDs[a.Offsets[k]:a.Offsets[k+1]], there))
			}
			w.compareRange(tx, o, p, i, w.someRange(), there)
		}
	}
	for _, p := range w.points {
		r := PointRange(w.Rng)
		r.Down = w.Rng.IntN(2) == 0
		w.compareRange(tx, o, p, 3, r, there)
	}
}

// someRange makes a range that has no list for a bound.
func (w *Model) someRange() shard.Range {
	r := shard.Range{Lo: w.value(), Hi: w.value(), LoOpen: w.Rng.IntN(2) == 0, HiOpen: w.Rng.IntN(2) == 0}
	switch w.Rng.IntN(6) {
	case 0:
		r.Lo = graph.Value{}
	case 1:
		r.Hi = graph.Value{}
	case 2:
		r = shard.Range{Lo: graph.StringValue([]string{"", "1", "x\x00"}[w.Rng.IntN(3)]), Prefix: true}
	case 3:
		r = shard.Range{}
	}
	r.Down = w.Rng.IntN(2) == 0
	for r.Lo.Kind() == graph.List {
		r.Lo = w.value()
	}
	for r.Hi.Kind() == graph.List {
		r.Hi = w.value()
	}
	return r
}

func (w *Model) compareRange(tx, o shard.Tx, p Pair[graph.IndexID], i int, r shard.Range, there map[graph.VertexID]graph.VertexID) {
	w.T.Helper()
	var got [2][]graph.VertexID
	for k, x := range []shard.Tx{tx, o} {
		ix := []graph.IndexID{p.Here, p.There}[k]
		var cursor []byte
		for {
			ids, err := x.SeekRange(context.Background(), ix, r, &cursor, make([]graph.VertexID, 0, 1+w.Rng.IntN(4)))
			require.NoError(w.T, err)
			got[k] = append(got[k], ids...)
			if cursor == nil {
				break
			}
		}
	}
	require.Equal(w.T, sorted(got[1]), w.translate(got[0], there), "index %d from %s to %s", i, Text(r.Lo), Text(r.Hi))
}

// Text prints a value with its type.
func Text(v graph.Value) string {
	switch v.Kind() {
	case graph.Null:
		return "null"
	case graph.List:
		return textAll(v.List())
	case graph.Int:
		return fmt.Sprint("Int ", v.Int())
	case graph.Bool:
		return fmt.Sprint("Bool ", v.Bool())
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
	case graph.Map:
		var parts []string
		for _, e := range v.Map() {
			parts = append(parts, e.Key+": "+Text(e.Value))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case graph.Bytes:
		return fmt.Sprintf("bytes %x", v.Bytes())
	}
	panic(errors.ErrUnsupported)
}

func textAll(vs []graph.Value) string {
	var parts []string
	for _, v := range vs {
		parts = append(parts, Text(v))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// labelsText prints the names of a label set, and whether there is one.
func labelsText(c graph.Catalog, set graph.LabelSet) string {
	var names []string
	for _, l := range c.Labels(set) {
		names = append(names, c.LabelName(l))
	}
	slices.Sort(names)
	return fmt.Sprint(set != 0, names)
}

// RecordText prints a record.
func RecordText(r shard.Record) string {
	var b strings.Builder
	fmt.Fprint(&b, r.Labels)
	for _, p := range r.Props {
		fmt.Fprint(&b, " ", p.ID, "=", Text(p.Value))
	}
	return b.String()
}

// Points are points of all systems, among them borders, neighbours and such as have one place.
func Points() (all []graph.Value) {
	for _, crs := range []graph.CRS{graph.WGS84, graph.WGS843D, graph.Cartesian, graph.Cartesian3D} {
		for _, c := range [][3]float64{{0, 0, 0}, {180, 90, 1}, {-180, -90, -1}, {-180, 0, 0}, {180, 0, 5}, {12.5, 55.7, 1e7}, {12.5, 55.7, 0}, {1e-12, -1e-12, 0}} {
			p, err := graph.MakePoint(crs, c[:crs.Dimensions()]...)
			if err != nil {
				panic(err)
			}
			all = append(all, graph.PointValue(p))
		}
	}
	return all
}

// PointRange makes a range of a point index.
// PointRange makes a range of a point index: a box, or what is near a point.
func PointRange(rng *rand.Rand) (r shard.Range) {
	points := Points()
	some := func() *graph.Point { return points[rng.IntN(len(points))].Point() }
	a, b := some(), some()
	for b.CRS != a.CRS {
		b = some()
	}
	spans := spatial.Near(a, []float64{0, 1, 1e3, 1e7, 1e9}[rng.IntN(5)])
	if box := spatial.Box(a, b); len(box) > 0 && rng.IntN(2) == 0 {
		spans = box
	}
	r.Lo, r.Hi = graph.IntValue(spans[0].Lo), graph.IntValue(spans[0].Hi)
	for _, s := range spans[1:] {
		r.Further = append(r.Further, [2]graph.Value{graph.IntValue(s.Lo), graph.IntValue(s.Hi)})
	}
	return r
}
