package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// bodyTime is how long a client may take to send a request's body.
const bodyTime = time.Minute

// smallBody is the size of a body up to which nobody asks whether there is memory for it.
const smallBody = 64 << 10

// HTTP serves the HTTP contract.
type HTTP struct {
	e        *query.Engine
	opt      Options
	mux      *http.ServeMux
	requests *Requests
	txs      transactions
	large    largeRequests
}

// NewHTTP makes the handler of the HTTP listener, which counts its requests in requests.
func NewHTTP(e *query.Engine, requests *Requests, opt Options) *HTTP {
	opt.EnsureDefaults()
	h := &HTTP{
		e: e, opt: opt, mux: http.NewServeMux(), requests: requests,
		large: largeRequests{bytes: opt.LargeBytes, wait: opt.QueueTimeout, taken: semaphore.NewWeighted(opt.LargeBytes)},
	}
	h.txs.idle = opt.TxIdle
	h.handle("GET /openapi.json", serveOpenAPI)
	h.handle("POST /v1/query", func(w http.ResponseWriter, r *http.Request) { h.query(w, r, false) })
	h.handle("POST /db/{graph}/query/v2", func(w http.ResponseWriter, r *http.Request) { h.query(w, r, true) })
	h.traversals()
	for path, s := range map[string]step{"": beginStep, "/{id}": runStep, "/{id}/commit": commitStep} {
		h.handle("POST /db/{graph}/query/v2/tx"+path, func(w http.ResponseWriter, r *http.Request) { h.transact(w, r, s) })
	}
	h.handle("DELETE /db/{graph}/query/v2/tx/{id}", h.rollback)
	for _, method := range []string{"get", "head", "gets", "heads", "post", "put", "delete"} {
		f := func(w http.ResponseWriter, r *http.Request) { h.fetch(w, r, method) }
		h.mux.Handle("POST /"+method, requests.observe("POST /"+method, h.guard(f, failFetch), failFetch, opt.Logger))
		h.mux.Handle("POST /"+method+"/{wrap}", requests.observe("POST /"+method, h.guard(f, failFetch), failFetch, opt.Logger))
	}
	if opt.TestProcedures {
		h.handle("PUT /v1/test/procedures", h.testProcedures)
	}
	h.handle("/", h.noRoute)
	h.mux.Handle("OPTIONS /", requests.observe("OPTIONS /", h.preflight, fail, opt.Logger)) // a preflight brings no token
	return h
}

// handle adds a route.
func (h *HTTP) handle(pattern string, f http.HandlerFunc) {
	h.mux.Handle(pattern, h.requests.observe(pattern, h.guard(f, fail), fail, h.opt.Logger))
}

// ServeHTTP answers one request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.allowOrigin(w, r)
	compressed(w, r, h.mux.ServeHTTP)
}

// noRoute answers what no route takes.
func (h *HTTP) noRoute(w http.ResponseWriter, r *http.Request) {
	e := &graph.Error{
		Kind: graph.KindNotFound, Code: "Neo.ClientError.Request.Invalid", Type: "RequestError", Phase: graph.PhaseCompile,
		Detail: "NoSuchRoute", Msg: "there is no " + r.URL.Path,
	}
	allowed := h.methods(r)
	if len(allowed) == 0 {
		fail(w, e)
		return
	}
	e.Kind, e.Detail = graph.KindInvalid, "MethodNotAllowed"
	e.Msg = fmt.Sprintf("%s takes %s, not %s", r.URL.Path, strings.Join(allowed, " and "), r.Method)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeError(w, mediaPlain, http.StatusMethodNotAllowed, e)
}

// methods lists the methods that the routes of a request's path take.
func (h *HTTP) methods(r *http.Request) (allowed []string) {
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodPost, http.MethodPut} {
		other := *r
		other.Method = method
		if _, pattern := h.mux.Handler(&other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	return allowed
}

// body reads a request's body within the limits of size and time.
func (h *HTTP) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > h.opt.MaxRequestBytes {
		w.Header().Set("Connection", "close") // rather than read the rest
		return nil, h.tooLarge()
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTime)) // a writer that is no connection needs no deadline
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	in := http.MaxBytesReader(w, r.Body, h.opt.MaxRequestBytes)
	var buf []byte
	var err error
	if r.ContentLength >= 0 && r.ContentLength <= smallBody {
		buf, err = readAll(in, make([]byte, 0, r.ContentLength+1))
	} else {
		buf, err = h.largeBody(w, r, in)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return buf, nil
	case errors.As(err, &tooLarge):
		return nil, h.tooLarge()
	case graph.AsError(err).Kind == graph.KindBusy:
		w.Header().Set("Connection", "close") // rather than read what comes
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &graph.Error{
			Kind: graph.KindDeadline, Code: "Neo.ClientError.Request.Invalid", Type: "RequestError", Phase: graph.PhaseCompile,
			Detail: "TimedOut", Msg: fmt.Sprintf("the request's body did not arrive within %v", bodyTime),
		}
	}
	return nil, requestError("reading the request: " + err.Error())
}

// largeRequests is the memory that large requests share, those by HTTP and those by gRPC.
type largeRequests struct {
	bytes int64         // 0: no limit
	wait  time.Duration // how long one waits for it; 0: no limit
	taken *semaphore.Weighted
}

// acquire waits for memory for a large request. The function that it gives gives it back.
func (l *largeRequests) acquire(ctx context.Context, size int64) (release func(), err error) {
	if l.bytes == 0 {
		return func() {}, nil
	}
	if l.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.wait)
		defer cancel()
	}
	n := min(size, l.bytes)
	if l.taken.Acquire(ctx, n) != nil {
		return nil, query.Busy("large requests take the memory that is for them, %d bytes; try again later", l.bytes)
	}
	return func() { l.taken.Release(n) }, nil
}

// largeBody reads a body that is large, or may be, for which it waits until there is memory. That is given back when the
// request is over, whether its client still waits for it or not.
func (h *HTTP) largeBody(w http.ResponseWriter, r *http.Request, in io.Reader) ([]byte, error) {
	size := r.ContentLength
	var buf []byte
	if size < 0 {
		size = h.opt.MaxRequestBytes
		var err error
		buf, err = readAll(io.LimitReader(in, smallBody), make([]byte, 0, 4096))
		if err != nil || len(buf) < smallBody {
			return buf, err
		}
	}
	observed, ok := w.(*statusWriter)
	if !ok {
		return nil, graph.InternalError("body", errors.New("nobody observes the request"))
	}
	var err error
	if observed.after, err = h.large.acquire(r.Context(), size); err != nil {
		return nil, err
	}
	if buf == nil {
		buf = make([]byte, 0, size+1)
	}
	return readAll(in, buf)
}

func (h *HTTP) tooLarge() error {
	return tooLarge(fmt.Sprintf("the request is larger than %d bytes, the limit max-request", h.opt.MaxRequestBytes))
}

// readAll appends all that r gives to buf.
func readAll(r io.Reader, buf []byte) ([]byte, error) {
	for {
		buf = slices.Grow(buf, 512)
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// writeJSON answers with a body that is short.
func writeJSON(w http.ResponseWriter, media string, status int, body []byte) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // It is JSON, and whoever does not read its answer is gone.
}

// writeError answers with an error alone.
func writeError(w http.ResponseWriter, media string, status int, err error) {
	askLater(w, status, err)
	b := appendError([]byte(`{"errors":[`), err)
	writeJSON(w, media, status, append(b, "]}\n"...))
}

// fail answers in plain JSON with the status that fits the error.
func fail(w http.ResponseWriter, err error) { writeError(w, mediaPlain, statusOf(err), err) }

// mediaType gives the plain media type of a header, "" for none.
func mediaType(header string) string {
	t, _, err := mime.ParseMediaType(header)
	if err != nil {
		return ""
	}
	return t
}
