package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

// Whatever is fetched, the answer is JSON, and not an internal error.
func FuzzFetch(f *testing.F) {
	methods := []string{"get", "head", "gets", "heads", "post", "put", "delete", "get/User[]"}
	for _, s := range []string{
		`{"User": {"id": 1}, "[]": {"count": 3, "page": 0, "query": 2, "join": "&/User:b/id@", "User": {"name$": "%a%"}, "User:b": {"id@": "/User/id"}}}`,
		`{"User": {"id": 1}, "f[]": {"hop": ">KNOWS", "start@": "User/id", "depth": "1..2", "KNOWS": {"since>": 1}, "User:f": {"@column": "id,@depth"}}}`,
		`{"p[]": {"hop": "<>KNOWS", "start": 1, "end": [2, 3], "find": "all", "User": {}}}`,
		`{"User[]": {"User": {"@column": "name;count(*):n;max(length(name)):m", "@group": "name", "@having": "(n)>0", "@order": "n-"}}}`,
		`{"User": {"id{}": [1, 2], "name!": null, "@combine": "id{} | !name~", "name~": "a.*", "@explain": true, "@role": "OWNER"}}`,
		`{"sql@": {"from": "User", "User": {"@column": "id"}}, "User[]": {"User": {"id{}@": "sql", "id}{@": {"from": "User", "User": {}}}}}`,
		`{"User": {"id": 3, "name": "x", "list+": [1]}}`, `{"User[]": [{"id": 4}, {"id": 5}]}`, `{"KNOWS": {"from": {"User": 1}, "to": {"User": 2}}}`,
		`{"User": {"id{}": [1], "n+": 1, "l-": ["a"]}}`, `{"[]": {"[]": {"[]": {}}}}`, `[]`, `{`, ``,
	} {
		for m := range methods {
			f.Add([]byte(s), m)
		}
	}
	// The requests of the scripts, each by its own method.
	for _, file := range []string{"fetch", "fetchhops", "fetchcontract"} {
		text, err := os.ReadFile("testdata/http/" + file)
		if err != nil {
			f.Fatal(err)
		}
		m := -1
		for line := range strings.Lines(string(text)) {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), "POST /"); ok {
				m = slices.Index(methods, path)
			} else if m >= 0 && strings.HasPrefix(line, "{") {
				f.Add([]byte(line), m)
				m = -1
			}
		}
	}
	h := newHTTP(newOracle(f), query.Options{
		Timeout: 50 * time.Millisecond, QueryBytes: 1 << 20, Fetch: syntax.Limits{Rows: 1000, Hops: 4},
	}, Options{})
	send := func(path, body string) *httptest.ResponseRecorder {
		r := newRequest(http.MethodPost, path, body)
		r.Header.Set("Prefer", "http-status")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	send("/v1/query", `{"statement": "CREATE (:User {id: 1, name: 'Ann', list: [1, 2]})-[:KNOWS {since: 2}]->(:User {id: 2, name: 'Bob'})"}`)
	f.Fuzz(func(t *testing.T, body []byte, m int) {
		w := send("/"+methods[max(m, -m-1)%len(methods)], string(body))
		if w.Code >= http.StatusInternalServerError || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var answer struct {
			OK   *bool
			Code int
			Msg  string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.OK == nil || answer.Code != w.Code || answer.Msg == "" {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
	})
}

// A list that is the same in all items counts as often as it is written.
func TestFetchRowsOfRepeatedLists(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{Fetch: syntax.Limits{Rows: 20}}, Options{})
	send := func(path, body string) string {
		r := newRequest(http.MethodPost, path, body)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
	send("/v1/query", `{"statement": "UNWIND range(1, 5) AS i CREATE (:User {id: i})"}`)
	within := `{"[]": {"count": %d, "User": {"@column": "id"}, "User:b[]": {"count": 4, "User": {"@column": "id"}}}}`
	require.Contains(t, send("/get", fmt.Sprintf(within, 4)), `"code":200`)
	require.Contains(t, send("/get", fmt.Sprintf(within, 5)), "more rows than the 20 of fetch-rows")
}
