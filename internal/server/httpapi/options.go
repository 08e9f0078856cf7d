package httpapi

import "github.com/hopgate/hopgate/internal/console"

// Options are the settings that only HTTP has.
type Options struct {
	TestProcedures bool             // enables PUT /v1/test/procedures
	Console        *console.Console // the page that browsers get from GET /; default nil, no console
}
