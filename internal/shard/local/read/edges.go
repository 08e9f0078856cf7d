package read

import (
	"context"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// list is a type and direction whose edge lists a request reads: from those that are decoded, as far as there are any,
// and else from the store.
type list struct {
	t    graph.TypeID
	dir  graph.Direction
	want view.Want
	cur  cache.Cursor
	hit  bool        // cur is at a block that is decoded
	ls   *view.Lists // of the shard being read, opened when needed
}

// lists appends to ls the edge lists of a request: the types, or all that have edges, by type and direction. In both
// directions a loop is taken from the list of its source alone.
func (tx *Reader) lists(ls []list, types []graph.TypeID, dir graph.Direction, want view.Want) []list {
	if len(types) == 0 {
		types = tx.whole.Types()
	}
	if !slices.IsSorted(types) {
		types = slices.Sorted(slices.Values(types))
	}
	add := func(t graph.TypeID, dir graph.Direction, want view.Want) {
		if len(ls) < cap(ls) {
			ls = ls[:len(ls)+1]
		} else {
			ls = append(ls, list{})
		}
		l := &ls[len(ls)-1]
		l.t, l.dir, l.want, l.hit = t, dir, want, false
	}
	for i, t := range types {
		if slices.Contains(types[:i], t) {
			continue
		}
		if dir != graph.In {
			add(t, graph.Out, want)
		}
		if dir != graph.Out {
			w := want
			w.NoLoops = dir == graph.Both
			add(t, graph.In, w)
		}
	}
	return ls
}

// stored returns the stored lists.
func (l *list) stored(v *view.View) (*view.Lists, error) {
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

// seek moves to the block of a vertex for n of its lists.
func (l *list) seek(id graph.VertexID, n int) (err error) {
	l.hit, err = l.cur.Seek(id, n)
	return err
}

// expansion is what one Expand needs memory for.
type expansion struct {
	tx      *Reader
	req     *shard.Expand
	res     *shard.Neighbours
	lists   []list
	views   *listViews // nil: nothing that is decoded is read
	out     view.Edges
	pending []view.Pending

	props []graph.PropID // to read: those of the request, then those of its conditions alone
	tests []int          // by condition: its property in props
	pass  []uint32       // the places in a list that pass the conditions
	part  view.Edges     // a stored list whose edges are to be tested
	large []view.Pending
}

var expansions = sync.Pool{New: func() any { return new(expansion) }}

// Expand implements shard.Tx.
func (tx *Reader) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	x := expansions.Get().(*expansion)
	x.begin(tx, req, res)
	defer x.end()
	err := x.run(ctx)
	res.Targets, res.Edges = x.out.Targets, x.out.IDs
	if err != nil {
		return err
	}
	return tx.large(ctx, x.pending, res.Props)
}

func (x *expansion) begin(tx *Reader, req *shard.Expand, res *shard.Neighbours) {
	x.tx, x.req, x.res = tx, req, res
	x.props, x.tests = append(x.props[:0], req.Props...), x.tests[:0]
	for i := range req.Where {
		at := slices.Index(x.props, req.Where[i].Prop)
		if at < 0 {
			at = len(x.props)
			x.props = append(x.props, req.Where[i].Prop)
		}
		x.tests = append(x.tests, at)
	}
	x.lists = tx.lists(x.lists[:0], req.Types, req.Dir, view.Want{IDs: req.Edges, Props: x.props})
	res.Done, res.Seen, res.Added, res.Offsets = 0, 0, 0, append(res.Offsets[:0], 0)
	res.Types, res.Reverse = res.Types[:0], res.Reverse[:0]
	res.Props = emptyColumns(res.Props, len(req.Props))
	x.out = view.Edges{Targets: res.Targets[:0], IDs: res.Edges[:0], Props: res.Props}
	if !tx.plain {
		x.views = tx.openLists(len(req.Props) > 0)
	}
}

// emptyColumns returns n empty columns with the memory of others.
func emptyColumns(cols [][]graph.Value, n int) [][]graph.Value {
	for len(cols) < n {
		cols = append(cols, nil)
	}
	cols = cols[:n]
	for p := range cols {
		cols[p] = cols[p][:0]
	}
	return cols
}

func (x *expansion) end() {
	if x.views != nil {
		x.views.Close()
	}
	for i := range x.lists {
		x.lists[i].cur.Release()
	}
	for _, vs := range x.part.Props {
		clear(vs)
	}
	x.tx, x.req, x.res, x.views, x.out, x.pending = nil, nil, nil, nil, view.Edges{}, x.pending[:0]
	expansions.Put(x)
}

func (x *expansion) run(ctx context.Context) error {
	tx, res := x.tx, x.res
	for rest := x.req.Sources; len(rest) > 0 && !x.full(); {
		no := rest[0].Shard()
		if no >= len(tx.views) {
			for range rest {
				res.Offsets = append(res.Offsets, len(x.out.Targets))
			}
			res.Done += len(rest)
			return nil
		}
		n := len(rest)
		if rest[n-1].Shard() != no {
			n, _ = slices.BinarySearch(rest, graph.MakeVertexID(no+1, 0))
		}
		if err := x.shard(ctx, no, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func (x *expansion) full() bool { return x.req.MaxEdges > 0 && x.res.Seen >= x.req.MaxEdges }

func (x *expansion) shard(ctx context.Context, no int, sources []graph.VertexID) error {
	req, res, ls := x.req, x.res, x.lists
	defer closeLists(ls)
	if x.views != nil {
		for i := range ls {
			x.views.Views[no].Cursor(&ls[i].cur, ls[i].t, ls[i].dir, cache.Want{Edges: req.Edges, Props: x.props})
		}
	}
	for len(sources) > 0 {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		n := cache.SameBlock(sources)
		if x.views != nil {
			for i := range ls {
				if err := ls[i].seek(sources[0], n); err != nil {
					return err
				}
			}
		}
		done := res.Done
		if len(ls) == 1 && len(x.tests) == 0 && ls[0].hit {
			if x.block(&ls[0], sources[:n]); x.full() {
				return nil
			}
		}
		for _, id := range sources[res.Done-done : n] {
			for i := range ls {
				from := len(x.out.Targets)
				if err := x.list(ctx, no, id, &ls[i]); err != nil {
					return err
				}
				if !req.Edges {
					continue
				}
				for range len(x.out.Targets) - from {
					res.Types = append(res.Types, ls[i].t)
				}
				if req.Dir != graph.Out {
					for range len(x.out.Targets) - from {
						res.Reverse = append(res.Reverse, ls[i].dir == graph.In)
					}
				}
			}
			res.Done++
			if req.Into != nil {
				x.put()
			}
			res.Offsets = append(res.Offsets, len(x.out.Targets))
			if x.full() {
				return nil
			}
		}
		sources = sources[n:]
	}
	return nil
}

// block answers the leading sources from a decoded block at once, if the request permits.
func (x *expansion) block(l *list, sources []graph.VertexID) {
	req, res := x.req, x.res
	most := 0
	if req.MaxEdges > 0 {
		most = req.MaxEdges - res.Seen
	}
	switch {
	case req.Into != nil:
		done, seen, added := l.cur.Mark(sources, most, req.Into)
		res.Done, res.Seen, res.Added = res.Done+done, res.Seen+seen, res.Added+added
	case !l.want.IDs && !l.want.NoLoops && !req.Loops && len(x.props) == 0:
		edges, lists := len(x.out.Targets), len(res.Offsets)
		x.out.Targets, res.Offsets = l.cur.Append(sources, most, x.out.Targets, res.Offsets)
		res.Done, res.Seen = res.Done+len(res.Offsets)-lists, res.Seen+len(x.out.Targets)-edges
	}
}

// put moves the targets to the request's set.
func (x *expansion) put() {
	for _, v := range x.out.Targets {
		if x.req.Into.Add(v) {
			x.res.Added++
		}
	}
	x.out.Targets = x.out.Targets[:0]
}

// list appends the edges of one list.
func (x *expansion) list(ctx context.Context, no int, id graph.VertexID, l *list) error {
	if l.hit {
		if d, ok := l.cur.List(id); ok {
			return x.cached(no, id, l, d)
		}
	}
	ls, err := l.stored(x.tx.views[no])
	if err != nil {
		return err
	}
	if len(x.tests) > 0 {
		return x.stored(ctx, id, l, ls)
	}
	from := len(x.out.Targets)
	err = ls.Append(ctx, id, l.want, &x.out, &x.pending)
	x.res.Seen += len(x.out.Targets) - from
	return err
}

// stored appends those edges of a stored list that pass the conditions.
func (x *expansion) stored(ctx context.Context, id graph.VertexID, l *list, ls *view.Lists) error {
	part := &x.part
	part.Targets, part.IDs, part.Props = part.Targets[:0], part.IDs[:0], emptyColumns(part.Props, len(x.props))
	x.large = x.large[:0]
	if err := ls.Append(ctx, id, l.want, part, &x.large); err != nil {
		return err
	}
	x.res.Seen += len(part.Targets)
	for i, target := range part.Targets {
		if !x.passes(i) {
			continue
		}
		for _, q := range x.large {
			if q.I == i && q.P < len(x.out.Props) {
				x.pending = append(x.pending, view.Pending{P: q.P, I: len(x.out.Targets), Ref: q.Ref})
			}
		}
		x.out.Targets = append(x.out.Targets, target)
		if l.want.IDs {
			x.out.IDs = append(x.out.IDs, part.IDs[i])
		}
		for p := range x.out.Props {
			x.out.Props[p] = append(x.out.Props[p], part.Props[p][i])
		}
	}
	return nil
}

// passes reports whether an edge of x.part passes the conditions. A large value, which is null in it, passes none.
func (x *expansion) passes(i int) bool {
	for k, p := range x.tests {
		if !x.req.Where[k].In.Holds(x.part.Props[p][i]) {
			return false
		}
	}
	return true
}

// cached appends the edges of a cached list.
func (x *expansion) cached(no int, id graph.VertexID, l *list, d cache.List) error {
	if !l.want.NoLoops && !x.req.Loops {
		return x.slice(no, l, d, 0, len(d.Targets))
	}
	own, _ := x.tx.on.Topology.lists[no].IDs().Pack(id)
	lo, hi := cache.Find(d.Targets, own)
	if x.req.Loops {
		if l.want.NoLoops {
			return nil
		}
		return x.slice(no, l, d, lo, hi)
	}
	if err := x.slice(no, l, d, 0, lo); err != nil {
		return err
	}
	return x.slice(no, l, d, hi, len(d.Targets))
}

// slice appends the edges [lo, hi) of a decoded list.
func (x *expansion) slice(no int, l *list, d cache.List, lo, hi int) error {
	x.res.Seen += hi - lo
	if len(x.tests) > 0 {
		return x.passing(no, l, d, lo, hi)
	}
	from, out := len(x.out.Targets), &x.out
	out.Targets = x.tx.on.Topology.lists[no].IDs().AppendTo(out.Targets, d.Targets[lo:hi])
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
	for p := range out.Props {
		var err error
		out.Props[p], err = l.cur.Prop(p).AppendTo(out.Props[p], d.Offset+uint32(lo), d.Offset+uint32(hi), x.tx.decode)
		if err != nil {
			return err
		}
	}
	return nil
}

// passing appends those of the edges [lo, hi) of a decoded list that pass the conditions.
func (x *expansion) passing(no int, l *list, d cache.List, lo, hi int) (err error) {
	first := d.Offset + uint32(lo)
	for k, p := range x.tests {
		in := &x.req.Where[k].In
		if k == 0 {
			x.pass, err = l.cur.Prop(p).AppendWithin(x.pass[:0], first, d.Offset+uint32(hi), in, x.tx.decode)
		} else {
			x.pass, err = l.cur.Prop(p).Within(x.pass, first, in, x.tx.decode)
		}
		if err != nil {
			return err
		}
	}
	if x.req.Into != nil {
		x.res.Added += l.cur.MarkPlaces(d.Targets[lo:hi], x.pass, x.req.Into)
		return nil
	}
	from, out := len(x.out.Targets), &x.out
	out.Targets = x.tx.on.Topology.lists[no].IDs().AppendPlaces(out.Targets, d.Targets[lo:hi], x.pass)
	if l.want.IDs {
		for i, at := range x.pass {
			s := no
			if l.dir == graph.In {
				s = out.Targets[from+i].Shard()
			}
			out.IDs = append(out.IDs, graph.MakeEdgeID(s, uint64(d.Edges[lo+int(at)])))
		}
	}
	for p := range out.Props {
		col := l.cur.Prop(p)
		for _, at := range x.pass {
			v, err := col.Value(first+at, x.tx.decode)
			if err != nil {
				return err
			}
			out.Props[p] = append(out.Props[p], v)
		}
	}
	return nil
}

// Step implements shard.Tx.
func (tx *Reader) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	ls := tx.lists(nil, types, dir, view.Want{})
	if tx.plain {
		for i := range ls {
			if err := tx.stepStored(ctx, from, &ls[i], out); err != nil {
				return err
			}
		}
		return nil
	}
	views := tx.openLists(false)
	defer views.Close()
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
func (tx *Reader) stepStored(ctx context.Context, from *graph.VertexSet, l *list, out *graph.VertexSet) error {
	for no := range min(from.Shards(), len(tx.views)) {
		if err := tx.stepShard(ctx, no, from.Bitmap(no), l, out); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Reader) stepShard(ctx context.Context, no int, from graph.Bitmap, l *list, out *graph.VertexSet) error {
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
func (tx *Reader) Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	clear(out[:len(ids)])
	ls := tx.lists(nil, types, dir, view.Want{})
	var views *listViews
	if !tx.plain {
		views = tx.openLists(false)
		defer views.Close()
	}
	return tx.byShard(ids).each(tx, len(ids), func(v *view.View, at view.Order) error {
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
func (tx *Reader) degrees(ctx context.Context, v *view.View, views *listViews, ids []graph.VertexID, at view.Order, l *list, out []int) error {
	if views != nil {
		views.Views[v.No()].Cursor(&l.cur, l.t, l.dir, cache.Want{})
	}
	end := graph.VertexID(0) // of the block
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
			if n, ok := tx.cachedDegree(v.No(), l, id); ok {
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

// cachedDegree is the length of a decoded list, without loops if the request is for both directions.
func (tx *Reader) cachedDegree(no int, l *list, id graph.VertexID) (n int, ok bool) {
	if !l.want.NoLoops {
		return l.cur.Degree(id)
	}
	d, ok := l.cur.List(id)
	if !ok {
		return 0, false
	}
	own, _ := tx.on.Topology.lists[no].IDs().Pack(id)
	lo, hi := cache.Find(d.Targets, own)
	return len(d.Targets) - (hi - lo), true
}

// Pull implements shard.PartTx.
func (tx *Reader) Pull(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) (bool, error) {
	if err := tx.Alive(ctx); err != nil || tx.plain {
		return false, err
	}
	views := tx.openLists(false)
	defer views.Close()
	for _, l := range tx.lists(nil, types, dir, view.Want{}) {
		if done, err := cache.Pull(views.refs, l.t, l.dir, from, out, runtime.GOMAXPROCS(0)); !done || err != nil {
			return false, err
		}
	}
	return true, nil
}
