package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
)

// PlainMembers calls f with the name and the JSON text of each member of an object in its plainest form, which most requests have: no
// escapes, valid UTF-8, each name once, and values that are strings, objects or short whole numbers. It returns false for anything else, and when f does, which
// says nothing about data: DecodeJSON decides. The arguments of f share memory with data.
func PlainMembers(data []byte, f func(name string, value []byte) bool) bool {
	if bytes.IndexByte(data, '\\') >= 0 || !utf8.Valid(data) {
		return false
	}
	rest, ok := after(data, '{')
	var names [8]string
	for n := 0; ok && n < len(names); n++ {
		name, left := plainString(space(rest))
		if name == nil {
			return false
		}
		if rest, ok = after(left, ':'); !ok {
			return false
		}
		value, left := plainValue(space(rest))
		names[n] = string(name[1 : len(name)-1])
		if value == nil || slices.Contains(names[:n], names[n]) || !f(names[n], value) {
			return false
		}
		if end, closed := after(left, '}'); closed {
			return len(space(end)) == 0
		}
		rest, ok = after(left, ',')
	}
	return false
}

// plainValue splits a string, an object or a short whole number from the text behind it; nil if there is none.
func plainValue(data []byte) (value, rest []byte) {
	switch {
	case len(data) == 0:
		return nil, nil
	case data[0] != '{' && data[0] != '"':
		return plainNumber(data)
	case data[0] == '"':
		return plainString(data)
	}
	depth, text := 0, false
	for i, c := range data {
		switch {
		case c == '"':
			text = !text
		case text:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth > 0 {
				continue
			}
			if value = data[:i+1]; !json.Valid(value) {
				return nil, nil
			}
			return value, data[i+1:]
		}
	}
	return nil, nil
}

// plainNumber splits a whole number of up to 18 digits, which fit 64 bits, from the text behind it; nil if there is none.
func plainNumber(data []byte) (value, rest []byte) {
	n := 0
	if data[0] == '-' {
		n++
	}
	first := n
	for n < len(data) && data[n] >= '0' && data[n] <= '9' {
		n++
	}
	digits := n - first
	switch {
	case digits == 0 || digits > 18, data[first] == '0' && n > 1: // a leading zero, or -0
		return nil, nil
	case n < len(data) && (data[n] == '.' || data[n] == 'e' || data[n] == 'E'):
		return nil, nil
	}
	return data[:n], data[n:]
}

// plainParams decodes parameters that are strings and whole numbers in the form of PlainMembers, and counts their memory. ok is false for
// any others.
func plainParams(raw []byte, charge *memory.Charge) (params map[string]graph.Value, ok bool, err error) {
	params = map[string]graph.Value{}
	ok = PlainMembers(raw, func(name string, value []byte) bool {
		var v graph.Value
		size := len(name)
		switch value[0] {
		case '{':
			return false
		case '"':
			v, size = graph.StringValue(string(value[1:len(value)-1])), size+len(value)-2
		default:
			n, fault := strconv.ParseInt(string(value), 10, 64)
			if fault != nil {
				return false
			}
			v = graph.IntValue(n)
		}
		params[name] = v
		if fault := charge.Add(size + int(unsafe.Sizeof(graph.MapEntry{}))); err == nil {
			err = fault
		}
		return true
	})
	return params, ok, err
}

// plainString splits a string from the text behind it; nil if there is none.
func plainString(data []byte) (value, rest []byte) {
	if len(data) == 0 || data[0] != '"' {
		return nil, nil
	}
	for i, c := range data[1:] {
		if c == '"' {
			return data[:i+2], data[i+2:]
		}
		if c < ' ' {
			break
		}
	}
	return nil, nil
}

// after returns the text behind a byte, which white space may precede.
func after(data []byte, c byte) (rest []byte, ok bool) {
	if data = space(data); len(data) == 0 || data[0] != c {
		return nil, false
	}
	return data[1:], true
}

// space returns the text behind JSON's white space.
func space(data []byte) []byte {
	for len(data) > 0 && (data[0] == ' ' || data[0] == '\t' || data[0] == '\n' || data[0] == '\r') {
		data = data[1:]
	}
	return data
}
