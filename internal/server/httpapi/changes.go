package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/server/feed"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// changesRoute is the route of change streams.
const changesRoute = "GET /v1/changes"

// mediaEvents is the media type of server-sent events.
const mediaEvents = "text/event-stream"

// lastEvent is the header by which a client of server-sent events continues.
const lastEvent = "Last-Event-ID"

// changesFields are the parameters of GET /v1/changes.
var changesFields = []string{"graph", "from", "selectors", "format", "wait", "heartbeat"}

// changes streams what changes in a graph: as lines of JSON, or as server-sent events. Its first bytes say where the stream begins, and
// heartbeats where it stands. Once it has begun, errors are in the stream.
func (h *Handler) changes(w http.ResponseWriter, r *http.Request) {
	events := accepts(r, mediaEvents)
	req, err := changesRequest(r, events)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	f, err := h.host.Feeds.Open(r.Context(), "http", req)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	defer f.Close()
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // a proxy that collects an answer would never end
	out := changesOut{w: w, f: f, format: lines{}}
	if header.Set("Content-Type", mediaLines); events {
		header.Set("Content-Type", mediaEvents)
		out.format = sentEvents{}
	}
	out.run(r)
}

// changesRequest reads the parameters of a stream; resumes says that Last-Event-ID is one.
func changesRequest(r *http.Request, resumes bool) (req feed.Request, err error) {
	q := r.URL.Query()
	for name, values := range q {
		switch {
		case !slices.Contains(changesFields, name):
			return req, wire.RequestError(name + ": there is no such parameter; there are " + strings.Join(changesFields, ", "))
		case len(values) > 1:
			return req, wire.RequestError(name + ": must be there once")
		}
	}
	req = feed.Request{Graph: q.Get("graph"), From: q.Get("from"), Selectors: q.Get("selectors")}
	if id := r.Header.Get(lastEvent); resumes && id != "" {
		req.From = id
	}
	if req.Format, err = feed.ParseFormat(q.Get("format")); err != nil {
		return req, err
	}
	if req.Wait, err = feed.ParseWait(q.Get("wait")); err != nil {
		return req, err
	}
	req.Heartbeat, err = feed.ParseHeartbeat(q.Get("heartbeat"))
	return req, err
}

// accepts reports whether a request asks for a media type by its name.
func accepts(r *http.Request, media string) bool {
	for _, header := range r.Header["Accept"] {
		for part := range strings.SplitSeq(header, ",") {
			name, params, err := mime.ParseMediaType(part)
			if q, bad := strconv.ParseFloat(params["q"], 64); err == nil && name == media && (bad != nil || q > 0) {
				return true
			}
		}
	}
	return false
}

// changesFormat is how a stream is written.
type changesFormat interface {
	// begin and heartbeat append where the stream stands.
	begin(dst []byte, token string) []byte
	heartbeat(dst []byte, token string) []byte
	event(dst []byte, f *feed.Feed, e *changes.Event) []byte
	// end appends where the stream has ended, in good order if err is nil.
	end(dst []byte, token string, err error) []byte
}

// changesOut writes a stream.
type changesOut struct {
	w      http.ResponseWriter
	f      *feed.Feed
	format changesFormat
	buf    []byte
}

func (o *changesOut) run(r *http.Request) {
	o.buf = o.format.begin(o.buf, o.f.Token())
	for o.send(true) {
		all, err := o.f.Next()
		switch {
		case r.Context().Err() != nil:
			return // the client is gone
		case errors.Is(err, io.EOF):
			err = nil
			fallthrough
		case err != nil:
			o.buf = o.format.end(o.buf, o.f.Token(), err)
			o.send(true)
			return
		case len(all) == 0:
			o.buf = o.format.heartbeat(o.buf, o.f.Token())
		}
		for i := range all {
			if o.buf = o.format.event(o.buf, o.f, &all[i]); len(o.buf) >= flushBytes && !o.send(false) {
				return
			}
		}
	}
}

// send writes what there is; false if the client is gone.
func (o *changesOut) send(flush bool) bool {
	if len(o.buf) > 0 {
		if _, err := o.w.Write(o.buf); err != nil {
			return false
		}
		o.buf = o.buf[:0]
	}
	return !flush || http.NewResponseController(o.w).Flush() == nil
}

// lines has a line of JSON for each event, and for each position.
type lines struct{}

func (lines) begin(dst []byte, token string) []byte {
	return append(append(append(dst, `{"token":"`...), token...), "\"}\n"...)
}

func (l lines) heartbeat(dst []byte, token string) []byte { return l.begin(dst, token) }

func (lines) event(dst []byte, f *feed.Feed, e *changes.Event) []byte {
	return append(f.Append(dst, e), '\n')
}

func (l lines) end(dst []byte, token string, err error) []byte {
	if err == nil {
		return l.begin(dst, token)
	}
	return append(appendErrors(dst, err), '\n')
}

func appendErrors(dst []byte, err error) []byte {
	return append(wire.AppendError(append(dst, `{"errors":[`...), err), "]}"...)
}

// sentEvents has a server-sent event for each event, whose id is the token. An id without data moves a client on in silence.
type sentEvents struct{}

func (sentEvents) begin(dst []byte, token string) []byte {
	return append(append(append(dst, "retry: 1000\nid: "...), token...), "\n\n"...)
}

func (sentEvents) heartbeat(dst []byte, token string) []byte {
	return append(append(append(dst, ": heartbeat\nid: "...), token...), "\n\n"...)
}

func (sentEvents) event(dst []byte, f *feed.Feed, e *changes.Event) []byte {
	dst = e.AppendID(append(dst, "id: "...))
	return append(f.Append(append(dst, "\ndata: "...), e), "\n\n"...)
}

func (s sentEvents) end(dst []byte, token string, err error) []byte {
	if err == nil {
		return append(append(append(dst, "id: "...), token...), "\n\n"...)
	}
	return append(appendErrors(append(dst, "event: error\ndata: "...), err), "\n\n"...)
}
