package export

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
)

// columnarWriter writes Parquet or Arrow: integers, floats, booleans and strings natively, dates and times as strings, lists as LIST.
type columnarWriter struct {
	w    arrowstream.Sink
	rows *array.RecordBuilder // of the next row group: the ids, then the properties
	n    int
	size int
}

// rowGroup bounds the rows of a row group.
const rowGroup = 1 << 17

// refuseColumns returns an error if a column cannot represent its values.
func refuseColumns(f *file) error {
	for _, c := range f.columns {
		if c.typ.element() == typeAny {
			return fmt.Errorf("the property %q holds lists whose elements are of different types, which Parquet and Arrow cannot represent; use --format jsonl", c.name)
		}
	}
	return refuseKeys(f)
}

func newParquet(w io.Writer, f *file) (writer, error) {
	return newColumnar(f, func(s *arrow.Schema) (arrowstream.Sink, error) { return arrowstream.OpenParquet(w, s) })
}

func newArrow(w io.Writer, f *file) (writer, error) {
	return newColumnar(f, func(s *arrow.Schema) (arrowstream.Sink, error) {
		return ipc.NewFileWriter(w, ipc.WithSchema(s), ipc.WithZstd())
	})
}

func newColumnar(f *file, open func(*arrow.Schema) (arrowstream.Sink, error)) (writer, error) {
	names := []string{idColumn}
	if f.isEdges() {
		names = []string{sourceColumn, targetColumn}
	}
	var fields []arrow.Field
	for _, n := range names {
		fields = append(fields, arrow.Field{Name: n, Type: arrow.PrimitiveTypes.Int64})
	}
	for _, c := range f.columns {
		var t arrow.DataType
		switch c.typ.element() {
		case typeInt:
			t = arrow.PrimitiveTypes.Int64
		case typeFloat:
			t = arrow.PrimitiveTypes.Float64
		case typeBool:
			t = arrow.FixedWidthTypes.Boolean
		default:
			t = arrow.BinaryTypes.String
		}
		if c.typ.isList() {
			t = arrow.ListOfNonNullable(t)
		}
		fields = append(fields, arrow.Field{Name: c.name, Type: t, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	out, err := open(schema)
	if err != nil {
		return nil, err
	}
	return &columnarWriter{w: out, rows: array.NewRecordBuilder(memory.DefaultAllocator, schema)}, nil
}

func (p *columnarWriter) write(ids []int64, props, _ []*pb.Value) error {
	for i, id := range ids {
		p.rows.Field(i).(*array.Int64Builder).Append(id) //nolint:forcetypeassert // By the schema, as below.
	}
	p.size += 8 * len(ids)
	for i, v := range props {
		switch b := p.rows.Field(len(ids) + i).(type) {
		case *array.ListBuilder:
			if v == nil {
				b.AppendNull()
				continue
			}
			b.Append(true)
			for _, e := range v.GetList().GetValues() {
				p.append(b.ValueBuilder(), e)
			}
		default:
			p.append(b, v)
		}
	}
	if p.n++; p.n == rowGroup {
		return p.flush()
	}
	return nil
}

// append appends a scalar, or null, in the type of its column.
func (p *columnarWriter) append(to array.Builder, v *pb.Value) {
	if v == nil {
		to.AppendNull()
		return
	}
	p.size += 8
	switch b := to.(type) {
	case *array.Int64Builder:
		b.Append(v.GetInteger())
	case *array.Float64Builder:
		b.Append(v.GetFloat())
	case *array.BooleanBuilder:
		b.Append(v.GetBoolean())
	case *array.StringBuilder:
		text := appendPlain(nil, v)
		p.size += len(text)
		b.Append(string(text))
	}
}

func (p *columnarWriter) pending() int { return p.size }

// flush writes the rows so far as a row group.
func (p *columnarWriter) flush() error {
	p.size, p.n = 0, 0
	batch := p.rows.NewRecordBatch()
	defer batch.Release()
	if batch.NumRows() == 0 {
		return nil
	}
	return p.w.Write(batch)
}

func (p *columnarWriter) close() error {
	defer p.rows.Release()
	if err := p.flush(); err != nil {
		return err
	}
	return p.w.Close()
}
