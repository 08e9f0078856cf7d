package mapping

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/loader/record"
)

// Conv converts cells to values of a type.
type Conv struct {
	Type      Type
	nulls     []string
	emptyNull bool // "" is among nulls
	digits    bool // see Digits
	delimiter []byte
	json      bool // text holds a list as JSON
	format    *dateFormat
	zone      temporal.Zone
	crs       graph.CRS // of points that name none
	values    *Dict     // raw texts with mapped values
	mapped    []graph.Value
	Default   graph.Value
}

// Scratch is the memory of one goroutine's conversions. Values refer to it, so it is never overwritten.
type Scratch struct {
	values   []graph.Value
	elements []record.Cell
	lines    record.Lines
}

// list allocates n values.
func (s *Scratch) list(n int) []graph.Value {
	if len(s.values) < n {
		s.values = make([]graph.Value, max(n, 1024))
	}
	l := s.values[:n:n]
	s.values = s.values[n:]
	return l
}

// Reset releases the memory of earlier values.
func (s *Scratch) Reset() {
	s.values = nil
	s.lines.Reset(nil)
}

// IsNull reports whether a cell represents null.
func (c *Conv) IsNull(cell record.Cell) bool {
	switch cell.Kind {
	case record.Plain:
		if len(cell.Text) == 0 {
			return c.emptyNull
		}
		return slices.Contains(c.nulls, string(cell.Text))
	case record.Quoted:
		return len(cell.Text) == 0 && c.emptyNull && (c.Type.List || c.Type.Kind != graph.String && c.Type.Kind != graph.Null)
	case record.Missing, record.Null:
		return true
	}
	return false
}

// Digits is a fast path of Value for common integers: unquoted text of at most 18 digits without another meaning. ok is false for all other
// cells.
func (c *Conv) Digits(cell record.Cell) (v graph.Value, ok bool) {
	if !c.digits || c.values != nil || cell.Kind != record.Plain || len(cell.Text) == 0 || len(cell.Text) > 18 {
		return v, false
	}
	n, ok := parseDigits(cell.Text)
	return graph.IntValue(n), ok
}

// parseDigits parses decimal digits, of which there are at most 18: 4 to 16 of them at once, in one word or two.
func parseDigits(text []byte) (n int64, ok bool) {
	switch size := len(text); {
	case size < 4 || size > 16:
		for _, b := range text {
			if b -= '0'; b > 9 {
				return 0, false
			}
			n = n*10 + int64(b)
		}
		return n, true
	case size < 8:
		// The two halves overlap in equal bytes.
		w := uint64(binary.LittleEndian.Uint32(text)) | uint64(binary.LittleEndian.Uint32(text[size-4:]))<<(8*(size-4))
		return eightDigits(w<<(8*(8-size)) | zeros>>(8*size))
	default:
		first, ok := eightDigits(binary.LittleEndian.Uint64(text))
		if !ok || size == 8 {
			return first, ok
		}
		rest := 8 * (16 - size)
		last, ok := eightDigits(binary.LittleEndian.Uint64(text[size-8:])>>rest<<rest | zeros&(1<<rest-1))
		return first*powers[size-8] + last, ok
	}
}

// zeros is eight zeros as text, and powers has those of ten.
const zeros = 0x3030303030303030

var powers = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// eightDigits parses eight digits, of which the lowest byte holds the first: it joins digits, pairs and fours (Lemire,
// "Quickly parsing eight digits").
func eightDigits(w uint64) (n int64, ok bool) {
	if ((w+0x4646464646464646)|(w-zeros))&0x8080808080808080 != 0 {
		return 0, false
	}
	w = (w & 0x0f0f0f0f0f0f0f0f) * (10<<8 + 1) >> 8
	w = (w & 0x00ff00ff00ff00ff) * (100<<16 + 1) >> 16
	return int64((w & 0x0000ffff0000ffff) * (10000<<32 + 1) >> 32), true
}

// Value converts a cell; ok is false if the text is not valid for the type. A string shares the cell's memory.
func (c *Conv) Value(cell record.Cell, s *Scratch) (v graph.Value, ok bool) {
	if v, ok := c.Digits(cell); ok {
		return v, true
	}
	if c.values != nil && cell.Kind != record.Missing {
		if i := c.values.Find(cell.Text); i >= 0 {
			return c.mapped[i], true
		}
	}
	if c.IsNull(cell) {
		return c.Default, true
	}
	if c.Type.Kind == graph.VectorKind {
		return c.vector(cell, s)
	}
	if cell.Kind == record.Array {
		return c.array(cell, s)
	}
	if c.json && cell.Kind <= record.Quoted {
		if len(cell.Text) == 0 || cell.Text[0] != '[' || !json.Valid(cell.Text) {
			return v, false
		}
		return c.array(cell, s)
	}
	if c.Type.List {
		return c.split(cell, s)
	}
	return c.scalar(cell)
}

// split splits text into a list.
func (c *Conv) split(cell record.Cell, s *Scratch) (v graph.Value, ok bool) {
	if cell.Kind > record.Quoted && cell.Kind != record.String {
		e, ok := c.scalar(cell)
		l := s.list(1)
		l[0] = e
		return graph.ListValue(l), ok
	}
	if len(cell.Text) == 0 {
		return graph.ListValue(nil), true
	}
	l := s.list(bytes.Count(cell.Text, c.delimiter) + 1)
	text := cell.Text
	for i := range l {
		e := text
		if j := bytes.Index(text, c.delimiter); j >= 0 && i < len(l)-1 {
			e, text = text[:j:j], text[j+len(c.delimiter):]
		}
		if l[i], ok = c.scalar(record.Cell{Text: e, Kind: cell.Kind}); !ok {
			return v, false
		}
	}
	return graph.ListValue(l), true
}

// array converts a JSON array to a list.
func (c *Conv) array(cell record.Cell, s *Scratch) (v graph.Value, ok bool) {
	if !c.Type.List && c.Type.Kind != graph.Null && c.Type.Kind != graph.VectorKind {
		return v, false
	}
	s.elements = s.lines.Elements(s.elements[:0], cell.Text)
	l := s.list(len(s.elements))
	for i, e := range s.elements {
		if e.Kind == record.Null || e.Kind == record.Array {
			return v, false
		}
		if l[i], ok = c.scalar(e); !ok || l[i].Kind() == graph.VectorKind {
			return v, false
		}
	}
	return graph.ListValue(l), true
}

// vector converts a JSON array, or numbers joined by the delimiter of lists, to a vector.
func (c *Conv) vector(cell record.Cell, s *Scratch) (v graph.Value, ok bool) {
	if text := trim(cell.Text); cell.Kind != record.Array && len(text) > 0 && text[0] == '[' && json.Valid(text) {
		cell = record.Cell{Text: text, Kind: record.Array}
	}
	if cell.Kind == record.Array {
		v, ok = c.array(cell, s)
	} else {
		v, ok = c.split(cell, s)
	}
	if !ok {
		return v, false
	}
	x, err := graph.VectorOf(c.Type.Coordinates, v.List())
	return graph.VectorValue(x), err == nil
}

// scalar converts a single value.
func (c *Conv) scalar(cell record.Cell) (v graph.Value, ok bool) {
	text := cell.Text
	kind := c.Type.Kind
	if cell.Kind == record.Object {
		if kind == graph.Null {
			return typed(cell)
		}
		if _, value, ok := parts(cell); ok && isText(value) {
			return c.scalar(value) // the rule's type counts, not the one that the value names
		}
		if kind != graph.PointKind {
			return v, false
		}
	}
	if kind == graph.Null {
		kind = graph.String
		switch cell.Kind {
		case record.Number:
			kind = graph.Float
			if i, ok := parseInt(text); ok {
				return graph.IntValue(i), true
			}
			if !bytes.ContainsAny(text, ".eE") {
				kind = graph.String // a float would change it
			}
		case record.Bool:
			kind = graph.Bool
		}
	}
	switch kind {
	case graph.String:
		return graph.StringValue(str(text)), true
	case graph.Int:
		i, ok := parseInt(text)
		if !ok && c.format != nil {
			return c.dated(text)
		}
		return graph.IntValue(i), ok
	case graph.VectorKind: // a coordinate
		text = trim(text)
		if i, ok := parseInt(text); ok {
			return graph.IntValue(i), true
		}
		f, err := strconv.ParseFloat(str(text), 64)
		return graph.FloatValue(f), err == nil
	case graph.Float:
		f, err := strconv.ParseFloat(str(trim(text)), 64)
		return graph.FloatValue(f), err == nil
	case graph.Bool:
		text = trim(text)
		switch {
		case equalFold(text, "true"):
			return graph.BoolValue(true), true
		case equalFold(text, "false"):
			return graph.BoolValue(false), true
		}
		return v, false
	case graph.Duration:
		d, err := temporal.ParseDuration(str(trim(text)))
		return graph.DurationValue(d), err == nil
	case graph.PointKind:
		p, err := graph.ParsePointIn(str(text), c.crs)
		return graph.PointValue(p), err == nil
	case graph.Bytes:
		b, err := base64.StdEncoding.DecodeString(str(trim(text)))
		return graph.BytesValue(b), err == nil
	}
	if c.format != nil {
		return c.dated(text)
	}
	t, err := graph.ParseTemporal(c.Type.Kind, str(trim(text)), c.zone, time.Unix(0, 0))
	return t, err == nil
}

// str returns b as a string without a copy.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// parseInt parses a decimal 64-bit integer.
func parseInt(b []byte) (int64, bool) {
	b = trim(b)
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		c -= '0'
		if c > 9 || n > math.MaxInt64/10+1 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	switch {
	case !negative && n > math.MaxInt64, negative && n > 1<<63:
		return 0, false
	case negative:
		return -int64(n), true
	}
	return int64(n), true
}

// Unfold calls f for each element of a list cell until f returns false, and then returns false. An empty cell has no elements; any other
// cell is its own only element.
func Unfold(cell record.Cell, delimiter []byte, f func(record.Cell) bool) bool {
	if cell.Kind == record.Array {
		var l record.Lines
		for _, e := range l.Elements(nil, cell.Text) {
			if !f(e) {
				return false
			}
		}
		return true
	}
	if len(cell.Text) == 0 || cell.Kind == record.Null {
		return true
	}
	if cell.Kind > record.Quoted && cell.Kind != record.String {
		return f(cell)
	}
	for text := cell.Text; ; {
		i := bytes.Index(text, delimiter)
		if i < 0 {
			return f(record.Cell{Text: text, Kind: cell.Kind})
		}
		if !f(record.Cell{Text: text[:i:i], Kind: cell.Kind}) {
			return false
		}
		text = text[i+len(delimiter):]
	}
}
