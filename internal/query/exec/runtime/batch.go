package runtime

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
)

// Batch is a batch of rows between operators. Its columns have the order of the producing stage's Cols. The producer owns it
// and its memory; it is valid until the producer's next call, and the consumer must not change it.
type Batch struct {
	graph.Batch
	// Row is set in a subplan: the row of the frame that each row belongs to.
	Row []int32
	// Grouped is set if a worker of an exchange has prepared the rows for the aggregate that consumes them.
	Grouped *Grouped
}

// RowOf returns the frame row of row i, 0 at the top level.
func (b *Batch) RowOf(i int) int32 {
	if b.Row == nil {
		return 0
	}
	return b.Row[i]
}

// Reset empties a batch that owns its columns, sets the number of columns to n, and keeps its memory.
func (b *Batch) Reset(n int) {
	b.Batch.Reset(n)
	if b.Row != nil {
		b.Row = b.Row[:0]
	}
}

// Forget releases all values of a batch that owns its columns.
func (b *Batch) Forget() {
	for i := range b.Cols[:cap(b.Cols)] {
		c := &b.Cols[:cap(b.Cols)][i]
		clear(c.Vals[:cap(c.Vals)])
	}
}

// Copy copies in to b, which owns its columns.
func (b *Batch) Copy(in *Batch) {
	b.N, b.Row = in.N, nil
	if in.Row != nil {
		b.Row = slices.Clone(in.Row)
	}
	if in.Grouped == nil {
		b.Grouped = nil
	} else {
		if b.Grouped == nil {
			b.Grouped = new(Grouped)
		}
		b.Grouped.copy(in.Grouped)
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

// View points b at the rows of in at positions from, without a copy. A view owns nothing.
func (b *Batch) View(in *Batch, from []int) {
	b.N, b.Row = in.N, in.Row
	b.Cols = b.Cols[:0]
	for _, p := range from {
		b.Cols = append(b.Cols, in.Cols[p])
	}
}

// Slice points b at rows i … j-1 of in, without a copy.
func (b *Batch) Slice(in *Batch, i, j int) {
	b.N = j - i
	b.Cols = b.Cols[:0]
	for _, c := range in.Cols {
		if c.IDs != nil {
			b.Cols = append(b.Cols, graph.Column{IDs: c.IDs[i:j]})
		} else {
			b.Cols = append(b.Cols, graph.Column{Vals: c.Vals[i:j]})
		}
	}
	if b.Row = nil; in.Row != nil {
		b.Row = in.Row[i:j]
	}
}

// Fill reads up to n rows from disk into a batch that owns its columns, and reports whether there were any.
func (b *Batch) Fill(from *spill.Reader, n int) (bool, error) {
	b.Reset(len(from.Cells))
	for b.N = 0; b.N < n; b.N++ {
		ok, err := from.Next()
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		for i, v := range from.Cells {
			b.Cols[i].Vals = append(b.Cols[i].Vals, v)
		}
	}
	return b.N > 0, nil
}

// AppendRows appends rows of in to a batch that owns its columns: column i of b gets column from[i] of in, or nothing if
// from[i] is negative. It does not increase b.N, because the caller may fill columns of its own.
func (b *Batch) AppendRows(in *Batch, from []int, rows []int32) {
	for i, p := range from {
		if p >= 0 {
			AppendColumn(&b.Cols[i], &in.Cols[p], rows)
		}
	}
	if in.Row != nil {
		for _, r := range rows {
			b.Row = append(b.Row, in.Row[r])
		}
	}
}

// AppendColumn appends the cells of src at rows to dst.
func AppendColumn(dst, src *graph.Column, rows []int32) {
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
	ToValues(dst)
	for _, r := range rows {
		dst.Vals = append(dst.Vals, src.Vals[r])
	}
}

// ToValues converts a column of vertex ids, or an unset one, to a column of values.
func ToValues(c *graph.Column) {
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

// AppendNulls appends n nulls to a column.
func AppendNulls(c *graph.Column, n int) {
	ToValues(c)
	for range n {
		c.Vals = append(c.Vals, graph.Value{})
	}
}

// Sel lists row numbers of a batch in ascending order; it selects rows without a copy.
type Sel = []int32

// rowNumbers are 0, 1, 2, … They must not be changed.
var rowNumbers = func() Sel {
	s := make(Sel, 4*graph.BatchSize)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}()

// AllRows selects rows 0 … n-1. The caller must not change the result.
func AllRows(n int) Sel {
	if n <= len(rowNumbers) {
		return rowNumbers[:n]
	}
	s := make(Sel, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// AppendRepeated appends a row number n times.
func AppendRepeated(dst Sel, row int32, n int) Sel {
	dst = slices.Grow(dst, n)
	at := len(dst)
	dst = dst[:at+n]
	for i := range dst[at:] {
		dst[at+i] = row
	}
	return dst
}

// AllPositions returns 0 … n-1.
func AllPositions(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Grouped assigns the rows of a batch to groups. The batches of one worker arrive in the order in which it produces them.
type Grouped struct {
	Worker    int     // of the pool
	Restarted bool    // numbers start over with this batch
	Of        []int32 // by row: the number of its group
	// Keys and Hashes belong to the new groups, which have the next numbers.
	Keys   Batch
	Hashes []uint64
}

func (g *Grouped) copy(in *Grouped) {
	g.Worker, g.Restarted = in.Worker, in.Restarted
	g.Of = append(g.Of[:0], in.Of...)
	g.Hashes = append(g.Hashes[:0], in.Hashes...)
	g.Keys.Copy(&in.Keys)
}
