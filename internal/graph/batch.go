package graph

// BatchSize is the usual number of rows of a batch.
const BatchSize = 1024

// Batch is a set of rows by columns. The code that fills a batch owns it until the next fill; to keep rows longer, copy them.
type Batch struct {
	N    int      // rows
	Cols []Column // each with N cells, or not set at all
}

// Column holds IDs if it consists of vertices without nulls, otherwise Vals. An unset column has neither.
type Column struct {
	IDs  []VertexID
	Vals []Value
}

// Value returns cell i.
func (c *Column) Value(i int) Value {
	if c.IDs != nil {
		return VertexValue(c.IDs[i])
	}
	return c.Vals[i]
}

// Reset empties the batch and sets its number of columns to n, reusing their memory.
func (b *Batch) Reset(n int) {
	b.N = 0
	for len(b.Cols) < n {
		b.Cols = append(b.Cols, Column{})
	}
	b.Cols = b.Cols[:n]
	for i := range b.Cols {
		if b.Cols[i].IDs != nil {
			b.Cols[i].IDs = b.Cols[i].IDs[:0]
		}
		if b.Cols[i].Vals != nil {
			b.Cols[i].Vals = b.Cols[i].Vals[:0]
		}
	}
}
