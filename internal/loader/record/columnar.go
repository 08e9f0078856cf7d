package record

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// rows reads the JSON lines that fill makes of the rows of a columnar file. Lines before an error are whole.
type rows struct {
	fill func() (text []byte, err error)
	rest []byte // text not returned yet
	err  error  // follows the text
}

// rowsText is about the text that fill makes at once.
const rowsText = 1 << 16

// Read implements io.Reader.
func (r *rows) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.rest, r.err = r.fill()
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// caught turns a panic of the library, which some damaged files cause, into an error.
func caught(format string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the %s file is damaged or not supported: %v", format, r)
	}
}

var binaryOrder = binary.LittleEndian

// localForm is the format of times without a zone.
const localForm = "2006-01-02T15:04:05.999999999"

func appendTime(dst []byte, seconds, nanos int64, form string) []byte {
	return appendQuoted(dst, time.Unix(seconds, nanos).UTC().Format(form))
}

// appendUint appends an unsigned integer, as a string if no integer of a graph holds it.
func appendUint(dst []byte, v uint64) []byte {
	if v <= math.MaxInt64 {
		return strconv.AppendUint(dst, v, 10)
	}
	return appendQuoted(dst, strconv.FormatUint(v, 10))
}

func appendBase64(dst, v []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v), '"')
}

// appendUUID appends 16 bytes.
func appendUUID(dst, v []byte) []byte {
	h := hex.EncodeToString(v)
	return appendQuoted(dst, h[:8]+"-"+h[8:12]+"-"+h[12:16]+"-"+h[16:20]+"-"+h[20:])
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

// appendDecimal appends a number with scale digits after the point. An integer that no integer of a graph holds becomes a string.
func appendDecimal(dst []byte, n *big.Int, scale int) []byte {
	if scale > 0 {
		return append(dst, new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)...)
	}
	if scale < 0 {
		n = new(big.Int).Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-scale)), nil))
	}
	if !n.IsInt64() {
		return appendQuoted(dst, n.String())
	}
	return n.Append(dst, 10)
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
