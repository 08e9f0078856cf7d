package notation

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

const hexDigits = "0123456789abcdef"

// AppendJSONString writes a text as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if n := plainPrefix(s); n == len(s) {
		dst = append(dst, s...)
	} else {
		dst = jsonStringSlow(dst, s, n)
	}
	return append(dst, '"')
}

// plainPrefix counts the bytes at the start of s that need no escape in a JSON string: ASCII except for control characters, quotes
// and backslashes. It reads eight bytes at a time.
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

// jsonStringSlow continues after the first i bytes, which are plain.
func jsonStringSlow(dst []byte, s string, i int) []byte {
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

// AppendJSONFloat writes a float as AppendDecimal does, but NaN and infinities as strings.
func AppendJSONFloat(dst []byte, f, least, most float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(AppendDecimal(append(dst, '"'), f, least, most), '"')
	}
	return AppendDecimal(dst, f, least, most)
}

// AppendDecimal writes a float so that it parses back as one: with a point, or with an exponent if its magnitude is below least or
// at least most. NaN and infinities are written NaN, Infinity, -Infinity.
func AppendDecimal(dst []byte, f, least, most float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < least || a >= most) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	for _, c := range dst[start:] {
		if c == '.' || c == 'e' {
			return dst
		}
	}
	return append(dst, '.', '0')
}
