package record

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
)

// Parquet reads a Parquet file as JSON lines: an object per row with a key per column. The key of a nested column joins the names of its
// groups with dots. Lists, also nested ones, become arrays; dates, times, NaN and infinities become strings. The text of a file is
// deterministic, so offsets in it stay valid.
type Parquet struct {
	groups  []parquet.RowGroup
	rows    parquet.Rows // of the current row group, or nil
	columns []parquetColumn
	batch   []parquet.Row
	text    []byte
	rest    []byte // text not returned yet
}

// parquetColumn converts the values of a leaf column to text.
type parquetColumn struct {
	key     []byte // the key as JSON, with its colon
	lists   []int  // the definition levels of the enclosing lists, outermost first
	defined int    // the definition level of a value that is not null
	append  func(dst []byte, v parquet.Value) []byte
}

// parquetRows is the number of rows read at once.
const parquetRows = 256

// NewParquet opens a Parquet file of size bytes.
func NewParquet(r io.ReaderAt, size int64) (*Parquet, error) {
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("not a Parquet file: %w", err)
	}
	p := &Parquet{groups: f.RowGroups(), batch: make([]parquet.Row, parquetRows)}
	var walk func(c *parquet.Column, path []string, lists []int, defined int, inList bool) error
	walk = func(c *parquet.Column, path []string, lists []int, defined int, inList bool) error {
		if c.Optional() {
			defined++
		}
		if c.Repeated() {
			defined++
			lists = append(slices.Clone(lists), defined)
		}
		if !c.Leaf() {
			for _, k := range c.Columns() {
				name := append(slices.Clone(path), k.Name())
				if isList(c) || c.Repeated() && inList && len(c.Columns()) == 1 {
					name = path // the inner groups of a list have no name of their own
				}
				if err := walk(k, name, lists, defined, isList(c)); err != nil {
					return err
				}
			}
			return nil
		}
		p.columns = append(p.columns, parquetColumn{
			key: append(appendJSONText(nil, []byte(strings.Join(path, "."))), ':'), lists: lists, defined: defined, append: scalarOf(c.Type()),
		})
		return nil
	}
	for _, c := range f.Root().Columns() {
		if err := walk(c, []string{c.Name()}, nil, 0, false); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// isList reports whether a group has the list annotation.
func isList(c *parquet.Column) bool {
	l := c.Type().LogicalType()
	return l != nil && l.List != nil
}

// Read implements io.Reader.
func (p *Parquet) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// Close stops reading; it does not close the file.
func (p *Parquet) Close() error {
	if p.rows == nil {
		return nil
	}
	err := p.rows.Close()
	p.rows = nil
	return err
}

// fill produces the text of the next rows.
func (p *Parquet) fill() error {
	if p.rows == nil {
		if len(p.groups) == 0 {
			return io.EOF
		}
		p.rows, p.groups = p.groups[0].Rows(), p.groups[1:]
	}
	n, err := p.rows.ReadRows(p.batch)
	p.text = p.text[:0]
	for _, row := range p.batch[:n] {
		p.row(row)
	}
	p.rest = p.text
	switch {
	case errors.Is(err, io.EOF) || err == nil && n == 0:
		return p.Close()
	case err != nil:
		return fmt.Errorf("read Parquet rows: %w", err)
	}
	return nil
}

// row appends a row, whose values are ordered by column.
func (p *Parquet) row(row parquet.Row) {
	p.text = append(p.text, '{')
	for i := range p.columns {
		c := &p.columns[i]
		n := 0
		for n < len(row) && row[n].Column() == i {
			n++
		}
		if i > 0 {
			p.text = append(p.text, ',')
		}
		p.text = c.values(append(p.text, c.key...), row[:n])
		row = row[n:]
	}
	p.text = append(p.text, '}', '\n')
}

// values appends the values of one column of a row.
func (c *parquetColumn) values(dst []byte, vals []parquet.Value) []byte {
	open := 0
next:
	for i, v := range vals {
		rep, def := v.RepetitionLevel(), v.DefinitionLevel()
		if i > 0 {
			for ; open > rep; open-- {
				dst = append(dst, ']')
			}
			dst = append(dst, ',')
		}
		for k := rep; k < len(c.lists); k++ {
			switch {
			case def < c.lists[k]-1:
				dst = append(dst, "null"...)
				continue next
			case def < c.lists[k]:
				dst = append(dst, "[]"...)
				continue next
			}
			dst = append(dst, '[')
			open = k + 1
		}
		if def < c.defined {
			dst = append(dst, "null"...)
		} else {
			dst = c.append(dst, v)
		}
	}
	if len(vals) == 0 {
		return append(dst, "null"...)
	}
	for ; open > 0; open-- {
		dst = append(dst, ']')
	}
	return dst
}

// scalarOf returns a function that writes values of a type as JSON.
func scalarOf(t parquet.Type) func([]byte, parquet.Value) []byte {
	l := t.LogicalType()
	unit := func(millis, micros bool) time.Duration {
		switch {
		case millis:
			return time.Millisecond
		case micros:
			return time.Microsecond
		}
		return time.Nanosecond
	}
	switch {
	case l == nil:
	case l.Date != nil:
		return func(dst []byte, v parquet.Value) []byte {
			return appendQuoted(dst, time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly))
		}
	case l.Timestamp != nil:
		form, u := "2006-01-02T15:04:05.999999999", unit(l.Timestamp.Unit.Millis != nil, l.Timestamp.Unit.Micros != nil)
		if l.Timestamp.IsAdjustedToUTC {
			form += "Z"
		}
		per := int64(time.Second / u)
		return func(dst []byte, v parquet.Value) []byte {
			sec, part := v.Int64()/per, v.Int64()%per
			return appendQuoted(dst, time.Unix(sec, part*int64(u)).UTC().Format(form))
		}
	case l.Time != nil:
		u := unit(l.Time.Unit.Millis != nil, l.Time.Unit.Micros != nil)
		return func(dst []byte, v parquet.Value) []byte {
			n := v.Int64()
			if v.Kind() == parquet.Int32 {
				n = int64(v.Int32())
			}
			return appendQuoted(dst, time.Unix(0, n*int64(u)).UTC().Format("15:04:05.999999999"))
		}
	case l.Decimal != nil:
		scale := int(l.Decimal.Scale)
		return func(dst []byte, v parquet.Value) []byte { return appendDecimal(dst, v, scale) }
	case l.Integer != nil && !l.Integer.IsSigned:
		return func(dst []byte, v parquet.Value) []byte {
			if v.Kind() == parquet.Int32 {
				return strconv.AppendUint(dst, uint64(v.Uint32()), 10)
			}
			return strconv.AppendUint(dst, v.Uint64(), 10)
		}
	case l.UUID != nil:
		return func(dst []byte, v parquet.Value) []byte {
			b := v.ByteArray()
			if len(b) != 16 {
				return appendJSONText(dst, b)
			}
			h := hex.EncodeToString(b)
			return appendQuoted(dst, h[:8]+"-"+h[8:12]+"-"+h[12:16]+"-"+h[16:20]+"-"+h[20:])
		}
	}
	switch t.Kind() {
	case parquet.Boolean:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendBool(dst, v.Boolean()) }
	case parquet.Int32:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, int64(v.Int32()), 10) }
	case parquet.Int64:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, v.Int64(), 10) }
	case parquet.Int96:
		return func(dst []byte, v parquet.Value) []byte {
			// the nanoseconds of the day, then the Julian day
			n := v.Int96()
			day := int64(n[2]) - 2_440_588
			nanos := int64(n[1])<<32 | int64(n[0])
			return appendQuoted(dst, time.Unix(day*86400, nanos).UTC().Format("2006-01-02T15:04:05.999999999"))
		}
	case parquet.Float:
		return func(dst []byte, v parquet.Value) []byte { return appendFloat(dst, float64(v.Float()), 32) }
	case parquet.Double:
		return func(dst []byte, v parquet.Value) []byte { return appendFloat(dst, v.Double(), 64) }
	}
	return func(dst []byte, v parquet.Value) []byte { return appendJSONText(dst, v.ByteArray()) }
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		name := "NaN"
		if !math.IsNaN(f) {
			name = map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]
		}
		return appendQuoted(dst, name)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, bits)
	if !strings.ContainsAny(string(dst[start:]), ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendDecimal appends a number with scale digits after the point.
func appendDecimal(dst []byte, v parquet.Value, scale int) []byte {
	var n big.Int
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default:
		b := v.ByteArray()
		n.SetBytes(b)
		if len(b) > 0 && b[0] >= 0x80 {
			n.Sub(&n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	if scale <= 0 {
		return n.Append(dst, 10)
	}
	return append(dst, new(big.Rat).SetFrac(&n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)...)
}

func appendQuoted(dst []byte, s string) []byte {
	return append(append(append(dst, '"'), s...), '"')
}

// appendJSONText appends text as a JSON string. Invalid UTF-8 passes through, so that the loader refuses the row.
func appendJSONText(dst, b []byte) []byte {
	dst = append(dst, '"')
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
