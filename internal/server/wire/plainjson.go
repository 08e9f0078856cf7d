package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// PlainMembers calls f with the name and the JSON text of each member of an object in its plainest form, which most requests have: no
// escapes, valid UTF-8, each name once, and values that are strings or objects. It returns false for anything else, and when f does, which
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

// plainValue splits a string or an object from the text behind it; nil if there is neither.
func plainValue(data []byte) (value, rest []byte) {
	if len(data) == 0 || data[0] != '{' {
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
