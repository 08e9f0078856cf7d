package local

import (
	"context"
	"math/bits"
	"runtime"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/cache"
)

// list is a type and direction whose edge lists a request reads: from those that are decoded, as far as there are any,
// and else from the store.
type list struct {
	t    graph.TypeID
	dir  graph.Direction
	want storage.Want
	cur  cache.Cursor
	hit  bool           // cur is at a block that is decoded
	ls   *storage.Lists // of the shard at hand, opened when needed
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
	n := len(types)
	if dir == graph.Both {
		n *= 2
	}
	ls := make([]list, 0, n)
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

// stored gives the stored lists.
func (l *list) stored(v *storage.View) (*storage.Lists, error) {
	if l.ls == nil {
		ls, err := v.Lists(l.t, l.dir)
		if err != nil {
			return nil, err
		}
		l.ls = ls
	}
	return l.ls, nil
}

func closeLists(ls []list) {
	for i := range ls {
		if ls[i].ls != nil {
			ls[i].ls.Close()
			ls[i].ls = nil
		}
	}
}

// seek moves to the block of a vertex, of which n lists are wanted.
func (l *list) seek(id graph.VertexID, n int) (err error) {
	l.hit, err = l.cur.Seek(id, n)
	return err
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
	var views *listViews
	if !tx.plain {
		views = tx.openLists(len(req.Props) > 0)
		defer views.close()
	}
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
		err = tx.expandShard(ctx, no, views, rest[:n], ls, req, res, &out, &pending)
		rest = rest[n:]
	}
	res.Targets, res.Edges = out.Targets, out.IDs
	if err != nil {
		return err
	}
	return tx.large(ctx, pending, res.Props)
}

func full(req *shard.Expand, n int) bool { return req.MaxEdges > 0 && n >= req.MaxEdges }

func (tx *Tx) expandShard(ctx context.Context, no int, views *listViews, sources []graph.VertexID, ls []list, req *shard.Expand, res *shard.Neighbours, out *storage.Edges, pending *[]storage.Pending) error {
	defer closeLists(ls)
	if views != nil {
		for i := range ls {
			views.views[no].Cursor(&ls[i].cur, ls[i].t, ls[i].dir, cache.Want{Edges: req.Edges, Props: req.Props})
		}
	}
	for len(sources) > 0 {
		if err := storage.Alive(ctx); err != nil {
			return err
		}
		n := cache.SameBlock(sources)
		if views != nil {
			for i := range ls {
				if err := ls[i].seek(sources[0], n); err != nil {
					return err
				}
			}
		}
		for _, id := range sources[:n] {
			for i := range ls {
				from := len(out.Targets)
				if err := tx.expandList(ctx, no, id, &ls[i], out, pending); err != nil {
					return err
				}
				if !req.Edges {
					continue
				}
				for range len(out.Targets) - from {
					res.Types = append(res.Types, ls[i].t)
				}
				if req.Dir != graph.Out {
					for range len(out.Targets) - from {
						res.Reverse = append(res.Reverse, ls[i].dir == graph.In)
					}
				}
			}
			res.Done++
			res.Offsets = append(res.Offsets, len(out.Targets))
			if full(req, len(out.Targets)) {
				return nil
			}
		}
		sources = sources[n:]
	}
	return nil
}

// expandList appends the edges of one list.
func (tx *Tx) expandList(ctx context.Context, no int, id graph.VertexID, l *list, out *storage.Edges, pending *[]storage.Pending) error {
	if l.hit {
		if d, ok := l.cur.List(id); ok {
			return tx.appendDecoded(no, id, l, d, out)
		}
	}
	ls, err := l.stored(tx.views[no])
	if err != nil {
		return err
	}
	return ls.Append(ctx, id, l.want, out, pending)
}

// appendDecoded appends the edges of a decoded list.
func (tx *Tx) appendDecoded(no int, id graph.VertexID, l *list, d cache.List, out *storage.Edges) error {
	if !l.want.NoLoops {
		return tx.appendPart(no, l, d, 0, len(d.Targets), out)
	}
	own, _ := tx.g.decoded.lists[no].IDs().Pack(id)
	lo, hi := cache.Find(d.Targets, own)
	if err := tx.appendPart(no, l, d, 0, lo, out); err != nil {
		return err
	}
	return tx.appendPart(no, l, d, hi, len(d.Targets), out)
}

// appendPart appends the edges [lo, hi) of a decoded list.
func (tx *Tx) appendPart(no int, l *list, d cache.List, lo, hi int, out *storage.Edges) error {
	ids := tx.g.decoded.lists[no].IDs()
	from := len(out.Targets)
	out.Targets = ids.AppendTo(out.Targets, d.Targets[lo:hi])
	if l.want.IDs {
		// An edge's id has the shard of its source.
		for i, e := range d.Edges[lo:hi] {
			s := no
			if l.dir == graph.In {
				s = out.Targets[from+i].Shard()
			}
			out.IDs = append(out.IDs, graph.MakeEdgeID(s, uint64(e)))
		}
	}
	for p := range l.want.Props {
		var err error
		out.Props[p], err = l.cur.Prop(p).AppendTo(out.Props[p], d.Offset+uint32(lo), d.Offset+uint32(hi), tx.decode)
		if err != nil {
			return err
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
	if tx.plain {
		for i := range ls {
			if err := tx.stepStored(ctx, from, &ls[i], out); err != nil {
				return err
			}
		}
		return nil
	}
	views := tx.openLists(false)
	defer views.close()
	for i := range ls {
		views.missed.Clear()
		if err := cache.Step(views.refs, ls[i].t, ls[i].dir, from, out, &views.missed, runtime.GOMAXPROCS(0)); err != nil {
			return err
		}
		if err := tx.stepStored(ctx, &views.missed, &ls[i], out); err != nil {
			return err
		}
	}
	return nil
}

// stepStored takes a step through the stored lists of a type and direction.
func (tx *Tx) stepStored(ctx context.Context, from *graph.VertexSet, l *list, out *graph.VertexSet) error {
	for no := range min(from.Shards(), len(tx.views)) {
		if err := tx.stepShard(ctx, no, from.Bitmap(no), l, out); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) stepShard(ctx context.Context, no int, from graph.Bitmap, l *list, out *graph.VertexSet) error {
	defer func() {
		if l.ls != nil {
			l.ls.Close()
			l.ls = nil
		}
	}()
	for w, word := range from {
		for ; word != 0; word &= word - 1 {
			ls, err := l.stored(tx.views[no])
			if err != nil {
				return err
			}
			if err := ls.Mark(ctx, uint64(w*64+bits.TrailingZeros64(word)), out); err != nil {
				return err
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
	var views *listViews
	if !tx.plain {
		views = tx.openLists(false)
		defer views.close()
	}
	return tx.spread(ids).each(tx, len(ids), func(v *storage.View, at storage.Order) error {
		defer closeLists(ls)
		for k := range ls {
			if err := tx.degrees(ctx, v, views, ids, at, &ls[k], out); err != nil {
				return err
			}
		}
		return nil
	})
}

// degrees adds the lengths of the lists of a type and direction in one shard.
func (tx *Tx) degrees(ctx context.Context, v *storage.View, views *listViews, ids []graph.VertexID, at storage.Order, l *list, out []int) error {
	if views != nil {
		views.views[v.No()].Cursor(&l.cur, l.t, l.dir, cache.Want{})
	}
	end := graph.VertexID(0) // of the block at hand
	n := at.Len(len(ids))
	for j := range n {
		i := at.At(j)
		id := ids[i]
		if views != nil && id >= end {
			end = id | (cache.ListBlock - 1) + 1
			k := 1
			for j+k < n && ids[at.At(j+k)] < end {
				k++
			}
			if err := l.seek(id, k); err != nil {
				return err
			}
		}
		if l.hit {
			if n, ok := tx.decodedDegree(v.No(), l, id); ok {
				out[i] += n
				continue
			}
		}
		ls, err := l.stored(v)
		if err != nil {
			return err
		}
		n, loops, err := ls.Degree(ctx, id, l.want.NoLoops)
		if err != nil {
			return err
		}
		out[i] += n - loops
	}
	return nil
}

// decodedDegree is the length of a decoded list, without loops if the request is for both directions.
func (tx *Tx) decodedDegree(no int, l *list, id graph.VertexID) (n int, ok bool) {
	if !l.want.NoLoops {
		return l.cur.Degree(id)
	}
	d, ok := l.cur.List(id)
	if !ok {
		return 0, false
	}
	own, _ := tx.g.decoded.lists[no].IDs().Pack(id)
	lo, hi := cache.Find(d.Targets, own)
	return len(d.Targets) - (hi - lo), true
}
