package storage

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// listCursor walks the edge lists of one type and direction, packed and fresh side by side.
type listCursor struct {
	t             graph.TypeID
	dir           graph.Direction
	packed, fresh *cursor
	groups        *groupCursor
	// Of the vertices from freshFrom on, if freshKnown, those before nextFresh have no fresh records.
	freshFrom, nextFresh uint64
	freshKnown           bool
}

func (r *reader) listCursor(t graph.TypeID, dir graph.Direction) (l listCursor, err error) {
	l = listCursor{t: t, dir: dir}
	if l.packed, err = r.lists(keys.Adjacency, t, dir); err != nil {
		return l, err
	}
	if l.fresh, err = r.lists(keys.FreshEdge, t, dir); err != nil {
		return l, err
	}
	l.groups, err = r.groupCursor(t, dir)
	return l, err
}

// hasFresh reports whether the vertex's list has fresh edges, alone or in groups, and goes to them.
func (l *listCursor) hasFresh(r *reader, local uint64) (bool, error) {
	if err := l.groups.find(l.t, l.dir, local); err != nil {
		return false, err
	}
	own, err := l.hasOwn(r, local)
	return own || len(l.groups.ends) > 0, err
}

// hasOwn reports whether the vertex's list has fresh records of its own and goes to them.
func (l *listCursor) hasOwn(r *reader, local uint64) (bool, error) {
	if l.freshKnown && local >= l.freshFrom && local < l.nextFresh {
		return false, nil
	}
	r.key = keys.AppendFresh(r.key[:0], l.t, l.dir, local)
	l.freshFrom, l.nextFresh, l.freshKnown = local, math.MaxUint64, true
	if !l.fresh.seek(r.key) {
		err := l.fresh.err()
		l.freshKnown = err == nil
		return false, err
	}
	k := l.fresh.key()
	if len(k) < keys.FreshRunSize {
		return false, corrupt("fresh edges", k, errFresh)
	}
	_, _, l.nextFresh = keys.List(k)
	return l.nextFresh == local, nil
}

// segments calls f with each packed segment of the vertex's list. It is valid during the call.
func (l *listCursor) segments(r *reader, local uint64, f func(key, value []byte) error) error {
	r.key = keys.AppendList(r.key[:0], l.t, l.dir, local)
	ok := l.packed.seek(r.key)
	for ; ok && bytes.HasPrefix(l.packed.key(), r.key); ok = l.packed.next() {
		v, err := l.packed.value()
		if err != nil {
			return err
		}
		if err := f(l.packed.key(), v); err != nil {
			return err
		}
	}
	if !ok {
		return l.packed.err()
	}
	return nil
}

// merge puts the vertex's whole list together in r.merged.
func (l *listCursor) merge(r *reader, local uint64) (*merged, error) {
	m := &r.merged
	m.reset()
	if err := l.mergeFresh(r, local, m); err != nil {
		return nil, err
	}
	err := l.segments(r, local, func(k, v []byte) error {
		if err := m.addSegment(v); err != nil {
			return corrupt("edge list", k, err)
		}
		return nil
	})
	m.sort()
	return m, err
}

// mergeFresh adds the fresh records of a vertex's list: first the single edges, which override, then the runs.
func (l *listCursor) mergeFresh(r *reader, local uint64, m *merged) error {
	if err := l.groups.find(l.t, l.dir, local); err != nil {
		return err
	}
	own, err := l.hasOwn(r, local)
	if err != nil {
		return err
	}
	var runs [][]byte
	r.key = keys.AppendFresh(r.key[:0], l.t, l.dir, local)
	for ok := own; ok && bytes.HasPrefix(l.fresh.key(), r.key); ok = l.fresh.next() {
		k := l.fresh.key()
		v, err := l.fresh.value()
		if err != nil {
			return err
		}
		switch rest := k[keys.ListSize:]; {
		case rest[0] == keys.FreshRun && len(k) == keys.FreshRunSize:
			runs = append(runs, slices.Clone(v))
		case rest[0] == keys.FreshOne && len(k) == keys.FreshOneSize:
			n, e := keys.Pair(rest[1:])
			if err := m.addOne(n, e, v); err != nil {
				return corrupt("fresh edge", k, err)
			}
		default:
			return corrupt("fresh edges", k, errFresh)
		}
	}
	if own {
		l.freshKnown = false
		if err := l.fresh.err(); err != nil {
			return err
		}
	}
	for _, b := range runs {
		if err := m.addSegment(b); err != nil {
			return corrupt("fresh edges", r.key, err)
		}
	}
	return l.groups.runs(func(b []byte) error {
		if err := m.addSegment(b); err != nil {
			return corrupt("fresh edges", keys.AppendGroups(nil, l.t, l.dir, local), err)
		}
		return nil
	})
}

// Edges is the answer to Expand: the edges of the list of vertex i, for the rows i of the request, follow those of the
// row before. Columns that were not asked for stay empty.
type Edges struct {
	Targets []graph.VertexID
	IDs     []graph.EdgeID
	Props   [][]graph.Value
}

// Want says which columns of Edges to fill.
type Want struct {
	IDs   bool
	Props []graph.PropID
	// NoLoops leaves out edges from a vertex to itself.
	NoLoops bool
}

// Lists reads edge lists of one type and direction, one vertex after the other in ascending order. It is not safe for
// concurrent use and must be closed.
type Lists struct {
	r   *reader
	l   listCursor
	err error
}

// Lists opens the edge lists of a type and direction.
func (v *View) Lists(t graph.TypeID, dir graph.Direction) (*Lists, error) {
	r := v.get()
	l, err := r.listCursor(t, dir)
	if err != nil {
		v.put(r, &err)
		return nil, fault("open edge lists", err)
	}
	return &Lists{r: r, l: l}, nil
}

// Close gives the reader back.
func (ls *Lists) Close() {
	ls.r.v.put(ls.r, &ls.err)
}

// Append appends the edges of a vertex, sorted by far end and edge. Large values are left null and appended to pending,
// where I is their place in the column.
func (ls *Lists) Append(ctx context.Context, id graph.VertexID, want Want, out *Edges, pending *[]Pending) error {
	if err := ls.r.alive(ctx); err != nil {
		return err
	}
	if err := ls.append(id, want, out, pending); err != nil {
		ls.err = fault("read edges", err)
		return ls.err
	}
	return nil
}

func (ls *Lists) append(id graph.VertexID, want Want, out *Edges, pending *[]Pending) error {
	r, l := ls.r, &ls.l
	fresh, err := l.hasFresh(r, id.Local())
	if err != nil {
		return err
	}
	if fresh {
		return ls.appendMerged(id, want, out, pending)
	}
	return l.segments(r, id.Local(), func(k, v []byte) error {
		if err := r.appendSegment(v, id, want, out, pending); err != nil {
			return corrupt("edge list", k, err)
		}
		return nil
	})
}

// appendSegment appends the edges of a segment that nothing overrides.
func (r *reader) appendSegment(b []byte, id graph.VertexID, want Want, out *Edges, pending *[]Pending) error {
	s := &r.seg
	if err := s.parse(b); err != nil {
		return err
	}
	start := len(out.Targets)
	var err error
	if out.Targets, err = s.appendNeighbours(out.Targets); err != nil {
		return err
	}
	skip := -1
	if want.NoLoops {
		if i, ok := slices.BinarySearch(out.Targets[start:], id); ok {
			skip = i
		}
	}
	if want.IDs {
		if out.IDs, err = s.appendIDs(out.IDs, out.Targets[start:]); err != nil {
			return err
		}
	}
	for p, prop := range want.Props {
		c := &r.col
		ok, err := s.column(prop, c)
		if err != nil {
			return err
		}
		at := len(out.Props[p])
		out.Props[p] = append(out.Props[p], make([]graph.Value, s.n)...)
		if !ok {
			continue
		}
		for i := range s.n {
			val, ref, isRef, err := c.value(i, &r.arena)
			if err != nil {
				return err
			}
			out.Props[p][at+i] = val
			if isRef {
				*pending = append(*pending, Pending{p, at + i, ref})
			}
		}
	}
	if skip >= 0 {
		// Loops stand together, as they have one far end.
		n := 1
		for start+skip+n < len(out.Targets) && out.Targets[start+skip+n] == id {
			n++
		}
		out.delete(start+skip, n, want, pending)
	}
	return nil
}

// delete takes out n edges from i on.
func (e *Edges) delete(i, n int, want Want, pending *[]Pending) {
	e.Targets = slices.Delete(e.Targets, i, i+n)
	if want.IDs {
		e.IDs = slices.Delete(e.IDs, i, i+n)
	}
	for p := range want.Props {
		e.Props[p] = slices.Delete(e.Props[p], i, i+n)
	}
	keep := (*pending)[:0]
	for _, q := range *pending {
		if q.I >= i+n {
			q.I -= n
		} else if q.I >= i {
			continue
		}
		keep = append(keep, q)
	}
	*pending = keep
}

func (ls *Lists) appendMerged(id graph.VertexID, want Want, out *Edges, pending *[]Pending) error {
	m, err := ls.l.merge(ls.r, id.Local())
	if err != nil {
		return err
	}
	for _, row := range m.rows {
		if want.NoLoops && row.neighbour == id {
			continue
		}
		out.Targets = append(out.Targets, row.neighbour)
		if want.IDs {
			out.IDs = append(out.IDs, row.edge)
		}
		for p, prop := range want.Props {
			val, ref, isRef, err := ls.r.rowValue(m, row, prop)
			if err != nil {
				return err
			}
			if isRef {
				*pending = append(*pending, Pending{p, len(out.Props[p]), ref})
			}
			out.Props[p] = append(out.Props[p], val)
		}
	}
	return nil
}

// rowValue reads a property of a row of a merged list.
func (r *reader) rowValue(m *merged, row row, p graph.PropID) (v graph.Value, ref keys.Ref, isRef bool, err error) {
	r.key, err = m.appendCell(r.key[:0], row, p)
	if err != nil || len(r.key) == 0 {
		return v, ref, false, err
	}
	return readCell(r.key, &r.arena)
}

// Mark adds the far ends of a vertex's edges to a set.
func (ls *Lists) Mark(ctx context.Context, local uint64, out *graph.VertexSet) error {
	if err := ls.r.alive(ctx); err != nil {
		return err
	}
	if err := ls.mark(local, out); err != nil {
		ls.err = fault("read edges", err)
		return ls.err
	}
	return nil
}

func (ls *Lists) mark(local uint64, out *graph.VertexSet) error {
	r, l := ls.r, &ls.l
	fresh, err := l.hasFresh(r, local)
	if err != nil {
		return err
	}
	if fresh {
		m, err := l.merge(r, local)
		if err != nil {
			return err
		}
		for _, row := range m.rows {
			out.Add(row.neighbour)
		}
		return nil
	}
	nbrs := r.merged.nbrs[:0]
	err = l.segments(r, local, func(k, v []byte) error {
		err := r.seg.parse(v)
		if err == nil {
			nbrs, err = r.seg.appendNeighbours(nbrs[:0])
		}
		if err != nil {
			return corrupt("edge list", k, err)
		}
		for _, n := range nbrs {
			out.Add(n)
		}
		return nil
	})
	r.merged.nbrs = nbrs
	return err
}

// Degree is the number of edges in a vertex's list; loops counts those that lead back to it, if asked for.
func (ls *Lists) Degree(ctx context.Context, id graph.VertexID, withLoops bool) (n, loops int, err error) {
	if err := ls.r.alive(ctx); err != nil {
		return 0, 0, err
	}
	if n, loops, err = ls.degree(id, withLoops); err != nil {
		ls.err = fault("read degrees", err)
	}
	return n, loops, ls.err
}

func (ls *Lists) degree(id graph.VertexID, withLoops bool) (n, loops int, err error) {
	r, l := ls.r, &ls.l
	if withLoops {
		// The loops must be found among the edges.
		m, err := l.merge(r, id.Local())
		if err != nil {
			return 0, 0, err
		}
		for _, row := range m.rows {
			if row.neighbour == id {
				loops++
			}
		}
		return len(m.rows), loops, nil
	}
	fresh, err := l.hasFresh(r, id.Local())
	if err != nil {
		return 0, 0, err
	}
	if fresh {
		m := &r.merged
		m.reset()
		if err := l.mergeFresh(r, id.Local(), m); err != nil {
			return 0, 0, err
		}
		n = m.change()
	}
	r.key = keys.AppendList(r.key[:0], l.t, l.dir, id.Local())
	if !l.packed.seek(r.key) {
		return n, 0, l.packed.err()
	}
	if k := l.packed.key(); bytes.Equal(k, r.key) {
		v, err := l.packed.value()
		if err != nil {
			return 0, 0, err
		}
		if err := r.seg.parse(v); err != nil {
			return 0, 0, corrupt("edge list", k, err)
		}
		n += r.seg.total
	}
	return n, 0, nil
}

// change is by how many edges the fresh records alone, which are merged, change the degree.
func (m *merged) change() int {
	inserted := 0
	for _, row := range m.rows {
		if row.from < 0 {
			inserted++
		}
	}
	n := inserted - len(m.over)
	for i := range m.segs {
		n += m.segs[i].n
	}
	return n
}

// Find reads one edge of a vertex's list; ok is false if it is not there. f is called with the cell of each of its
// properties, in ascending order; it may be nil. fresh is the state of its fresh record, 0 if there is none.
func (ls *Lists) find(local uint64, neighbour graph.VertexID, edge graph.EdgeID, f func(p graph.PropID, cell []byte) error) (ok bool, fresh byte, err error) {
	r, l := ls.r, &ls.l
	want := row{neighbour: neighbour, edge: edge}
	hasFresh, err := l.hasFresh(r, local)
	if err != nil {
		return false, 0, err
	}
	if hasFresh {
		m := &r.merged
		m.reset()
		if err := l.mergeFresh(r, local, m); err != nil {
			return false, 0, err
		}
		for _, o := range m.over {
			if o.compare(want) == 0 {
				fresh = freshDeleted
			}
		}
		for _, row := range m.rows {
			if row.compare(want) != 0 {
				continue
			}
			if row.from >= 0 {
				return true, 0, r.segmentProps(&m.segs[row.from], int(row.at), f)
			}
			if fresh == freshDeleted {
				fresh = freshUpdated
			} else {
				fresh = freshInserted
			}
			if f == nil {
				return true, fresh, nil
			}
			return true, fresh, eachProp(m.one(row), f)
		}
		if fresh == freshDeleted {
			return false, fresh, nil
		}
	}
	seg, err := l.locate(r, local, neighbour, edge)
	if err != nil || seg == nil {
		return false, 0, err
	}
	nbrs, err := seg.appendNeighbours(r.merged.nbrs[:0])
	r.merged.nbrs = nbrs
	if err != nil {
		return false, 0, err
	}
	i, ok := slices.BinarySearch(nbrs, neighbour)
	if !ok {
		return false, 0, nil
	}
	ids, err := seg.appendIDs(r.merged.ids[:0], nbrs)
	r.merged.ids = ids
	if err != nil {
		return false, 0, err
	}
	for ; i < len(nbrs) && nbrs[i] == neighbour; i++ {
		if ids[i] == edge {
			return true, 0, r.segmentProps(seg, i, f)
		}
	}
	return false, 0, nil
}

// locate opens the packed segment that an edge must lie in, nil if there is none.
func (l *listCursor) locate(r *reader, local uint64, neighbour graph.VertexID, edge graph.EdgeID) (*segment, error) {
	r.key = keys.AppendSegment(r.key[:0], l.t, l.dir, local, neighbour, edge)
	list := r.key[:keys.ListSize]
	if !l.packed.seek(list) {
		return nil, l.packed.err()
	}
	if !bytes.HasPrefix(l.packed.key(), list) {
		return nil, nil
	}
	var best []byte
	// Most lists are one segment; of a long one the right segment is the last that begins at or before the edge.
	v, err := l.packed.value()
	if err != nil {
		return nil, err
	}
	if err := r.seg.parse(v); err != nil {
		return nil, corrupt("edge list", l.packed.key(), err)
	}
	if r.seg.total == r.seg.n {
		return &r.seg, nil
	}
	if !l.packed.seekLT(append(r.key, 0)) || !bytes.HasPrefix(l.packed.key(), list) {
		return nil, l.packed.err()
	}
	if best, err = l.packed.value(); err != nil {
		return nil, err
	}
	if err := r.seg.parse(best); err != nil {
		return nil, corrupt("edge list", l.packed.key(), err)
	}
	return &r.seg, nil
}

// segmentProps calls f with the properties of one edge of a segment.
func (r *reader) segmentProps(s *segment, i int, f func(p graph.PropID, cell []byte) error) error {
	if f == nil {
		return nil
	}
	return s.each(func(p graph.PropID, b []byte) error {
		if err := r.col.parse(b); err != nil {
			return err
		}
		if r.col.n != s.n {
			return errSegment
		}
		cell, err := r.col.appendCell(nil, i)
		if err != nil || len(cell) == 0 {
			return err
		}
		return f(p, cell)
	})
}

// Edge reads one edge of the list's vertex: ok tells whether it is there, f is called with each of its properties in
// ascending order. Large values come as references.
func (ls *Lists) Edge(ctx context.Context, local uint64, neighbour graph.VertexID, edge graph.EdgeID, f func(p graph.PropID, v graph.Value, ref keys.Ref, isRef bool) error) (ok bool, err error) {
	if err := ls.r.alive(ctx); err != nil {
		return false, err
	}
	ok, _, err = ls.find(local, neighbour, edge, func(p graph.PropID, cell []byte) error {
		v, ref, isRef, err := readCell(cell, &ls.r.arena)
		if err != nil {
			return err
		}
		return f(p, v, ref, isRef)
	})
	if err != nil {
		ls.err = fault("read an edge", err)
	}
	return ok, ls.err
}
