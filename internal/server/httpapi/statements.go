package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// statementsRequest is the body of Neo4j's HTTP API before the Query API: POST /db/{graph}/tx/commit and its like.
type statementsRequest struct {
	Statements []statementRequest `json:"statements"`
}

// statementRequest is one statement of such a request.
type statementRequest struct {
	Statement          string          `json:"statement"`
	Parameters         json.RawMessage `json:"parameters"`
	ResultDataContents []string        `json:"resultDataContents"`
	IncludeStats       bool            `json:"includeStats"`

	req   query.Request
	row   bool // values in the order of columns
	graph bool // the vertices and edges of each row
}

// statements answers POST /db/{graph}/tx, …/tx/{id}, …/tx/{id}/commit and …/tx/commit, as Neo4j 4 does: a statement that fails ends the transaction, and its
// error is a member of an answer with the status of success. Faults of the request itself have their own status.
func (h *Handler) statements(w http.ResponseWriter, r *http.Request, s step) {
	all, err := h.readStatements(w, r)
	if err != nil {
		failStatements(w, err)
		return
	}
	a := &statementsAnswer{w: w, buf: make([]byte, 0, 4096), status: http.StatusOK}
	if _, err := h.e.GraphNamed(r.Context(), r.PathValue("graph")); err != nil {
		failStatements(w, err)
		return
	}
	if s == autoStep && len(all) == 1 && !all[0].graph {
		err = h.autocommit(a, r, &all[0])
	} else {
		err = h.inTransaction(a, r, all, s)
	}
	if err != nil {
		failStatements(w, err)
		return
	}
	a.end()
}

// failStatements answers with only an error.
func failStatements(w http.ResponseWriter, err error) {
	body := append(wire.AppendError([]byte(`{"results":[],"errors":[`), err), "]}\n"...)
	wire.WriteJSON(w, wire.MediaPlain, wire.HTTPStatus(err), body)
}

// readStatements reads and checks the statements of a request; its body is optional.
func (h *Handler) readStatements(w http.ResponseWriter, r *http.Request) ([]statementRequest, error) {
	body, err := h.body(w, r)
	if err != nil {
		return nil, err
	}
	var q statementsRequest
	if len(bytes.TrimSpace(body)) > 0 {
		if err := wire.DecodeJSON(body, false, &q); err != nil {
			return nil, err
		}
	}
	access := queryRequest{Graph: graphOf(r), AccessMode: r.Header.Get("Access-Mode")}
	if header := r.Header.Get("Bookmarks"); header != "" {
		if err := json.Unmarshal([]byte(header), &access.Bookmarks); err != nil {
			return nil, wire.RequestError("Bookmarks: must be a JSON list of texts")
		}
	}
	if err := h.bookmarks(r, &access); err != nil {
		return nil, err
	}
	for i := range q.Statements {
		s := &q.Statements[i]
		place := "statements[" + strconv.Itoa(i) + "]."
		access.Statement, access.Parameters = s.Statement, s.Parameters
		if s.req, err = access.request(r, h.e.Charge(r.Context())); err != nil {
			return nil, err
		}
		s.req.Unsafe = h.checkWrite(r)
		if err := wire.CheckStatement(s.Statement); err != nil {
			return nil, err
		}
		for _, content := range s.ResultDataContents {
			switch strings.ToLower(content) {
			case "row":
				s.row = true
			case "graph":
				s.graph = true
			default:
				return nil, wire.RequestError(place + "resultDataContents: must be row or graph, was " + strconv.Quote(content))
			}
		}
		s.row = s.row || !s.graph
	}
	return q.Statements, nil
}

// autocommit runs a statement by itself. The error is one of the request.
func (h *Handler) autocommit(a *statementsAnswer, r *http.Request, s *statementRequest) error {
	if err := h.reached(r, s.req.Graph); err != nil {
		return err
	}
	res, err := h.e.Query(r.Context(), s.req)
	if err != nil {
		a.err = err
		return nil
	}
	defer res.Close()
	if a.add(r.Context(), res, s, nil) {
		a.tail = appendLastBookmark(a.tail, query.Bookmark(h.e, res.Graph(), res.Writes(), res.Snapshot()))
	}
	return nil
}

// inTransaction runs statements in the transaction of a request. The error is one of the request.
func (h *Handler) inTransaction(a *statementsAnswer, r *http.Request, all []statementRequest, s step) (err error) {
	graphName := graphOf(r)
	var t *openTx
	if s == beginStep || s == autoStep {
		opt := query.TxOptions{Graph: graphName, ReadOnly: strings.EqualFold(r.Header.Get("Access-Mode"), "READ")}
		if err := h.reached(r, graphName); err != nil {
			return err
		}
		t, err = h.txs.begin(r.Context(), h.e, opt)
	} else {
		t, err = h.txs.find(r.Context(), graphName, r.PathValue("id"))
	}
	if err != nil {
		return err
	}
	if s == autoStep {
		defer t.Rollback() // has no effect after the commit
	}
	if len(all) == 0 {
		if err := t.Touch(); err != nil {
			return err
		}
	}
	for i := range all {
		if !h.runIn(a, r, t, &all[i]) {
			return nil
		}
	}
	if s == commitStep || s == autoStep {
		if err := t.Commit(r.Context()); err != nil {
			a.err = err
			return nil
		}
		a.tail = appendLastBookmark(a.tail, query.Bookmark(h.e, t.Graph(), t.Changed(), t.Snapshot()))
		return nil
	}
	a.place(r, t, s == beginStep)
	return nil
}

// runIn runs a statement in a transaction, and reports whether that has succeeded.
func (h *Handler) runIn(a *statementsAnswer, r *http.Request, t *openTx, s *statementRequest) bool {
	s.req.Buffer = s.graph // so that ends of edges can be read meanwhile
	res, err := t.Run(r.Context(), s.req)
	if err != nil {
		a.err = err
		return false
	}
	defer res.Close()
	return a.add(r.Context(), res, s, t)
}

// rollbackStatements answers DELETE /db/{graph}/tx/{id}.
func (h *Handler) rollbackStatements(w http.ResponseWriter, r *http.Request) {
	t, err := h.txs.find(r.Context(), graphOf(r), r.PathValue("id"))
	if err != nil {
		failStatements(w, err)
		return
	}
	t.Rollback()
	wire.WriteJSON(w, wire.MediaPlain, http.StatusOK, []byte(`{"results":[],"errors":[]}`+"\n"))
}

// statementsAnswer is the answer to statements while it is written.
type statementsAnswer struct {
	w      http.ResponseWriter
	buf    []byte
	status int
	sent   bool   // the header has gone
	many   bool   // a result has been written
	err    error  // of a statement or the commit
	tail   []byte // members after the errors
	gone   bool   // the client
}

// place names a transaction that stays open.
func (a *statementsAnswer) place(r *http.Request, t *openTx, begun bool) {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	url := scheme + r.Host + "/db/" + r.PathValue("graph") + "/tx/" + t.id
	if begun && !a.sent {
		a.status = http.StatusCreated
		a.w.Header().Set("Location", url)
	}
	a.tail = notation.AppendJSONString(append(a.tail, `,"commit":`...), url+"/commit")
	a.tail = t.Expires().UTC().AppendFormat(append(a.tail, `,"transaction":{"expires":"`...), http.TimeFormat)
	a.tail = append(a.tail, `"}`...)
}

func appendLastBookmark(dst []byte, bookmark string) []byte {
	return append(notation.AppendJSONString(append(dst, `,"lastBookmarks":[`...), bookmark), ']')
}

// flush sends what has been written.
func (a *statementsAnswer) flush() {
	if !a.sent {
		a.sent = true
		a.w.Header().Set("Content-Type", wire.MediaPlain)
		a.w.WriteHeader(a.status)
	}
	if !a.gone {
		_, err := a.w.Write(a.buf)
		a.gone = err != nil
	}
	a.buf = a.buf[:0]
}

// end writes the errors and what follows them.
func (a *statementsAnswer) end() {
	if !a.many {
		a.buf = append(a.buf, `{"results":[`...)
	}
	a.buf = append(a.buf, `],"errors":[`...)
	if a.err != nil {
		a.buf = wire.AppendError(a.buf, a.err)
	}
	a.buf = append(append(append(a.buf, ']'), a.tail...), '}', '\n')
	if !a.sent {
		a.w.Header().Set("Content-Length", strconv.Itoa(len(a.buf)))
	}
	a.flush()
}

// add writes a result, with the ends of its edges from t if s asks for graphs, and reports whether the statement has succeeded.
func (a *statementsAnswer) add(ctx context.Context, res *query.Result, s *statementRequest, t *openTx) bool {
	if a.many {
		a.buf = append(a.buf, ',')
	} else {
		a.buf = append(a.buf, `{"results":[`...)
	}
	a.many = true
	a.buf = append(appendNames(append(a.buf, `{"columns":`...), res.Columns), `,"data":[`...)
	first := true
	var err error
	for {
		var b *graph.Batch
		if b, err = res.Next(); err != nil || b == nil {
			break
		}
		var ends map[graph.VertexID]graph.Value
		if s.graph {
			if ends, err = missingEnds(ctx, t, b); err != nil {
				break
			}
		}
		for i := range b.N {
			if !first {
				a.buf = append(a.buf, ',')
			}
			first = false
			a.row(b, i, s, ends)
			if len(a.buf) >= flushBytes {
				res.Sent(len(a.buf))
				res.Sending()
				if a.flush(); a.gone {
					return false
				}
			}
		}
	}
	a.buf = append(a.buf, ']')
	if s.IncludeStats {
		a.buf = appendStats(a.buf, res.Summary())
	}
	a.buf = append(a.buf, '}')
	a.err = err
	return err == nil
}

// row writes a row in the forms that a statement asks for.
func (a *statementsAnswer) row(b *graph.Batch, i int, s *statementRequest, ends map[graph.VertexID]graph.Value) {
	a.buf = append(a.buf, '{')
	if s.row {
		a.buf = appendRow(append(a.buf, `"row":`...), b, i, &notation.BareJSON)
		a.buf = append(a.buf, `,"meta":[`...)
		for c := range b.Cols {
			if c > 0 {
				a.buf = append(a.buf, ',')
			}
			a.buf = appendMeta(a.buf, b.Cols[c].Value(i))
		}
		a.buf = append(a.buf, ']')
	}
	if s.graph {
		if s.row {
			a.buf = append(a.buf, ',')
		}
		m := rowGraph{ends: ends}
		for c := range b.Cols {
			m.add(b.Cols[c].Value(i))
		}
		a.buf = m.append(a.buf)
	}
	a.buf = append(a.buf, '}')
}

// appendMeta appends what identifies a value: an object for a vertex or an edge, those of the elements of a list, map or path, and null for the rest.
func appendMeta(dst []byte, v graph.Value) []byte {
	each := func(n int, at func(int) graph.Value) {
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendMeta(dst, at(i))
		}
	}
	one := func(id uint64, elementID func([]byte) []byte, kind string) []byte {
		dst = strconv.AppendInt(append(dst, `{"id":`...), int64(id), 10)
		dst = elementID(append(dst, `,"elementId":"`...))
		return append(append(append(dst, `","type":"`...), kind...), `","deleted":false}`...)
	}
	switch v.Kind() {
	case graph.VertexKind:
		return one(uint64(v.Vertex()), func(b []byte) []byte { return graph.AppendVertexElementID(b, v.Vertex()) }, "node")
	case graph.EdgeKind:
		return one(uint64(v.EdgeID()), func(b []byte) []byte { return graph.AppendEdgeElementID(b, v.Edge().Edge) }, "relationship")
	case graph.PathKind:
		p := v.Path()
		dst = append(dst, '[')
		each(len(p.Vertices)+len(p.Edges), func(i int) graph.Value {
			if i%2 == 0 {
				return p.Vertices[i/2]
			}
			return p.Edges[i/2]
		})
		return append(dst, ']')
	case graph.List:
		l := v.List()
		if len(l) > 0 {
			each(len(l), func(i int) graph.Value { return l[i] })
			return dst
		}
	case graph.Map:
		m := v.Map()
		if len(m) > 0 {
			each(len(m), func(i int) graph.Value { return m[i].Value })
			return dst
		}
	}
	return append(dst, "null"...)
}

// rowGraph is the graph of a row: its vertices and edges, each once, and the ends of the edges.
type rowGraph struct {
	vertices, edges []graph.Value
	ends            map[graph.VertexID]graph.Value // of edges, where rows do not have them
}

func (m *rowGraph) add(v graph.Value) {
	switch v.Kind() {
	case graph.VertexKind:
		if !slices.ContainsFunc(m.vertices, func(o graph.Value) bool { return o.Vertex() == v.Vertex() }) {
			m.vertices = append(m.vertices, v)
		}
	case graph.EdgeKind:
		if !slices.ContainsFunc(m.edges, func(o graph.Value) bool { return o.EdgeID() == v.EdgeID() }) {
			m.edges = append(m.edges, v)
		}
	case graph.PathKind:
		for _, e := range append(slices.Clone(v.Path().Vertices), v.Path().Edges...) {
			m.add(e)
		}
	case graph.List:
		for _, e := range v.List() {
			m.add(e)
		}
	case graph.Map:
		for _, e := range v.Map() {
			m.add(e.Value)
		}
	}
}

// missing calls f with the ends of edges that are not among the vertices.
func (m *rowGraph) missing(f func(graph.VertexID)) {
	for _, e := range m.edges {
		for _, end := range [...]graph.VertexID{e.Edge().Src, e.Edge().Dst} {
			if !slices.ContainsFunc(m.vertices, func(o graph.Value) bool { return o.Vertex() == end }) {
				f(end)
			}
		}
	}
}

func (m *rowGraph) append(dst []byte) []byte {
	m.missing(func(end graph.VertexID) {
		if v, ok := m.ends[end]; ok {
			m.vertices = append(m.vertices, v)
		}
	})
	number := func(name string, id uint64) {
		dst = strconv.AppendInt(append(append(dst, name...), `":"`...), int64(id), 10)
	}
	vertexID := func(name string, id graph.VertexID) {
		number(name, uint64(id))
		dst = append(graph.AppendVertexElementID(append(append(append(dst, `","`...), elementIDName(name)...), `":"`...), id), `","`...)
	}
	dst = append(dst, `"graph":{"nodes":[`...)
	for i, v := range m.vertices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{', '"')
		vertexID("id", v.Vertex())
		rec := record(v.Record())
		dst = append(dst, `labels":`...)
		dst = notation.BareJSON.AppendRecord(append(appendNames(dst, rec.Labels), `,"properties":`...), rec)
		dst = append(dst, '}')
	}
	dst = append(dst, `],"relationships":[`...)
	for i, v := range m.edges {
		if i > 0 {
			dst = append(dst, ',')
		}
		e := v.Edge()
		rec := record(e.Record)
		dst = append(dst, '{', '"')
		number("id", uint64(e.ID))
		dst = graph.AppendEdgeElementID(append(dst, `","elementId":"`...), e.Edge)
		dst = notation.AppendJSONString(append(dst, `","type":`...), rec.Type)
		dst = append(dst, ',', '"')
		vertexID("startNode", e.Src)
		vertexID("endNode", e.Dst)
		dst = notation.BareJSON.AppendRecord(append(dst, `properties":`...), rec)
		dst = append(dst, '}')
	}
	return append(dst, ']', '}')
}

// elementIDName is the name of the element id beside that of the number.
func elementIDName(name string) string {
	if name == "id" {
		return "elementId"
	}
	return name + "ElementId"
}

func record(r *graph.Record) *graph.Record {
	if r == nil {
		return &graph.Record{}
	}
	return r
}

// missingEnds reads, in a transaction, the ends of a batch's edges that the rows themselves lack.
func missingEnds(ctx context.Context, t *openTx, b *graph.Batch) (map[graph.VertexID]graph.Value, error) {
	ends := map[graph.VertexID]graph.Value{}
	var ids []graph.Value
	for i := range b.N {
		var m rowGraph
		for c := range b.Cols {
			m.add(b.Cols[c].Value(i))
		}
		m.missing(func(end graph.VertexID) {
			if _, ok := ends[end]; !ok {
				ends[end] = graph.Value{}
				ids = append(ids, graph.IntValue(int64(end)))
			}
		})
	}
	if len(ids) == 0 {
		return nil, nil
	}
	clear(ends)
	found, err := t.Run(ctx, query.Request{
		Statement: "MATCH (n) WHERE id(n) IN $ids RETURN n", Params: map[string]graph.Value{"ids": graph.ListValue(ids)}, ReadOnly: true,
	})
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for {
		rows, err := found.Next()
		if err != nil {
			return nil, err
		}
		if rows == nil {
			return ends, nil
		}
		for i := range rows.N {
			v := rows.Cols[0].Value(i)
			ends[v.Vertex()] = v
		}
	}
}

// appendStats appends the member stats of a result.
func appendStats(dst []byte, s query.Summary) []byte {
	c := s.Counters
	dst = strconv.AppendBool(append(dst, `,"stats":{"contains_updates":`...), c.ContainsUpdates() || s.Schema != query.SchemaCounters{})
	for _, m := range [...]struct {
		name string
		n    int64
	}{
		{"nodes_created", c.NodesCreated},
		{"nodes_deleted", c.NodesDeleted},
		{"properties_set", c.PropertiesSet},
		{"relationships_created", c.RelationshipsCreated},
		{"relationship_deleted", c.RelationshipsDeleted}, // Neo4j's spelling
		{"labels_added", c.LabelsAdded},
		{"labels_removed", c.LabelsRemoved},
		{"indexes_added", s.Schema.IndexesAdded},
		{"indexes_removed", s.Schema.IndexesRemoved},
		{"constraints_added", s.Schema.ConstraintsAdded},
		{"constraints_removed", s.Schema.ConstraintsRemoved},
	} {
		dst = strconv.AppendInt(append(append(append(dst, `,"`...), m.name...), `":`...), m.n, 10)
	}
	return append(dst, `,"contains_system_updates":false,"system_updates":0}`...)
}
