package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// Whatever is sent to the query endpoint, the answer is JSON, and not an internal error.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		`{"statement": "RETURN $x", "parameters": {"x": [1, 1.5, null, "a", {"k": true}]}}`,
		`{"statement": "MATCH (n) RETURN n", "maxRows": 1, "accessMode": "READ", "timeoutMs": 10}`,
		`{"statement": "CREATE (n:A {k: 1}) RETURN n"}`, `{"statement": "UNWIND [1, 0] AS x RETURN 1 / x"}`, `[]`, `{`, ``,
	} {
		for media := range 3 {
			f.Add([]byte(s), media)
		}
	}
	h := newHTTP(newOracle(f), query.Options{Timeout: 50 * time.Millisecond, MaxRows: 1000, QueryBytes: 1 << 20}, Options{})
	f.Fuzz(func(t *testing.T, body []byte, media int) {
		r := newRequest(http.MethodPost, "/v1/query", string(body))
		r.Header.Set("Accept", []string{wire.MediaPlain, mediaLines, mediaTyped}[max(media, -media)%3])
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for line := range strings.Lines(w.Body.String()) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("no JSON: %q", line)
			}
		}
	})
}
