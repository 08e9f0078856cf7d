package httpapi

import (
	"io"
	"net/http"
	"strconv"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// costHeader tells what a request took, as cost.Told writes it: a header of an answer that is written once the request has ended, and a trailer
// of one that begins before.
const costHeader = "Hopgate-Cost"

// ceilingHeader is the header by which a client bounds the units that its request may be expected to take.
const ceilingHeader = "Hopgate-Max-Cost"

// maxCost returns the ceiling of a request, by its member maxCost and its header the lower one; 0: none.
func maxCost(r *http.Request, member int64) (int64, error) {
	if member < 0 {
		return 0, wire.RequestError("maxCost: must be a whole number from 0, was " + strconv.FormatInt(member, 10))
	}
	values := r.Header.Values(ceilingHeader)
	if len(values) == 0 {
		return member, nil
	}
	if len(values) > 1 {
		return 0, wire.RequestError(ceilingHeader + ": must be sent once")
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < 1 {
		return 0, wire.RequestError(ceilingHeader + ": must be a whole number from 1, was " + strconv.Quote(values[0]))
	}
	if member > 0 {
		n = min(n, member)
	}
	return n, nil
}

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
