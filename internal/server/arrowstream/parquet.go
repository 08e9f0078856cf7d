package arrowstream

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// OpenParquet begins a Parquet file whose columns are compressed by zstd. Close writes its footer and leaves w open.
func OpenParquet(w io.Writer, schema *arrow.Schema) (*pqarrow.FileWriter, error) {
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd))
	// pqarrow closes what is an io.Closer.
	return pqarrow.NewFileWriter(schema, struct{ io.Writer }{w}, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
}
