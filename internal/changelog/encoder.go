package changelog

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// version is the first byte of each record, ranged that of one with ranges; a part after the first one has partFlag too.
const (
	version  = 1
	ranged   = 2
	partFlag = 0x80
)

const (
	blockBytes = 64 << 10 // of a block's columns
	partBytes  = 1 << 20  // of a part of a record
)

// The bits of a block's first byte, above the operation.
const (
	flagEdge = 1 << (iota + 2)
	flagFull
	flagSchema // alone: the block is a change of definitions
	flagRange  // with Created: see Range
)

// shape is what the changes of a block have in common.
type shape struct {
	flags         byte
	tx            int
	typ           graph.TypeID
	before, after graph.LabelSet
	// props are the properties of the states, keys those of the keys of the element, its source and its target.
	props []graph.PropID
	keys  [3][]graph.PropID
}

// Encoder collects the changes of a commit to one shard. The zero value is empty.
type Encoder struct {
	parts [][]byte // full ones
	part  []byte   // blocks
	shape shape
	n     int
	cols  [][]byte
	ids   [6]uint64 // the last ones of the columns of numbers
	bytes int       // of cols
	total int       // of the parts
	tx    int
	// ranges are those that were added.
	ranges []Range
}

// Begin says that the changes that follow are those of transaction tx.
func (e *Encoder) Begin(tx int) { e.tx = tx }

// Empty reports whether there are no changes.
func (e *Encoder) Empty() bool { return e.n == 0 && len(e.part) == 0 && len(e.parts) == 0 }

// Bytes is about the size of the changes.
func (e *Encoder) Bytes() int { return e.total + len(e.part) + e.bytes }

// Add adds a change, of which it keeps nothing; Tx is that of Begin.
func (e *Encoder) Add(c *Change) error {
	if e.n == 0 || !e.fits(c) {
		e.flush()
		e.open(c)
	}
	e.n++
	at := e.addIDs(c)
	if c.Op == Skipped {
		return nil
	}
	for _, ps := range [...][]graph.Property{c.Before.Props, c.After.Props, c.Keys, c.Src.Keys, c.Dst.Keys} {
		for i := range ps {
			col, err := appendValue(e.cols[at], &ps[i].Value)
			if err != nil {
				return err
			}
			e.bytes += len(col) - len(e.cols[at])
			e.cols[at] = col
			at++
		}
	}
	if e.bytes >= blockBytes {
		e.flush()
	}
	return nil
}

// addIDs appends the numbers of a change, and returns how many columns they have.
func (e *Encoder) addIDs(c *Change) (columns int) {
	at := 0
	id := func(v uint64) {
		e.put(at, v-e.ids[at])
		e.ids[at] = v
		at++
	}
	switch {
	case c.Op == Skipped:
		for _, n := range c.Counts {
			id(n)
		}
	case c.IsEdge:
		id(uint64(c.Edge.ID))
		id(uint64(c.Edge.Src))
		id(uint64(c.Edge.Dst))
		id(uint64(c.Src.Labels))
		id(uint64(c.Dst.Labels))
	default:
		id(uint64(c.Vertex))
	}
	return at
}

// appendValue appends the cell of a value to a column.
func appendValue(col []byte, v *graph.Value) ([]byte, error) {
	cell, ok := keys.AppendCell(col, *v)
	if !ok {
		return nil, fmt.Errorf("changelog: a value of type %s cannot be stored", v.Kind())
	}
	return cell, nil
}

// put appends a difference to a column.
func (e *Encoder) put(col int, diff uint64) {
	was := len(e.cols[col])
	e.cols[col] = binary.AppendVarint(e.cols[col], int64(diff))
	e.bytes += len(e.cols[col]) - was
}

// flagsOf returns the first byte of the block of a change.
func flagsOf(c *Change) byte {
	f := byte(c.Op)
	if c.IsEdge {
		f |= flagEdge
	}
	if c.Full {
		f |= flagFull
	}
	return f
}

// propsOf returns the properties of a change's states.
func propsOf(c *Change) []graph.Property {
	if c.Op == Deleted {
		return c.Before.Props
	}
	return c.After.Props
}

// fits reports whether a change belongs to the block.
func (e *Encoder) fits(c *Change) bool {
	s := &e.shape
	return s.flags == flagsOf(c) && s.tx == e.tx && s.typ == c.Edge.Type && s.before == c.Before.Labels && s.after == c.After.Labels &&
		same(s.props, propsOf(c)) && same(s.keys[0], c.Keys) && same(s.keys[1], c.Src.Keys) && same(s.keys[2], c.Dst.Keys)
}

func same(ids []graph.PropID, ps []graph.Property) bool {
	if len(ids) != len(ps) {
		return false
	}
	for i := range ps {
		if ids[i] != ps[i].ID {
			return false
		}
	}
	return true
}

// open begins a block for changes like c.
func (e *Encoder) open(c *Change) {
	s := &e.shape
	s.flags, s.tx, s.typ, s.before, s.after = flagsOf(c), e.tx, c.Edge.Type, c.Before.Labels, c.After.Labels
	s.props = idsOf(s.props[:0], propsOf(c))
	for i, ps := range [...][]graph.Property{c.Keys, c.Src.Keys, c.Dst.Keys} {
		s.keys[i] = idsOf(s.keys[i][:0], ps)
	}
	n := s.columns()
	e.cols = slices.Grow(e.cols[:0], n)[:n]
	for i := range e.cols {
		e.cols[i] = e.cols[i][:0]
	}
	e.ids = [len(e.ids)]uint64{}
}

func idsOf(dst []graph.PropID, ps []graph.Property) []graph.PropID {
	for i := range ps {
		dst = append(dst, ps[i].ID)
	}
	return dst
}

// isRange reports whether a block is a Range.
func (s *shape) isRange() bool { return s.flags&flagRange != 0 }

// idColumns is how many columns of numbers a block has.
func (s *shape) idColumns() int {
	switch {
	case Op(s.flags&3) == Skipped:
		return len(Change{}.Counts)
	case s.flags&flagEdge != 0:
		return 5
	}
	return 1
}

// columns is how many columns a block has.
func (s *shape) columns() int {
	if s.isRange() {
		return s.idColumns()
	}
	n := s.idColumns() + len(s.props) + len(s.keys[0]) + len(s.keys[1]) + len(s.keys[2])
	if Op(s.flags&3) == Changed {
		n += len(s.props)
	}
	return n
}

// flush ends the block.
func (e *Encoder) flush() {
	if e.n == 0 {
		return
	}
	s := &e.shape
	if e.part == nil {
		// The place for the first byte of a part; another full one follows, perhaps.
		e.part = append(make([]byte, 0, min(len(e.parts), 1)*(partBytes+2*blockBytes)), version|partFlag)
	}
	b := append(e.part, s.flags)
	b = binary.AppendUvarint(b, uint64(s.tx))
	b = binary.AppendUvarint(b, uint64(e.n))
	if s.flags&flagEdge != 0 {
		b = binary.AppendUvarint(b, uint64(s.typ))
	} else {
		b = binary.AppendUvarint(b, uint64(s.before))
		b = binary.AppendUvarint(b, uint64(s.after))
	}
	for _, ids := range [...][]graph.PropID{s.props, s.keys[0], s.keys[1], s.keys[2]} {
		b = binary.AppendUvarint(b, uint64(len(ids)))
		for _, id := range ids {
			b = binary.AppendUvarint(b, uint64(id))
		}
	}
	for _, col := range e.cols {
		b = binary.AppendUvarint(b, uint64(len(col)))
		b = append(b, col...)
	}
	if s.isRange() {
		b[0] = ranged | partFlag
	}
	e.part, e.n, e.bytes = b, 0, 0
	if len(e.part) >= partBytes {
		e.parts = append(e.parts, e.part)
		e.total += len(e.part)
		e.part = nil
	}
}

// Records calls f with the parts of the record of a commit at a time, in nanoseconds since 1970, of transactions with origins. There is at
// least one part. f may keep what it gets.
func (e *Encoder) Records(time int64, origins []Origin, f func(part int, record []byte) error) error {
	e.flush()
	head := binary.AppendVarint([]byte{version}, time)
	head = binary.AppendUvarint(head, uint64(len(origins)))
	for i := range origins {
		head = origins[i].append(head)
	}
	for no, part := range append(e.parts, e.part) {
		switch {
		case no == 0 && part == nil:
			part = head
		case no == 0:
			head[0] = part[0] &^ partFlag
			part = append(head, part[1:]...)
		case part == nil:
			return nil
		}
		if err := f(no, part); err != nil {
			return err
		}
	}
	return nil
}

func (o *Origin) append(dst []byte) []byte {
	dst = binary.AppendVarint(dst, o.Started)
	for _, s := range [...]string{o.User, o.Protocol, o.Client, o.Server, o.Metadata} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst
}
