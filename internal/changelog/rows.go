package changelog

import (
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Rows are changes that are alike, column by column.
type Rows struct {
	// Like has what they have in common: the operation, Full, the labels of a vertex, the type of an edge, and which properties there are. Its
	// ids, the labels of an edge's ends and the values count for nothing.
	Like Change
	// IDs has a column of the vertices' ids; or columns of the edges' ids, sources and targets, and of the label sets of both.
	IDs [][]uint64
	// Values has a column for each property of Like: of Before, After, Keys, Src.Keys and Dst.Keys, in this order.
	Values [][]graph.Value
	// Pick has the rows that are changes, in their order; all are if it is nil.
	Pick []int32
}

// row is that of a change.
func (r *Rows) row(i int) int {
	if r.Pick == nil {
		return i
	}
	return int(r.Pick[i])
}

// chunkRows is how many rows of a column are encoded before the next column.
const chunkRows = 256

// AddRows adds changes as Add does, a column after the other.
func (e *Encoder) AddRows(r *Rows) error {
	n := len(r.IDs[0])
	if r.Pick != nil {
		n = len(r.Pick)
	}
	for from := 0; from < n; from += chunkRows {
		if e.n == 0 || !e.fits(&r.Like) {
			e.flush()
			e.open(&r.Like)
		}
		to := min(from+chunkRows, n)
		e.n += to - from
		for at, ids := range r.IDs {
			was := len(e.cols[at])
			col := slices.Grow(e.cols[at], (to-from)*binary.MaxVarintLen64)
			last, end := e.ids[at], was
			for i := from; i < to; i++ {
				id := ids[r.row(i)]
				end += binary.PutVarint(col[end:end+binary.MaxVarintLen64], int64(id-last))
				last = id
			}
			e.cols[at], e.ids[at] = col[:end], last
			e.bytes += end - was
		}
		for k, values := range r.Values {
			at := len(r.IDs) + k
			col := e.cols[at]
			was := len(col)
			for i := from; i < to; i++ {
				var err error
				if col, err = appendValue(col, &values[r.row(i)]); err != nil {
					return err
				}
			}
			e.cols[at] = col
			e.bytes += len(col) - was
		}
		if e.bytes >= blockBytes {
			e.flush()
		}
	}
	return nil
}

// AddCells is Add for a change whose values are cells, in the order of Rows.Values; an empty one is a null. The values of c count for nothing.
func (e *Encoder) AddCells(c *Change, cells [][]byte) {
	if e.n == 0 || !e.fits(c) {
		e.flush()
		e.open(c)
	}
	e.n++
	at := e.addIDs(c)
	for i, cell := range cells {
		if len(cell) == 0 {
			cell = null
		}
		e.cols[at+i] = append(e.cols[at+i], cell...)
		e.bytes += len(cell)
	}
	if e.bytes >= blockBytes {
		e.flush()
	}
}

var null, _ = keys.AppendCell(nil, graph.Value{})
