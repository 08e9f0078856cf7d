package httpapi

import (
	_ "embed"
	"net/http"

	"github.com/hopgate/hopgate/internal/server/wire"
)

// openAPI describes every HTTP route. A test compares it with the registered routes.
//
//go:embed openapi.json
var openAPI []byte

// serveOpenAPI answers GET /openapi.json.
func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	wire.WriteJSON(w, wire.MediaPlain, http.StatusOK, openAPI)
}
