package relational

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// dictionary encodes a property of the vertices of a column: it reads and hashes the value of a vertex once, however many rows the
// vertex has, and returns its code, which is dense and starts at 0.
type dictionary struct {
	pos    int // of the column
	es     *expr.Evaluators
	key    runtime.Evaluator
	values *GroupTable // a value's number is its code
	cols   [1][]graph.Value
	shards [][]*codePage // by shard and vertexPage
	pages  int
	read   int         // vertices whose value was read
	missed runtime.Sel // the rows of vertices without a code
	first  runtime.Sel // of missed, the first row of each run of rows of one vertex
	again  runtime.Sel // the others
	found  []int32     // the codes of first
}

// codePage has the codes of successive vertices, plus 1; 0 marks a vertex without a code.
type codePage [1 << codePageBits]int32

const (
	codePageBits = 10
	// maxCodePages bounds the memory of a dictionary's pages: 4 MiB.
	maxCodePages = 1 << 10
	// minEncoded is the least number of rows of a batch for which codes pay.
	minEncoded = 256
	// From minRows rows on, there must be rowsPerVertex of them for each vertex whose value was read.
	minRows       = 1 << 18
	rowsPerVertex = 2
)

// encode sets codes for all rows of a batch.
func (d *dictionary) encode(ctx context.Context, b *runtime.Batch, codes []int32) error {
	d.missed = d.missed[:0]
	for i, id := range b.Cols[d.pos].IDs {
		code := d.code(id)
		if codes[i] = code - 1; code == 0 {
			d.missed = append(d.missed, int32(i))
		}
	}
	if len(d.missed) == 0 {
		return nil
	}
	return d.add(ctx, b, codes)
}

// add assigns codes to the vertices of the rows missed.
func (d *dictionary) add(ctx context.Context, b *runtime.Batch, codes []int32) (err error) {
	ids := b.Cols[d.pos].IDs
	if d.pages > maxCodePages {
		if err := d.forget(); err != nil {
			return err
		}
	}
	d.first, d.again = d.first[:0], d.again[:0]
	last := graph.NoVertex
	for _, i := range d.missed {
		if id := ids[i]; id != last {
			d.first, last = append(d.first, i), id
		} else {
			d.again = append(d.again, i)
		}
	}
	d.read += len(d.first)
	d.es.Begin(d.first)
	if d.cols[0], err = d.key.Eval(ctx, b, d.first); err != nil {
		return err
	}
	if len(d.found) < b.N {
		d.found = make([]int32, b.N)
	}
	if err := d.values.Numbers(b, d.cols[:], d.first, d.found); err != nil {
		return err
	}
	for _, i := range d.first {
		p, err := d.page(ids[i])
		if err != nil {
			return err
		}
		codes[i] = d.found[i]
		p[ids[i].Local()&(1<<codePageBits-1)] = codes[i] + 1
	}
	for _, i := range d.again {
		codes[i] = d.code(ids[i]) - 1
	}
	return nil
}

// code returns the code of a vertex, plus 1; 0 if it has none.
func (d *dictionary) code(id graph.VertexID) int32 {
	shard, at := id.Shard(), id.Local()>>codePageBits
	if shard >= len(d.shards) || at >= uint64(len(d.shards[shard])) {
		return 0
	}
	p := d.shards[shard][at]
	if p == nil {
		return 0
	}
	return p[id.Local()&(1<<codePageBits-1)]
}

// page returns the page of a vertex.
func (d *dictionary) page(id graph.VertexID) (*codePage, error) {
	for len(d.shards) <= id.Shard() {
		d.shards = append(d.shards, nil)
	}
	list, at := &d.shards[id.Shard()], id.Local()>>codePageBits
	for uint64(len(*list)) <= at {
		*list = append(*list, nil)
	}
	if (*list)[at] == nil {
		if err := d.values.Acct.Grow(4 << codePageBits); err != nil {
			return nil, err
		}
		(*list)[at] = new(codePage)
		d.pages++
	}
	return (*list)[at], nil
}

// forget drops the pages. The codes of values stay as they are.
func (d *dictionary) forget() error {
	err := d.values.Acct.Grow(-d.pages * 4 << codePageBits)
	d.shards, d.pages = nil, 0
	return err
}

// encodedKeys numbers the groups of keys that are each a property of a vertex, by the codes of their values. It stops, for the rest
// of the run, if vertices rarely repeat or groups are many.
type encodedKeys struct {
	dicts    []*dictionary
	codes    [][]int32   // by key and row
	pairs    []pairTable // [k] numbers the pairs of the number of keys 0 … k and the code of key k+1
	combined []int32     // by row: the number of all keys
	groups   []int32     // by the number of all keys: the table's group plus 1; 0: not known
	unknown  runtime.Sel // rows of such groups
	cols     [][]graph.Value
	rows     int
	disabled bool
}

// encodable returns the keys over an input if each is a property of a vertex, the statement changes none, and vertices may repeat;
// else nil.
func encodable(c *compile.Compiler, keys []plan.Expr, input plan.Node) []plan.Expr {
	q := c.Program.Query
	for {
		if _, ok := input.(*plan.Filter); !ok {
			break
		}
		input = plan.Children(input)[0]
	}
	switch input.(type) {
	case *plan.Expand, *plan.VarExpand, *plan.Intersect, *plan.PathMultiplicity:
	default:
		return nil
	}
	for _, k := range keys {
		p, ok := k.(*plan.Prop)
		if !ok || q.Writes {
			return nil
		}
		ref, ok := p.X.(*plan.ColRef)
		if !ok || int(ref.Col) >= len(q.Cols) || q.Cols[ref.Col].Kind != graph.VertexKind {
			return nil
		}
	}
	return keys
}

// newEncodedKeys returns an encoder of keys over batches of these columns; nil without keys.
func newEncodedKeys(r *runtime.Run, keys []plan.Expr, cols []plan.Col) *encodedKeys {
	if len(keys) == 0 || r.Frame != nil {
		return nil
	}
	c := &encodedKeys{codes: make([][]int32, len(keys)), pairs: make([]pairTable, len(keys)-1), cols: make([][]graph.Value, len(keys))}
	for _, k := range keys {
		d := &dictionary{pos: slices.Index(cols, k.(*plan.Prop).X.(*plan.ColRef).Col), es: expr.New(r, cols), values: NewGroupTable(r, "Aggregate", 1)}
		d.key = d.es.Add(k)
		c.dicts = append(c.dicts, d)
	}
	return c
}

// fit reports whether the encoder can and should number the rows of a batch.
func (c *encodedKeys) fit(b *runtime.Batch) bool {
	if c == nil || c.disabled || b.N < minEncoded || b.Row != nil {
		return false
	}
	for _, d := range c.dicts {
		if b.Cols[d.pos].IDs == nil {
			return false
		}
	}
	return true
}

// number sets the group of each row of a batch, and adds new groups to the table.
func (c *encodedKeys) number(ctx context.Context, b *runtime.Batch, table *GroupTable, dst []int32) error {
	for k, d := range c.dicts {
		if len(c.codes[k]) < b.N {
			c.codes[k], c.cols[k] = make([]int32, b.N), make([]graph.Value, b.N)
		}
		if err := d.encode(ctx, b, c.codes[k][:b.N]); err != nil {
			return err
		}
	}
	all := c.codes[0][:b.N]
	for k := range c.pairs {
		if len(c.combined) < b.N {
			c.combined = make([]int32, b.N)
		}
		c.pairs[k].number(all, c.codes[k+1], c.combined[:b.N])
		all = c.combined[:b.N]
	}
	c.unknown = c.unknown[:0]
	for i, n := range all {
		if int(n) >= len(c.groups) {
			c.groups = append(c.groups, make([]int32, int(n)+1-len(c.groups))...)
		}
		if dst[i] = c.groups[n] - 1; dst[i] < 0 {
			c.unknown = append(c.unknown, int32(i))
		}
	}
	if len(c.unknown) > 0 {
		for k, d := range c.dicts {
			for _, i := range c.unknown {
				c.cols[k][i] = d.values.keys[0].at(c.codes[k][i])
			}
		}
		if err := table.Numbers(b, c.cols, c.unknown, dst); err != nil {
			return err
		}
		for _, i := range c.unknown {
			c.groups[all[i]] = dst[i] + 1
		}
	}
	c.rows += b.N
	c.disabled = len(c.groups) > maxGrouped*table.Acct.Run.BatchSize()
	for _, d := range c.dicts {
		c.disabled = c.disabled || c.rows >= minRows && d.read*rowsPerVertex > c.rows
	}
	return nil
}

// forgetGroups is called when the table of the groups is reset.
func (c *encodedKeys) forgetGroups() {
	if c != nil {
		clear(c.groups)
	}
}

// reset prepares the encoder for another run.
func (c *encodedKeys) reset() {
	if c == nil {
		return
	}
	for _, d := range c.dicts {
		d.values.Reset()
		d.shards, d.pages, d.read = nil, 0, 0
	}
	for k := range c.pairs {
		c.pairs[k] = pairTable{}
	}
	c.groups, c.rows, c.disabled = c.groups[:0], 0, false
}

// pairTable numbers pairs of small numbers in order of appearance. It is a hash table with open addressing.
type pairTable struct {
	slots []pairSlot // the length is a power of two
	n     int32
}

type pairSlot struct {
	pair   uint64
	number int32 // plus 1
}

// number sets dst[i] to the number of (a[i], b[i]). dst may be a.
func (t *pairTable) number(a, b, dst []int32) {
	for i := range dst {
		if 2*int(t.n) >= len(t.slots) {
			t.grow()
		}
		pair := uint64(a[i])<<32 | uint64(b[i])
		s := t.slot(pair)
		if s.number == 0 {
			t.n++
			*s = pairSlot{pair, t.n}
		}
		dst[i] = s.number - 1
	}
}

// slot returns the slot of a pair, or the slot where it belongs.
func (t *pairTable) slot(pair uint64) *pairSlot {
	mask := uint64(len(t.slots) - 1)
	h := pair * 0x9e3779b97f4a7c15
	for at := h >> 32 & mask; ; at = (at + 1) & mask {
		if s := &t.slots[at]; s.number == 0 || s.pair == pair {
			return s
		}
	}
}

func (t *pairTable) grow() {
	old := t.slots
	t.slots = make([]pairSlot, max(2*len(old), 64))
	for _, s := range old {
		if s.number != 0 {
			*t.slot(s.pair) = s
		}
	}
}
