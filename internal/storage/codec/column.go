package codec

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Cells is a list of encoded property values, see package keys; an empty cell is no value.
type Cells struct {
	Buf  []byte
	End  []uint32
	ints []int64 // scratch memory of appendInts
}

// Reset removes all values.
func (c *Cells) Reset() { c.Buf, c.End = c.Buf[:0], c.End[:0] }

// Len is the number of values.
func (c *Cells) Len() int { return len(c.End) }

// Add appends a value.
func (c *Cells) Add(b []byte) { c.Buf = append(c.Buf, b...); c.Close() }

// Close ends a value that was appended to Buf.
func (c *Cells) Close() { c.End = append(c.End, uint32(len(c.Buf))) }

// At is value i.
func (c *Cells) At(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = c.End[i-1]
	}
	return c.Buf[start:c.End[i]]
}

// A column is a list of values of one property. Each value can be read without the others. It is stored as
//
//	uvarint  number of rows
//	byte     encoding; nullsBit is set if a bitmap of the rows without a value follows
//	bytes    bitmap of those, (rows+7)/8
//	bytes    the encoding's body
//
// Bodies:
//
//	ints     kind byte, least value (varint), width in bytes (0 to 8), rows × (value - least)
//	floats   rows × 8 bytes
//	bools    bitmap of the rows that are true
//	texts    width of an offset (2, 4), rows × end offset, bytes
//	dict     number of words (byte), words × end offset of 2 bytes, bytes, rows × word number (byte)
//	mixed    width of an offset (2, 4), rows × end offset, cells
//
// Numbers of fixed width are little-endian. The encodings are stored.
const (
	EncInts   byte = 1
	encFloats byte = 2
	encBools  byte = 3
	encTexts  byte = 4
	encDict   byte = 5
	encMixed  byte = 6

	nullsBit byte = 0x80
)

// maxWords bounds a dictionary.
const maxWords = 64

// AppendColumn appends the rows as a column in the encoding that suits them.
func AppendColumn(dst []byte, rows *Cells) []byte {
	n := rows.Len()
	dst = binary.AppendUvarint(dst, uint64(n))
	kind, nulls := byte(0), 0
	mixed := false
	for i := range n {
		c := rows.At(i)
		switch {
		case len(c) == 0:
			nulls++
		case kind == 0:
			kind = c[0]
		case kind != c[0]:
			mixed = true
		}
	}
	enc := encMixed
	if !mixed {
		switch graph.ValueKind(kind) {
		case graph.Int, graph.Date, graph.LocalTime:
			enc = EncInts
		case graph.Float:
			enc = encFloats
		case graph.Bool:
			enc = encBools
		case graph.String:
			enc = encTexts
		}
	}
	encAt := len(dst)
	if nulls == 0 {
		dst = append(dst, enc)
	} else {
		dst = append(dst, enc|nullsBit)
		dst = appendBitmap(dst, n, func(i int) bool { return len(rows.At(i)) == 0 })
	}
	switch enc {
	case EncInts:
		return appendInts(dst, kind, rows)
	case encFloats:
		for i := range n {
			if c := rows.At(i); len(c) > 0 {
				dst = append(dst, c[1:9]...)
			} else {
				dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
			}
		}
		return dst
	case encBools:
		return appendBitmap(dst, n, func(i int) bool { c := rows.At(i); return len(c) > 0 && c[1] == 1 })
	case encTexts:
		return appendTexts(dst, encAt, rows)
	}
	dst, width := appendWidth(dst, len(rows.Buf))
	for i := range n {
		dst = AppendFixed(dst, uint64(rows.End[i]), width)
	}
	return append(dst, rows.Buf...)
}

func appendBitmap(dst []byte, n int, set func(int) bool) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, (n+7)/8)...)
	for i := range n {
		if set(i) {
			dst[start+i/8] |= 1 << (i % 8)
		}
	}
	return dst
}

func appendInts(dst []byte, kind byte, rows *Cells) []byte {
	least, nulls := int64(math.MaxInt64), false
	ints, at := rows.ints[:0], uint32(0)
	for _, end := range rows.End {
		v := int64(0)
		if at < end {
			v, _ = binary.Varint(rows.Buf[at+1:])
			least = min(least, v)
		} else {
			nulls = true
		}
		ints = append(ints, v)
		at = end
	}
	rows.ints = ints
	if nulls {
		for i := range ints {
			if len(rows.At(i)) == 0 {
				ints[i] = least
			}
		}
	}
	return appendIntsBody(dst, kind, ints)
}

// AppendIntColumn appends the column that AppendColumn makes of rows that all hold an integer; there is at least one.
func AppendIntColumn(dst []byte, rows []int64) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(rows))), EncInts)
	return appendIntsBody(dst, byte(graph.Int), rows)
}

// appendIntsBody appends the body of ints of a kind.
func appendIntsBody(dst []byte, kind byte, ints []int64) []byte {
	least, most := ints[0], ints[0]
	for _, v := range ints {
		least, most = min(least, v), max(most, v)
	}
	width := WidthOf(uint64(most) - uint64(least))
	dst = binary.AppendVarint(append(dst, kind), least)
	dst = slices.Grow(append(dst, byte(width)), len(ints)*width+8)
	for _, v := range ints {
		dst = AppendFixed(dst, uint64(v)-uint64(least), width)
	}
	return dst
}

// appendTexts changes the encoding, which stands at encAt, when a dictionary is smaller.
func appendTexts(dst []byte, encAt int, rows *Cells) []byte {
	n, total := rows.Len(), 0
	words, size := map[string]byte{}, 0
	var order []string
	for i := range n {
		s := textOf(rows.At(i))
		total += len(s)
		if words == nil {
			continue
		}
		if _, ok := words[s]; !ok {
			if len(words) == maxWords {
				words = nil
				continue
			}
			words[s] = byte(len(words))
			order = append(order, s)
			size += len(s)
		}
	}
	if words != nil && n > 0 && size < math.MaxUint16 && 2+2*len(order)+size+n < total+2*n {
		dst[encAt] = dst[encAt]&nullsBit | encDict
		dst = append(dst, byte(len(order)))
		end := 0
		for _, w := range order {
			end += len(w)
			dst = binary.LittleEndian.AppendUint16(dst, uint16(end))
		}
		for _, w := range order {
			dst = append(dst, w...)
		}
		for i := range n {
			dst = append(dst, words[textOf(rows.At(i))])
		}
		return dst
	}
	dst, width := appendWidth(dst, total)
	end := 0
	for i := range n {
		end += len(textOf(rows.At(i)))
		dst = AppendFixed(dst, uint64(end), width)
	}
	for i := range n {
		dst = append(dst, textOf(rows.At(i))...)
	}
	return dst
}

// textOf is the text of a string's cell; it shares the cell's memory. No cell has the empty text.
func textOf(c []byte) string {
	if len(c) == 0 {
		return ""
	}
	_, size := binary.Uvarint(c[1:])
	c = c[1+size:]
	return unsafe.String(unsafe.SliceData(c), len(c))
}

func appendWidth(dst []byte, total int) ([]byte, int) {
	if total <= math.MaxUint16 {
		return append(dst, 2), 2
	}
	return append(dst, 4), 4
}

// WidthOf is the number of bytes, 0 to 8, that hold v.
func WidthOf(v uint64) int { return (bits.Len64(v) + 7) / 8 }

// AppendFixed appends the low width bytes of v.
func AppendFixed(dst []byte, v uint64, width int) []byte {
	return binary.LittleEndian.AppendUint64(dst, v)[:len(dst)+width]
}

// Fixed reads number i of a list of numbers of width bytes.
func Fixed(b []byte, i, width int) uint64 {
	i *= width
	if i+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[i:]) & (1<<(8*width) - 1)
	}
	v := uint64(0)
	for j := width - 1; j >= 0; j-- {
		v = v<<8 | uint64(b[i+j])
	}
	return v
}

// Column reads a stored column, whose bytes it shares.
type Column struct {
	N     int
	Enc   byte
	Kind  graph.ValueKind // of ints
	Width int             // of ints and offsets, in bytes
	Least int64
	Nulls []byte // bitmap, or nil
	Body  []byte // ints, floats, bools, or offsets; of a dictionary the word numbers
	words []byte // of a dictionary, the words' end offsets
	data  []byte // texts, words or cells
}

// Parse opens a column and checks its sizes.
func (c *Column) Parse(b []byte) error {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > 1<<30 || len(b) <= size {
		return ErrColumn
	}
	*c = Column{N: int(n), Enc: b[size] &^ nullsBit}
	hasNulls := b[size]&nullsBit != 0
	b = b[size+1:]
	if hasNulls {
		if c.Nulls, b = split(b, (c.N+7)/8); c.Nulls == nil {
			return ErrColumn
		}
	}
	switch c.Enc {
	case EncInts:
		if len(b) == 0 {
			return ErrColumn
		}
		c.Kind = graph.ValueKind(b[0])
		least, size := binary.Varint(b[1:])
		if size <= 0 || len(b) < size+2 || !(c.Kind == graph.Int || c.Kind == graph.Date || c.Kind == graph.LocalTime) {
			return ErrColumn
		}
		c.Least, c.Width, c.Body = least, int(b[size+1]), b[size+2:]
		if c.Width > 8 || len(c.Body) < c.N*c.Width {
			return ErrColumn
		}
	case encFloats:
		if c.Body = b; len(b) < 8*c.N {
			return ErrColumn
		}
	case encBools:
		if c.Body = b; len(b) < (c.N+7)/8 {
			return ErrColumn
		}
	case encTexts, encMixed:
		if len(b) == 0 || b[0] != 2 && b[0] != 4 {
			return ErrColumn
		}
		c.Width = int(b[0])
		if c.Body, c.data = split(b[1:], c.N*c.Width); c.Body == nil {
			return ErrColumn
		}
	case encDict:
		if len(b) == 0 {
			return ErrColumn
		}
		if c.words, b = split(b[1:], 2*int(b[0])); len(c.words) == 0 {
			return ErrColumn
		}
		size := int(binary.LittleEndian.Uint16(c.words[len(c.words)-2:]))
		if c.data, c.Body = split(b, size); c.data == nil || len(c.Body) < c.N {
			return ErrColumn
		}
	default:
		return ErrColumn
	}
	return nil
}

// split cuts b after n bytes; the first part is nil if b is shorter.
func split(b []byte, n int) (head, tail []byte) {
	if n < 0 || len(b) < n {
		return nil, nil
	}
	return b[:n:n], b[n:]
}

// Null reports whether row i has no value.
func (c *Column) Null(i int) bool { return c.Nulls != nil && c.Nulls[i/8]>>(i%8)&1 != 0 }

// span is the part of data that belongs to row i of texts, mixed or dict.
func (c *Column) span(i int) ([]byte, error) {
	ends, width := c.Body, c.Width
	if c.Enc == encDict {
		i, ends, width = int(c.Body[i]), c.words, 2
		if 2*i >= len(ends) {
			return nil, ErrColumn
		}
	}
	start := uint64(0)
	if i > 0 {
		start = Fixed(ends, i-1, width)
	}
	end := Fixed(ends, i, width)
	if start > end || end > uint64(len(c.data)) {
		return nil, ErrColumn
	}
	return c.data[start:end], nil
}

// Value reads row i, which must be less than n. A string is copied to the arena.
func (c *Column) Value(i int, a *Arena) (v graph.Value, ref keys.Ref, isRef bool, err error) {
	if c.Null(i) {
		return v, ref, false, nil
	}
	switch c.Enc {
	case EncInts:
		return intOf(c.Kind, c.Least+int64(Fixed(c.Body, i, c.Width))), ref, false, nil
	case encFloats:
		return graph.FloatValue(math.Float64frombits(binary.LittleEndian.Uint64(c.Body[8*i:]))), ref, false, nil
	case encBools:
		return graph.BoolValue(c.Body[i/8]>>(i%8)&1 != 0), ref, false, nil
	}
	b, err := c.span(i)
	if err != nil {
		return v, ref, false, err
	}
	if c.Enc != encMixed {
		return graph.StringValue(a.text(b)), ref, false, nil
	}
	if len(b) == 0 {
		return v, ref, false, nil
	}
	return ReadCell(b, a)
}

// ReadCell decodes a cell whose bytes do not last.
func ReadCell(b []byte, a *Arena) (v graph.Value, ref keys.Ref, isRef bool, err error) {
	if len(b) > 0 {
		switch graph.ValueKind(b[0]) {
		case graph.String, graph.List, graph.Bytes, graph.VectorKind:
			b = a.Bytes(b)
		}
	}
	v, ref, isRef, _, err = keys.Cell(b)
	return v, ref, isRef, err
}

func intOf(kind graph.ValueKind, i int64) graph.Value {
	switch kind {
	case graph.Date:
		return graph.DateValue(temporal.Date(i))
	case graph.LocalTime:
		return graph.LocalTimeValue(temporal.LocalTime(i))
	}
	return graph.IntValue(i)
}

// AppendCell appends row i as a cell.
func (c *Column) AppendCell(dst []byte, i int) ([]byte, error) {
	if c.Null(i) {
		return dst, nil
	}
	switch c.Enc {
	case EncInts:
		return binary.AppendVarint(append(dst, byte(c.Kind)), c.Least+int64(Fixed(c.Body, i, c.Width))), nil
	case encFloats:
		return append(append(dst, byte(graph.Float)), c.Body[8*i:8*i+8]...), nil
	case encBools:
		return append(dst, byte(graph.Bool), c.Body[i/8]>>(i%8)&1), nil
	}
	b, err := c.span(i)
	if err != nil {
		return dst, err
	}
	if c.Enc != encMixed {
		dst = binary.AppendUvarint(append(dst, byte(graph.String)), uint64(len(b)))
	}
	return append(dst, b...), nil
}
