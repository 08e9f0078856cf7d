package view

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// ListCursor iterates over the edge lists of one type and direction, packed and delta records together.
type ListCursor struct {
	Type          graph.TypeID
	Dir           graph.Direction
	Packed, Delta *Cursor
	Groups        *GroupCursor
	// Of the vertices from deltaFrom on, if deltaKnown, those before nextDelta have no delta records.
	deltaFrom, nextDelta uint64
	deltaKnown           bool
}

// Lists returns a cursor over the edge lists of a type and direction, packed and delta.
func (r *Reader) Lists(t graph.TypeID, dir graph.Direction) (l ListCursor, err error) {
	l = ListCursor{Type: t, Dir: dir}
	if l.Packed, err = r.ListRecords(keys.Adjacency, t, dir); err != nil {
		return l, err
	}
	if l.Delta, err = r.ListRecords(keys.DeltaEdge, t, dir); err != nil {
		return l, err
	}
	l.Groups, err = r.groupCursor(t, dir)
	return l, err
}

// hasDelta reports whether the vertex's list has delta edges, alone or in groups, and goes to them.
func (l *ListCursor) hasDelta(r *Reader, local uint64) (bool, error) {
	if err := l.Groups.find(l.Type, l.Dir, local); err != nil {
		return false, err
	}
	own, err := l.hasOwn(r, local)
	return own || len(l.Groups.ends) > 0, err
}

// hasOwn reports whether the vertex's list has delta records of its own and goes to them.
func (l *ListCursor) hasOwn(r *Reader, local uint64) (bool, error) {
	if l.deltaKnown && local >= l.deltaFrom && local < l.nextDelta {
		return false, nil
	}
	r.key = keys.AppendDelta(r.key[:0], l.Type, l.Dir, local)
	l.deltaFrom, l.nextDelta, l.deltaKnown = local, math.MaxUint64, true
	if !l.Delta.Seek(r.key) {
		err := l.Delta.Err()
		l.deltaKnown = err == nil
		return false, err
	}
	k := l.Delta.Key()
	if len(k) < keys.DeltaRunSize {
		return false, kv.Corrupt("delta edges", k, codec.ErrDelta)
	}
	_, _, l.nextDelta = keys.List(k)
	return l.nextDelta == local, nil
}

// Segments calls f with each packed segment of the vertex's list. It is valid during the call.
func (l *ListCursor) Segments(r *Reader, local uint64, f func(key, value []byte) error) error {
	r.key = keys.AppendList(r.key[:0], l.Type, l.Dir, local)
	ok := l.Packed.Seek(r.key)
	for ; ok && bytes.HasPrefix(l.Packed.Key(), r.key); ok = l.Packed.Next() {
		v, err := l.Packed.Value()
		if err != nil {
			return err
		}
		if err := f(l.Packed.Key(), v); err != nil {
			return err
		}
	}
	if !ok {
		return l.Packed.Err()
	}
	return nil
}

// merge assembles a vertex's list in r.Merged.
func (l *ListCursor) merge(r *Reader, local uint64) (*codec.Merged, error) {
	m := &r.Merged
	m.Reset()
	if err := l.MergeDelta(r, local, m); err != nil {
		return nil, err
	}
	err := l.Segments(r, local, func(k, v []byte) error {
		if err := m.AddSegment(v); err != nil {
			return kv.Corrupt("edge list", k, err)
		}
		return nil
	})
	m.Sort()
	return m, err
}

// MergeDelta adds the delta records of a vertex's list: first the single edges, which override, then the runs.
func (l *ListCursor) MergeDelta(r *Reader, local uint64, m *codec.Merged) error {
	if err := l.Groups.find(l.Type, l.Dir, local); err != nil {
		return err
	}
	own, err := l.hasOwn(r, local)
	if err != nil {
		return err
	}
	var runs [][]byte
	r.key = keys.AppendDelta(r.key[:0], l.Type, l.Dir, local)
	for ok := own; ok && bytes.HasPrefix(l.Delta.Key(), r.key); ok = l.Delta.Next() {
		k := l.Delta.Key()
		v, err := l.Delta.Value()
		if err != nil {
			return err
		}
		switch rest := k[keys.ListSize:]; {
		case rest[0] == keys.DeltaRun && len(k) == keys.DeltaRunSize:
			runs = append(runs, slices.Clone(v))
		case rest[0] == keys.DeltaOne && len(k) == keys.DeltaOneSize:
			n, e := keys.Pair(rest[1:])
			if err := m.AddOne(n, e, v); err != nil {
				return kv.Corrupt("delta edge", k, err)
			}
		default:
			return kv.Corrupt("delta edges", k, codec.ErrDelta)
		}
	}
	if own {
		l.deltaKnown = false
		if err := l.Delta.Err(); err != nil {
			return err
		}
	}
	for _, b := range runs {
		if err := m.AddSegment(b); err != nil {
			return kv.Corrupt("delta edges", r.key, err)
		}
	}
	return l.Groups.runs(func(b []byte) error {
		if err := m.AddSegment(b); err != nil {
			return kv.Corrupt("delta edges", keys.AppendGroups(nil, l.Type, l.Dir, local), err)
		}
		return nil
	})
}

// Edges is a result of edges, in columns: those of the vertices of a request in the order of its rows. Columns that were not requested stay
// empty.
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
	r   *Reader
	l   ListCursor
	err error
}

// Lists opens the edge lists of a type and direction.
func (v *View) Lists(t graph.TypeID, dir graph.Direction) (*Lists, error) {
	r := v.Acquire()
	l, err := r.Lists(t, dir)
	if err != nil {
		v.Release(r, &err)
		return nil, kv.Fault("open edge lists", err)
	}
	return &Lists{r: r, l: l}, nil
}

// Direction is the direction of the lists.
func (ls *Lists) Direction() graph.Direction { return ls.l.Dir }

// fail notes an error, which makes Close reset the reader, and returns it.
func (ls *Lists) fail(op string, err error) error {
	ls.err = kv.Fault(op, err)
	return ls.err
}

// Empty reports whether a vertex has no edges, stored or deleted.
func (ls *Lists) Empty(local uint64) (bool, error) {
	r, l := ls.r, &ls.l
	delta, err := l.hasDelta(r, local)
	if err != nil || delta {
		return false, err
	}
	r.key = keys.AppendList(r.key[:0], l.Type, l.Dir, local)
	if l.Packed.Seek(r.key) {
		return !bytes.HasPrefix(l.Packed.Key(), r.key), nil
	}
	return true, l.Packed.Err()
}

// Close returns the reader to its view.
func (ls *Lists) Close() {
	ls.r.v.Release(ls.r, &ls.err)
}

// Append appends the edges of a vertex, sorted by neighbour and edge. Large values are left null and appended to pending,
// where I is their place in the column.
func (ls *Lists) Append(ctx context.Context, id graph.VertexID, want Want, out *Edges, pending *[]Pending) error {
	if err := ls.r.Alive(ctx); err != nil {
		return err
	}
	if err := ls.append(id, want, out, pending); err != nil {
		return ls.fail("read edges", err)
	}
	return nil
}

func (ls *Lists) append(id graph.VertexID, want Want, out *Edges, pending *[]Pending) error {
	r, l := ls.r, &ls.l
	delta, err := l.hasDelta(r, id.Local())
	if err != nil {
		return err
	}
	if delta {
		return ls.appendMerged(id, want, out, pending)
	}
	return l.Segments(r, id.Local(), func(k, v []byte) error {
		if err := r.appendSegment(v, id, want, out, pending); err != nil {
			return kv.Corrupt("edge list", k, err)
		}
		return nil
	})
}

// appendSegment appends the edges of a segment that nothing overrides.
func (r *Reader) appendSegment(b []byte, id graph.VertexID, want Want, out *Edges, pending *[]Pending) error {
	s := &r.seg
	if err := s.Parse(b); err != nil {
		return err
	}
	start := len(out.Targets)
	var err error
	if out.Targets, err = s.AppendNeighbours(out.Targets); err != nil {
		return err
	}
	skip := -1
	if want.NoLoops {
		if i, ok := slices.BinarySearch(out.Targets[start:], id); ok {
			skip = i
		}
	}
	if want.IDs {
		if out.IDs, err = s.AppendIDs(out.IDs, out.Targets[start:]); err != nil {
			return err
		}
	}
	for p, prop := range want.Props {
		c := &r.Chunk
		ok, err := s.Column(prop, c)
		if err != nil {
			return err
		}
		at := len(out.Props[p])
		out.Props[p] = append(out.Props[p], make([]graph.Value, s.N)...)
		if !ok {
			continue
		}
		for i := range s.N {
			val, ref, isRef, err := c.Value(i, &r.arena)
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
		// Loops are adjacent, as they have the same neighbour.
		n := 1
		for start+skip+n < len(out.Targets) && out.Targets[start+skip+n] == id {
			n++
		}
		out.delete(start+skip, n, want, pending)
	}
	return nil
}

// delete removes n edges from i on.
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
	for _, row := range m.Rows {
		if want.NoLoops && row.Neighbour == id {
			continue
		}
		out.Targets = append(out.Targets, row.Neighbour)
		if want.IDs {
			out.IDs = append(out.IDs, row.Edge)
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
func (r *Reader) rowValue(m *codec.Merged, row codec.Row, p graph.PropID) (v graph.Value, ref keys.Ref, isRef bool, err error) {
	r.key, err = m.AppendCell(r.key[:0], row, p)
	if err != nil || len(r.key) == 0 {
		return v, ref, false, err
	}
	return codec.ReadCell(r.key, &r.arena)
}

// Mark adds the neighbours of a vertex to a set.
func (ls *Lists) Mark(ctx context.Context, local uint64, out *graph.VertexSet) error {
	if err := ls.r.Alive(ctx); err != nil {
		return err
	}
	if err := ls.mark(local, out); err != nil {
		return ls.fail("read edges", err)
	}
	return nil
}

func (ls *Lists) mark(local uint64, out *graph.VertexSet) error {
	r, l := ls.r, &ls.l
	delta, err := l.hasDelta(r, local)
	if err != nil {
		return err
	}
	if delta {
		m, err := l.merge(r, local)
		if err != nil {
			return err
		}
		for _, row := range m.Rows {
			out.Add(row.Neighbour)
		}
		return nil
	}
	nbrs := r.Merged.Neighbours[:0]
	err = l.Segments(r, local, func(k, v []byte) error {
		err := r.seg.Parse(v)
		if err == nil {
			nbrs, err = r.seg.AppendNeighbours(nbrs[:0])
		}
		if err != nil {
			return kv.Corrupt("edge list", k, err)
		}
		for _, n := range nbrs {
			out.Add(n)
		}
		return nil
	})
	r.Merged.Neighbours = nbrs
	return err
}

// Degree is the number of edges in a vertex's list; loops, if requested, counts those that lead back to it.
func (ls *Lists) Degree(ctx context.Context, id graph.VertexID, withLoops bool) (n, loops int, err error) {
	if err := ls.r.Alive(ctx); err != nil {
		return 0, 0, err
	}
	if n, loops, err = ls.degree(id, withLoops); err != nil {
		return 0, 0, ls.fail("read degrees", err)
	}
	return n, loops, nil
}

func (ls *Lists) degree(id graph.VertexID, withLoops bool) (n, loops int, err error) {
	r, l := ls.r, &ls.l
	if withLoops {
		// The loops must be found among the edges.
		m, err := l.merge(r, id.Local())
		if err != nil {
			return 0, 0, err
		}
		for _, row := range m.Rows {
			if row.Neighbour == id {
				loops++
			}
		}
		return len(m.Rows), loops, nil
	}
	delta, err := l.hasDelta(r, id.Local())
	if err != nil {
		return 0, 0, err
	}
	if delta {
		m := &r.Merged
		m.Reset()
		if err := l.MergeDelta(r, id.Local(), m); err != nil {
			return 0, 0, err
		}
		n = m.DegreeChange()
	}
	r.key = keys.AppendList(r.key[:0], l.Type, l.Dir, id.Local())
	if !l.Packed.Seek(r.key) {
		return n, 0, l.Packed.Err()
	}
	if k := l.Packed.Key(); bytes.Equal(k, r.key) {
		v, err := l.Packed.Value()
		if err != nil {
			return 0, 0, err
		}
		if err := r.seg.Parse(v); err != nil {
			return 0, 0, kv.Corrupt("edge list", k, err)
		}
		n += r.seg.Total
	}
	return n, 0, nil
}

// ListsEmpty reports whether no vertex of the shard has an edge of a type in a direction.
func (v *View) ListsEmpty(t graph.TypeID, dir graph.Direction) (empty bool, err error) {
	ls, err := v.Lists(t, dir)
	if err != nil {
		return false, err
	}
	defer ls.Close()
	for _, c := range []*Cursor{ls.l.Packed, ls.l.Delta, ls.l.Groups.c} {
		if c.Seek(nil) {
			return false, nil
		}
		if err := c.Err(); err != nil {
			return false, ls.fail("read edges", err)
		}
	}
	return true, nil
}
