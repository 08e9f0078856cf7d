package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/fetch"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/query/page"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// fetch answers a JSON-array fetch: POST /get, and POST /get/User[] for a body under the key User[]. The URL parameter graph names the
// graph, and operation or hash a trusted operation.
func (h *Handler) fetch(w http.ResponseWriter, r *http.Request, method string) {
	start := time.Now()
	pref := readPrefer(r.Header["Prefer"])
	out := &fetchWriter{w: w, status: pref.status, cond: condition(r, format{media: mediaFetch})}
	if method == "post" || method == "put" || method == "delete" {
		if err := h.checkWrite(r); err != nil {
			failFetch(w, err)
			return
		}
	}
	stale, err := staleness(r)
	if err != nil {
		out.fail(nil, err, start)
		return
	}
	most, err := maxCost(r, 0)
	if err != nil {
		out.fail(nil, err, start)
		return
	}
	ctx, err := asOf(r, "")
	if err != nil {
		out.fail(nil, err, start)
		return
	}
	r = r.WithContext(ctx)
	body, err := h.body(w, r)
	if err != nil {
		out.fail(nil, err, start)
		return
	}
	values := r.URL.Query()
	req := query.FetchRequest{Graph: values.Get("graph"), Method: method, Body: body, Timeout: pref.wait, Stale: stale, Units: most}
	if err := h.reached(r, req.Graph); err != nil {
		out.fail(nil, err, start)
		return
	}
	if req.Page, err = pageOf(values); err != nil {
		out.fail(nil, err, start)
		return
	}
	if values.Has("operation") || values.Has("hash") {
		h.fetchOperation(r, out, req, values, start)
		return
	}
	// A body that is not JSON stays unwrapped, so that parsing reports the error.
	if wrap := r.PathValue("wrap"); wrap != "" && json.Valid(body) {
		req.Body = syntax.Wrap(wrap, body)
	}
	if media, ok := wantsArrow(r, method); ok {
		out.status, out.cond = true, condition(r, format{media: media})
		req.Items = &fetchTable{out: out, media: media}
	}
	code, err := out.run(r, h.e, req)
	if err != nil {
		out.fail(req.Body, err, start)
		return
	}
	out.finish(code, nil)
}

// pageOf returns the page that a fetch asks for by the URL parameters pageSize and pageToken, or nil.
func pageOf(values url.Values) (*page.Page, error) {
	if !values.Has("pageSize") && !values.Has("pageToken") {
		return nil, nil
	}
	size := int64(0)
	if text := values.Get("pageSize"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			n = -1
		}
		size = n
	}
	pg, err := page.New("pageSize", size, values.Get("pageToken"))
	if pg == nil && err == nil { // both are empty
		_, err = page.New("pageSize", -1, "")
	}
	return pg, err
}

// fetchOperation answers a fetch that names a trusted operation in its query string, by operation or hash: its body has the parameters.
func (h *Handler) fetchOperation(r *http.Request, out *fetchWriter, req query.FetchRequest, values url.Values, start time.Time) {
	req.Operation = &trusted.Call{Name: values.Get("operation"), Hash: values.Get("hash")}
	params := req.Body
	req.Body = nil
	var err error
	if (req.Operation.Name == "") == (req.Operation.Hash == "") || r.PathValue("wrap") != "" {
		err = wire.RequestError("operation, hash: a fetch has one of them, and its path no key")
	} else {
		req.Params, err = wire.DecodeParams(params, false, h.e.Charge(r.Context()))
	}
	code := 0
	if err == nil {
		code, err = out.run(r, h.e, req)
	}
	if err != nil {
		out.fail(nil, err, start)
		return
	}
	out.finish(code, nil)
}

// failFetch answers a fetch that was refused as a whole or hit an internal error.
func failFetch(w http.ResponseWriter, err error) {
	if g := graph.AsError(err); g.Kind == graph.KindDenied { // the transport is refused, not a right of the caller
		err = &syntax.Error{Code: syntax.CodeUnsupported, Msg: g.Error(), Err: err}
	}
	out := &fetchWriter{w: w, status: true}
	out.fail(nil, err, time.Now())
}

// prefer holds the preferences of a client (RFC 7240).
type prefer struct {
	status bool          // http-status: the HTTP status repeats the code
	lines  bool          // error-lines: errors are lines, even the first
	cost   bool          // cost: what the request took is a member of the answer, too
	wait   time.Duration // wait=N: the time limit of the request
}

func readPrefer(headers []string) (p prefer) {
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch strings.ToLower(name) {
			case "http-status":
				p.status = true
			case "error-lines":
				p.lines = true
			case "cost":
				p.cost = true
			case "wait":
				if n, err := strconv.Atoi(value); err == nil && n > 0 && n < 1<<30 {
					p.wait = time.Duration(n) * time.Second
				}
			}
		}
	}
	return p
}

// fetchWriter buffers the first bytes of a response, so that short ones, such as errors, can still choose the HTTP status.
type fetchWriter struct {
	w      http.ResponseWriter
	status bool // the HTTP status repeats the code
	buf    []byte
	sent   bool
	took   cost.Told
	cond   *fresh.Condition
}

// pageTrailer is the trailer with the token of the next page of an answer whose format has no place for it.
const pageTrailer = "Hopgate-Next-Page-Token"

const mediaFetch = "application/json; charset=utf-8"

// run runs a fetch and tells what it took, in a header or a trailer.
func (f *fetchWriter) run(r *http.Request, e *query.Engine, req query.FetchRequest) (code int, err error) {
	var snapshot string
	req.Took, req.Snapshot, req.Condition = &f.took, &snapshot, f.cond
	if code, err = e.Fetch(r.Context(), req, f); err == nil {
		f.w.Header().Set(costHeader, f.took.String())
		tellSnapshot(f.w, snapshot)
		if next := req.Page.Next(); next != "" && req.Items != nil {
			f.w.Header().Set(http.TrailerPrefix+pageTrailer, next)
		}
	}
	return code, err
}

func (f *fetchWriter) Write(p []byte) (int, error) {
	if !f.sent && len(f.buf)+len(p) < flushBytes {
		f.buf = append(f.buf, p...)
		return len(p), nil
	}
	if !f.sent {
		f.sent = true
		f.w.Header().Set("Content-Type", mediaFetch)
		tag(f.w, f.cond, true)
		announce(f.w)
		f.w.WriteHeader(http.StatusOK)
		if _, err := f.w.Write(f.buf); err != nil {
			return 0, err
		}
	}
	return f.w.Write(p)
}

// fail answers with an error if that is still possible; otherwise it aborts the response.
func (f *fetchWriter) fail(body []byte, err error, start time.Time) {
	if f.sent {
		panic(http.ErrAbortHandler)
	}
	f.buf = fetch.Failure(body, err, time.Since(start))
	f.finish(syntax.AsError(err).Code, err)
}

// finish sends the buffered bytes; err is the cause of a failure, if known.
func (f *fetchWriter) finish(code int, err error) {
	if f.sent || unmodified(f.w, f.cond, true) {
		return
	}
	status := http.StatusOK
	if f.status && http.StatusText(code) != "" {
		status = code
	}
	if status == http.StatusProxyAuthRequired {
		status = http.StatusUnauthorized // the protocol's 407 is not that of a proxy
	}
	wire.AskLater(f.w, code, err)
	f.w.Header().Set("Content-Type", mediaFetch)
	tag(f.w, f.cond, true)
	f.w.Header().Set("Content-Length", strconv.Itoa(len(f.buf)))
	f.w.WriteHeader(status)
	_, _ = f.w.Write(f.buf)
}
