package fetch

import (
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
)

// Cache keeps the programs of request shapes: a request that differs from an earlier one in values alone is not bound
// again. It belongs to one graph and is safe for concurrent use.
type Cache struct {
	mu       sync.Mutex
	programs map[string]*program
	size     int
}

// NewCache makes a cache of up to size shapes.
func NewCache(size int) *Cache {
	return &Cache{programs: make(map[string]*program), size: size}
}

// program finds or makes the program of a request. A nil cache keeps nothing.
func (c *Cache) program(r *Request, cat graph.Catalog) (*program, error) {
	if c == nil {
		return bind(r, cat)
	}
	key := r.shape()
	c.mu.Lock()
	p := c.programs[key]
	c.mu.Unlock()
	if p != nil && p.props == len(cat.AllProps()) && p.indexes == cat.Version() {
		return p, nil
	}
	p, err := bind(r, cat)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.programs) >= c.size {
		for k := range c.programs { // any one goes
			delete(c.programs, k)
			break
		}
	}
	c.programs[key] = p
	return p, nil
}

// shape is a text that two requests share exactly when they are bound to the same program.
func (r *Request) shape() string {
	b := append([]byte(r.Method), ' ')
	return string(shapeOf(b, r.doc.root, "", 0))
}

// shapeOf appends the shape of a value: its text where binding reads it, else only what kind of value it is.
func shapeOf(dst []byte, n *node, key string, depth int) []byte {
	if n.kind == kObject {
		dst = append(dst, '{')
		for _, m := range n.members {
			dst = append(quote(dst, m.key), ':')
			dst = shapeOf(dst, m, m.key, depth+1)
			dst = append(dst, ',')
		}
		return append(dst, '}')
	}
	if !lifted(key, n, depth) {
		return append(dst, n.raw...)
	}
	switch n.kind {
	case kNull:
		return append(dst, '0')
	case kBool:
		return append(dst, '?', 'b')
	case kNumber:
		if key == "count" || key == "page" {
			if n.scalar.Kind() == graph.Int && n.scalar.Int() == 0 {
				return append(dst, '0')
			}
		}
		return append(dst, '?', 'n')
	case kString:
		if !numeric(n.str()).IsNull() {
			return append(dst, '?', 'd')
		}
		return append(dst, '?', 's')
	}
	if len(n.elems) == 0 {
		return append(dst, '[', ']')
	}
	return append(dst, '?', 'l')
}

// lifted reports whether a member's value becomes a parameter or is copied to the answer, so that binding does not
// depend on it.
func lifted(key string, n *node, depth int) bool {
	if key == "" || key[0] == '@' || key[len(key)-1] == '@' || depth == 1 && key == "format" {
		return false
	}
	switch key {
	case "join", "query", "hop", "depth", "walk", "find", "must", "from", "range", "compat":
		return false
	case "count", "page":
		return n.kind == kNumber
	}
	switch key[len(key)-1] {
	case '%', '~', '>', '<':
		// Lists of these are bound element by element; <> too.
		return n.kind != kList && key[len(key)-1] != '%' && key[len(key)-1] != '~'
	case '$':
		return n.kind == kString
	case '}':
		return n.kind == kList
	}
	return true
}
