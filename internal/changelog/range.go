package changelog

import (
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Range is new vertices with consecutive ids. The record of the commit that makes them may leave their values to the graph, where they are as
// long as nobody changes them; and who does so has a record with what there was before. So a load's values are written once.
//
//	range    shape, n, first id
//
// A record with ranges has a version of its own, and Expand makes one with values of it.
type Range struct {
	First graph.VertexID
	N     int
}

// AddRange adds that the vertices of a range were created. What they have in common is that of Rows.Like.
func (e *Encoder) AddRange(like *Change, r Range) {
	e.flush()
	e.open(like)
	e.shape.flags |= flagRange
	e.cols = e.cols[:1]
	e.put(0, uint64(r.First))
	e.n = r.N
	e.flush()
	e.ranges = append(e.ranges, r)
}

// Ranges are those that were added.
func (e *Encoder) Ranges() []Range { return e.ranges }

// Old calls f with the vertices that are changed or deleted, each as often as it is.
func (e *Encoder) Old(f func(graph.VertexID)) error {
	e.flush()
	for _, part := range append(e.parts, e.part) {
		if len(part) == 0 {
			continue
		}
		if err := old(part, f); err != nil {
			return err
		}
	}
	return nil
}

// Old calls f with the vertices that the commit changes or deletes, each as often as it does.
func (c *Commit) Old(f func(graph.VertexID)) error {
	for _, b := range c.Records {
		if err := old(b, f); err != nil {
			return err
		}
	}
	return nil
}

func old(record []byte, f func(graph.VertexID)) error {
	return eachBlock(record, func(s *shape, n uint64, _ []byte, ids column) error {
		if op := Op(s.flags & 3); s.flags&(flagEdge|flagSchema) != 0 || op != Changed && op != Deleted {
			return nil
		}
		id := uint64(0)
		for range n {
			if id += uint64(ids.varint()); ids.err != nil {
				return ids.err
			}
			f(graph.VertexID(id))
		}
		return nil
	})
}

// eachBlock calls f with the blocks of a record: how many changes it has, its bytes, and its first column.
func eachBlock(record []byte, f func(s *shape, n uint64, block []byte, first column) error) error {
	r := reader{b: record}
	r.skipHead()
	var s shape
	for r.err == nil && len(r.b) > 0 {
		from := r.b
		n := s.head(&r)
		first := column{b: r.bytes()}
		if s.flags != flagSchema {
			for range s.columns() - 1 {
				r.bytes()
			}
		}
		if r.err != nil {
			break
		}
		if err := f(&s, n, from[:len(from)-len(r.b)], first); err != nil {
			return err
		}
	}
	return r.err
}

// Ranged reports whether the records have ranges.
func (c *Commit) Ranged() bool {
	return slices.ContainsFunc(c.Records, hasRanges)
}

func hasRanges(record []byte) bool { return len(record) > 0 && record[0]&^partFlag == ranged }

// Ranges are those of the records.
func (c *Commit) Ranges() (ranges []Range, err error) {
	for _, b := range c.Records {
		if !hasRanges(b) {
			continue
		}
		err := eachBlock(b, func(s *shape, n uint64, _ []byte, first column) error {
			if !s.isRange() {
				return nil
			}
			r, err := rangeOf(n, first)
			ranges = append(ranges, r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return ranges, nil
}

// maxRange is the greatest number of vertices of a range, which no load has in a batch.
const maxRange = 1 << 28

func rangeOf(n uint64, first column) (Range, error) {
	r := Range{graph.VertexID(first.varint()), int(min(n, maxRange))}
	if first.err != nil || len(first.b) > 0 || n > maxRange {
		return r, ErrRecord
	}
	return r, nil
}

// EachChange is Each for a commit that may have ranges, which it passes over.
func (c *Commit) EachChange(f func(*Change) error) error { return c.each(f) }

// Expand replaces the ranges by changes with values, of which values returns a column a property, as the commit has left them. The records that
// others may have read are not changed, but replaced.
func (c *Commit) Expand(values func(r Range, props []graph.PropID) ([][]graph.Value, error)) error {
	var out [][]byte
	for _, b := range c.Records {
		if !hasRanges(b) {
			out = append(out, b)
			continue
		}
		r := reader{b: b}
		r.skipHead()
		part := slices.Clone(b[:len(b)-len(r.b)])
		part[0] = version | part[0]&partFlag
		err := eachBlock(b, func(s *shape, n uint64, block []byte, first column) error {
			if !s.isRange() {
				part = append(part, block...)
				return nil
			}
			of, err := rangeOf(n, first)
			if err == nil {
				part, out, err = s.expand(of, part, out, values)
			}
			return err
		})
		if err != nil {
			return err
		}
		out = append(out, part)
	}
	c.Records = out
	return nil
}

// expand appends the changes of a range to a part, and parts that are full to out.
func (s *shape) expand(of Range, part []byte, out [][]byte, values func(Range, []graph.PropID) ([][]graph.Value, error)) ([]byte, [][]byte, error) {
	like := Change{Op: Created, Full: s.flags&flagFull != 0, Before: State{Labels: s.before}, After: State{Labels: s.after}}
	props := slices.Concat(s.props, s.keys[0])
	slices.Sort(props)
	props = slices.Compact(props)
	cols, err := values(of, props)
	if err != nil {
		return nil, nil, err
	}
	rows := &Rows{IDs: [][]uint64{make([]uint64, of.N)}}
	for i := range rows.IDs[0] {
		rows.IDs[0][i] = uint64(of.First) + uint64(i)
	}
	take := func(ids []graph.PropID) (ps []graph.Property) {
		for _, p := range ids {
			at, _ := slices.BinarySearch(props, p)
			ps, rows.Values = append(ps, graph.Property{ID: p}), append(rows.Values, cols[at])
		}
		return ps
	}
	like.After.Props, like.Keys = take(s.props), take(s.keys[0])
	rows.Like = like
	e := Encoder{tx: s.tx}
	if err := e.AddRows(rows); err != nil {
		return nil, nil, err
	}
	e.flush()
	for _, blocks := range append(e.parts, e.part) {
		if len(blocks) == 0 {
			continue
		}
		if len(part)+len(blocks) > partBytes+2*blockBytes {
			out, part = append(out, part), []byte{version | partFlag}
		}
		part = append(part, blocks[1:]...)
	}
	return part, out, nil
}

// AppendRanges appends ranges.
func AppendRanges(dst []byte, ranges []Range) []byte {
	for _, r := range ranges {
		dst = binary.AppendUvarint(dst, uint64(r.First))
		dst = binary.AppendUvarint(dst, uint64(r.N))
	}
	return dst
}

// ReadRanges reads what AppendRanges has appended.
func ReadRanges(b []byte) (ranges []Range, err error) {
	r := reader{b: b}
	for len(r.b) > 0 {
		of := Range{First: graph.VertexID(r.uvarint())}
		if of.N = int(min(r.uvarint(), maxRange+1)); r.err != nil || of.N > maxRange {
			return nil, ErrRecord
		}
		ranges = append(ranges, of)
	}
	return ranges, nil
}
