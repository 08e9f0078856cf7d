package main

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// binary reports whether an output form is binary.
func binary(form string) bool { return form == "arrow" || form == "parquet" }

// newArrow returns a writer for an Arrow stream or a Parquet file.
func newArrow(form string, fields []string, w io.Writer) *arrowstream.Writer {
	open := func(schema *arrow.Schema) (arrowstream.Sink, error) {
		if form == "arrow" {
			return ipc.NewWriter(w, ipc.WithSchema(schema)), nil
		}
		f, err := arrowstream.OpenParquet(w, schema)
		return parquetSink{f}, err
	}
	return arrowstream.New(fields, open, func(int) error { return nil })
}

// parquetSink collects record batches into row groups.
type parquetSink struct{ *pqarrow.FileWriter }

func (s parquetSink) Write(rec arrow.RecordBatch) error { return s.WriteBuffered(rec) }

// arrowRows writes the rows of a batch.
func (p *printer) arrowRows(b *pb.RowBatch) error {
	rows, err := wire.RowsFromProto(b)
	if err != nil {
		return err
	}
	p.count += rows.N
	return p.arrow.Append(rows)
}
