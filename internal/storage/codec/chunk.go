package codec

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// A column chunk has one property of up to 512 vertices with consecutive local ids: those of a grid cell, or of a part of one if the
// whole would be too large or is not complete yet. Chunks do not overlap. The label set of a vertex is property 0, an integer; null means
// that there is no such vertex. A chunk's key ends with its last local id, so the first chunk at or after a local id's key is the only one
// that can have it. A record of delta properties overrides the chunks; it is
//
//	for each property, ascending: property (uvarint), cell; the cell null says that there is none
const (
	GridBits = 9
	GridRows = 1 << GridBits
)

// LabelSetProp is the property number under which label sets are stored.
const LabelSetProp graph.PropID = 0

// HiddenProps is the first number of properties that are internal: keys in id spaces and times of writing. They are not counted.
const HiddenProps graph.PropID = 1 << 31

// PackChunks calls put with the cells of the vertices from first on as one chunk, or halves them until the chunks are small enough. Chunks
// without a value are left out. It uses, and returns, the memory of buf.
func PackChunks(buf []byte, p graph.PropID, first uint64, cs *Cells, limit int, put func(k, v []byte) error) ([]byte, error) {
	if len(cs.Buf) == 0 {
		return buf, nil
	}
	n := cs.Len()
	buf = keys.AppendChunk(buf[:0], p, first+uint64(n)-1)
	size := len(buf)
	buf = AppendColumn(buf, cs)
	if len(buf)-size <= limit || n == 1 {
		return buf, put(buf[:size], buf[size:])
	}
	for _, at := range [...][2]int{{0, n / 2}, {n / 2, n}} {
		var half Cells
		for i := at[0]; i < at[1]; i++ {
			half.Add(cs.At(i))
		}
		var err error
		if buf, err = PackChunks(buf, p, first+uint64(at[0]), &half, limit, put); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// EachCell splits n vertices from first on at the cells of the grid, and calls f for each part: with its first local id, its first row and
// its number of rows.
func EachCell(first uint64, n int, f func(local uint64, at, rows int) error) error {
	for at := 0; at < n; {
		local := first + uint64(at)
		rows := min(n-at, GridRows-int(local%GridRows))
		if err := f(local, at, rows); err != nil {
			return err
		}
		at += rows
	}
	return nil
}
