package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// graphHeader is the header that names the graph of a call of a trusted operation, whose body and query string have its parameters alone.
const graphHeader = "Hopgate-Graph"

// atHeader is the header that names the moment that such a call reads, as the URL parameter at does for others.
const atHeader = "Hopgate-At"

// callOperation answers POST /v1/op/{name}, whose body is an object of parameters.
func (h *Handler) callOperation(w http.ResponseWriter, r *http.Request) {
	body, err := h.body(w, r)
	if err == nil && len(body) > 0 && !json.Valid(body) {
		err = wire.DecodeJSON(body, false, new(json.RawMessage))
	}
	q := queryRequest{Graph: r.Header.Get(graphHeader), Parameters: body}
	h.call(w, r, &q, nil, err)
}

// readOperation answers GET /v1/op/{name}, whose query string has the parameters. The operation must not write.
func (h *Handler) readOperation(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	q := queryRequest{Graph: r.Header.Get(graphHeader), AccessMode: "READ"}
	h.call(w, r, &q, func(o *operation.Operation) (map[string]graph.Value, error) { return o.FromQuery(values) }, nil)
}

// call runs the operation of a request, unless err says that the request is faulty.
func (h *Handler) call(w http.ResponseWriter, r *http.Request, q *queryRequest, decode func(*operation.Operation) (map[string]graph.Value, error), err error) {
	f, ok := acceptOrFail(w, r)
	if !ok {
		return
	}
	f.prefers(r.Header["Prefer"])
	var req query.Request
	if err == nil {
		req, err = q.request(r, h.e.Charge(r.Context()))
	}
	if err == nil {
		err = h.reached(r, q.Graph)
	}
	ctx := r.Context()
	if err == nil {
		ctx, err = asOfHeader(r)
	}
	if err != nil {
		f.fail(w, err)
		return
	}
	r = r.WithContext(ctx)
	req.Unsafe = h.checkWrite(r)
	req.Operation = &trusted.Call{Name: r.PathValue("name"), Decode: decode}
	if o := h.e.Operations.Find(r.Context(), req.Graph, req.Operation); o != nil && o.Kind() == operation.Fetch {
		h.callFetch(w, r, &req, &f)
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
	writeResult(w, res, f, http.StatusOK, nil)
}

// callFetch runs an operation that is a fetch, and answers as its route does, with the code as the status. A call that is refused before is
// answered as that of a statement.
func (h *Handler) callFetch(w http.ResponseWriter, r *http.Request, req *query.Request, f *format) {
	out := &fetchWriter{w: w, status: true, cond: condition(r, format{media: mediaFetch})}
	fetch := query.FetchRequest{
		Graph: req.Graph, Operation: req.Operation, Params: req.Params, ReadOnly: req.ReadOnly, Unsafe: req.Unsafe, Stale: req.Stale,
		Timeout: readPrefer(r.Header["Prefer"]).wait,
	}
	if req.Limits != nil {
		fetch.Units = req.Limits.Units
	}
	code, err := out.run(r, h.e, fetch)
	switch {
	case err == nil:
		out.finish(code, nil)
	case out.sent:
		panic(http.ErrAbortHandler)
	default:
		f.fail(w, err)
	}
}

// operationInfo describes an operation in the answer to GET /v1/op.
type operationInfo struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Kind        operation.Kind `json:"kind"`            // statement, fetch or traversal
	Route       string         `json:"route,omitempty"` // of a fetch or a traversal
	Parameters  map[string]any `json:"parameters"`      // JSON Schema
	Roles       []string       `json:"roles"`
	Write       bool           `json:"write"`
	State       string         `json:"state"`
	Problem     string         `json:"problem,omitempty"`
	Version     uint64         `json:"version"`
	Hash        string         `json:"hash"`
}

// listOperations answers GET /v1/op with the operations that the caller may run.
func (h *Handler) listOperations(w http.ResponseWriter, r *http.Request) {
	all, err := h.e.Operations.List(r.Context(), r.Header.Get(graphHeader))
	if err != nil {
		wire.Fail(w, err)
		return
	}
	infos := make([]operationInfo, len(all))
	for i := range all {
		o := &all[i]
		infos[i] = operationInfo{o.Name, o.Description, o.Kind(), o.Route, o.Schema(), append([]string{}, o.Roles...), o.Write, o.State(), o.Problem, o.Version, o.Hash}
	}
	h.writeObject(w, map[string]any{"operations": infos})
}

func (h *Handler) writeObject(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		wire.Fail(w, graph.InternalError("encoding an answer", err))
		return
	}
	wire.WriteJSON(w, wire.MediaPlain, http.StatusOK, append(b, '\n'))
}

// withOperations adds a path for each operation that the caller may run to the description of the API, with the types of its parameters.
func withOperations(document []byte, all []operation.State) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, err
	}
	paths := doc["paths"].(map[string]any)
	generic, _ := paths["/v1/op/{name}"].(map[string]any)
	for i := range all {
		o := &all[i]
		if o.Disabled {
			continue
		}
		path := map[string]any{"post": described(generic, "post", o, map[string]any{"requestBody": map[string]any{
			"required": true, "content": map[string]any{"application/json": map[string]any{"schema": o.Schema()}},
		}})}
		if params, ok := queryParameters(o); ok && !o.Write {
			path["get"] = described(generic, "get", o, map[string]any{"parameters": params})
		}
		paths["/v1/op/"+o.Name] = path
	}
	return json.Marshal(doc)
}

// described returns the description of a method of an operation: what holds for all operations, and what is of this one.
func described(generic map[string]any, method string, o *operation.State, own map[string]any) map[string]any {
	out := map[string]any{"summary": o.Name, "operationId": method + "_" + o.Name}
	if o.Description != "" {
		out["description"] = o.Description
	}
	of, _ := generic[method].(map[string]any)
	for _, key := range []string{"responses", "tags", "security"} {
		if v, ok := of[key]; ok {
			out[key] = v
		}
	}
	if of, ok := out["responses"].(map[string]any); ok && o.Columns != nil {
		all := maps.Clone(of)
		all["200"] = map[string]any{"description": "the rows", "content": map[string]any{wire.MediaPlain: map[string]any{"schema": rowsOf(o.Columns)}}}
		out["responses"] = all
	}
	maps.Copy(out, own)
	return out
}

// rowsOf returns the JSON Schema of an answer with some columns.
func rowsOf(columns []operation.Column) map[string]any {
	names, types := make([]string, len(columns)), make([]any, len(columns))
	for i := range columns {
		names[i], types[i] = columns[i].Name, columns[i].Schema()
	}
	row := map[string]any{"type": "array", "minItems": len(types), "maxItems": len(types)}
	if len(types) > 0 {
		row["prefixItems"] = types
	}
	return map[string]any{"type": "object", "required": []string{"data"}, "properties": map[string]any{"data": map[string]any{
		"type": "object", "required": []string{"fields", "values"},
		"properties": map[string]any{"fields": map[string]any{"const": names}, "values": map[string]any{"type": "array", "items": row}},
	}}}
}

// queryParameters describes parameters in a query string; ok is false if one cannot stand there.
func queryParameters(o *operation.State) (out []any, ok bool) {
	out = []any{}
	for i := range o.Params {
		p := &o.Params[i]
		if !p.Type.InQuery() {
			return nil, false
		}
		d := map[string]any{"name": p.Name, "in": "query", "required": p.Required(), "schema": p.Type.Schema()}
		if p.Description != "" {
			d["description"] = p.Description
		}
		out = append(out, d)
	}
	return out, true
}
