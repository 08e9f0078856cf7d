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
	values := r.Header[ceilingHeader]
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

// snapshotHeader tells, as costHeader does, the token of the snapshot that an answer is of. In a request, it is that of a snapshot that the
// answer must have at least.
const snapshotHeader = "Hopgate-Snapshot"

// announce announces the trailers. It must precede the header of the answer.
func announce(w http.ResponseWriter) { w.Header().Add("Trailer", costHeader+", "+snapshotHeader) }

// tell sets the headers or the trailers.
func tell(w http.ResponseWriter, res *query.Result) {
	w.Header().Set(costHeader, res.Cost().String())
	tellSnapshot(w, res.Snapshot())
}

func tellSnapshot(w http.ResponseWriter, token string) {
	if token != "" {
		w.Header().Set(snapshotHeader, token)
	}
}

// reached checks that a graph has the snapshots that a request brings.
func (h *Handler) reached(r *http.Request, graphName string) error {
	for _, token := range r.Header[snapshotHeader] {
		if err := h.e.Reached(r.Context(), graphName, token); err != nil {
			return err
		}
	}
	return nil
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
