package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// testProcedures replaces the procedures that conformance tests call.
func (h *Handler) testProcedures(w http.ResponseWriter, r *http.Request) {
	body, err := h.body(w, r)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	var req struct {
		Procedures []struct {
			Signature string            `json:"signature"`
			Columns   []string          `json:"columns"`
			Rows      []json.RawMessage `json:"rows"`
		} `json:"procedures"`
	}
	if err := wire.DecodeJSON(body, true, &req); err != nil {
		wire.Fail(w, err)
		return
	}
	var procs []query.TestProcedure
	for _, p := range req.Procedures {
		t := query.TestProcedure{Signature: p.Signature, Columns: p.Columns}
		for _, raw := range p.Rows {
			rows, err := wire.DecodeParams(json.RawMessage(`{"row":`+string(raw)+`}`), false, nil)
			if err != nil || rows["row"].Kind() != graph.List || len(rows["row"].List()) != len(p.Columns) {
				wire.Fail(w, wire.RequestError("procedures: a row must be a list with one value a column"))
				return
			}
			t.Rows = append(t.Rows, rows["row"].List())
		}
		procs = append(procs, t)
	}
	if err := h.e.SetTestProcedures(procs); err != nil {
		wire.Fail(w, wire.RequestError(err.Error()))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
