package relational

import (
	"math/bits"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// GroupTable numbers the distinct combinations of a row of the frame and key values in the order of their arrival. It is a hash
// table with open addressing.
type GroupTable struct {
	Acct   runtime.Account
	slots  []int32 // group+1; the length is a power of two
	hashes []uint64
	row    []int32  // by group
	keys   []pages  // by key
	batch  []uint64 // hashes of the rows of a batch
	// identical says that the keys of a group are of one type and stored alike, so that any expression of them has one value: 1 and 1.0
	// are apart. Else they are equivalent.
	identical bool
}

// pages are values by group that do not move when the table grows.
type pages [][]graph.Value

const pageBits = 10

func (p *pages) add(v graph.Value) {
	n := len(*p)
	if n > 0 && len((*p)[n-1]) < 1<<pageBits {
		n--
	} else if n < cap(*p) {
		*p = (*p)[:n+1]
	} else {
		*p = append(*p, nil)
	}
	page := &(*p)[n]
	if n > 0 && cap(*page) == 0 {
		*page = make([]graph.Value, 0, 1<<pageBits)
	}
	*page = append(*page, v)
}

func (p pages) at(g int32) graph.Value { return p[g>>pageBits][g&(1<<pageBits-1)] }

// appendTo appends the values of the groups from … to-1.
func (p pages) appendTo(dst []graph.Value, from, to int) []graph.Value {
	for from < to {
		page := p[from>>pageBits]
		at := from & (1<<pageBits - 1)
		n := min(to-from, len(page)-at)
		dst = append(dst, page[at:at+n]...)
		from += n
	}
	return dst
}

// reset empties the pages and keeps their memory.
func (p *pages) reset() {
	for i := range *p {
		(*p)[i] = (*p)[i][:0]
	}
	*p = (*p)[:0]
}

// NewGroupTable creates a table of keys of n values; name is the operator, for errors.
func NewGroupTable(r *runtime.Run, name string, keys int) *GroupTable {
	return &GroupTable{Acct: runtime.Account{Run: r, Name: name}, keys: make([]pages, keys)}
}

// Reset removes all groups.
func (t *GroupTable) Reset() {
	clear(t.slots)
	t.hashes, t.row = t.hashes[:0], t.row[:0]
	for k := range t.keys {
		t.keys[k].reset()
	}
	t.Acct.Release()
}

// len is the number of groups.
func (t *GroupTable) len() int { return len(t.hashes) }

// Numbers returns the group of each row of s; cols are the key columns. dst[i] is set for the rows i of s.
func (t *GroupTable) Numbers(b *runtime.Batch, cols [][]graph.Value, s runtime.Sel, dst []int32) error {
	if err := t.hash(b, cols, s); err != nil {
		return err
	}
	return t.numberAll(b, cols, s, dst)
}

// numberAll is Numbers for rows whose keys are hashed.
func (t *GroupTable) numberAll(b *runtime.Batch, cols [][]graph.Value, s runtime.Sel, dst []int32) error {
	before := t.len()
	size := 0
	for _, i := range s {
		g := t.find(b, cols, i)
		if g < 0 {
			g = t.insert(b, cols, i)
			for _, c := range cols {
				size += memory.ValueSize(c[i])
			}
			if size >= runtime.SpoolChunk {
				if err := t.Acct.Grow(size); err != nil {
					return err
				}
				size = 0
			}
		}
		dst[i] = g
	}
	return t.Acct.Grow(size + (t.len()-before)*24)
}

// lookup is Numbers for existing groups; others are -1.
func (t *GroupTable) lookup(b *runtime.Batch, cols [][]graph.Value, s runtime.Sel, dst []int32) error {
	if err := t.hash(b, cols, s); err != nil {
		return err
	}
	t.findAll(b, cols, s, dst)
	return nil
}

// findAll is lookup for rows whose keys are hashed.
func (t *GroupTable) findAll(b *runtime.Batch, cols [][]graph.Value, s runtime.Sel, dst []int32) {
	for _, i := range s {
		dst[i] = t.find(b, cols, i)
	}
}

func (t *GroupTable) hash(b *runtime.Batch, cols [][]graph.Value, s runtime.Sel) error {
	for len(t.batch) < b.N {
		t.batch = append(t.batch, 0)
	}
	for _, i := range s {
		t.batch[i] = uint64(b.RowOf(int(i)))
	}
	for _, c := range cols {
		for _, i := range s {
			if err := t.Acct.Run.CheckLargeNoContext(c[i]); err != nil {
				return err
			}
			t.batch[i] = bits.RotateLeft64(t.batch[i]*0x9e3779b97f4a7c15, 29) ^ fn.Hash(c[i])
		}
	}
	if len(cols) == 0 {
		for _, i := range s {
			t.batch[i] *= 0x9e3779b97f4a7c15
		}
	}
	return nil
}

func (t *GroupTable) find(b *runtime.Batch, cols [][]graph.Value, i int32) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	h := t.batch[i]
	mask := uint64(len(t.slots) - 1)
	for at := (h ^ h>>32) & mask; ; at = (at + 1) & mask {
		g := t.slots[at] - 1
		if g < 0 {
			return -1
		}
		if t.hashes[g] == h && t.row[g] == b.RowOf(int(i)) && t.equal(g, cols, i) {
			return g
		}
	}
}

func (t *GroupTable) equal(g int32, cols [][]graph.Value, i int32) bool {
	for k, c := range cols {
		if x := t.keys[k].at(g); t.identical && !changelog.Identical(x, c[i]) || !t.identical && !same(x, c[i]) {
			return false
		}
	}
	return true
}

// same is fn.Equivalent with inlined common cases.
func same(a, b graph.Value) bool {
	if a.Kind() == b.Kind() {
		switch a.Kind() {
		case graph.Int:
			return a.Int() == b.Int()
		case graph.VertexKind:
			return a.Vertex() == b.Vertex()
		case graph.String:
			return a.Str() == b.Str()
		}
	}
	return fn.Equivalent(a, b)
}

func (t *GroupTable) insert(b *runtime.Batch, cols [][]graph.Value, i int32) int32 {
	if 2*(t.len()+1) > len(t.slots) {
		t.rehash(max(2*len(t.slots), 64))
	}
	g := int32(t.len())
	t.put(t.batch[i], g)
	t.hashes = append(t.hashes, t.batch[i])
	t.row = append(t.row, b.RowOf(int(i)))
	for k, c := range cols {
		t.keys[k].add(c[i])
	}
	return g
}

func (t *GroupTable) put(h uint64, g int32) {
	mask := uint64(len(t.slots) - 1)
	at := (h ^ h>>32) & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = g + 1
}

func (t *GroupTable) rehash(n int) {
	t.slots = make([]int32, n)
	for g, h := range t.hashes {
		t.put(h, int32(g))
	}
}

// ColumnValues returns the cells of a column as values, in buf if they are ids.
func ColumnValues(c *graph.Column, n int, buf []graph.Value) (vs, kept []graph.Value) {
	if c.IDs == nil {
		return c.Vals, buf
	}
	buf = expr.Grown(buf, n)
	for i, id := range c.IDs {
		buf[i] = graph.VertexValue(id)
	}
	return buf, buf
}
