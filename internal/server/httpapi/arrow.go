package httpapi

import (
	"errors"
	"net/http"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
	"github.com/hopgate/hopgate/internal/server/summary"
)

const (
	mediaArrow   = "application/vnd.apache.arrow.stream"
	mediaParquet = "application/vnd.apache.parquet"
	// summaryTrailer is the trailer with the summary, which other formats put at the end.
	summaryTrailer = "Hopgate-Summary"
)

// arrowSink sends record batches to an HTTP client, each as soon as it is complete.
type arrowSink struct {
	arrowstream.Sink
	sending func() // called before each
	flush   func() error
}

func (s *arrowSink) Write(rec arrow.RecordBatch) error {
	s.sending()
	if s.Sink.Write(rec) != nil || s.flush() != nil {
		return arrowstream.ErrGone
	}
	return nil
}

// openArrow begins an answer of a media type: an Arrow stream, or a Parquet file with a row group for each record batch.
func openArrow(w http.ResponseWriter, media string, status int, schema *arrow.Schema, sending func(), sent func(bytes int), c *fresh.Condition) (arrowstream.Sink, error) {
	w.Header().Set("Content-Type", media)
	tag(w, c, true)
	announce(w)
	w.WriteHeader(status)
	flush := http.NewResponseController(w).Flush
	out := countingWriter{w, sent}
	if media == mediaParquet {
		file, err := arrowstream.OpenParquet(out, schema)
		return &arrowSink{file, sending, flush}, err
	}
	return &arrowSink{ipc.NewWriter(out, ipc.WithSchema(schema)), sending, flush}, nil
}

// writeArrow answers with an Arrow stream or a Parquet file. An error before the first record batch gets its HTTP status. A later one
// closes the connection, because Arrow readers take a stream that just ends for a complete one. tail, if not nil, adds members to the summary.
func writeArrow(w http.ResponseWriter, res *query.Result, f format, status int, tail func([]byte) []byte) {
	sent := false
	out := arrowstream.New(res.Columns, func(schema *arrow.Schema) (arrowstream.Sink, error) {
		sent = true
		return openArrow(w, f.media, status, schema, res.Sending, res.Sent, f.cond)
	}, res.HoldBytes)
	switch err := out.Copy(res); {
	case errors.Is(err, arrowstream.ErrGone):
		return
	case err != nil && sent:
		panic(http.ErrAbortHandler)
	case err != nil:
		f.fail(w, err)
		return
	}
	tell(w, res)
	w.Header().Set(http.TrailerPrefix+summaryTrailer, summary.Text(res.Summary(), tail))
}
