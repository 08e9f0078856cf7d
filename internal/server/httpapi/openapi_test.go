package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
)

// The document has exactly the routes that are registered; metrics name each route from the start.
func TestOpenAPIRoutes(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := New(&request.Host{Engine: query.New(newOracle(t), query.Options{}), Registry: registry, Log: slog.New(slog.DiscardHandler)}, Options{TestProcedures: true})
	families, err := registry.Gather()
	require.NoError(t, err)
	var registered []string
	for _, f := range families {
		if f.GetName() != "hopgate_http_request_duration_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if route := l.GetValue(); l.GetName() == "route" && route != "/" && route != "OPTIONS /" {
					registered = append(registered, route)
				}
			}
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, newRequest(http.MethodGet, "/openapi.json", ""))
	require.Equal(t, http.StatusOK, w.Code)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
			Parameters  []struct{ Name, In string }
		}
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc))
	require.Equal(t, "3.1.0", doc.OpenAPI)
	var documented []string
	ids := map[string]bool{}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			require.NotEmpty(t, op.Responses, path)
			require.False(t, op.OperationID == "" || ids[op.OperationID], "%s %s", method, path)
			ids[op.OperationID] = true
			for part := range strings.SplitSeq(path, "/") {
				if name, ok := strings.CutPrefix(part, "{"); ok {
					require.True(t, slices.ContainsFunc(op.Parameters, func(p struct{ Name, In string }) bool {
						return p.In == "path" && p.Name == strings.TrimSuffix(name, "}")
					}), path)
				}
			}
			// Metrics count a fetch of a wrapped body as any fetch of the method.
			route := strings.ToUpper(method) + " " + strings.TrimSuffix(path, "/{wrap}")
			if !slices.Contains(documented, route) {
				documented = append(documented, route)
			}
		}
	}
	require.ElementsMatch(t, registered, documented)
}

// Every reference in the document leads somewhere.
func TestOpenAPIReferences(t *testing.T) {
	var doc any
	require.NoError(t, json.Unmarshal(openAPI, &doc))
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				at := doc
				for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					m, _ := at.(map[string]any)
					at = m[part]
				}
				require.NotNil(t, at, ref)
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(doc)
}
