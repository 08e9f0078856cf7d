package arrowstream

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/memory"
)

const (
	fixRows    = 16 << 10 // rows after which the column types are fixed
	fixBytes   = 4 << 20  // bytes of values after which they are fixed earlier
	batchRows  = 16 << 10 // rows of a record batch
	batchBytes = 4 << 20  // bytes that fill a record batch earlier
	stepRows   = 256      // rows encoded between checks of the batch size
)

// Sink receives record batches, which are valid until Write returns, and ends a stream.
type Sink interface {
	Write(rec arrow.RecordBatch) error
	Close() error
}

// Writer writes the rows of a response. It buffers the first rows to derive the types of the columns.
//
//	rows ─ Append ─ first rows ─ shapes ─┐
//	          └────────────────────── columns ─ record batches ─ Sink
type Writer struct {
	names []string
	open  func(*arrow.Schema) (Sink, error)
	hold  func(bytes int) error
	sink  Sink // nil until the types are fixed

	structs bool

	first [][]graph.Value // the rows until then, by column
	rows  int             // of first, or of the columns
	size  int             // of the values of first

	schema  *arrow.Schema
	columns []*column
	ids     []graph.Value // the values of a column that holds ids
	sent    int           // rows before those of the columns
}

// New returns a writer. open starts the stream once the schema is known. The writer reports the bytes it holds to hold, which fails if they
// are too many.
func New(names []string, open func(*arrow.Schema) (Sink, error), hold func(bytes int) error) *Writer {
	return &Writer{names: names, open: open, hold: hold, first: make([][]graph.Value, len(names))}
}

// Structs makes vertices and edges structs with a field for each property that the first rows have, and labels and types numbers of a dictionary.
// Other properties, and values of other types, are JSON in the field more. Call it before Append.
func (w *Writer) Structs(on bool) { w.structs = on }

// Append adds the rows of a batch. Values that contain others must stay valid until the next call, and all of them until the types are
// fixed; values of a transaction do.
func (w *Writer) Append(b *graph.Batch) error {
	if w.sink != nil {
		if err := w.encode(b.N, func(i int) []graph.Value { return w.values(&b.Cols[i], b.N) }); err != nil {
			return err
		}
		return w.account()
	}
	for i := range w.first {
		vals := w.values(&b.Cols[i], b.N)
		w.first[i] = append(w.first[i], vals...)
		for _, v := range vals {
			if v.Kind() >= graph.String {
				w.size += memory.ValueSize(v)
			}
		}
	}
	w.rows += b.N
	if err := w.account(); err != nil || w.rows < fixRows && w.size < fixBytes {
		return err
	}
	return w.fix(false)
}

// values returns the cells of a column.
func (w *Writer) values(c *graph.Column, n int) []graph.Value {
	if c.IDs == nil {
		return c.Vals[:n]
	}
	w.ids = w.ids[:0]
	for _, id := range c.IDs[:n] {
		w.ids = append(w.ids, graph.VertexValue(id))
	}
	return w.ids
}

// account reports the bytes that the writer holds.
func (w *Writer) account() error {
	n := w.size
	for i := range w.first {
		n += memory.CellSize * cap(w.first[i])
	}
	for _, c := range w.columns {
		n += c.held()
	}
	return w.hold(n)
}

// fix derives the types of the columns from the first rows (from all rows if complete) and encodes these.
func (w *Writer) fix(complete bool) error {
	fields := make([]arrow.Field, len(w.names))
	w.columns = make([]*column, len(w.names))
	for i, name := range w.names {
		s := newShape(0, w.structs)
		for _, v := range w.first[i] {
			s.see(v)
		}
		w.columns[i] = newColumn(s, complete)
		fields[i] = w.columns[i].field(name)
	}
	w.schema = arrow.NewSchema(fields, nil)
	var err error
	if w.sink, err = w.open(w.schema); err != nil {
		return err
	}
	first, rows := w.first, w.rows
	w.first, w.rows, w.size = nil, 0, 0
	return w.encode(rows, func(i int) []graph.Value { return first[i] })
}

// encode adds rows to the columns and writes full record batches.
func (w *Writer) encode(n int, values func(column int) []graph.Value) error {
	for from := 0; from < n; {
		to := min(from+stepRows, n)
		size := 0
		for i, c := range w.columns {
			if bad, ok := c.append(values(i)[from:to]); !ok {
				return w.misfit(i, bad)
			}
			if err := c.check(); err != nil {
				return err
			}
			size += c.size()
		}
		w.rows += to - from
		from = to
		if w.rows >= batchRows || size >= batchBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// misfit is the error for a value that does not have the type of its column.
func (w *Writer) misfit(i int, v graph.Value) error {
	return graph.TypeError("ColumnTypeChanged",
		"column `%s` of the Arrow stream has the type %s from its first rows, but one of the rows from %d on has %s: return a single type, for example by toString()",
		w.names[i], w.columns[i].typ, w.sent+1, notation.Describe(v))
}

func (w *Writer) flush() error {
	arrays := make([]arrow.Array, len(w.columns))
	for i, c := range w.columns {
		arrays[i] = array.MakeFromData(c.array())
	}
	rec := array.NewRecordBatch(w.schema, arrays, int64(w.rows))
	err := w.sink.Write(rec)
	w.sent += w.rows
	w.rows = 0
	for _, c := range w.columns {
		c.reset()
	}
	return err
}

// Close writes buffered rows and ends the stream.
func (w *Writer) Close() error {
	if w.sink == nil {
		if err := w.fix(true); err != nil {
			return err
		}
	}
	if w.rows > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	return w.sink.Close()
}
