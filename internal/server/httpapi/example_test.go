package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/httpapi"
	"github.com/hopgate/hopgate/internal/server/request"
)

// Serve the HTTP API of an engine, and send a statement to it.
func ExampleNew() {
	store := oracle.New(1)
	if err := store.CreateGraph(context.Background(), query.DefaultGraph); err != nil {
		fmt.Println(err)
		return
	}
	h := httpapi.New(&request.Host{Engine: query.New(store, query.Options{})}, httpapi.Options{})
	defer h.Close()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/query", strings.NewReader(`{"statement": "UNWIND [1, 2] AS n RETURN n"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/x-ndjson")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	for line := range strings.Lines(w.Body.String()) {
		if !strings.Contains(line, "counters") { // the summary
			fmt.Print(w.Code, " ", line)
		}
	}
	// Output:
	// 200 {"fields":["n"]}
	// 200 [1]
	// 200 [2]
}
