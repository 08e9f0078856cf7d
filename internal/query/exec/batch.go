package exec

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// batch is what operators hand on. Its columns stand in the order of the producing stage's cols. It belongs to the
// producer, with all its memory, until the producer's next call; the consumer must not change it.
type batch struct {
	graph.Batch
	// row is set in a subplan: the row of the frame that each row belongs to.
	row []int32
	// grouped is set if one of a team has prepared the rows for the aggregate that consumes them.
	grouped *grouped
}

// rowOf gives the frame's row that row i belongs to, 0 at the top level.
func (b *batch) rowOf(i int) int32 {
	if b.row == nil {
		return 0
	}
	return b.row[i]
}

// reset empties a batch that owns its columns, gives it n columns and keeps its memory.
func (b *batch) reset(n int) {
	b.Batch.Reset(n)
	if b.row != nil {
		b.row = b.row[:0]
	}
}

// forget lets go of all values of a batch that owns its columns.
func (b *batch) forget() {
	for i := range b.Cols[:cap(b.Cols)] {
		c := &b.Cols[:cap(b.Cols)][i]
		clear(c.Vals[:cap(c.Vals)])
	}
}

// copy makes b, which owns its columns, a copy of in.
func (b *batch) copy(in *batch) {
	b.N, b.row = in.N, nil
	if in.row != nil {
		b.row = slices.Clone(in.row)
	}
	if in.grouped == nil {
		b.grouped = nil
	} else {
		if b.grouped == nil {
			b.grouped = new(grouped)
		}
		b.grouped.copy(in.grouped)
	}
	b.Cols = slices.Grow(b.Cols[:0], len(in.Cols))[:len(in.Cols)]
	for i := range in.Cols {
		src, dst := &in.Cols[i], &b.Cols[i]
		if src.IDs != nil {
			dst.IDs, dst.Vals = append(dst.IDs[:0], src.IDs...), nil
		} else {
			dst.IDs, dst.Vals = nil, append(dst.Vals[:0], src.Vals...)
		}
	}
}

// view makes b show the columns at positions from of in, without a copy. A batch that is used as a view owns nothing.
func (b *batch) view(in *batch, from []int) {
	b.N, b.row = in.N, in.row
	b.Cols = b.Cols[:0]
	for _, p := range from {
		b.Cols = append(b.Cols, in.Cols[p])
	}
}

// slice makes b show rows i … j-1 of in, without a copy.
func (b *batch) slice(in *batch, i, j int) {
	b.N = j - i
	b.Cols = b.Cols[:0]
	for _, c := range in.Cols {
		if c.IDs != nil {
			b.Cols = append(b.Cols, graph.Column{IDs: c.IDs[i:j]})
		} else {
			b.Cols = append(b.Cols, graph.Column{Vals: c.Vals[i:j]})
		}
	}
	if b.row = nil; in.row != nil {
		b.row = in.row[i:j]
	}
}

// fill takes up to n rows from disk in a batch that owns its columns, and reports whether there were any.
func (b *batch) fill(from *spillReader, n int) (bool, error) {
	b.reset(len(from.vals))
	for b.N = 0; b.N < n; b.N++ {
		ok, err := from.next()
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		for i, v := range from.vals {
			b.Cols[i].Vals = append(b.Cols[i].Vals, v)
		}
	}
	return b.N > 0, nil
}

// appendRows appends the given rows of in, whose columns stand at the positions from, to a batch that owns its
// columns: column i of b gets column from[i] of in, and is left alone where from[i] is negative. It does not add the
// rows' number to b.N, since the caller may have columns of its own to fill.
func (b *batch) appendRows(in *batch, from []int, rows []int32) {
	for i, p := range from {
		if p >= 0 {
			appendColumn(&b.Cols[i], &in.Cols[p], rows)
		}
	}
	if in.row != nil {
		for _, r := range rows {
			b.row = append(b.row, in.row[r])
		}
	}
}

// appendColumn appends the cells of src at rows to dst.
func appendColumn(dst, src *graph.Column, rows []int32) {
	if src.IDs != nil {
		if len(dst.Vals) > 0 {
			for _, r := range rows {
				dst.Vals = append(dst.Vals, graph.VertexValue(src.IDs[r]))
			}
			return
		}
		dst.Vals = nil
		if dst.IDs == nil {
			dst.IDs = make([]graph.VertexID, 0, max(len(rows), 16))
		}
		for _, r := range rows {
			dst.IDs = append(dst.IDs, src.IDs[r])
		}
		return
	}
	toValues(dst)
	for _, r := range rows {
		dst.Vals = append(dst.Vals, src.Vals[r])
	}
}

// toValues turns a column of vertex ids, or one that is not set, into a column of values.
func toValues(c *graph.Column) {
	if c.IDs == nil {
		return
	}
	if c.Vals == nil {
		c.Vals = make([]graph.Value, 0, max(len(c.IDs), 16))
	}
	for _, id := range c.IDs {
		c.Vals = append(c.Vals, graph.VertexValue(id))
	}
	c.IDs = nil
}

// appendNulls appends n nulls to a column.
func appendNulls(c *graph.Column, n int) {
	toValues(c)
	for range n {
		c.Vals = append(c.Vals, graph.Value{})
	}
}

// sel is a list of row numbers of a batch in ascending order; it selects rows without a copy.
type sel = []int32

// rowNumbers are 0, 1, 2, … It must not be changed.
var rowNumbers = func() sel {
	s := make(sel, 4*graph.BatchSize)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}()

// allRows selects rows 0 … n-1. It must not be changed.
func allRows(n int) sel {
	if n <= len(rowNumbers) {
		return rowNumbers[:n]
	}
	s := make(sel, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

func appendRepeated(dst sel, row int32, n int) sel {
	dst = slices.Grow(dst, n)
	at := len(dst)
	dst = dst[:at+n]
	for i := range dst[at:] {
		dst[at+i] = row
	}
	return dst
}

// allPositions are 0 … n-1.
func allPositions(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// grouped says which groups the rows of a batch belong to. The batches of one of a team come in the order in which it
// makes them.
type grouped struct {
	by   int     // who of the team
	anew bool    // numbers begin anew with this batch
	of   []int32 // by row: the number of its group
	// keys are those of the groups that are new, which have the numbers that follow, and hashes theirs.
	keys   batch
	hashes []uint64
}

func (g *grouped) copy(in *grouped) {
	g.by, g.anew = in.by, in.anew
	g.of = append(g.of[:0], in.of...)
	g.hashes = append(g.hashes[:0], in.hashes...)
	g.keys.copy(&in.keys)
}
