package fetch

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

const hexDigits = "0123456789abcdef"

// quote appends a text as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if n := plainPrefix(s); n == len(s) {
		dst = append(dst, s...)
	} else {
		dst = quoteSlow(dst, s, n)
	}
	return append(dst, '"')
}

// plainPrefix counts the bytes at the beginning of s that stand in a JSON string as they are: ASCII but for control
// characters, quotes and backslashes. It takes eight bytes at a time.
func plainPrefix(s string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s[i:]), 8))
		// The top bit of a byte is set in the difference where the byte is below the subtrahend, 0 for an equal byte.
		quotes, slashes := w^(ones*'"'), w^(ones*'\\')
		if (w|(w-ones*' ')|(quotes-ones)|(slashes-ones))&tops != 0 {
			break
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// quoteSlow goes on where the first i bytes are plain.
func quoteSlow(dst []byte, s string, i int) []byte {
	start := 0
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			start = i + n
		}
		i += n
	}
	return append(dst, s[start:]...)
}

// appendFloat writes a float so that it reads back as one: with a point or an exponent; what is no number is a text.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	start := len(dst)
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	for _, c := range dst[start:] {
		if c == '.' || c == 'e' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// appendValue writes a value: a vertex or an edge as the object of its properties.
func appendValue(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Null:
		return append(dst, "null"...)
	case graph.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case graph.Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case graph.Float:
		return appendFloat(dst, v.Float())
	case graph.String:
		return quote(dst, v.Str())
	case graph.List:
		dst = append(dst, '[')
		for i, e := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	case graph.Map:
		dst = append(dst, '{')
		for i, e := range v.Map() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(quote(dst, e.Key), ':')
			dst = appendValue(dst, e.Value)
		}
		return append(dst, '}')
	case graph.VertexKind, graph.EdgeKind:
		return append(appendRecord(append(dst, '{'), recordOf(v)), '}')
	case graph.PathKind:
		dst = append(dst, '[')
		p := v.Path()
		for i, e := range p.Vertices {
			if i > 0 {
				dst = appendValue(append(dst, ','), p.Edges[i-1])
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	}
	return append(fn.AppendTemporal(append(dst, '"'), v), '"')
}

// recordOf is the record of a vertex or an edge, nil where it has none.
func recordOf(v graph.Value) *graph.Record {
	if v.Kind() == graph.VertexKind {
		return v.Record()
	}
	if v.Kind() == graph.EdgeKind {
		return v.Edge().Record
	}
	return nil
}

func appendRecord(dst []byte, r *graph.Record) []byte {
	if r == nil {
		return dst
	}
	for i, k := range r.Keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(quote(dst, k), ':')
		dst = appendValue(dst, r.Values[i])
	}
	return dst
}
