package httpapi

import (
	"io"
	"net/http"

	"github.com/hopgate/hopgate/internal/query"
)

// costHeader tells what a request took, as cost.Told writes it: a header of an answer that is written once the request has ended, and a trailer
// of one that begins before.
const costHeader = "Hopgate-Cost"

// announceCost announces the trailer. It must precede the header of the answer.
func announceCost(w http.ResponseWriter) { w.Header().Add("Trailer", costHeader) }

// tellCost sets the header or the trailer.
func tellCost(w http.ResponseWriter, res *query.Result) {
	w.Header().Set(costHeader, res.Cost().String())
}

// countingWriter reports how many bytes it writes.
type countingWriter struct {
	io.Writer
	sent func(bytes int)
}

func (c countingWriter) Write(p []byte) (int, error) {
	c.sent(len(p))
	return c.Writer.Write(p)
}
