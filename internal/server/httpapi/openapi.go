package httpapi

import (
	_ "embed"
	"net/http"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// openAPI describes every HTTP route. A test compares it with the registered routes.
//
//go:embed openapi.json
var openAPI []byte

// serveOpenAPI answers GET /openapi.json, with the trusted operations of the graph that the caller may run.
func (h *Handler) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	document := openAPI
	all, err := h.e.Operations.List(r.Context(), r.Header.Get(graphHeader))
	if err == nil && len(all) > 0 { // the routes are no secret from those who may call none
		if document, err = withOperations(openAPI, all); err != nil {
			wire.Fail(w, graph.InternalError("encoding the description of the API", err))
			return
		}
	}
	wire.WriteJSON(w, wire.MediaPlain, http.StatusOK, document)
}
