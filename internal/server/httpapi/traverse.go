package httpapi

import (
	"net/http"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// traversals adds the routes of the typed requests.
func (h *Handler) traversals() {
	for _, route := range []string{"traverse", "path", "subgraph", "vertices", "edges"} {
		h.handle("POST /v1/"+route, func(w http.ResponseWriter, r *http.Request) {
			f, ok := acceptOrFail(w, r)
			if !ok {
				return
			}
			f.cond = condition(r, f)
			res, err := h.runTyped(w, r, route, f.cond)
			if err != nil {
				wire.WriteError(w, f.errors(), wire.HTTPStatus(err), err)
				return
			}
			defer res.Close()
			writeResult(w, res, f, http.StatusOK, nil)
		})
	}
}

func (h *Handler) runTyped(w http.ResponseWriter, r *http.Request, route string, c *fresh.Condition) (*query.Result, error) {
	data, err := h.body(w, r)
	if err != nil {
		return nil, err
	}
	req, err := request.DecodeTyped(route, data, mediaType(r.Header.Get("Content-Type")) == mediaTyped, h.e.Charge(r.Context()))
	if err != nil {
		return nil, err
	}
	if req.Stale, err = staleness(r); err != nil {
		return nil, err
	}
	if err := h.reached(r, req.Graph); err != nil {
		return nil, err
	}
	req.Condition = c
	if req.Limits.Units, err = maxCost(r, req.Limits.Units); err != nil {
		return nil, err
	}
	ctx, err := asOf(r, req.At)
	if err != nil {
		return nil, err
	}
	req.At = ""
	return h.e.Traverse(ctx, req)
}
