package record

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Lines reads the lines of a chunk of JSON lines, one object per line.
type Lines struct {
	// Start and End delimit the last line in the chunk, including its line end.
	Start, End int

	keys  *Keys
	end   byte // of a line
	data  []byte
	cells []Cell
	arena []byte // for text with its escapes resolved
}

// NewLines returns a reader that extracts the values of keys.
func NewLines(keys *Keys, d Dialect) *Lines {
	return &Lines{keys: keys, end: d.End(), cells: make([]Cell, keys.n)}
}

// Reset begins a chunk. Cells of the previous one stay valid.
func (l *Lines) Reset(data []byte) { l.data, l.Start, l.End, l.arena = data, 0, 0, nil }

// Next reads an object, skipping blank lines. The cells are in the order of the keys and valid until the next call.
func (l *Lines) Next() (cells []Cell, fault *Fault, ok bool) {
	for l.End < len(l.data) {
		l.Start, l.End = l.End, len(l.data)
		if i := bytes.IndexByte(l.data[l.Start:], l.end); i >= 0 {
			l.End = l.Start + i + 1
		}
		line := bytes.TrimSpace(l.data[l.Start:l.End])
		if len(line) == 0 {
			continue
		}
		for i := range l.cells {
			l.cells[i] = Cell{Kind: Missing}
		}
		if rest, ok := l.object(line, &l.keys.root, 0); !ok || len(skipSpace(rest)) > 0 {
			return nil, faultJSON, true
		}
		return l.cells, nil, true
	}
	l.Start = l.End
	return nil, nil, false
}

// Keys is the set of keys to extract. A key a.b is key b of the object under a, unless the outer object itself has a key "a.b".
type Keys struct {
	root keyNode
	n    int
}

type keyNode struct {
	names []string
	nodes []*keyNode
	slot  int // or -1
}

// Add adds a key and returns the index of its cell.
func (k *Keys) Add(name string) int {
	if k.n == 0 {
		k.root.slot = -1
	}
	slot := k.root.add(name, k.n)
	if slot == k.n {
		k.n++
	}
	for i := range len(name) {
		if name[i] == '.' && i > 0 && i+1 < len(name) {
			node := k.root.child(name[:i])
			node.add(name[i+1:], slot)
		}
	}
	return slot
}

// Slot returns the index of a key's cell, or -1.
func (k *Keys) Slot(name string) int {
	if n := k.root.find([]byte(name)); n != nil {
		return n.slot
	}
	return -1
}

func (n *keyNode) child(name string) *keyNode {
	for i, s := range n.names {
		if s == name {
			return n.nodes[i]
		}
	}
	c := &keyNode{slot: -1}
	n.names, n.nodes = append(n.names, name), append(n.nodes, c)
	return c
}

func (n *keyNode) add(name string, slot int) int {
	c := n.child(name)
	if c.slot < 0 {
		c.slot = slot
	}
	return c.slot
}

func (n *keyNode) find(name []byte) *keyNode {
	if n == nil {
		return nil
	}
	for i, s := range n.names {
		if string(name) == s {
			return n.nodes[i]
		}
	}
	return nil
}

// deepest bounds the nesting of values.
const deepest = 200

// object reads an object and extracts the wanted keys.
func (l *Lines) object(b []byte, want *keyNode, depth int) (rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '{' || depth > deepest {
		return nil, false
	}
	b = skipSpace(b[1:])
	if len(b) > 0 && b[0] == '}' {
		return b[1:], true
	}
	for {
		key, b2, ok := l.text(b)
		if !ok {
			return nil, false
		}
		b = skipSpace(b2)
		if len(b) == 0 || b[0] != ':' {
			return nil, false
		}
		b = skipSpace(b[1:])
		node := want.find(key)
		var c Cell
		if c, b, ok = l.value(b, node, depth); !ok {
			return nil, false
		}
		if node != nil && node.slot >= 0 {
			l.cells[node.slot] = c
		}
		b = skipSpace(b)
		if len(b) == 0 {
			return nil, false
		}
		switch b[0] {
		case '}':
			return b[1:], true
		case ',':
			b = skipSpace(b[1:])
		default:
			return nil, false
		}
	}
}

// value reads any value.
func (l *Lines) value(b []byte, want *keyNode, depth int) (c Cell, rest []byte, ok bool) {
	if len(b) == 0 {
		return c, nil, false
	}
	switch b[0] {
	case '"':
		if want == nil {
			rest, ok = skipText(b)
			return c, rest, ok
		}
		c.Kind = String
		c.Text, rest, ok = l.text(b)
		return c, rest, ok
	case '{':
		rest, ok = l.object(b, want, depth+1)
		if ok {
			n := len(b) - len(rest)
			c = Cell{b[:n:n], Object}
		}
		return c, rest, ok
	case '[':
		return l.array(b, depth+1)
	case 't':
		return literal(b, "true", Bool)
	case 'f':
		return literal(b, "false", Bool)
	case 'n':
		return literal(b, "null", Null)
	}
	n := numberLen(b)
	return Cell{b[:n:n], Number}, b[n:], n > 0
}

func (l *Lines) array(b []byte, depth int) (c Cell, rest []byte, ok bool) {
	if depth > deepest {
		return c, nil, false
	}
	rest = skipSpace(b[1:])
	if len(rest) > 0 && rest[0] == ']' {
		rest = rest[1:]
		n := len(b) - len(rest)
		return Cell{b[:n:n], Array}, rest, true
	}
	for {
		if _, rest, ok = l.value(rest, nil, depth); !ok {
			return c, nil, false
		}
		rest = skipSpace(rest)
		if len(rest) == 0 || rest[0] != ',' && rest[0] != ']' {
			return c, nil, false
		}
		done := rest[0] == ']'
		rest = rest[1:]
		if done {
			n := len(b) - len(rest)
			return Cell{b[:n:n], Array}, rest, true
		}
		rest = skipSpace(rest)
	}
}

// Elements appends the elements of an array cell to dst.
func (l *Lines) Elements(dst []Cell, array []byte) []Cell {
	b := skipSpace(array[1:])
	all := &keyNode{slot: -1}
	for len(b) > 0 && b[0] != ']' {
		c, rest, ok := l.value(b, all, 0)
		if !ok {
			break
		}
		dst = append(dst, c)
		b = skipSpace(rest)
		if len(b) > 0 && b[0] == ',' {
			b = skipSpace(b[1:])
		}
	}
	return dst
}

func literal(b []byte, word string, k Kind) (Cell, []byte, bool) {
	if len(b) < len(word) || string(b[:len(word)]) != word {
		return Cell{}, nil, false
	}
	return Cell{b[:len(word):len(word)], k}, b[len(word):], true
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// numberLen returns the length of the number at the start of b, or 0.
func numberLen(b []byte) int {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	if !digits() || b[first] == '0' && i > first+1 {
		return 0
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return 0
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

// skipText skips to the end of a string.
func skipText(b []byte) (rest []byte, ok bool) {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return b[i+1:], true
		case '\\':
			i++
		}
	}
	return nil, false
}

// text reads a string.
func (l *Lines) text(b []byte) (text, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[1:i:i], b[i+1:], true
		case c == '\\':
			return l.escaped(b)
		case c < 0x20:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// escaped reads a string with escapes into the arena.
func (l *Lines) escaped(b []byte) (text, rest []byte, ok bool) {
	start := len(l.arena)
	for i := 1; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '"':
			return l.arena[start:len(l.arena):len(l.arena)], b[i+1:], true
		case c < 0x20:
			return nil, nil, false
		case c != '\\':
			l.arena = append(l.arena, c)
			continue
		}
		if i++; i == len(b) {
			return nil, nil, false
		}
		if c = b[i]; c == 'u' {
			r, ok := hex4(b[i+1:])
			if !ok {
				return nil, nil, false
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low, ok := rune(0), false
				if len(b) > i+2 && b[i+1] == '\\' && b[i+2] == 'u' {
					low, ok = hex4(b[i+3:])
				}
				if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
					return nil, nil, false
				}
				i += 6
			}
			l.arena = utf8.AppendRune(l.arena, r)
			continue
		}
		j := bytes.IndexByte([]byte(`"\/bfnrt`), c)
		if j < 0 {
			return nil, nil, false
		}
		l.arena = append(l.arena, "\"\\/\b\f\n\r\t"[j])
	}
	return nil, nil, false
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
