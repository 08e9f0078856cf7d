package changelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// ErrRecord says that bytes are not a record, or not a sequence of commits.
var ErrRecord = errors.New("changelog: not a record of the commit log")

// Commit is one commit of the log.
type Commit struct {
	// Number counts the graph's commits, Time is that of the commit in nanoseconds since 1970; both ascend.
	Number uint64
	Time   int64
	// Origins are those of the commit's transactions, which Change.Tx numbers; of some it may have none.
	Origins []Origin
	// Records has the parts of the record of each shard, one after the other.
	Records [][]byte

	block block // memory for Each
}

// AppendTo appends the commit in the form of ReadCommit.
func (c *Commit) AppendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, c.Number)
	dst = binary.AppendUvarint(dst, uint64(len(c.Records)))
	for _, r := range c.Records {
		dst = binary.AppendUvarint(dst, uint64(len(r)))
		dst = append(dst, r...)
	}
	return dst
}

// ReadCommit reads the commit at the start of b, whose memory it shares, and returns the rest.
func ReadCommit(b []byte) (*Commit, []byte, error) {
	c := &Commit{}
	rest, err := c.Read(b)
	return c, rest, err
}

// Read is ReadCommit into memory of another commit, which it overwrites.
func (c *Commit) Read(b []byte) (rest []byte, err error) {
	r := reader{b: b}
	c.Number, c.Time, c.Records = r.uvarint(), 0, c.Records[:0]
	n := r.uvarint()
	if n > uint64(len(b)) {
		return nil, ErrRecord
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		c.Records = append(c.Records, r.bytes())
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.b, c.Open()
}

// Open sets the time and the origins to those of the records.
func (c *Commit) Open() error {
	known := c.Origins // those of the memory, which are often the same
	c.Origins = known[:0]
	for _, b := range c.Records {
		r := reader{b: b}
		part := len(b) > 0 && b[0]&partFlag != 0
		time, origins := r.head(known)
		if r.err != nil {
			return r.err
		}
		if part {
			continue
		}
		c.Time = time
		if len(origins) > 0 {
			c.Origins, known = origins, origins
		}
	}
	return nil
}

// Each calls f with the changes, in their order within each shard. The change, but not its values, is used again after f; strings share the
// memory of the records. There must be no ranges.
func (c *Commit) Each(f func(*Change) error) error {
	if c.Ranged() {
		return fmt.Errorf("%w: it leaves values to the graph", ErrRecord)
	}
	return c.each(f)
}

func (c *Commit) each(f func(*Change) error) error {
	for _, b := range c.Records {
		r := reader{b: b}
		if err := r.record(&c.block, f); err != nil {
			return err
		}
	}
	return nil
}

// reader reads a record; after an error it reads zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() { r.b, r.err = nil, ErrRecord }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// head reads what precedes the blocks of a record. It uses the memory of known origins.
func (r *reader) head(known []Origin) (time int64, origins []Origin) {
	switch r.byte() {
	case version, ranged:
	case version | partFlag, ranged | partFlag:
		return 0, nil
	default:
		r.fail()
		return 0, nil
	}
	time = r.varint()
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0, nil
	}
	origins = known[:0]
	for i := uint64(0); i < n && r.err == nil; i++ {
		origins = slices.Grow(origins, 1)[:i+1]
		o := &origins[i]
		o.Started = r.varint()
		for _, s := range [...]*string{&o.User, &o.Protocol, &o.Client, &o.Server, &o.Metadata} {
			if b := r.bytes(); string(b) != *s {
				*s = string(b)
			}
		}
	}
	return time, origins
}

// skipHead skips what head reads.
func (r *reader) skipHead() {
	if r.byte()&partFlag != 0 {
		return
	}
	r.varint()
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		r.varint()
		for range 5 {
			r.bytes()
		}
	}
}

func (r *reader) record(d *block, f func(*Change) error) error {
	r.skipHead()
	for r.err == nil && len(r.b) > 0 {
		if err := d.read(r, f); err != nil {
			return err
		}
	}
	return r.err
}

// block reads blocks, and keeps memory for the next one.
type block struct {
	shape
	cols []column
	ids  [6]uint64
	c    Change
	// props holds the properties of the change.
	props []graph.Property
}

// column is what is left of a column.
type column = reader

// head reads what precedes the columns of a block, and how many changes it has.
func (s *shape) head(r *reader) (n uint64) {
	if s.flags = r.byte(); s.flags == flagSchema {
		return 0
	}
	s.tx = int(min(r.uvarint(), 1<<31))
	n = r.uvarint()
	s.typ, s.before, s.after = 0, 0, 0
	if s.flags&flagEdge != 0 {
		s.typ = graph.TypeID(r.uvarint())
	} else {
		s.before, s.after = graph.LabelSet(r.uvarint()), graph.LabelSet(r.uvarint())
	}
	s.props = r.propIDs(s.props[:0])
	for i := range s.keys {
		s.keys[i] = r.propIDs(s.keys[i][:0])
	}
	if s.flags >= flagSchema && s.flags&^flagFull != flagRange|byte(Created) {
		r.fail()
	}
	return n
}

func (d *block) read(r *reader, f func(*Change) error) error {
	n := d.head(r)
	if d.flags == flagSchema {
		r.bytes()
		return r.err
	}
	d.cols = d.cols[:0]
	for range d.columns() {
		d.cols = append(d.cols, column{b: r.bytes()})
	}
	if r.err != nil {
		return ErrRecord
	}
	if d.isRange() {
		return nil
	}
	d.ids = [len(d.ids)]uint64{}
	d.c = Change{Op: Op(d.flags & 3), IsEdge: d.flags&flagEdge != 0, Full: d.flags&flagFull != 0, Tx: d.tx}
	for range n {
		if err := d.next(); err != nil {
			return err
		}
		if err := f(&d.c); err != nil {
			return err
		}
	}
	for i := range d.cols {
		if len(d.cols[i].b) > 0 {
			return ErrRecord
		}
	}
	return nil
}

// next reads a change.
func (d *block) next() error {
	c, n := &d.c, d.idColumns()
	for i := range n {
		col := &d.cols[i]
		d.ids[i] += uint64(col.varint())
		if col.err != nil {
			return col.err
		}
	}
	switch ids := &d.ids; {
	case c.Op == Skipped:
		c.Counts = *ids
		return nil
	case c.IsEdge:
		c.Edge = graph.Edge{ID: graph.EdgeID(ids[0]), Src: graph.VertexID(ids[1]), Dst: graph.VertexID(ids[2]), Type: d.typ}
		c.Src.Labels, c.Dst.Labels = graph.LabelSet(ids[3]), graph.LabelSet(ids[4])
	default:
		c.Vertex, c.Before.Labels, c.After.Labels = graph.VertexID(ids[0]), d.before, d.after
	}
	d.props = slices.Grow(d.props[:0], len(d.cols)-n)
	at := n
	take := func(ids []graph.PropID) (ps []graph.Property, err error) {
		from := len(d.props)
		for _, id := range ids {
			v, _, isRef, rest, err := keys.Cell(d.cols[at].b)
			if err != nil || isRef {
				return nil, fmt.Errorf("%w: a property: %w", ErrRecord, err)
			}
			d.cols[at].b = rest
			d.props = append(d.props, graph.Property{ID: id, Value: v})
			at++
		}
		return d.props[from:len(d.props):len(d.props)], nil
	}
	var errs [5]error
	if c.Op != Created {
		c.Before.Props, errs[0] = take(d.shape.props)
	}
	if c.Op != Deleted {
		c.After.Props, errs[1] = take(d.shape.props)
	}
	c.Keys, errs[2] = take(d.keys[0])
	c.Src.Keys, errs[3] = take(d.keys[1])
	c.Dst.Keys, errs[4] = take(d.keys[2])
	return errors.Join(errs[:]...)
}

func (r *reader) propIDs(dst []graph.PropID) []graph.PropID {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return dst
	}
	for range n {
		dst = append(dst, graph.PropID(r.uvarint()))
	}
	return dst
}
