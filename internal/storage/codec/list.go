package codec

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// A Segment is a packed run of edges of one list, sorted by neighbour and then by edge id. It is stored as
//
//	topology, see topology.go
//	uvarint  number of property columns, ascending by property; each: property (uvarint), size (uvarint), column
type Segment struct {
	topology
	columns int
	props   []byte
}

// Parse opens a segment, whose bytes it shares, and checks its sizes.
func (s *Segment) Parse(b []byte) error {
	b, err := s.topology.parse(b)
	if err != nil {
		return err
	}
	columns, b := Uvarint(b)
	if b == nil {
		return ErrSegment
	}
	s.columns, s.props = int(columns), b
	return nil
}

// Each calls f for each property column.
func (s *Segment) Each(f func(p graph.PropID, col []byte) error) error {
	b := s.props
	for range s.columns {
		p, rest := Uvarint(b)
		size, rest := Uvarint(rest)
		if rest == nil || size > uint64(len(rest)) {
			return ErrSegment
		}
		if err := f(graph.PropID(p), rest[:size]); err != nil {
			return err
		}
		b = rest[size:]
	}
	return nil
}

// Column opens the column of a property; ok is false if there is none.
func (s *Segment) Column(p graph.PropID, c *Column) (ok bool, err error) {
	b := s.props
	for range s.columns {
		q, rest := Uvarint(b)
		size, rest := Uvarint(rest)
		if rest == nil || size > uint64(len(rest)) {
			return false, ErrSegment
		}
		if graph.PropID(q) == p {
			if err := c.Parse(rest[:size]); err != nil {
				return false, err
			}
			if c.N != s.N {
				return false, ErrSegment
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
	DeltaInserted byte = 1
	DeltaUpdated  byte = 2
	DeltaDeleted  byte = 3
)

// EachProp calls f for each property of a delta record's body. A cell shares b's memory.
func EachProp(b []byte, f func(p graph.PropID, cell []byte) error) error {
	for len(b) > 0 {
		p, rest := Uvarint(b)
		if rest == nil {
			return ErrDelta
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

// PropCell finds the cell of a property in a delta record's body, nil if there is none.
func PropCell(b []byte, p graph.PropID) (cell []byte, err error) {
	for len(b) > 0 {
		q, rest := Uvarint(b)
		if rest == nil {
			return nil, ErrDelta
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

// Row is one edge of a merged list: its properties are row at of source from.
type Row struct {
	Neighbour graph.VertexID
	Edge      graph.EdgeID
	From, At  int32
}

// Compare orders rows by neighbour and then by edge id.
func (r Row) Compare(o Row) int {
	if c := cmp.Compare(r.Neighbour, o.Neighbour); c != 0 {
		return c
	}
	return cmp.Compare(r.Edge, o.Edge)
}

// Merged is an edge list put together from segments, runs of delta edges and single delta edges.
type Merged struct {
	Rows []Row
	Segs []Segment // the sources of rows with from >= 0
	ones []byte    // the sources of rows with from < 0: at is where a delta edge's properties begin, -from-1 how many bytes they have
	// Over holds the edges that a single delta edge overrides or deletes, sorted.
	Over       []Row
	Dropped    []Row  // the rows of segs that over took out
	mem        []byte // what segs point into
	Neighbours []graph.VertexID
	IDs        []graph.EdgeID
	head       []Row // scratch memory of sort
}

// Reset removes all edges.
func (m *Merged) Reset() {
	m.Rows, m.Segs, m.ones, m.Over, m.Dropped, m.mem = m.Rows[:0], m.Segs[:0], m.ones[:0], m.Over[:0], m.Dropped[:0], m.mem[:0]
}

// AddOne adds one delta edge. All of them come before the segments and runs.
func (m *Merged) AddOne(neighbour graph.VertexID, edge graph.EdgeID, value []byte) error {
	if len(value) == 0 {
		return ErrDelta
	}
	r := Row{Neighbour: neighbour, Edge: edge, From: -int32(len(value)-1) - 1, At: int32(len(m.ones))}
	switch value[0] {
	case DeltaInserted:
		m.Rows = append(m.Rows, r)
	case DeltaUpdated:
		m.Rows = append(m.Rows, r)
		m.Over = append(m.Over, r)
	case DeltaDeleted:
		m.Over = append(m.Over, r)
		return nil
	default:
		return ErrDelta
	}
	m.ones = append(m.ones, value[1:]...)
	return nil
}

// AddSegment adds the edges of a segment or a run that nothing overrides. It copies b.
func (m *Merged) AddSegment(b []byte) error {
	// The copy may move mem; segments that were parsed before keep the old memory alive.
	start := len(m.mem)
	m.mem = append(m.mem, b...)
	var s Segment
	if err := s.Parse(m.mem[start:len(m.mem):len(m.mem)]); err != nil {
		return err
	}
	var err error
	if m.Neighbours, err = s.AppendNeighbours(m.Neighbours[:0]); err != nil {
		return err
	}
	if m.IDs, err = s.AppendIDs(m.IDs[:0], m.Neighbours); err != nil {
		return err
	}
	from := int32(len(m.Segs))
	m.Segs = append(m.Segs, s)
	for i, n := range m.Neighbours {
		r := Row{Neighbour: n, Edge: m.IDs[i], From: from, At: int32(i)}
		if len(m.Over) > 0 {
			if _, hit := slices.BinarySearchFunc(m.Over, r, Row.Compare); hit {
				m.Dropped = append(m.Dropped, r)
				continue
			}
		}
		m.Rows = append(m.Rows, r)
	}
	return nil
}

// Sort puts the rows in order once all sources are in. The last of them, those of the segments, mostly are: the others
// are sorted and merged with these.
func (m *Merged) Sort() {
	n := max(0, len(m.Rows)-1)
	for n > 0 && m.Rows[n-1].Compare(m.Rows[n]) <= 0 {
		n--
	}
	if n == 0 {
		return
	}
	m.head = append(m.head[:0], m.Rows[:n]...)
	slices.SortFunc(m.head, Row.Compare)
	to := m.Rows[:0]
	for head, tail := m.head, m.Rows[n:]; len(head) > 0; {
		if len(tail) > 0 && tail[0].Compare(head[0]) < 0 {
			to, tail = append(to, tail[0]), tail[1:]
		} else {
			to, head = append(to, head[0]), head[1:]
		}
	}
}

// One returns the properties of a row that is a delta edge.
func (m *Merged) One(r Row) []byte { return m.ones[r.At : r.At-r.From-1] }

// AppendCell appends the cell of a property of a row.
func (m *Merged) AppendCell(dst []byte, r Row, p graph.PropID) ([]byte, error) {
	if r.From < 0 {
		c, err := PropCell(m.One(r), p)
		return append(dst, c...), err
	}
	var c Column
	ok, err := m.Segs[r.From].Column(p, &c)
	if err != nil || !ok {
		return dst, err
	}
	return c.AppendCell(dst, int(r.At))
}

// Props lists the properties that some edge may have, ascending.
func (m *Merged) Props() ([]graph.PropID, error) {
	var ps []graph.PropID
	for i := range m.Segs {
		err := m.Segs[i].Each(func(p graph.PropID, _ []byte) error { ps = append(ps, p); return nil })
		if err != nil {
			return nil, err
		}
	}
	for _, r := range m.Rows {
		if r.From < 0 {
			err := EachProp(m.One(r), func(p graph.PropID, _ []byte) error { ps = append(ps, p); return nil })
			if err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(ps)
	return slices.Compact(ps), nil
}

// Packer writes segments.
type Packer struct {
	Edges Ends
	cells Cells
	col   []byte
	cols  map[int32]Column // by source, of the property at hand
}

// AppendSegment appends rows, which are sorted, as a segment.
func (p *Packer) AppendSegment(dst []byte, m *Merged, rows []Row, props []graph.PropID, total int) ([]byte, error) {
	p.Edges.reset()
	for i := range rows {
		p.Edges.add(rows[i].Neighbour, rows[i].Edge)
	}
	dst = AppendTopology(dst, &p.Edges, total)
	at := len(dst)
	dst = append(dst, 0) // The number of columns, if it is below 128.
	n := 0
	for _, prop := range props {
		some := false
		p.cells.Reset()
		clear(p.cols)
		if p.cols == nil {
			p.cols = map[int32]Column{}
		}
		for _, r := range rows {
			start := len(p.cells.Buf)
			if err := p.appendCell(m, r, prop); err != nil {
				return dst, err
			}
			some = some || len(p.cells.Buf) > start
			p.cells.Close()
		}
		if !some {
			continue
		}
		n++
		p.col = AppendColumn(p.col[:0], &p.cells)
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

func (p *Packer) appendCell(m *Merged, r Row, prop graph.PropID) error {
	if r.From < 0 {
		c, err := PropCell(m.One(r), prop)
		p.cells.Buf = append(p.cells.Buf, c...)
		return err
	}
	c, ok := p.cols[r.From]
	if !ok {
		if _, err := m.Segs[r.From].Column(prop, &c); err != nil {
			return err
		}
		p.cols[r.From] = c
	}
	if c.N == 0 {
		return nil
	}
	var err error
	p.cells.Buf, err = c.AppendCell(p.cells.Buf, int(r.At))
	return err
}

// DegreeChange is by how many edges the delta records alone, which are merged, change the degree.
func (m *Merged) DegreeChange() int {
	inserted := 0
	for _, row := range m.Rows {
		if row.From < 0 {
			inserted++
		}
	}
	n := inserted - len(m.Over)
	for i := range m.Segs {
		n += m.Segs[i].N
	}
	return n
}
