package storage

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

// listCursor walks the edge lists of one type and direction, packed and delta side by side.
type listCursor struct {
	t             graph.TypeID
	dir           graph.Direction
	packed, delta *cursor
	groups        *groupCursor
	// Of the vertices from deltaFrom on, if deltaKnown, those before nextDelta have no delta records.
	deltaFrom, nextDelta uint64
	deltaKnown           bool
}

func (r *reader) listCursor(t graph.TypeID, dir graph.Direction) (l listCursor, err error) {
	l = listCursor{t: t, dir: dir}
	if l.packed, err = r.lists(keys.Adjacency, t, dir); err != nil {
		return l, err
	}
	if l.delta, err = r.lists(keys.DeltaEdge, t, dir); err != nil {
		return l, err
	}
	l.groups, err = r.groupCursor(t, dir)
	return l, err
}

// hasDelta reports whether the vertex's list has delta edges, alone or in groups, and goes to them.
func (l *listCursor) hasDelta(r *reader, local uint64) (bool, error) {
	if err := l.groups.find(l.t, l.dir, local); err != nil {
		return false, err
	}
	own, err := l.hasOwn(r, local)
	return own || len(l.groups.ends) > 0, err
}

// hasOwn reports whether the vertex's list has delta records of its own and goes to them.
func (l *listCursor) hasOwn(r *reader, local uint64) (bool, error) {
	if l.deltaKnown && local >= l.deltaFrom && local < l.nextDelta {
		return false, nil
	}
	r.key = keys.AppendDelta(r.key[:0], l.t, l.dir, local)
	l.deltaFrom, l.nextDelta, l.deltaKnown = local, math.MaxUint64, true
	if !l.delta.seek(r.key) {
		err := l.delta.err()
		l.deltaKnown = err == nil
		return false, err
	}
	k := l.delta.key()
	if len(k) < keys.DeltaRunSize {
		return false, kv.Corrupt("delta edges", k, codec.ErrDelta)
	}
	_, _, l.nextDelta = keys.List(k)
	return l.nextDelta == local, nil
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
func (l *listCursor) merge(r *reader, local uint64) (*codec.Merged, error) {
	m := &r.merged
	m.Reset()
	if err := l.mergeDelta(r, local, m); err != nil {
		return nil, err
	}
	err := l.segments(r, local, func(k, v []byte) error {
		if err := m.AddSegment(v); err != nil {
			return kv.Corrupt("edge list", k, err)
		}
		return nil
	})
	m.Sort()
	return m, err
}

// mergeDelta adds the delta records of a vertex's list: first the single edges, which override, then the runs.
func (l *listCursor) mergeDelta(r *reader, local uint64, m *codec.Merged) error {
	if err := l.groups.find(l.t, l.dir, local); err != nil {
		return err
	}
	own, err := l.hasOwn(r, local)
	if err != nil {
		return err
	}
	var runs [][]byte
	r.key = keys.AppendDelta(r.key[:0], l.t, l.dir, local)
	for ok := own; ok && bytes.HasPrefix(l.delta.key(), r.key); ok = l.delta.next() {
		k := l.delta.key()
		v, err := l.delta.value()
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
		if err := l.delta.err(); err != nil {
			return err
		}
	}
	for _, b := range runs {
		if err := m.AddSegment(b); err != nil {
			return kv.Corrupt("delta edges", r.key, err)
		}
	}
	return l.groups.runs(func(b []byte) error {
		if err := m.AddSegment(b); err != nil {
			return kv.Corrupt("delta edges", keys.AppendGroups(nil, l.t, l.dir, local), err)
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
		return nil, kv.Fault("open edge lists", err)
	}
	return &Lists{r: r, l: l}, nil
}

// Close returns the reader to its view.
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
		ls.err = kv.Fault("read edges", err)
		return ls.err
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
	return l.segments(r, id.Local(), func(k, v []byte) error {
		if err := r.appendSegment(v, id, want, out, pending); err != nil {
			return kv.Corrupt("edge list", k, err)
		}
		return nil
	})
}

// appendSegment appends the edges of a segment that nothing overrides.
func (r *reader) appendSegment(b []byte, id graph.VertexID, want Want, out *Edges, pending *[]Pending) error {
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
		c := &r.col
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
func (r *reader) rowValue(m *codec.Merged, row codec.Row, p graph.PropID) (v graph.Value, ref keys.Ref, isRef bool, err error) {
	r.key, err = m.AppendCell(r.key[:0], row, p)
	if err != nil || len(r.key) == 0 {
		return v, ref, false, err
	}
	return codec.ReadCell(r.key, &r.arena)
}

// Mark adds the far ends of a vertex's edges to a set.
func (ls *Lists) Mark(ctx context.Context, local uint64, out *graph.VertexSet) error {
	if err := ls.r.alive(ctx); err != nil {
		return err
	}
	if err := ls.mark(local, out); err != nil {
		ls.err = kv.Fault("read edges", err)
		return ls.err
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
	nbrs := r.merged.Neighbours[:0]
	err = l.segments(r, local, func(k, v []byte) error {
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
	r.merged.Neighbours = nbrs
	return err
}

// Degree is the number of edges in a vertex's list; loops counts those that lead back to it, if asked for.
func (ls *Lists) Degree(ctx context.Context, id graph.VertexID, withLoops bool) (n, loops int, err error) {
	if err := ls.r.alive(ctx); err != nil {
		return 0, 0, err
	}
	if n, loops, err = ls.degree(id, withLoops); err != nil {
		ls.err = kv.Fault("read degrees", err)
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
		m := &r.merged
		m.Reset()
		if err := l.mergeDelta(r, id.Local(), m); err != nil {
			return 0, 0, err
		}
		n = m.DegreeChange()
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
		if err := r.seg.Parse(v); err != nil {
			return 0, 0, kv.Corrupt("edge list", k, err)
		}
		n += r.seg.Total
	}
	return n, 0, nil
}
