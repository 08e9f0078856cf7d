package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/console"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/mcpapi"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// bodyTime bounds how long a client may take to send a body.
const bodyTime = time.Minute

// Handler serves the HTTP API.
type Handler struct {
	e       *query.Engine
	host    *request.Host
	mux     *http.ServeMux
	monitor *request.Monitor
	metrics metrics
	txs     transactions
	mcp     *mcpapi.Handler
}

// New returns the handler of the HTTP listener and registers its metrics.
func New(host *request.Host, opt Options) *Handler {
	host.EnsureDefaults()
	h := &Handler{
		e: host.Engine, host: host, mux: http.NewServeMux(), monitor: host.Monitor, metrics: newMetrics(host.Registry),
		mcp: mcpapi.New(host.Engine, host.MaxRequestBytes),
	}
	h.txs.idle = host.TxIdle
	h.handle("GET /openapi.json", h.serveOpenAPI)
	h.handle("POST /v1/query", func(w http.ResponseWriter, r *http.Request) { h.query(w, r, false) })
	h.handle("POST /db/{graph}/query/v2", func(w http.ResponseWriter, r *http.Request) { h.query(w, r, true) })
	h.handle("POST /v1/op/{name}", h.callOperation)
	h.handle("GET /v1/op/{name}", h.readOperation)
	h.handle("GET /v1/op", h.listOperations)
	h.traversals()
	h.handle("POST "+mcpapi.Path, h.agents)
	h.handle("GET /v1/schema", h.schema)
	h.handle(changesRoute, h.changes)
	h.handle("GET /v1/demo/{file}", h.demo)
	h.operations()
	for path, s := range map[string]step{"": beginStep, "/{id}": runStep, "/{id}/commit": commitStep} {
		h.handle("POST /db/{graph}/query/v2/tx"+path, func(w http.ResponseWriter, r *http.Request) { h.transact(w, r, s) })
	}
	h.handle("DELETE /db/{graph}/query/v2/tx/{id}", h.rollback)
	for path, s := range map[string]step{"": beginStep, "/{id}": runStep, "/{id}/commit": commitStep, "/commit": autoStep} {
		h.handle("POST /db/{graph}/tx"+path, func(w http.ResponseWriter, r *http.Request) { h.statements(w, r, s) })
	}
	h.handle("DELETE /db/{graph}/tx/{id}", h.rollbackStatements)
	for _, method := range []string{"get", "head", "gets", "heads", "post", "put", "delete"} {
		f := h.observe("POST /"+method, h.guard(func(w http.ResponseWriter, r *http.Request) { h.fetch(w, r, method) }, failFetch), failFetch)
		h.mux.Handle("POST /"+method, f)
		h.mux.Handle("POST /"+method+"/{wrap}", f)
	}
	if opt.TestProcedures {
		h.handle("PUT /v1/test/procedures", h.testProcedures)
	}
	h.handle("/", h.noRoute)
	h.mux.Handle("OPTIONS /", h.observe("OPTIONS /", h.preflight, wire.Fail)) // preflights carry no token
	return h
}

// discovery adds GET /, which describes the server's protocols; browsers get the console, unless that is nil. Neither needs a token.
func (h *Handler) discovery(pages *console.Console) {
	f := func(w http.ResponseWriter, r *http.Request) {
		if h.host.Discovery == nil {
			h.noRoute(w, r)
			return
		}
		h.host.Discovery(w, r)
	}
	if pages == nil {
		h.mux.Handle("GET /{$}", h.observe("GET /", f, wire.Fail))
		return
	}
	h.mux.Handle("GET /{$}", h.observe("GET /", func(w http.ResponseWriter, r *http.Request) {
		if console.Wanted(r) {
			pages.ServeHTTP(w, r)
			return
		}
		w.Header().Add("Vary", "Accept")
		f(w, r)
	}, wire.Fail))
	h.mux.Handle("GET /console/{file...}", h.observe("GET /console/", pages.ServeHTTP, wire.Fail))
}

// Close rolls back open transactions; no more can begin.
func (h *Handler) Close() { h.txs.close() }

// handle adds a route.
func (h *Handler) handle(pattern string, f http.HandlerFunc) {
	h.mux.Handle(pattern, h.observe(pattern, h.guard(f, wire.Fail), wire.Fail))
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.allowOrigin(w, r)
	compressed(w, r, h.mux.ServeHTTP)
}

// agents answers a message of the Model Context Protocol. Its specification has servers check the origin, also of callers with a token.
func (h *Handler) agents(w http.ResponseWriter, r *http.Request) {
	if err := h.host.Web.CheckOrigin(r); err != nil {
		wire.Fail(w, err)
		return
	}
	h.mcp.ServeHTTP(w, r)
}

// noRoute answers requests without a route.
func (h *Handler) noRoute(w http.ResponseWriter, r *http.Request) {
	e := graph.RequestError(graph.KindNotFound, "NoSuchRoute", "there is no %s", r.URL.Path)
	allowed := h.methods(r)
	if len(allowed) == 0 {
		wire.Fail(w, e)
		return
	}
	e.Kind, e.Detail = graph.KindInvalid, "MethodNotAllowed"
	e.Msg = fmt.Sprintf("%s takes %s, not %s", r.URL.Path, strings.Join(allowed, " and "), r.Method)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	wire.WriteError(w, wire.MediaPlain, http.StatusMethodNotAllowed, e)
}

// methods returns the methods that the routes of a request's path accept.
func (h *Handler) methods(r *http.Request) (allowed []string) {
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
func (h *Handler) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > h.host.MaxRequestBytes {
		w.Header().Set("Connection", "close") // do not read the rest
		return nil, h.tooLarge()
	}
	until := time.Now().Add(bodyTime)
	defer deadline(w, time.Time{})
	var buf []byte
	var err error
	if r.ContentLength >= 0 && r.ContentLength <= request.SmallBody {
		deadline(w, until)
		buf = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, buf)
	} else {
		in := &pacedReader{Reader: http.MaxBytesReader(w, r.Body, h.host.MaxRequestBytes), until: until, w: w}
		buf, err = h.largeBody(w, r, in)
	}
	if err == nil {
		return buf, nil
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, h.tooLarge()
	case graph.AsError(err).Kind == graph.KindBusy:
		w.Header().Set("Connection", "close") // do not read the body
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, graph.RequestError(graph.KindDeadline, "TimedOut", "the request's body did not arrive in time: it has %v, and %v for each %d bytes after the first", bodyTime, request.PieceTime, request.BodyPiece)
	}
	return nil, wire.RequestError("reading the request: " + err.Error())
}

// deadline sets the deadline for reading the request's body. A writer without a connection needs none.
func deadline(w http.ResponseWriter, t time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(t)
}

// pacedReader reads a body that must arrive at a minimum rate.
type pacedReader struct {
	io.Reader
	until  time.Time // the deadline of the whole body
	w      http.ResponseWriter
	pieces int
	left   int // of the current piece
}

func (r *pacedReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		at := r.until
		if piece := time.Now().Add(request.PieceTime); r.pieces > 0 && piece.Before(at) { // the first holds no memory
			at = piece
		}
		deadline(r.w, at)
		r.pieces, r.left = r.pieces+1, request.BodyPiece
	}
	n, err := r.Reader.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// largeBody reads a body that is or may be large. It holds memory for what has arrived, and once it is complete, memory for processing it,
// which returns when the request ends, whether or not its client still waits.
func (h *Handler) largeBody(w http.ResponseWriter, r *http.Request, in *pacedReader) ([]byte, error) {
	most := h.host.MaxRequestBytes
	if r.ContentLength >= 0 {
		most = r.ContentLength
	}
	buf, err := readAll(io.LimitReader(in, request.SmallBody), make([]byte, 0, 4096))
	if err != nil || len(buf) < request.SmallBody {
		return buf, err
	}
	observed, ok := w.(*statusWriter)
	if !ok {
		return nil, graph.InternalError("body", errors.New("the request has no observer"))
	}
	arrival := h.host.Memory.Arrive(request.Sender(r.Context(), r.RemoteAddr))
	defer arrival.Release()
	for {
		if len(buf) == cap(buf) {
			size := min(2*int64(cap(buf)), most+1) // one more, to meet the end
			if err := arrival.Grow(r.Context(), size); err != nil {
				return nil, err
			}
			in.left = 0 // the client does not answer for the wait
			buf = append(make([]byte, 0, max(size, int64(len(buf))+1)), buf...)
		}
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			observed.after, err = arrival.Complete(r.Context(), int64(len(buf)))
			return buf, err
		}
		if err != nil {
			return buf, err
		}
	}
}

func (h *Handler) tooLarge() error {
	return wire.TooLarge(fmt.Sprintf("the request is larger than %d bytes, the limit max-request", h.host.MaxRequestBytes))
}

// readAll appends everything that r returns to buf.
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

// mediaType returns the media type of a header without parameters, or "".
func mediaType(header string) string {
	t, _, err := mime.ParseMediaType(header)
	if err != nil {
		return ""
	}
	return t
}
