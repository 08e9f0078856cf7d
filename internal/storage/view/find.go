package view

import (
	"bytes"
	"context"
	"slices"
	"sort"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// finder finds single edges in lists of one type and direction, without reading the rest of the lists. It caches what it decoded last, since
// most callers look edges up in the order of their lists. The cache stays valid in a writer's view: writers add runs, groups and delta
// records of single edges, which are never cached, but change no stored segment, run or group.
type finder struct {
	packed decodedEdges
	run    decodedEdges
	group  codec.Group // the last one that had an edge
	chunk  uint64      // of the group
	first  graph.EdgeID
	mem    []byte // of the group
	held   bool   // group is set
}

// decodedEdges is a segment or a run of the list of one vertex.
type decodedEdges struct {
	local uint64
	known bool
	whole bool // the list has no other segment
	seg   codec.Segment
	mem   []byte
	far   []graph.VertexID
	ids   []graph.EdgeID
}

// mostHeld is the number of edges for which an idle reader keeps its memory.
const mostHeld = 1 << 14

// finder returns the reader's finder for a type and direction.
func (r *Reader) finder(t graph.TypeID, dir graph.Direction) *finder {
	at := slot{dir: dir, typ: t}
	f := r.finders[at]
	if f == nil {
		if r.finders == nil {
			r.finders = map[slot]*finder{}
		}
		f = &finder{}
		r.finders[at] = f
	}
	return f
}

// forgetFound clears the caches of all finders, and frees their memory if it is large.
func (r *Reader) forgetFound() {
	if len(r.finders) > 8 {
		clear(r.finders)
	}
	for at, f := range r.finders {
		if max(cap(f.packed.ids), cap(f.run.ids)) > mostHeld {
			delete(r.finders, at)
			continue
		}
		f.packed.known, f.run.known, f.held = false, false, false
	}
}

// decode decodes a segment or a run, which it copies.
func (d *decodedEdges) decode(local uint64, b []byte) (err error) {
	d.local, d.known = local, false
	d.mem = append(d.mem[:0], b...)
	if err := d.seg.Parse(d.mem); err != nil {
		return err
	}
	d.whole = d.seg.Total == d.seg.N
	if d.far, err = d.seg.AppendNeighbours(d.far[:0]); err != nil {
		return err
	}
	if d.ids, err = d.seg.AppendIDs(d.ids[:0], d.far); err != nil {
		return err
	}
	if len(d.far) != len(d.ids) {
		return codec.ErrSegment
	}
	d.known = true
	return nil
}

// at compares edge i with another one.
func (d *decodedEdges) at(i int, e codec.Row) int {
	return e.Compare(codec.Row{Neighbour: d.far[i], Edge: d.ids[i]})
}

// find finds an edge of a list.
func (d *decodedEdges) find(local uint64, e codec.Row) (i int, ok bool) {
	if !d.known || d.local != local {
		return 0, false
	}
	return sort.Find(len(d.ids), func(i int) int { return d.at(i, e) })
}

// covers reports whether this is the only segment of a list that can have an edge.
func (d *decodedEdges) covers(local uint64, e codec.Row) bool {
	if !d.known || d.local != local {
		return false
	}
	return d.whole || len(d.ids) > 0 && d.at(0, e) >= 0 && d.at(len(d.ids)-1, e) <= 0
}

// Find reads one edge of a vertex's list; ok is false if it is not there. f is called with the cell of each of its
// properties, in ascending order; it may be nil. delta is the state of its delta record, 0 if there is none. Errors, also those
// of f, name the operation op.
func (ls *Lists) Find(op string, local uint64, neighbour graph.VertexID, edge graph.EdgeID, f func(p graph.PropID, cell []byte) error) (ok bool, delta byte, err error) {
	if ok, delta, err = ls.find(local, neighbour, edge, f); err != nil {
		return false, 0, ls.fail(op, err)
	}
	return ok, delta, nil
}

func (ls *Lists) find(local uint64, neighbour graph.VertexID, edge graph.EdgeID, f func(p graph.PropID, cell []byte) error) (ok bool, delta byte, err error) {
	r, l := ls.r, &ls.l
	r.key = keys.AppendDeltaOne(r.key[:0], l.Type, l.Dir, local, neighbour, edge)
	if l.Delta.Seek(r.key) && bytes.Equal(l.Delta.Key(), r.key) {
		b, err := l.Delta.Value()
		if err != nil {
			return false, 0, err
		}
		switch {
		case len(b) == 0 || b[0] < codec.DeltaInserted || b[0] > codec.DeltaDeleted:
			return false, 0, kv.Corrupt("delta edge", r.key, codec.ErrDelta)
		case b[0] == codec.DeltaDeleted:
			return false, b[0], nil
		case f != nil:
			err = codec.EachProp(b[1:], f)
		}
		return true, b[0], err
	}
	if err := l.Delta.Err(); err != nil {
		return false, 0, err
	}
	d, i, err := l.stored(r, local, codec.Row{Neighbour: neighbour, Edge: edge})
	if err != nil || d == nil {
		return false, 0, err
	}
	return true, 0, r.SegmentProps(&d.seg, i, f)
}

// stored finds the segment or run that has an edge, and the edge's place there; nil if none has it.
func (l *ListCursor) stored(r *Reader, local uint64, e codec.Row) (d *decodedEdges, i int, err error) {
	f := r.finder(l.Type, l.Dir)
	if i, ok := f.run.find(local, e); ok {
		return &f.run, i, nil
	}
	if !f.packed.covers(local, e) {
		if err := l.locate(r, &f.packed, local, e); err != nil {
			return nil, 0, err
		}
	}
	if i, ok := f.packed.find(local, e); ok {
		return &f.packed, i, nil
	}
	i, ok, err := l.findRun(f, local, e)
	if err != nil || !ok {
		return nil, 0, err
	}
	return &f.run, i, nil
}

// locate decodes the packed segment that can have an edge, or an empty one if the list has none.
func (l *ListCursor) locate(r *Reader, d *decodedEdges, local uint64, e codec.Row) error {
	d.known = false
	r.key = keys.AppendSegment(r.key[:0], l.Type, l.Dir, local, e.Neighbour, e.Edge)
	list := r.key[:keys.ListSize]
	if !l.Packed.Seek(list) || !bytes.HasPrefix(l.Packed.Key(), list) {
		if err := l.Packed.Err(); err != nil {
			return err
		}
		d.local, d.known, d.whole, d.far, d.ids = local, true, true, d.far[:0], d.ids[:0]
		return nil
	}
	// Most lists are one segment; of a long one the right segment is the last that begins at or before the edge.
	v, err := l.Packed.Value()
	if err != nil {
		return err
	}
	if err := r.seg.Parse(v); err != nil {
		return kv.Corrupt("edge list", l.Packed.Key(), err)
	}
	if r.seg.Total != r.seg.N {
		if !l.Packed.SeekLT(append(r.key, 0)) || !bytes.HasPrefix(l.Packed.Key(), list) {
			return l.Packed.Err()
		}
		if v, err = l.Packed.Value(); err != nil {
			return err
		}
	}
	if err := d.decode(local, v); err != nil {
		return kv.Corrupt("edge list", l.Packed.Key(), err)
	}
	return nil
}

// findRun finds an edge in the runs of its list, in groups or alone, and puts its run into f.run. Since ids of edges ascend with time, it is
// usually in the last run of either kind that starts at or before the edge.
func (l *ListCursor) findRun(f *finder, local uint64, e codec.Row) (i int, ok bool, err error) {
	if f.held && f.chunk == local>>keys.GroupBits && e.Edge >= f.first {
		if i, ok, err = f.inGroup(&f.group, local, e); err != nil || ok {
			return i, ok, err
		}
	}
	groups, runs := runWalk{c: l.Groups.c}, runWalk{c: l.Delta}
	groups.key = keys.AppendGroup(nil, l.Type, l.Dir, local, e.Edge)
	groups.prefix = groups.key[:keys.ListSize]
	runs.key = keys.AppendDeltaRun(nil, l.Type, l.Dir, local, e.Edge)
	runs.prefix = runs.key[:keys.ListSize+1]
	for more := true; more; {
		more = false
		if b, err := groups.prev(); err != nil {
			return 0, false, err
		} else if b != nil {
			more = true
			if i, ok, err = f.takeGroup(groups.c.Key(), b, local, e); err != nil || ok {
				return i, ok, err
			}
		}
		if b, err := runs.prev(); err != nil {
			return 0, false, err
		} else if b != nil {
			more = true
			if err := f.run.decode(local, b); err != nil {
				return 0, false, kv.Corrupt("delta edges", runs.c.Key(), err)
			}
			if i, ok = f.run.find(local, e); ok {
				return i, true, nil
			}
		}
	}
	return 0, false, nil
}

// inGroup finds an edge in a group.
func (f *finder) inGroup(g *codec.Group, local uint64, e codec.Row) (i int, ok bool, err error) {
	at := g.Find(local & (1<<keys.GroupBits - 1))
	if at < 0 {
		return 0, false, nil
	}
	run, err := g.Run(at)
	if err != nil {
		return 0, false, err
	}
	if err := f.run.decode(local, run); err != nil {
		return 0, false, err
	}
	i, ok = f.run.find(local, e)
	return i, ok, nil
}

// takeGroup finds an edge in a stored group, and caches the group if it is there.
func (f *finder) takeGroup(key, b []byte, local uint64, e codec.Row) (i int, ok bool, err error) {
	var g codec.Group
	if len(key) != keys.GroupSize {
		err = codec.ErrDelta
	} else if err = g.Parse(b); err == nil {
		i, ok, err = f.inGroup(&g, local, e)
	}
	if err != nil {
		return 0, false, kv.Corrupt("delta edges", key, err)
	}
	if ok {
		f.mem = append(f.mem[:0], b...)
		f.held = f.group.Parse(f.mem) == nil
		f.chunk, f.first = local>>keys.GroupBits, keys.GroupFirst(key)
	}
	return i, ok, nil
}

// runWalk iterates backwards over the runs or groups of a list.
type runWalk struct {
	c           *Cursor
	key, prefix []byte
	begun, over bool
}

// prev returns the previous one, nil at the end.
func (w *runWalk) prev() ([]byte, error) {
	if w.over {
		return nil, nil
	}
	at := w.key
	if !w.begun {
		at = append(slices.Clip(at), 0) // the key itself, too
	}
	if !w.c.SeekLT(at) || !bytes.HasPrefix(w.c.Key(), w.prefix) {
		w.over = true
		return nil, w.c.Err()
	}
	w.begun = true
	w.key = append(w.key[:0], w.c.Key()...)
	return w.c.Value()
}

// SegmentProps calls f with the properties of one edge of a segment.
func (r *Reader) SegmentProps(s *codec.Segment, i int, f func(p graph.PropID, cell []byte) error) error {
	if f == nil {
		return nil
	}
	return s.Each(func(p graph.PropID, b []byte) error {
		if err := r.Chunk.Parse(b); err != nil {
			return err
		}
		if r.Chunk.N != s.N {
			return codec.ErrSegment
		}
		cell, err := r.Chunk.AppendCell(nil, i)
		if err != nil || len(cell) == 0 {
			return err
		}
		return f(p, cell)
	})
}

// Edge reads one edge of the list's vertex: ok reports whether it exists, f is called with each of its properties in
// ascending order. Large values come as references.
func (ls *Lists) Edge(ctx context.Context, local uint64, neighbour graph.VertexID, edge graph.EdgeID, f func(p graph.PropID, v graph.Value, ref keys.Ref, isRef bool) error) (ok bool, err error) {
	if err := ls.r.Alive(ctx); err != nil {
		return false, err
	}
	ok, _, err = ls.find(local, neighbour, edge, func(p graph.PropID, cell []byte) error {
		v, ref, isRef, err := codec.ReadCell(cell, &ls.r.arena)
		if err != nil {
			return err
		}
		return f(p, v, ref, isRef)
	})
	if err != nil {
		return false, ls.fail("read an edge", err)
	}
	return ok, nil
}
