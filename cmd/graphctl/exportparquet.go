package main

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// parquetExport writes Parquet: integers, floats, booleans and strings natively, dates and times as strings, lists as LIST.
type parquetExport struct {
	w       *parquet.Writer //nolint:staticcheck // The generic one takes rows of Go types, which there are none of.
	ids     []int           // columns
	columns []parquetColumn
	row     parquet.Row // by column
	values  [][]parquet.Value
	size    int
	rows    int
}

type parquetColumn struct {
	at   int
	list bool
}

// exportRowGroup bounds the rows of a row group.
const exportRowGroup = 1 << 17

// refuseParquet returns an error if a column cannot represent its values.
func refuseParquet(f *exportFile) error {
	for _, c := range f.columns {
		if c.typ.element() == typeAny {
			return fmt.Errorf("the property %q holds lists whose elements are of different types, which Parquet cannot represent; use --format jsonl", c.name)
		}
	}
	return refuseKeys(f)
}

func newParquetExport(w io.Writer, f *exportFile) (exportWriter, error) {
	names := []string{exportID}
	if f.isEdges() {
		names = []string{exportSource, exportTarget}
	}
	group := parquet.Group{}
	for _, n := range names {
		group[n] = parquet.Leaf(parquet.Int64Type)
	}
	for _, c := range f.columns {
		var node parquet.Node
		switch c.typ.element() {
		case typeInt:
			node = parquet.Leaf(parquet.Int64Type)
		case typeFloat:
			node = parquet.Leaf(parquet.DoubleType)
		case typeBool:
			node = parquet.Leaf(parquet.BooleanType)
		default:
			node = parquet.String()
		}
		if c.typ.isList() {
			node = parquet.List(node)
		}
		group[c.name] = parquet.Optional(node)
	}
	schema := parquet.NewSchema("export", group)
	p := &parquetExport{w: parquet.NewWriter(w, schema, parquet.Compression(&parquet.Snappy))}
	at := func(path ...string) (int, error) {
		leaf, ok := schema.Lookup(path...)
		if !ok {
			return 0, fmt.Errorf("export: column %q does not exist", path)
		}
		return leaf.ColumnIndex, nil
	}
	for _, n := range names {
		i, err := at(n)
		if err != nil {
			return nil, err
		}
		p.ids = append(p.ids, i)
	}
	for _, c := range f.columns {
		path := []string{c.name}
		if c.typ.isList() {
			path = append(path, "list", "element")
		}
		i, err := at(path...)
		if err != nil {
			return nil, err
		}
		p.columns = append(p.columns, parquetColumn{i, c.typ.isList()})
	}
	p.values = make([][]parquet.Value, len(p.ids)+len(p.columns))
	return p, nil
}

func (p *parquetExport) write(ids []int64, props []*pb.Value) error {
	for i, id := range ids {
		p.values[p.ids[i]] = append(p.values[p.ids[i]][:0], parquet.Int64Value(id).Level(0, 0, p.ids[i]))
	}
	p.size += 8 * len(ids)
	for i, v := range props {
		c := p.columns[i]
		vals := p.values[c.at][:0]
		switch l := v.GetList().GetValues(); {
		case v == nil:
			vals = append(vals, parquet.NullValue().Level(0, 0, c.at))
		case !c.list:
			vals = append(vals, p.value(v).Level(0, 1, c.at))
		case len(l) == 0:
			vals = append(vals, parquet.NullValue().Level(0, 1, c.at))
		default:
			for k, e := range l {
				vals = append(vals, p.value(e).Level(min(k, 1), 2, c.at))
			}
		}
		p.values[c.at] = vals
	}
	p.row = p.row[:0]
	for _, vals := range p.values {
		p.row = append(p.row, vals...)
	}
	if _, err := p.w.WriteRows([]parquet.Row{p.row}); err != nil {
		return err
	}
	if p.rows++; p.rows == exportRowGroup {
		return p.flush()
	}
	return nil
}

// value converts a scalar to the type of its column.
func (p *parquetExport) value(v *pb.Value) parquet.Value {
	switch k := v.GetKind().(type) {
	case *pb.Value_Integer:
		p.size += 8
		return parquet.Int64Value(k.Integer)
	case *pb.Value_Float:
		p.size += 8
		return parquet.DoubleValue(k.Float)
	case *pb.Value_Boolean:
		p.size++
		return parquet.BooleanValue(k.Boolean)
	}
	text := appendPlain(nil, v)
	p.size += len(text) + 8
	return parquet.ByteArrayValue(text)
}

func (p *parquetExport) pending() int { return p.size }

func (p *parquetExport) flush() error {
	p.size, p.rows = 0, 0
	return p.w.Flush()
}

func (p *parquetExport) close() error { return p.w.Close() }
