package httpapi

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/query/page"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/server/summary"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// queryRequest is the body of POST /v1/query.
type queryRequest struct {
	Statement  string          `json:"statement"`
	Operation  string          `json:"operation"` // instead of a statement: the name of a trusted operation
	Hash       string          `json:"hash"`      // or its hash
	Parameters json.RawMessage `json:"parameters"`
	Graph      string          `json:"graph"`
	At         string          `json:"at"` // a moment to read
	AccessMode string          `json:"accessMode"`
	TimeoutMs  int64           `json:"timeoutMs"`
	MaxRows    int64           `json:"maxRows"`
	MaxCost    int64           `json:"maxCost"` // units that it may be expected to take
	PageSize   int64           `json:"pageSize"`
	PageToken  string          `json:"pageToken"`
	Bookmarks  []string        `json:"bookmarks"` // of Neo4j's clients: snapshots that it has at least
	// MaxExecutionTime is Neo4j's name for the timeout, in seconds; TimeoutMs takes precedence.
	MaxExecutionTime int64 `json:"maxExecutionTime"`
	// Counters are always sent.
	IncludeCounters bool `json:"includeCounters"`
}

const (
	mediaLines = "application/x-ndjson"
	mediaTyped = "application/vnd.neo4j.query"
	flushBytes = 64 << 10
	maxTimeout = int64(1<<63-1) / int64(time.Millisecond)
)

// format is the format of a response.
type format struct {
	media string
	lines bool
	arrow bool
	form  *notation.JSONForm
	cond  *fresh.Condition // of the request, or nil
	// inline means that an error is a line of a response with status 200, even if it is the first.
	inline bool
	// cost means that what the request took is a member of the answer.
	cost bool
}

// prefers takes what a client prefers of the answer to a statement.
func (f *format) prefers(headers []string) {
	p := readPrefer(headers)
	f.inline, f.cost = p.lines, p.cost
}

// fail answers with only an error.
func (f *format) fail(w http.ResponseWriter, err error) {
	if f.lines && f.inline {
		wire.WriteError(w, f.media, http.StatusOK, err)
		return
	}
	wire.WriteError(w, f.errors(), wire.HTTPStatus(err), err)
}

// errors returns the media type of a response that is only an error.
func (f *format) errors() string {
	if f.lines || f.arrow {
		return wire.MediaPlain
	}
	return f.media
}

// accept chooses a format by Accept headers: the known one with the greatest q, the first among equals. A missing or empty header means the
// default.
func accept(headers []string) (best format, ok bool) {
	most, empty := 0.0, true
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			empty = false
			t, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			q := 1.0
			if text, has := params["q"]; has {
				if q, err = strconv.ParseFloat(text, 64); err != nil {
					continue
				}
			}
			if f, known := formatOf(t); known && q > most {
				best, most = f, q
			}
		}
	}
	if empty {
		return formatOf(wire.MediaPlain)
	}
	return best, most > 0
}

// formatOf returns the format of a media type.
func formatOf(media string) (format, bool) {
	switch media {
	case mediaLines, "application/jsonl":
		return format{media: mediaLines, lines: true, form: &notation.PlainJSON}, true
	case mediaArrow, mediaParquet:
		return format{media: media, arrow: true}, true
	case mediaTyped, mediaTyped + ".v1.0", mediaTyped + ".v1.1":
		return format{media: media, form: &notation.TypedJSON}, true
	case wire.MediaPlain, "application/*", "*/*":
		return format{media: wire.MediaPlain, form: &notation.PlainJSON}, true
	}
	return format{}, false
}

// acceptOrFail chooses the format of the response, or answers that none fits.
func acceptOrFail(w http.ResponseWriter, r *http.Request) (format, bool) {
	f, ok := accept(r.Header["Accept"])
	if !ok {
		wire.WriteError(w, wire.MediaPlain, http.StatusNotAcceptable,
			wire.RequestError("Accept: none of the media types is supported; supported are "+wire.MediaPlain+", "+mediaLines+", "+mediaTyped+", "+mediaArrow+" and "+mediaParquet))
	}
	return f, ok
}

// query answers POST /v1/query and, for Neo4j's clients, POST /db/{graph}/query/v2.
func (h *Handler) query(w http.ResponseWriter, r *http.Request, neo4j bool) {
	f, ok := acceptOrFail(w, r)
	if !ok {
		return
	}
	f.prefers(r.Header["Prefer"])
	status := http.StatusOK
	if neo4j {
		status = http.StatusAccepted
	}
	req, at, err := h.queryRequest(w, r, neo4j)
	ctx := r.Context()
	if err == nil {
		ctx, err = asOf(r, at)
	}
	if err != nil {
		f.fail(w, err)
		return
	}
	f.cond = condition(r, f)
	req.Condition = f.cond
	res, err := h.e.Query(ctx, req)
	if err != nil {
		f.fail(w, err)
		return
	}
	defer res.Close()
	var tail func([]byte) []byte
	if neo4j {
		tail = func(dst []byte) []byte {
			return appendBookmark(dst, query.Bookmark(h.e, res.Graph(), res.Writes(), res.Snapshot()))
		}
	}
	writeResult(w, res, f, status, tail)
}

// queryRequest parses a request, and returns the moment in its body. It accepts members of Neo4j's clients that have no effect here.
func (h *Handler) queryRequest(w http.ResponseWriter, r *http.Request, neo4j bool) (req query.Request, at string, err error) {
	body, err := h.body(w, r)
	if err != nil {
		return req, "", err
	}
	var q queryRequest
	if !q.plain(body) {
		q = queryRequest{}
		if err := wire.DecodeJSON(body, !neo4j, &q); err != nil {
			return req, "", err
		}
	}
	if neo4j {
		q.Graph = graphOf(r)
	}
	if req, err = q.request(r, h.e.Charge(r.Context())); err != nil {
		return req, "", err
	}
	if err := h.reached(r, q.Graph); err != nil {
		return req, "", err
	}
	if err := h.bookmarks(r, &q); err != nil {
		return req, "", err
	}
	req.Unsafe = h.checkWrite(r)
	if q.Operation == "" && q.Hash == "" {
		return req, q.At, wire.CheckStatement(q.Statement)
	}
	if q.Operation != "" && q.Hash != "" || q.Statement != "" {
		return req, "", wire.RequestError("operation, hash, statement: a request has one of them")
	}
	req.Operation = &trusted.Call{Name: q.Operation, Hash: q.Hash}
	return req, q.At, nil
}

// plain reads the body of most requests: a statement and parameters. If it returns false, the body needs the decoder.
func (q *queryRequest) plain(body []byte) bool {
	return wire.PlainMembers(body, func(name string, value []byte) bool {
		switch {
		case name == "statement" && value[0] == '"':
			q.Statement = string(value[1 : len(value)-1])
		case name == "parameters" && value[0] == '{':
			q.Parameters = value
		default:
			return false
		}
		return true
	})
}

// bookmarks checks that graphs have the snapshots of a request's bookmarks.
func (h *Handler) bookmarks(r *http.Request, q *queryRequest) error {
	for _, b := range q.Bookmarks {
		if err := query.ReachedBookmark(r.Context(), h.e, b); err != nil {
			return err
		}
	}
	return nil
}

// graphOf returns the graph in a path of Neo4j's Query API.
func graphOf(r *http.Request) string {
	if name := r.PathValue("graph"); name != "neo4j" { // the default name in Neo4j's clients
		return name
	}
	return query.DefaultGraph
}

// request checks all members except the statement and converts the request.
func (q *queryRequest) request(r *http.Request, charge *memory.Charge) (req query.Request, err error) {
	req = query.Request{Statement: q.Statement, Graph: q.Graph, MaxRows: q.MaxRows, Timeout: time.Duration(q.TimeoutMs) * time.Millisecond}
	switch strings.ToUpper(q.AccessMode) {
	case "", "WRITE":
	case "READ":
		req.ReadOnly = true
	default:
		return req, wire.RequestError("accessMode: must be READ or WRITE, was " + strconv.Quote(q.AccessMode))
	}
	switch {
	case q.TimeoutMs < 0 || q.TimeoutMs > maxTimeout:
		return req, wire.RequestError("timeoutMs: must be a whole number from 0, was " + strconv.FormatInt(q.TimeoutMs, 10))
	case q.MaxExecutionTime < 0 || q.MaxExecutionTime > maxTimeout/1000:
		return req, wire.RequestError("maxExecutionTime: must be a whole number from 0, was " + strconv.FormatInt(q.MaxExecutionTime, 10))
	case q.MaxExecutionTime > 0 && q.TimeoutMs == 0:
		req.Timeout = time.Duration(q.MaxExecutionTime) * time.Second
	}
	if q.MaxRows < 0 {
		return req, wire.RequestError("maxRows: must be a whole number from 0, was " + strconv.FormatInt(q.MaxRows, 10))
	}
	if req.Stale, err = staleness(r); err != nil {
		return req, err
	}
	most, err := maxCost(r, q.MaxCost)
	if err != nil {
		return req, err
	}
	if most > 0 {
		req.Limits = &query.Limits{Units: most}
	}
	pg, err := page.New("pageSize", q.PageSize, q.PageToken)
	if err != nil {
		return req, err
	}
	req.SetPage(pg)
	content := r.Header.Get("Content-Type")
	typed := content != wire.MediaPlain && strings.HasPrefix(mediaType(content), mediaTyped)
	if req.Params, err = wire.DecodeParams(q.Parameters, typed, charge); err != nil {
		return req, err
	}
	return req, nil
}

// staleHeader is the header by which a client allows that a read is out of date.
const staleHeader = "Hopgate-Max-Staleness"

// staleness returns by how much the snapshot that a request reads may be out of date.
func staleness(r *http.Request) (time.Duration, error) {
	switch values := r.Header[staleHeader]; len(values) {
	case 0:
		return 0, nil
	case 1:
		return wire.Staleness(staleHeader, values[0])
	}
	return 0, wire.RequestError(staleHeader + ": must be sent once")
}

// asOf returns the context of a request that reads a moment: that in its body, or in the URL parameter at.
func asOf(r *http.Request, body string) (context.Context, error) {
	if r.URL.RawQuery == "" && body == "" {
		return r.Context(), nil
	}
	switch values := r.URL.Query()["at"]; {
	case len(values) > 1 || len(values) == 1 && body != "":
		return nil, wire.RequestError("at: must be sent once")
	case len(values) == 1 && values[0] == "":
		return nil, wire.RequestError("at: is empty")
	case len(values) == 1:
		body = values[0]
	}
	return asof.With(r.Context(), "at", body)
}

// asOfHeader returns the context of a call of a trusted operation, which reads the moment of a header.
func asOfHeader(r *http.Request) (context.Context, error) {
	switch values := r.Header[atHeader]; {
	case len(values) > 1:
		return nil, wire.RequestError(atHeader + ": must be sent once")
	case len(values) == 1 && values[0] == "":
		return nil, wire.RequestError(atHeader + ": is empty")
	case len(values) == 1:
		return asof.With(r.Context(), atHeader, values[0])
	}
	return r.Context(), nil
}

// writeResult writes the response to a statement; tail, if not nil, adds members to the end of its object.
func writeResult(w http.ResponseWriter, res *query.Result, f format, status int, tail func([]byte) []byte) {
	if others := tail; f.cost {
		tail = func(dst []byte) []byte {
			if others != nil {
				dst = append(others(dst), ',')
			}
			return res.Cost().AppendJSON(append(dst, `"cost":`...))
		}
	}
	switch {
	case unmodified(w, f.cond, false):
	case f.lines:
		writeLines(w, res, f, status, tail)
	case f.arrow:
		writeArrow(w, res, f, status, tail)
	default:
		writeEnvelope(w, res, f, status, tail)
	}
}

// buffers pools the memory in which answers are written.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 4096)
	return &b
}}

// writeEnvelope answers with one JSON object. It sends nothing before the first flushBytes, so that an error up to then gets its HTTP
// status. A later error closes the connection, so that no client mistakes a part for the whole. tail, if not nil, adds members at the end.
func writeEnvelope(w http.ResponseWriter, res *query.Result, f format, status int, tail func([]byte) []byte) {
	pooled := buffers.Get().(*[]byte)
	buf := append((*pooled)[:0], `{"data":{"fields":`...)
	defer func() {
		if cap(buf) <= 2*flushBytes {
			*pooled = buf
			buffers.Put(pooled)
		}
	}()
	buf = appendNames(buf, res.Columns)
	buf = append(buf, `,"values":[`...)
	sent, first := false, true
	for {
		b, err := res.Next()
		if err != nil {
			if sent {
				panic(http.ErrAbortHandler)
			}
			f.fail(w, err)
			return
		}
		if b == nil {
			break
		}
		for i := range b.N {
			if !first {
				buf = append(buf, ',')
			}
			first = false
			buf = appendRow(buf, b, i, f.form)
			if len(buf) < flushBytes {
				continue
			}
			if !sent {
				w.Header().Set("Content-Type", f.media)
				tag(w, f.cond, f.cost)
				announce(w)
				w.WriteHeader(status)
				sent = true
			}
			res.Sent(len(buf))
			res.Sending()
			if _, err := w.Write(buf); err != nil {
				return
			}
			buf = buf[:0]
		}
	}
	buf = append(buf, `]},`...)
	buf = summary.AppendJSON(buf, res.Summary())
	if tail != nil {
		buf = tail(append(buf, ','))
	}
	buf = append(buf, '}', '\n')
	res.Sent(len(buf))
	res.Sending()
	if !sent {
		tag(w, f.cond, f.cost)
		fields := [...]string{f.media, strconv.Itoa(len(buf)), res.Cost().String(), res.Snapshot()} // in one piece of memory
		h := w.Header()
		h["Content-Type"], h["Content-Length"], h[costHeader] = fields[0:1:1], fields[1:2:2], fields[2:3:3]
		if fields[3] != "" {
			h[snapshotHeader] = fields[3:4:4]
		}
		w.WriteHeader(status)
	}
	_, _ = w.Write(buf)
	if sent {
		tell(w, res)
	}
}

// writeLines answers with one JSON value per line and flushes each batch. An error before the first batch gets its HTTP status; a later one
// is the last line. tail, if not nil, adds members to the last line.
func writeLines(w http.ResponseWriter, res *query.Result, f format, status int, tail func([]byte) []byte) {
	b, err := res.Next()
	if err != nil {
		f.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", f.media)
	tag(w, f.cond, f.cost)
	announce(w)
	w.WriteHeader(status)
	c := http.NewResponseController(w)
	buf := append(make([]byte, 0, 4096), `{"fields":`...)
	buf = appendNames(buf, res.Columns)
	buf = append(buf, '}', '\n')
	for b != nil && err == nil {
		for i := range b.N {
			buf = appendRow(buf, b, i, f.form)
			buf = append(buf, '\n')
			if len(buf) < flushBytes {
				continue
			}
			res.Sent(len(buf))
			res.Sending()
			if _, err := w.Write(buf); err != nil {
				return
			}
			buf = buf[:0]
		}
		res.Sent(len(buf))
		res.Sending()
		if _, err := w.Write(buf); err != nil || c.Flush() != nil {
			return
		}
		buf = buf[:0]
		b, err = res.Next()
	}
	if err != nil {
		buf = append(buf, `{"errors":[`...)
		buf = wire.AppendError(buf, err)
		buf = append(buf, ']')
	} else {
		buf = summary.AppendJSON(append(buf, '{'), res.Summary())
		if tail != nil {
			buf = tail(append(buf, ','))
		}
	}
	buf = append(buf, '}', '\n')
	res.Sent(len(buf))
	res.Sending()
	_, _ = w.Write(buf)
	tell(w, res)
}

// appendBookmark appends the member bookmarks of answers to Neo4j's clients.
func appendBookmark(dst []byte, bookmark string) []byte {
	return append(notation.AppendJSONString(append(dst, `"bookmarks":[`...), bookmark), ']')
}

func appendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, n := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = notation.AppendJSONString(dst, n)
	}
	return append(dst, ']')
}

func appendRow(dst []byte, b *graph.Batch, row int, form *notation.JSONForm) []byte {
	dst = append(dst, '[')
	for i := range b.Cols {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = form.Append(dst, b.Cols[i].Value(row))
	}
	return append(dst, ']')
}
