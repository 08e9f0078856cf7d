package cache

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// form is how a column holds its cells.
type form uint8

const (
	formEmpty  form = iota // nothing but nulls
	formNarrow             // 32-bit distances from a base
	formWide               // 64-bit numbers
	formBool               // bits
	formText               // offsets and bytes
	formCoded              // codes, and offsets and bytes of the texts that they stand for
	formMixed              // offsets and tagged bytes
)

// opaque is the tag of a mixed cell in the encoding of its source; other cells have the kind for a tag.
const opaque = 0xff

// Decode decodes a cell that was given to ColumnBuilder.Opaque. The value may point into b.
type Decode func(b []byte) (graph.Value, error)

// Column is the values of one property of consecutive vertices, or of the edges of a block of lists.
type Column struct {
	form    form
	kind    graph.ValueKind // of narrow and wide cells
	base    uint64          // of narrow cells
	present []uint64        // bitmap of the cells that are not null; nil: all
	narrow  []uint32
	wide    []uint64 // also the bits of formBool
	codes   []uint16
	offsets []uint32 // one more than cells, or than codes of formCoded
	bytes   []byte

	count           uint32 // cells that are not null
	ordered, summed bool   // narrow and wide cells: no NaN; Ints whose sum fits
	lo, hi          uint64 // if ordered: the least and the greatest cell
	sum             int64  // if summed
}

func (c *Column) has(i uint32) bool {
	return c.present == nil || c.present[i>>6]>>(i&63)&1 != 0
}

// Value returns cell i.
func (c *Column) Value(i uint32, decode Decode) (graph.Value, error) {
	if c.form == formEmpty || !c.has(i) {
		return graph.Value{}, nil
	}
	switch c.form {
	case formNarrow:
		return number(c.kind, c.base+uint64(c.narrow[i])), nil
	case formWide:
		return number(c.kind, c.wide[i]), nil
	case formBool:
		return graph.BoolValue(c.wide[i>>6]>>(i&63)&1 != 0), nil
	case formText:
		return c.word(i), nil
	case formCoded:
		return c.word(uint32(c.codes[i])), nil
	}
	return c.mixed(i, decode)
}

// AppendTo appends the cells lo … hi-1 to dst.
func (c *Column) AppendTo(dst []graph.Value, lo, hi uint32, decode Decode) ([]graph.Value, error) {
	at := len(dst)
	dst = slices.Grow(dst, int(hi-lo))[:at+int(hi-lo)]
	out := dst[at:]
	switch {
	case c.form == formEmpty:
		clear(out)
		return dst, nil
	case c.present != nil:
	case c.form == formNarrow && c.kind == graph.Int:
		for i, n := range c.narrow[lo:hi] {
			out[i] = graph.IntValue(int64(c.base + uint64(n)))
		}
		return dst, nil
	case c.form == formWide && c.kind == graph.Int:
		for i, n := range c.wide[lo:hi] {
			out[i] = graph.IntValue(int64(n))
		}
		return dst, nil
	}
	for i := range out {
		v, err := c.Value(lo+uint32(i), decode)
		if err != nil {
			return dst, err
		}
		out[i] = v
	}
	return dst, nil
}

// CountWithin returns how many of the cells lo … hi-1 are in an interval.
func (c *Column) CountWithin(lo, hi uint32, iv *graph.Interval, decode Decode) (n int, err error) {
	if r, ok := c.cellRange(iv); ok {
		switch {
		case r.none:
		case c.form == formWide:
			n = countCells(c.wide[lo:hi], r.from, r.span)
		default:
			n = countCells(c.narrow[lo:hi], uint32(r.from), uint32(r.span))
		}
		return n, nil
	}
	if c.form == formEmpty {
		return 0, nil
	}
	for i := lo; i < hi; i++ {
		v, err := c.Value(i, decode)
		if err != nil {
			return n, err
		}
		if iv.Holds(v) {
			n++
		}
	}
	return n, nil
}

// countCells counts the cells from … from+span.
func countCells[T uint32 | uint64](cells []T, from, span T) (n int) {
	for _, x := range cells {
		if x-from <= span {
			n++
		}
	}
	return n
}

// cellRange is the range from … from+span of the cells of a column without nulls that are in an interval, as they are stored.
type cellRange struct {
	from, span uint64
	none       bool // no cell can be in the interval
}

// cellRange returns the range of an interval; ok is false if it does not depend only on the stored cells.
func (c *Column) cellRange(iv *graph.Interval) (r cellRange, ok bool) {
	if c.present != nil || c.form != formNarrow && c.form != formWide || c.kind == graph.Float {
		return r, false
	}
	from, to, ok := iv.Whole(c.kind)
	switch {
	case !ok:
		return r, false
	case from > to:
		return cellRange{none: true}, true
	case c.form == formWide:
		return cellRange{from: uint64(from), span: uint64(to) - uint64(from)}, true
	}
	base := int64(c.base)
	if to < base || from > base && uint64(from)-c.base > math.MaxUint32 {
		return cellRange{none: true}, true
	}
	r.from = uint64(max(from, base)) - c.base
	r.span = min(uint64(to)-c.base, math.MaxUint32) - r.from
	return r, true
}

// AppendWithin appends to dst the places, less lo, of those of the cells lo … hi-1 that are in an interval.
func (c *Column) AppendWithin(dst []uint32, lo, hi uint32, iv *graph.Interval, decode Decode) ([]uint32, error) {
	if c.form == formEmpty {
		return dst, nil
	}
	at, n := len(dst), int(hi-lo)
	if r, ok := c.cellRange(iv); ok {
		if r.none {
			return dst, nil
		}
		dst = slices.Grow(dst, n)[:at+n]
		if c.form == formWide {
			return dst[:at+places(dst[at:], c.wide[lo:hi], r.from, r.span)], nil
		}
		return dst[:at+places(dst[at:], c.narrow[lo:hi], uint32(r.from), uint32(r.span))], nil
	}
	for i := range uint32(n) {
		v, err := c.Value(lo+i, decode)
		if err != nil {
			return dst, err
		}
		if iv.Holds(v) {
			dst = append(dst, i)
		}
	}
	return dst, nil
}

// Within keeps those of places, each less lo, whose cells are in an interval.
func (c *Column) Within(places []uint32, lo uint32, iv *graph.Interval, decode Decode) ([]uint32, error) {
	kept := places[:0]
	for _, i := range places {
		v, err := c.Value(lo+i, decode)
		if err != nil {
			return kept, err
		}
		if iv.Holds(v) {
			kept = append(kept, i)
		}
	}
	return kept, nil
}

// places writes the places of cells from … from+span to dst, which has room for all, and returns their number.
func places[T uint32 | uint64](dst []uint32, cells []T, from, span T) int {
	n := 0
	dst = dst[:len(cells)]
	for i, x := range cells {
		dst[n] = uint32(i)
		if x-from <= span {
			n++
		}
	}
	return n
}

// number returns a value of a kind that is represented by a number.
func number(kind graph.ValueKind, n uint64) graph.Value {
	switch kind {
	case graph.Int:
		return graph.IntValue(int64(n))
	case graph.Float:
		return graph.FloatValue(math.Float64frombits(n))
	case graph.Date:
		return graph.DateValue(temporal.Date(int64(n)))
	default:
		return graph.LocalTimeValue(temporal.LocalTime(int64(n)))
	}
}

// word returns the text at place i of offsets.
func (c *Column) word(i uint32) graph.Value {
	b := c.bytes[c.offsets[i]:c.offsets[i+1]]
	return graph.StringValue(unsafe.String(unsafe.SliceData(b), len(b)))
}

// opaque returns the encoding of a cell that only the source can decode; nil for others.
func (c *Column) opaque(i uint32) []byte {
	if c.form != formMixed || !c.has(i) {
		return nil
	}
	if b := c.bytes[c.offsets[i]:c.offsets[i+1]]; b[0] == opaque {
		return b[1:]
	}
	return nil
}

func (c *Column) mixed(i uint32, decode Decode) (graph.Value, error) {
	b := c.bytes[c.offsets[i]:c.offsets[i+1]]
	tag, b := b[0], b[1:]
	switch graph.ValueKind(tag) {
	case opaque:
		return decode(b)
	case graph.Bool:
		return graph.BoolValue(b[0] != 0), nil
	case graph.String:
		return graph.StringValue(unsafe.String(unsafe.SliceData(b), len(b))), nil
	}
	return number(graph.ValueKind(tag), binary.LittleEndian.Uint64(b)), nil
}

var columnBuilders = sync.Pool{New: func() any { return new(ColumnBuilder) }}

// ColumnBuilder collects the cells of a column in ascending order of their places; places that are left out are null.
type ColumnBuilder struct {
	n       int  // cells so far
	count   int  // of them not null
	form    form // formMixed once kinds differ
	kind    graph.ValueKind
	lo, hi  int64 // of Int, Date and LocalTime cells
	present []uint64
	wide    []uint64
	bits    []uint64
	offsets []uint32
	bytes   []byte
	over    bool // more bytes than offsets can tell
	coder   textCoder
}

// reset makes the builder ready for another column.
func (b *ColumnBuilder) reset() {
	*b = ColumnBuilder{
		present: b.present[:0], wide: b.wide[:0], bits: b.bits[:0], offsets: b.offsets[:0], bytes: b.bytes[:0],
		coder: b.coder,
	}
}

// Simple reports whether a value may be given to Value; any other goes to Opaque.
func Simple(kind graph.ValueKind) bool {
	switch kind {
	case graph.Null, graph.Bool, graph.Int, graph.Float, graph.String, graph.Date, graph.LocalTime:
		return true
	}
	return false
}

// Value puts a simple value at place i, which is after those before.
func (b *ColumnBuilder) Value(i int, v graph.Value) {
	b.fill(i)
	kind := v.Kind()
	if kind == graph.Null {
		b.fill(i + 1)
		return
	}
	if b.form != formMixed {
		if b.count == 0 {
			b.kind, b.form = kind, formOf(kind)
			b.lo, b.hi = math.MaxInt64, math.MinInt64
			b.pad(i)
		} else if b.kind != kind {
			b.mix()
		}
	}
	b.mark()
	switch b.form {
	case formWide:
		n := inside(v)
		b.lo, b.hi = min(b.lo, int64(n)), max(b.hi, int64(n))
		b.wide = append(b.wide, n)
	case formBool:
		b.wide = append(b.wide, inside(v))
	case formText:
		b.bytes = append(b.bytes, v.Str()...)
		b.end()
	default:
		b.tagged(v)
		b.end()
	}
}

// Opaque puts a value that only the source can decode at place i.
func (b *ColumnBuilder) Opaque(i int, enc []byte) {
	b.fill(i)
	if b.form != formMixed {
		if b.count == 0 {
			b.form = formMixed
			b.pad(i)
		} else {
			b.mix()
		}
	}
	b.mark()
	b.bytes = append(append(b.bytes, opaque), enc...)
	b.end()
}

func formOf(kind graph.ValueKind) form {
	switch kind {
	case graph.Bool:
		return formBool
	case graph.String:
		return formText
	}
	return formWide
}

// inside is the number inside a value of a kind that is not a string.
func inside(v graph.Value) uint64 {
	switch v.Kind() {
	case graph.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case graph.Float:
		return math.Float64bits(v.Float())
	case graph.Date:
		return uint64(v.Date())
	case graph.LocalTime:
		return uint64(v.LocalTime())
	}
	return uint64(v.Int())
}

// fill makes the cells up to n null.
func (b *ColumnBuilder) fill(n int) {
	for ; b.n < n; b.n++ {
		if b.n&63 == 0 {
			b.present = append(b.present, 0)
		}
		if b.count > 0 {
			b.null()
		}
	}
}

// pad adds n nulls for the cells that came before the first value.
func (b *ColumnBuilder) pad(n int) {
	if b.form == formText || b.form == formMixed {
		b.offsets = append(b.offsets, 0)
	}
	for range n {
		b.null()
	}
}

func (b *ColumnBuilder) null() {
	if b.form == formText || b.form == formMixed {
		b.offsets = append(b.offsets, uint32(len(b.bytes)))
	} else {
		b.wide = append(b.wide, 0)
	}
}

func (b *ColumnBuilder) mark() {
	if b.n&63 == 0 {
		b.present = append(b.present, 0)
	}
	b.present[b.n>>6] |= 1 << (b.n & 63)
	b.n++
	b.count++
}

func (b *ColumnBuilder) end() {
	b.over = b.over || len(b.bytes) > math.MaxUint32
	b.offsets = append(b.offsets, uint32(len(b.bytes)))
}

func (b *ColumnBuilder) tagged(v graph.Value) {
	b.bytes = append(b.bytes, byte(v.Kind()))
	switch v.Kind() {
	case graph.Bool:
		b.bytes = append(b.bytes, byte(inside(v)))
	case graph.String:
		b.bytes = append(b.bytes, v.Str()...)
	default:
		b.bytes = binary.LittleEndian.AppendUint64(b.bytes, inside(v))
	}
}

// mix turns the cells so far into mixed ones.
func (b *ColumnBuilder) mix() {
	was := *b
	if was.form == formText {
		b.bytes, b.offsets = nil, nil
	} else {
		b.bytes = b.bytes[:0]
	}
	b.offsets = append(b.offsets[:0], 0)
	b.form = formMixed
	for i := range was.n {
		if was.present[i>>6]>>(i&63)&1 != 0 {
			switch was.form {
			case formText:
				s := was.bytes[was.offsets[i]:was.offsets[i+1]]
				b.bytes = append(append(b.bytes, byte(graph.String)), s...)
			case formBool:
				b.bytes = append(b.bytes, byte(graph.Bool), byte(was.wide[i]))
			default:
				b.bytes = binary.LittleEndian.AppendUint64(append(b.bytes, byte(was.kind)), was.wide[i])
			}
		}
		b.end()
	}
	b.wide = b.wide[:0]
}

// finish fills the column up to n cells and chooses the form.
func (b *ColumnBuilder) finish(n int) {
	b.fill(n)
	if b.form == formWide && b.kind != graph.Float && uint64(b.hi)-uint64(b.lo) <= math.MaxUint32 {
		b.form = formNarrow
	}
	if b.form == formText && b.coder.encode(b) {
		b.form = formCoded
	}
	if b.form == formBool {
		b.bits = append(b.bits[:0], make([]uint64, (n+63)/64)...)
		for i, w := range b.wide {
			b.bits[i>>6] |= w << (i & 63)
		}
	}
}

// size is the number of bytes that put will take, after finish.
func (b *ColumnBuilder) size() int {
	if b.count == 0 {
		return 0
	}
	n := 0
	if b.count < b.n {
		n = sizeOf[uint64](len(b.present))
	}
	switch b.form {
	case formNarrow:
		n += sizeOf[uint32](b.n)
	case formWide:
		n += sizeOf[uint64](b.n)
	case formBool:
		n += sizeOf[uint64](len(b.bits))
	case formCoded:
		n += sizeOf[uint16](b.n) + sizeOf[uint32](len(b.coder.offsets)) + sizeOf[byte](len(b.coder.bytes))
	default:
		n += sizeOf[uint32](b.n+1) + sizeOf[byte](len(b.bytes))
	}
	return n
}

// put makes the column in mem and returns the rest of mem.
func (b *ColumnBuilder) put(mem []byte) (Column, []byte) {
	if b.count == 0 {
		return Column{}, mem
	}
	c := Column{form: b.form, kind: b.kind, count: uint32(b.count)}
	b.summarize(&c)
	if b.count < b.n {
		c.present, mem = carve[uint64](mem, len(b.present))
		copy(c.present, b.present)
	}
	switch b.form {
	case formNarrow:
		c.base = uint64(b.lo)
		c.narrow, mem = carve[uint32](mem, b.n)
		for i, w := range b.wide {
			c.narrow[i] = uint32(w - c.base)
		}
	case formWide:
		c.wide, mem = carve[uint64](mem, b.n)
		copy(c.wide, b.wide)
	case formBool:
		c.wide, mem = carve[uint64](mem, len(b.bits))
		copy(c.wide, b.bits)
	case formCoded:
		c.codes, mem = carve[uint16](mem, b.n)
		copy(c.codes, b.coder.codes)
		c.offsets, mem = carve[uint32](mem, len(b.coder.offsets))
		copy(c.offsets, b.coder.offsets)
		c.bytes, mem = carve[byte](mem, len(b.coder.bytes))
		copy(c.bytes, b.coder.bytes)
	default:
		c.offsets, mem = carve[uint32](mem, b.n+1)
		copy(c.offsets, b.offsets)
		c.bytes, mem = carve[byte](mem, len(b.bytes))
		copy(c.bytes, b.bytes)
	}
	return c, mem
}
