package local

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// list is a type and direction whose edge lists a request reads.
type list struct {
	t    graph.TypeID
	dir  graph.Direction
	want storage.Want
	ls   *storage.Lists
}

// lists gives the edge lists of a request: the types, or all that have edges, by type and direction. In both directions
// a loop is taken from the list of its source alone.
func (tx *Tx) lists(types []graph.TypeID, dir graph.Direction, want storage.Want) []list {
	if len(types) == 0 {
		n := len(tx.g.AllTypes())
		types = make([]graph.TypeID, 0, n)
		for t := graph.TypeID(1); int(t) <= n; t++ {
			if tx.count(storage.Count{Kind: storage.CountType, Type: t}) != 0 {
				types = append(types, t)
			}
		}
	}
	if !slices.IsSorted(types) {
		types = slices.Sorted(slices.Values(types))
	}
	ls := make([]list, 0, 2*len(types))
	for i, t := range types {
		if slices.Contains(types[:i], t) {
			continue
		}
		if dir != graph.In {
			ls = append(ls, list{t: t, dir: graph.Out, want: want})
		}
		if dir != graph.Out {
			w := want
			w.NoLoops = dir == graph.Both
			ls = append(ls, list{t: t, dir: graph.In, want: w})
		}
	}
	return ls
}

func openLists(v *storage.View, ls []list) (err error) {
	for i := range ls {
		if ls[i].ls, err = v.Lists(ls[i].t, ls[i].dir); err != nil {
			closeLists(ls[:i])
			return err
		}
	}
	return nil
}

func closeLists(ls []list) {
	for i := range ls {
		ls[i].ls.Close()
	}
}

// Expand implements shard.Tx.
func (tx *Tx) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	ls := tx.lists(req.Types, req.Dir, storage.Want{IDs: req.Edges, Props: req.Props})
	res.Done, res.Offsets = 0, append(res.Offsets[:0], 0)
	res.Types, res.Reverse = res.Types[:0], res.Reverse[:0]
	for len(res.Props) < len(req.Props) {
		res.Props = append(res.Props, nil)
	}
	res.Props = res.Props[:len(req.Props)]
	for p := range res.Props {
		res.Props[p] = res.Props[p][:0]
	}
	out := storage.Edges{Targets: res.Targets[:0], IDs: res.Edges[:0], Props: res.Props}
	var pending []storage.Pending
	var err error
	for rest := req.Sources; len(rest) > 0 && err == nil && !full(req, len(out.Targets)); {
		no := rest[0].Shard()
		n, _ := slices.BinarySearch(rest, graph.MakeVertexID(no+1, 0))
		if no >= len(tx.views) {
			for range rest {
				res.Offsets = append(res.Offsets, len(out.Targets))
			}
			res.Done += len(rest)
			break
		}
		err = tx.expandShard(ctx, tx.views[no], rest[:n], ls, req, res, &out, &pending)
		rest = rest[n:]
	}
	res.Targets, res.Edges = out.Targets, out.IDs
	if err != nil {
		return err
	}
	return tx.large(ctx, pending, res.Props)
}

func full(req *shard.Expand, n int) bool { return req.MaxEdges > 0 && n >= req.MaxEdges }

func (tx *Tx) expandShard(ctx context.Context, v *storage.View, sources []graph.VertexID, ls []list, req *shard.Expand, res *shard.Neighbours, out *storage.Edges, pending *[]storage.Pending) error {
	if err := openLists(v, ls); err != nil {
		return err
	}
	defer closeLists(ls)
	for _, id := range sources {
		for i := range ls {
			l := &ls[i]
			from := len(out.Targets)
			if err := l.ls.Append(ctx, id, l.want, out, pending); err != nil {
				return err
			}
			if !req.Edges {
				continue
			}
			for range len(out.Targets) - from {
				res.Types = append(res.Types, l.t)
			}
			if req.Dir != graph.Out {
				for range len(out.Targets) - from {
					res.Reverse = append(res.Reverse, l.dir == graph.In)
				}
			}
		}
		res.Done++
		res.Offsets = append(res.Offsets, len(out.Targets))
		if full(req, len(out.Targets)) {
			break
		}
	}
	return nil
}

// Step implements shard.Tx.
func (tx *Tx) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	ls := tx.lists(types, dir, storage.Want{})
	for no := range min(from.Shards(), len(tx.views)) {
		if err := tx.stepShard(ctx, no, from.Bitmap(no), ls, out); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) stepShard(ctx context.Context, no int, from graph.Bitmap, ls []list, out *graph.VertexSet) error {
	if err := openLists(tx.views[no], ls); err != nil {
		return err
	}
	defer closeLists(ls)
	for i := range ls {
		for w, word := range from {
			for ; word != 0; word &= word - 1 {
				local := uint64(w*64 + bits.TrailingZeros64(word))
				if err := ls[i].ls.Mark(ctx, local, out); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Degrees implements shard.Tx.
func (tx *Tx) Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	clear(out[:len(ids)])
	ls := tx.lists(types, dir, storage.Want{})
	return tx.spread(ids).each(tx, len(ids), func(v *storage.View, at storage.Order) error {
		if err := openLists(v, ls); err != nil {
			return err
		}
		defer closeLists(ls)
		for k := range ls {
			l := &ls[k]
			for j := range at.Len(len(ids)) {
				i := at.At(j)
				n, loops, err := l.ls.Degree(ctx, ids[i], l.want.NoLoops)
				if err != nil {
					return err
				}
				out[i] += n - loops
			}
		}
		return nil
	})
}

// eachEdge calls f with every edge, in the order of their lists, and the list that holds it.
func (tx *Tx) eachEdge(edges []graph.Edge, f func(i int, ls *storage.Lists) error) error {
	at := make([]int32, 0, len(edges))
	for i, e := range edges {
		if e.Src.Shard() < len(tx.views) && e.Dst.Shard() < len(tx.views) {
			at = append(at, int32(i))
		}
	}
	slices.SortFunc(at, func(a, b int32) int {
		x, y := &edges[a], &edges[b]
		return cmp.Or(cmp.Compare(x.Src.Shard(), y.Src.Shard()), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Src, y.Src), cmp.Compare(x.Dst, y.Dst))
	})
	var ls *storage.Lists
	defer func() {
		if ls != nil {
			ls.Close()
		}
	}()
	for k, i := range at {
		e := &edges[i]
		if k == 0 || e.Type != edges[at[k-1]].Type || e.Src.Shard() != edges[at[k-1]].Src.Shard() {
			if ls != nil {
				ls.Close()
				ls = nil
			}
			var err error
			if ls, err = tx.views[e.Src.Shard()].Lists(e.Type, graph.Out); err != nil {
				return err
			}
		}
		if err := f(int(i), ls); err != nil {
			return err
		}
	}
	return nil
}

// EdgeProperties implements shard.Tx.
func (tx *Tx) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	for p := range props {
		clear(out[p][:len(edges)])
	}
	return tx.eachEdge(edges, func(i int, ls *storage.Lists) error {
		e := &edges[i]
		_, err := ls.Edge(ctx, e.Src.Local(), e.Dst, e.ID, func(q graph.PropID, v graph.Value, ref keys.Ref, isRef bool) (err error) {
			for p, prop := range props {
				if prop != q {
					continue
				}
				if isRef {
					if v, err = tx.value(ref); err != nil {
						return err
					}
				}
				out[p][i] = v
			}
			return nil
		})
		return err
	})
}

// value reads a large value.
func (tx *Tx) value(ref keys.Ref) (graph.Value, error) {
	no := graph.EdgeID(ref.ID).Shard()
	if no >= len(tx.views) {
		return graph.Value{}, graph.CorruptError("read a large value of a shard that is not there", nil)
	}
	return tx.views[no].Large(ref)
}

// EdgeRecords implements shard.Tx.
func (tx *Tx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	clear(out[:len(edges)])
	return tx.eachEdge(edges, func(i int, ls *storage.Lists) error {
		e := &edges[i]
		ok, err := ls.Edge(ctx, e.Src.Local(), e.Dst, e.ID, func(p graph.PropID, v graph.Value, ref keys.Ref, isRef bool) (err error) {
			if isRef {
				if v, err = tx.value(ref); err != nil {
					return err
				}
			}
			out[i].Props = append(out[i].Props, graph.Property{ID: p, Value: v})
			return nil
		})
		if ok {
			out[i].Labels = graph.NoLabels
		}
		return err
	})
}
