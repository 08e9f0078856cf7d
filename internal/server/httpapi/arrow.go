package httpapi

import (
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	mediaArrow = "application/vnd.apache.arrow.stream"
	// summaryTrailer holds what other answers end with, in at most mostTrailer bytes: clients refuse long headers.
	summaryTrailer = "Hopgate-Summary"
	mostTrailer    = 16 << 10
)

// arrowSink sends record batches to an HTTP client, each as soon as it is complete.
type arrowSink struct {
	*ipc.Writer
	sending func() // called before each
	flush   func() error
}

// errGone is the error of a client that does not read its answer.
var errGone = errors.New("the client is gone")

func (s *arrowSink) Write(rec arrow.RecordBatch) error {
	s.sending()
	if s.Writer.Write(rec) != nil || s.flush() != nil {
		return errGone
	}
	return nil
}

// writeArrow answers with an Arrow stream. An error before the first record batch has its status; one after it ends the
// connection, since a stream that just ends is a whole one to Arrow's readers. tail, if any, adds members to the summary.
func writeArrow(w http.ResponseWriter, res *query.Result, f format, status int, tail func([]byte) []byte) {
	sent := false
	out := arrowstream.New(res.Columns, func(schema *arrow.Schema) (arrowstream.Sink, error) {
		w.Header().Set("Content-Type", f.media)
		w.WriteHeader(status)
		sent = true
		return &arrowSink{ipc.NewWriter(w, ipc.WithSchema(schema)), res.Sending, http.NewResponseController(w).Flush}, nil
	}, res.HoldBytes)
	switch err := copyRows(out, res); {
	case errors.Is(err, errGone):
		return
	case err != nil && sent:
		panic(http.ErrAbortHandler)
	case err != nil:
		f.fail(w, err)
		return
	}
	w.Header().Set(http.TrailerPrefix+summaryTrailer, summaryText(res.Summary(), tail))
}

// copyRows writes all rows of a result.
func copyRows(out *arrowstream.Writer, res *query.Result) error {
	for {
		b, err := res.Next()
		switch {
		case err != nil:
			return err
		case b == nil:
			err = out.Close()
		default:
			err = out.Append(b)
		}
		if err != nil && !errors.Is(err, errGone) {
			return res.Fail(err)
		}
		if b == nil || err != nil {
			return err
		}
	}
}

// summaryText gives a summary as JSON in ASCII, without the plan and without notifications that are too long for a header.
func summaryText(s query.Summary, tail func([]byte) []byte) string {
	s.Plan = nil
	buf := wire.AppendSummary([]byte{'{'}, s)
	if len(buf) > mostTrailer {
		s.Notifications = nil
		buf = wire.AppendSummary(buf[:1], s)
	}
	if tail != nil {
		buf = tail(append(buf, ','))
	}
	return asciiJSON(append(buf, '}'))
}

// asciiJSON escapes what is not ASCII in JSON.
func asciiJSON(text []byte) string {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(text))
	unit := func(c rune) {
		out = append(out, '\\', 'u', hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15])
	}
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case c < utf8.RuneSelf:
			out = append(out, byte(c))
		case c < 0x10000:
			unit(c)
		default:
			c -= 0x10000
			unit(0xd800 + c>>10)
			unit(0xdc00 + c&0x3ff)
		}
	}
	return string(out)
}
