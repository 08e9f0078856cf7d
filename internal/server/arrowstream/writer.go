package arrowstream

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
)

const (
	fixRows    = 16 << 10 // after which the types of the columns are fixed
	fixBytes   = 4 << 20  // of values after which they are fixed earlier
	batchRows  = 16 << 10 // of a record batch
	batchBytes = 4 << 20  // at which a record batch is full earlier
	stepRows   = 256      // that are encoded between two looks at the size of a batch
)

// Sink takes record batches, which are valid until Write returns, and ends a stream.
type Sink interface {
	Write(rec arrow.RecordBatch) error
	Close() error
}

// Writer writes the rows of an answer. It holds the first rows back, until it knows the types of the columns by them.
//
//	rows ─ Append ─ first rows ─ shapes ─┐
//	          └────────────────────── columns ─ record batches ─ Sink
type Writer struct {
	names []string
	open  func(*arrow.Schema) (Sink, error)
	hold  func(bytes int) error
	sink  Sink // nil until the types are fixed

	first [][]graph.Value // the rows until then, by columns
	rows  int             // of first, or of the columns
	size  int             // of the values of first

	schema  *arrow.Schema
	columns []*column
	ids     []graph.Value // of a column that holds ids
	sent    int           // rows before those of the columns
}

// New makes a writer. open begins the stream once the schema is known. hold is told how many bytes the writer holds, and fails
// if these are too many.
func New(names []string, open func(*arrow.Schema) (Sink, error), hold func(bytes int) error) *Writer {
	return &Writer{names: names, open: open, hold: hold, first: make([][]graph.Value, len(names))}
}

// Append adds the rows of a batch. Values that hold others must live until the next call, and all until the types are fixed, as
// they do until a transaction ends.
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
				w.size += runtime.ValueSize(v)
			}
		}
	}
	w.rows += b.N
	if err := w.account(); err != nil || w.rows < fixRows && w.size < fixBytes {
		return err
	}
	return w.fix(false)
}

// values gives the cells of a column.
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

// account tells what the writer holds.
func (w *Writer) account() error {
	n := w.size
	for i := range w.first {
		n += runtime.CellSize * cap(w.first[i])
	}
	for _, c := range w.columns {
		n += c.held()
	}
	return w.hold(n)
}

// fix fixes the types of the columns by the first rows, all rows if complete, and encodes these.
func (w *Writer) fix(complete bool) error {
	fields := make([]arrow.Field, len(w.names))
	w.columns = make([]*column, len(w.names))
	for i, name := range w.names {
		s := newShape(0)
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

// encode adds rows to the columns, and writes record batches as they fill.
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

// misfit says that a value is not of the type that its column has.
func (w *Writer) misfit(i int, v graph.Value) error {
	return graph.TypeError("ColumnTypeChanged",
		"column `%s` of the Arrow stream is %s by its first rows, but one of the rows from %d on has %s: return it as one type, by toString() for one",
		w.names[i], w.columns[i].typ, w.sent+1, fn.Describe(v))
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

// Close writes what is held back and ends the stream.
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
