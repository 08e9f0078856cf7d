package storage

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// A segment is a packed run of edges of one list, sorted by neighbour and then by edge id. It is stored as
//
//	topology, see topology.go
//	uvarint  number of property columns, ascending by property; each: property (uvarint), size (uvarint), column
type segment struct {
	topology
	columns int
	props   []byte
}

// parse opens a segment, whose bytes it shares, and checks its sizes.
func (s *segment) parse(b []byte) error {
	b, err := s.topology.parse(b)
	if err != nil {
		return err
	}
	columns, b := uvarint(b)
	if b == nil {
		return errSegment
	}
	s.columns, s.props = int(columns), b
	return nil
}

// each calls f for each property column.
func (s *segment) each(f func(p graph.PropID, col []byte) error) error {
	b := s.props
	for range s.columns {
		p, rest := uvarint(b)
		size, rest := uvarint(rest)
		if rest == nil || size > uint64(len(rest)) {
			return errSegment
		}
		if err := f(graph.PropID(p), rest[:size]); err != nil {
			return err
		}
		b = rest[size:]
	}
	return nil
}

// column opens the column of a property; ok is false if there is none.
func (s *segment) column(p graph.PropID, c *column) (ok bool, err error) {
	b := s.props
	for range s.columns {
		q, rest := uvarint(b)
		size, rest := uvarint(rest)
		if rest == nil || size > uint64(len(rest)) {
			return false, errSegment
		}
		if graph.PropID(q) == p {
			if err := c.parse(rest[:size]); err != nil {
				return false, err
			}
			if c.n != s.n {
				return false, errSegment
			}
			return true, nil
		}
		b = rest[size:]
	}
	return false, nil
}

// The states of a delta edge, the first byte of its record; its properties follow, each as property (uvarint) and cell.
// Inserted edges are in no segment and no run; the others are in one, which they override.
const (
	deltaInserted byte = 1
	deltaUpdated  byte = 2
	deltaDeleted  byte = 3
)

// eachProp calls f for each property of a delta record's body. A cell shares b's memory.
func eachProp(b []byte, f func(p graph.PropID, cell []byte) error) error {
	for len(b) > 0 {
		p, rest := uvarint(b)
		if rest == nil {
			return errDelta
		}
		next, err := keys.SkipCell(rest)
		if err != nil {
			return err
		}
		if err := f(graph.PropID(p), rest[:len(rest)-len(next)]); err != nil {
			return err
		}
		b = next
	}
	return nil
}

// propCell finds the cell of a property in a delta record's body, nil if there is none.
func propCell(b []byte, p graph.PropID) (cell []byte, err error) {
	for len(b) > 0 {
		q, rest := uvarint(b)
		if rest == nil {
			return nil, errDelta
		}
		next, err := keys.SkipCell(rest)
		if err != nil {
			return nil, err
		}
		if graph.PropID(q) == p {
			return rest[:len(rest)-len(next)], nil
		}
		b = next
	}
	return nil, nil
}

// row is one edge of a merged list: its properties are row at of source from.
type row struct {
	neighbour graph.VertexID
	edge      graph.EdgeID
	from, at  int32
}

func (r row) compare(o row) int {
	if c := cmp.Compare(r.neighbour, o.neighbour); c != 0 {
		return c
	}
	return cmp.Compare(r.edge, o.edge)
}

// merged is an edge list put together from segments, runs of delta edges and single delta edges.
type merged struct {
	rows []row
	segs []segment // the sources of rows with from >= 0
	ones []byte    // the sources of rows with from < 0: at is where a delta edge's properties begin, -from-1 how many bytes they have
	// over holds the edges that a single delta edge overrides or deletes, sorted.
	over    []row
	dropped []row  // the rows of segs that over took out
	mem     []byte // what segs point into
	nbrs    []graph.VertexID
	ids     []graph.EdgeID
	head    []row // scratch memory of sort
}

func (m *merged) reset() {
	m.rows, m.segs, m.ones, m.over, m.dropped, m.mem = m.rows[:0], m.segs[:0], m.ones[:0], m.over[:0], m.dropped[:0], m.mem[:0]
}

// addOne adds one delta edge. All of them come before the segments and runs.
func (m *merged) addOne(neighbour graph.VertexID, edge graph.EdgeID, value []byte) error {
	if len(value) == 0 {
		return errDelta
	}
	r := row{neighbour: neighbour, edge: edge, from: -int32(len(value)-1) - 1, at: int32(len(m.ones))}
	switch value[0] {
	case deltaInserted:
		m.rows = append(m.rows, r)
	case deltaUpdated:
		m.rows = append(m.rows, r)
		m.over = append(m.over, r)
	case deltaDeleted:
		m.over = append(m.over, r)
		return nil
	default:
		return errDelta
	}
	m.ones = append(m.ones, value[1:]...)
	return nil
}

// addSegment adds the edges of a segment or a run that nothing overrides. It copies b.
func (m *merged) addSegment(b []byte) error {
	// The copy may move mem; segments that were parsed before keep the old memory alive.
	start := len(m.mem)
	m.mem = append(m.mem, b...)
	var s segment
	if err := s.parse(m.mem[start:len(m.mem):len(m.mem)]); err != nil {
		return err
	}
	var err error
	if m.nbrs, err = s.appendNeighbours(m.nbrs[:0]); err != nil {
		return err
	}
	if m.ids, err = s.appendIDs(m.ids[:0], m.nbrs); err != nil {
		return err
	}
	from := int32(len(m.segs))
	m.segs = append(m.segs, s)
	for i, n := range m.nbrs {
		r := row{neighbour: n, edge: m.ids[i], from: from, at: int32(i)}
		if len(m.over) > 0 {
			if _, hit := slices.BinarySearchFunc(m.over, r, row.compare); hit {
				m.dropped = append(m.dropped, r)
				continue
			}
		}
		m.rows = append(m.rows, r)
	}
	return nil
}

// sort puts the rows in order once all sources are in. The last of them, those of the segments, mostly are: the others
// are sorted and merged with these.
func (m *merged) sort() {
	n := max(0, len(m.rows)-1)
	for n > 0 && m.rows[n-1].compare(m.rows[n]) <= 0 {
		n--
	}
	if n == 0 {
		return
	}
	m.head = append(m.head[:0], m.rows[:n]...)
	slices.SortFunc(m.head, row.compare)
	to := m.rows[:0]
	for head, tail := m.head, m.rows[n:]; len(head) > 0; {
		if len(tail) > 0 && tail[0].compare(head[0]) < 0 {
			to, tail = append(to, tail[0]), tail[1:]
		} else {
			to, head = append(to, head[0]), head[1:]
		}
	}
}

// one returns the properties of a row that is a delta edge.
func (m *merged) one(r row) []byte { return m.ones[r.at : r.at-r.from-1] }

// appendCell appends the cell of a property of a row.
func (m *merged) appendCell(dst []byte, r row, p graph.PropID) ([]byte, error) {
	if r.from < 0 {
		c, err := propCell(m.one(r), p)
		return append(dst, c...), err
	}
	var c column
	ok, err := m.segs[r.from].column(p, &c)
	if err != nil || !ok {
		return dst, err
	}
	return c.appendCell(dst, int(r.at))
}

// props lists the properties that some edge may have, ascending.
func (m *merged) props() ([]graph.PropID, error) {
	var ps []graph.PropID
	for i := range m.segs {
		err := m.segs[i].each(func(p graph.PropID, _ []byte) error { ps = append(ps, p); return nil })
		if err != nil {
			return nil, err
		}
	}
	for _, r := range m.rows {
		if r.from < 0 {
			err := eachProp(m.one(r), func(p graph.PropID, _ []byte) error { ps = append(ps, p); return nil })
			if err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(ps)
	return slices.Compact(ps), nil
}

// packer writes segments.
type packer struct {
	edges ends
	cells cells
	col   []byte
	cols  map[int32]column // by source, of the property at hand
}

// appendSegment appends rows, which are sorted, as a segment.
func (p *packer) appendSegment(dst []byte, m *merged, rows []row, props []graph.PropID, total int) ([]byte, error) {
	p.edges.reset()
	for i := range rows {
		p.edges.add(rows[i].neighbour, rows[i].edge)
	}
	dst = appendTopology(dst, &p.edges, total)
	at := len(dst)
	dst = append(dst, 0) // The number of columns, if it is below 128.
	n := 0
	for _, prop := range props {
		some := false
		p.cells.reset()
		clear(p.cols)
		if p.cols == nil {
			p.cols = map[int32]column{}
		}
		for _, r := range rows {
			start := len(p.cells.buf)
			if err := p.appendCell(m, r, prop); err != nil {
				return dst, err
			}
			some = some || len(p.cells.buf) > start
			p.cells.close()
		}
		if !some {
			continue
		}
		n++
		p.col = appendColumn(p.col[:0], &p.cells)
		dst = binary.AppendUvarint(dst, uint64(prop))
		dst = binary.AppendUvarint(dst, uint64(len(p.col)))
		dst = append(dst, p.col...)
	}
	if n < 0x80 {
		dst[at] = byte(n)
		return dst, nil
	}
	return slices.Replace(dst, at, at+1, binary.AppendUvarint(nil, uint64(n))...), nil
}

func (p *packer) appendCell(m *merged, r row, prop graph.PropID) error {
	if r.from < 0 {
		c, err := propCell(m.one(r), prop)
		p.cells.buf = append(p.cells.buf, c...)
		return err
	}
	c, ok := p.cols[r.from]
	if !ok {
		if _, err := m.segs[r.from].column(prop, &c); err != nil {
			return err
		}
		p.cols[r.from] = c
	}
	if c.n == 0 {
		return nil
	}
	var err error
	p.cells.buf, err = c.appendCell(p.cells.buf, int(r.at))
	return err
}
