package changelog

import (
	"encoding/binary"

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
	// Pick has the row of Values of each change, unless it is nil: then these are the same.
	Pick []int32
}

// chunkRows is how many rows of a column are encoded before the next column.
const chunkRows = 256

// AddRows adds changes as Add does, a column after the other.
func (e *Encoder) AddRows(r *Rows) error {
	n := len(r.IDs[0])
	for from := 0; from < n; from += chunkRows {
		if e.n == 0 || !e.fits(&r.Like) {
			e.flush()
			e.open(&r.Like)
		}
		to := min(from+chunkRows, n)
		e.n += to - from
		for at, ids := range r.IDs {
			col, last := e.cols[at], e.ids[at]
			was := len(col)
			for _, id := range ids[from:to] {
				col = binary.AppendVarint(col, int64(id-last))
				last = id
			}
			e.cols[at], e.ids[at] = col, last
			e.bytes += len(col) - was
		}
		for k, values := range r.Values {
			at := len(r.IDs) + k
			col := e.cols[at]
			was := len(col)
			for i := from; i < to; i++ {
				row := i
				if r.Pick != nil {
					row = int(r.Pick[i])
				}
				var err error
				if col, err = appendValue(col, &values[row]); err != nil {
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
