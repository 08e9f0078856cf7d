package server

import (
	_ "embed"
	"net/http"
)

// openAPI describes every HTTP route. A test holds it against the routes that are registered.
//
//go:embed openapi.json
var openAPI []byte

// serveOpenAPI answers GET /openapi.json.
func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, mediaPlain, http.StatusOK, openAPI)
}
