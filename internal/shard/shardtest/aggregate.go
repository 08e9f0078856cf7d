package shardtest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// aggregated is a group: what rows, or shards, make of it.
type aggregated struct {
	rows   int64
	counts []int64
	vals   [][]graph.Value // by aggregate: the values, or partial ones
}

// compareAggregates compares what the shards add up with the rows that they send: of vertices, or also of edges, all of whose ends exist.
func (w *Model) compareAggregates(tx shard.Tx, edges bool) {
	w.T.Helper()
	f := tx.Features().Aggregates
	if f == nil {
		return
	}
	for range 3 {
		req := &shard.Aggregate{Props: slices.Clone(w.Props)}
		if edges && w.Rng.IntN(2) == 0 {
			req.Type, req.Dir = w.Types[w.Rng.IntN(len(w.Types))], graph.Direction(w.Rng.IntN(2))
		} else {
			if w.Rng.IntN(2) == 0 {
				req.Label = w.Labels[w.Rng.IntN(len(w.Labels))]
			}
			for range w.Rng.IntN(3) {
				req.Keys = append(req.Keys, w.Rng.IntN(len(req.Props)))
			}
			req.Members = w.Rng.IntN(2) == 0
		}
		if w.Rng.IntN(3) == 0 {
			req.Where = w.someRanges()
		}
		funcs := shard.AggFunc(1)
		if w.Rng.IntN(2) == 0 {
			funcs = shard.NumAggFuncs
		}
		for range w.Rng.IntN(4) {
			req.Aggs = append(req.Aggs, shard.PartialAgg{Func: shard.AggFunc(w.Rng.IntN(int(funcs))), Prop: w.Rng.IntN(len(req.Props))})
		}
		w.compareGroups(tx, f, req)
	}
	if edges {
		w.comparePairs(tx, f)
	}
}

// compareGroups compares the groups of one request. They may be refused for values that do not add up in parts.
func (w *Model) compareGroups(tx shard.Tx, f shard.Aggregator, req *shard.Aggregate) {
	w.T.Helper()
	parts, err := addUp(w, f, req)
	if errors.Is(err, shard.ErrRows) || errors.Is(err, shard.ErrOrder) {
		require.True(w.T, slices.ContainsFunc(req.Aggs, func(a shard.PartialAgg) bool { return a.Func != shard.AggCount }))
		return
	}
	require.NoError(w.T, err)
	if parts == nil {
		return
	}
	want, got := w.rowGroups(tx, req), map[string]*aggregated{}
	for _, of := range parts {
		if req.Members {
			w.checkMembers(tx, req, of)
		}
		for g := range of.Rows {
			key := make([]graph.Value, len(req.Keys))
			for k := range key {
				key[k] = of.Keys[k][g]
			}
			x := group(got, key, req)
			x.rows += of.Rows[g]
			for i := range req.Aggs {
				x.counts[i] += of.Counts[i][g]
				if v := of.Values[i][g]; !v.IsNull() {
					x.vals[i] = append(x.vals[i], v)
				}
			}
		}
	}
	if len(req.Keys) == 0 {
		group(got, nil, req)
		group(want, nil, req)
	}
	require.Len(w.T, got, len(want))
	for key, a := range want {
		b := got[key]
		require.NotNil(w.T, b, key)
		require.Equal(w.T, a.rows, b.rows, key)
		require.Equal(w.T, a.counts, b.counts, key)
		for i, g := range req.Aggs {
			switch g.Func {
			case shard.AggMin, shard.AggMax:
				if slices.ContainsFunc(a.vals[i], func(v graph.Value) bool { return v.Kind() != a.vals[i][0].Kind() }) {
					continue // the statement orders extremes of several kinds
				}
				require.Equal(w.T, Text(extreme(a.vals[i], g.Func)), Text(extreme(b.vals[i], g.Func)), key)
			case shard.AggSum:
				ints, floats := sum(a.vals[i])
				gotInts, gotFloats := sum(b.vals[i])
				require.Equal(w.T, ints, gotInts, key)
				require.True(w.T, floats == gotFloats || math.Abs(floats-gotFloats) <= 1e-9*math.Abs(floats) || math.IsNaN(floats) && math.IsNaN(gotFloats) || math.IsInf(floats, 0), key)
			}
		}
	}
}

// checkMembers compares the keys of groups with those of their vertices.
func (w *Model) checkMembers(tx shard.Tx, req *shard.Aggregate, of *shard.Groups) {
	w.T.Helper()
	rows := make([]int64, len(of.Rows))
	cols := shard.Columns(len(req.Props), len(of.Members))
	require.NoError(w.T, tx.Properties(context.Background(), of.Members, req.Props, cols))
	for i, g := range of.MemberOf {
		rows[g]++
		for k, p := range req.Keys {
			require.Equal(w.T, Text(cols[p][i]), Text(of.Keys[k][g]))
		}
	}
	entries := map[graph.VertexID]int64{} // a group's further entries have no rows
	for g, n := range of.Rows {
		entries[of.First[g]] += n - rows[g]
	}
	for _, n := range entries {
		require.Zero(w.T, n)
	}
}

// addUp has the shards add up all parts, in order or as several goroutines do.
func addUp(w *Model, f shard.Aggregator, req *shard.Aggregate) (out []*shard.Groups, err error) {
	ctx := context.Background()
	agg, err := f.Aggregate(ctx, req)
	if agg == nil || err != nil {
		return nil, err
	}
	ps := []shard.Partial{agg.Begin(true)}
	if w.Rng.IntN(2) == 0 && agg.Parts() > 1 {
		ps = []shard.Partial{agg.Begin(false), agg.Begin(false)}
	}
	for i := range agg.Parts() {
		if _, err := ps[i%len(ps)].Add(ctx, i, i+1); err != nil {
			return nil, err
		}
	}
	for _, p := range ps {
		some, err := p.Groups()
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// group returns the group of a key.
func group(all map[string]*aggregated, key []graph.Value, req *shard.Aggregate) *aggregated {
	var texts []string
	for _, v := range key {
		texts = append(texts, Text(v))
	}
	k := strings.Join(texts, "\x00")
	if all[k] == nil {
		all[k] = &aggregated{counts: make([]int64, len(req.Aggs)), vals: make([][]graph.Value, len(req.Aggs))}
	}
	return all[k]
}

// rowGroups groups the rows of a request.
func (w *Model) rowGroups(tx shard.Tx, req *shard.Aggregate) map[string]*aggregated {
	w.T.Helper()
	ctx, out := context.Background(), map[string]*aggregated{}
	take := func(cols [][]graph.Value, i int) {
		for _, r := range req.Where {
			if !r.In.Holds(cols[slices.Index(req.Props, r.Prop)][i]) {
				return
			}
		}
		var key []graph.Value
		for _, k := range req.Keys {
			key = append(key, cols[k][i])
		}
		x := group(out, key, req)
		x.rows++
		for j, g := range req.Aggs {
			if v := cols[g.Prop][i]; !v.IsNull() {
				x.counts[j]++
				x.vals[j] = append(x.vals[j], v)
			}
		}
	}
	ids, _, done, err := tx.Scan(ctx, req.Label, 0, make([]graph.VertexID, 0, len(w.Vertices)+1))
	require.NoError(w.T, err)
	require.True(w.T, done)
	if req.Type == 0 {
		cols := shard.Columns(len(req.Props), len(ids))
		require.NoError(w.T, tx.Properties(ctx, ids, req.Props, cols))
		for i := range ids {
			take(cols, i)
		}
		return out
	}
	var far shard.Neighbours
	require.NoError(w.T, tx.Expand(ctx, &shard.Expand{Sources: ids, Types: []graph.TypeID{req.Type}, Dir: req.Dir, Props: req.Props}, &far))
	for i := range far.Targets {
		take(far.Props, i)
	}
	return out
}

// extreme is the least or the greatest of values of one kind.
func extreme(vals []graph.Value, f shard.AggFunc) (best graph.Value) {
	for _, v := range vals {
		if best.IsNull() {
			best = v
		}
		c := 0
		switch v.Kind() {
		case graph.String:
			c = strings.Compare(v.Str(), best.Str())
		case graph.Float:
			c = cmp.Compare(v.Float(), best.Float())
		case graph.Date:
			c = cmp.Compare(v.Date(), best.Date())
		case graph.LocalTime:
			c = cmp.Compare(v.LocalTime(), best.LocalTime())
		default:
			c = cmp.Compare(v.Int(), best.Int())
		}
		if f == shard.AggMin && c < 0 || f == shard.AggMax && c > 0 {
			best = v
		}
	}
	return best
}

func sum(vals []graph.Value) (ints int64, floats float64) {
	for _, v := range vals {
		if v.Kind() == graph.Float {
			floats += v.Float()
		} else {
			ints += v.Int()
		}
	}
	return ints, floats
}

// comparePairs compares numbers of edges by random numbers of their ends.
func (w *Model) comparePairs(tx shard.Tx, f shard.Aggregator) {
	w.T.Helper()
	const rows, width = 3, 5
	p := &shard.Pairs{Rows: rows, Width: width}
	number := func(most int) (of [][]int32) {
		for _, v := range w.Vertices {
			for len(of) <= v.Here.Shard() {
				of = append(of, nil)
			}
			col := &of[v.Here.Shard()]
			for uint64(len(*col)) <= v.Here.Local() {
				*col = append(*col, int32(w.Rng.IntN(most+1)-1))
			}
		}
		return of
	}
	p.From, p.To = number(rows), number(width-1)
	req := &shard.Aggregate{Type: w.Types[w.Rng.IntN(len(w.Types))], Dir: graph.Direction(w.Rng.IntN(2)), Pairs: p}
	parts, err := addUp(w, f, req)
	require.NoError(w.T, err)
	if parts == nil {
		return
	}
	got, want := make([]int64, rows*width), make([]int64, rows*width)
	for _, of := range parts {
		for i, n := range of.Pairs {
			got[i] += n
		}
	}
	ctx := context.Background()
	ids, _, _, err := tx.Scan(ctx, 0, 0, make([]graph.VertexID, 0, len(w.Vertices)+1))
	require.NoError(w.T, err)
	var far shard.Neighbours
	require.NoError(w.T, tx.Expand(ctx, &shard.Expand{Sources: ids, Types: []graph.TypeID{req.Type}, Dir: req.Dir}, &far))
	for i, v := range ids {
		from := p.From[v.Shard()][v.Local()]
		for _, t := range far.Targets[far.Offsets[i]:far.Offsets[i+1]] {
			to := p.To[t.Shard()][t.Local()]
			if to < 0 {
				to = width - 1
			}
			if from >= 0 {
				want[int(from)*width+int(to)]++
			}
		}
	}
	require.Equal(w.T, want, got)
}
