package fetch

import (
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fetch/bind"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Cache keeps the programs of request shapes, so that a request that differs from an earlier one only in values is not bound again.
// It belongs to one graph and is safe for concurrent use.
type Cache struct {
	mu       sync.Mutex
	programs map[string]*bind.Program
	finds    map[string]*find // of writing requests
	writes   map[string]*plan.Query
	size     int
}

// NewCache returns a cache of up to size shapes.
func NewCache(size int) *Cache {
	return &Cache{
		programs: make(map[string]*bind.Program), finds: make(map[string]*find), writes: make(map[string]*plan.Query), size: size,
	}
}

// program returns the cached program of a request, or binds it; that of a page, if pg is not nil, has other plans. A nil cache keeps nothing.
func (c *Cache) program(r *syntax.Request, cat graph.Catalog, pg Pager) (*bind.Program, error) {
	if c == nil {
		return bindPage(r, cat, pg)
	}
	r.Steps.Add(len(r.Doc.Nodes) / 4)
	key := shape(r)
	if pg != nil {
		key = pg.Key() + key
	}
	c.mu.Lock()
	p := c.programs[key]
	c.mu.Unlock()
	if p != nil && p.Props == len(cat.AllProps()) && p.Indexes == cat.Version() {
		return p, nil
	}
	p, err := bindPage(r, cat, pg)
	if err != nil || p.Fixed {
		return p, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	keep(c.programs, key, p, c.size)
	return p, nil
}

// write returns the cached plan of some names, or builds it.
func (c *Cache) write(key string, make func() *plan.Query) *plan.Query {
	if c == nil {
		return make()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.writes[key]
	if q == nil {
		q = make()
		keep(c.writes, key, q, c.size)
	}
	return q
}

// find returns the query of the vertices that an object of a writing request names.
func (c *Cache) find(key string, cat graph.Catalog, make func() (*find, error)) (*find, error) {
	if c == nil {
		return make()
	}
	c.mu.Lock()
	f := c.finds[key]
	c.mu.Unlock()
	if f != nil && f.props == len(cat.AllProps()) && f.indexes == cat.Version() {
		return f, nil
	}
	f, err := make()
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		keep(c.finds, key, f, c.size)
	}
	return f, err
}

// keep adds an entry. A full cache evicts an arbitrary one.
func keep[V any](m map[string]V, key string, v V, size int) {
	if len(m) >= size {
		for k := range m {
			delete(m, k)
			break
		}
	}
	m[key] = v
}

// shape is a text that two requests share exactly when they are bound to the same program.
func shape(r *syntax.Request) string {
	b := append([]byte(r.Method+" "), r.Rights.Key()...)
	return string(shapeOf(b, r.Doc.Root, "", 0))
}

// shapeOf appends the shape of a value: its text if binding reads it, else only its kind.
func shapeOf(dst []byte, n *syntax.Node, key string, depth int) []byte {
	if n.Kind == syntax.JSONObject {
		dst = append(dst, '{')
		for _, m := range n.Members {
			dst = append(notation.AppendJSONString(dst, m.Key), ':')
			dst = shapeOf(dst, m, m.Key, depth+1)
			dst = append(dst, ',')
		}
		return append(dst, '}')
	}
	if !syntax.Lifted(key, n, depth) {
		return append(dst, n.Raw...)
	}
	switch n.Kind {
	case syntax.JSONNull:
		return append(dst, '0')
	case syntax.JSONBool:
		return append(dst, '?', 'b')
	case syntax.JSONNumber:
		if key == "count" || key == "page" {
			if n.Scalar.Kind() == graph.Int && n.Scalar.Int() == 0 {
				return append(dst, '0')
			}
		}
		return append(dst, '?', 'n')
	case syntax.JSONString:
		if !syntax.Numeric(n.Str()).IsNull() {
			return append(dst, '?', 'd')
		}
		return append(dst, '?', 's')
	}
	if len(n.Elems) == 0 {
		return append(dst, '[', ']')
	}
	return append(dst, '?', 'l')
}
