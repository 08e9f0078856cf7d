package httpapi

import (
	"errors"
	"net/http"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	mediaArrow = "application/vnd.apache.arrow.stream"
	// summaryTrailer is the trailer with the summary, which other formats put at the end.
	summaryTrailer = "Hopgate-Summary"
)

// arrowSink sends record batches to an HTTP client, each as soon as it is complete.
type arrowSink struct {
	*ipc.Writer
	sending func() // called before each
	flush   func() error
}

func (s *arrowSink) Write(rec arrow.RecordBatch) error {
	s.sending()
	if s.Writer.Write(rec) != nil || s.flush() != nil {
		return arrowstream.ErrGone
	}
	return nil
}

// writeArrow answers with an Arrow stream. An error before the first record batch gets its HTTP status. A later one closes the
// connection, because Arrow readers take a stream that just ends for a complete one. tail, if not nil, adds members to the summary.
func writeArrow(w http.ResponseWriter, res *query.Result, f format, status int, tail func([]byte) []byte) {
	sent := false
	out := arrowstream.New(res.Columns, func(schema *arrow.Schema) (arrowstream.Sink, error) {
		w.Header().Set("Content-Type", f.media)
		w.WriteHeader(status)
		sent = true
		return &arrowSink{ipc.NewWriter(w, ipc.WithSchema(schema)), res.Sending, http.NewResponseController(w).Flush}, nil
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
	w.Header().Set(http.TrailerPrefix+summaryTrailer, wire.SummaryText(res.Summary(), tail))
}
