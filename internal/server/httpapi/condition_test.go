package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// A client that names the tag of an answer gets 304 until a commit changes what the request reads, in each form of the answer.
func TestConditions(t *testing.T) {
	ask, run := asker(t)
	run("CREATE (:User {id: 1, name: 'Ann'})-[:KNOWS]->(:User {id: 2})")
	run("CALL db.operations.put('// name: names\\nMATCH (n:User) RETURN n.name')")
	const text = `{"statement": "MATCH (n:User) RETURN n.name"}`

	require.Empty(t, ask("POST", "/v1/query", text).Header().Get("ETag"), "nobody asks")
	tags := map[string]bool{}
	for _, accept := range []string{"application/json", mediaLines, mediaTyped, mediaArrow, mediaParquet} {
		for _, encoding := range []string{"identity", "gzip"} {
			get := func(none string) *httptest.ResponseRecorder {
				return ask("POST", "/v1/query", text, "Accept", accept, "If-None-Match", none, "Accept-Encoding", encoding)
			}
			w := get(`""`)
			require.Equal(t, http.StatusOK, w.Code)
			tag := w.Header().Get("ETag")
			require.NotEmpty(t, tag)
			require.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
			require.Equal(t, accept == mediaArrow || accept == mediaParquet || w.Header().Get("Content-Encoding") != "", strings.HasPrefix(tag, "W/"), accept)
			tags[tag] = true
			for _, none := range []string{tag, `"x", ` + tag, "W/" + strings.TrimPrefix(tag, "W/")} {
				w := get(none)
				require.Equal(t, http.StatusNotModified, w.Code)
				require.Empty(t, w.Body.String())
				require.Equal(t, strings.TrimPrefix(tag, "W/"), w.Header().Get("ETag"))
				require.Empty(t, w.Header().Get("Content-Type"))
			}
		}
	}
	require.GreaterOrEqual(t, len(tags), 5)
	w := ask("POST", "/v1/query", text, "If-None-Match", `""`, "Prefer", "cost")
	require.True(t, strings.HasPrefix(w.Header().Get("ETag"), "W/"), "costs differ")

	for _, path := range []string{"GET /v1/op/names", "POST /v1/op/names", "POST /db/default/query/v2", "POST /v1/traverse", "POST /v1/vertices"} {
		method, path, _ := strings.Cut(path, " ")
		body := map[string]string{"/db/default/query/v2": text, "/v1/traverse": `{"from": {"label": "User", "property": "id", "value": 1}, "edges": ["KNOWS"], "hops": 1}`, "/v1/vertices": `{"from": {"label": "User", "property": "id", "value": 1}}`}[path]
		if method == "POST" && body == "" {
			body = "{}"
		}
		w := ask(method, path, body, "If-None-Match", `"none"`)
		require.Less(t, w.Code, 300, "%s: %s", path, w.Body)
		tag := w.Header().Get("ETag")
		require.NotEmpty(t, tag, path)
		require.Equal(t, http.StatusNotModified, ask(method, path, body, "If-None-Match", tag).Code, path)
		run("CREATE (:Other {name: 'x'})")
		require.Equal(t, http.StatusNotModified, ask(method, path, body, "If-None-Match", tag).Code, path)
		run("MATCH (n:User {id: 1}) SET n:New, n.name = 'Eve' REMOVE n:New WITH n CREATE (n)-[:KNOWS]->(:User {id: 3})")
		w = ask(method, path, body, "If-None-Match", tag)
		require.Less(t, w.Code, 300, path)
		require.NotEqual(t, tag, w.Header().Get("ETag"), path)
	}
	require.NotEmpty(t, ask("GET", "/v1/op/names", "").Header().Get("ETag"))
	require.Empty(t, ask("POST", "/v1/query", `{"statement": "RETURN datetime()"}`, "If-None-Match", `""`).Header().Get("ETag"))
	require.Empty(t, ask("POST", "/v1/query", text, "If-None-Match", `""`, staleHeader, "10").Header().Get("ETag"))
}

// asker returns a function that sends requests with headers to a server of its own, and one that runs a statement there.
func asker(t *testing.T) (ask func(method, path, body string, header ...string) *httptest.ResponseRecorder, run func(text string)) {
	h := newHTTP(newLocal(t), query.Options{}, Options{})
	ask = func(method, path, body string, header ...string) *httptest.ResponseRecorder {
		r := newRequest(method, path, body)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	run = func(text string) {
		require.Equal(t, http.StatusOK, ask("POST", "/v1/query", `{"statement": "`+text+`"}`).Code)
	}
	return ask, run
}

// A fetch has a weak tag, as its answer tells its time, until a commit changes what one of its plans may read.
func TestConditionsOfFetches(t *testing.T) {
	ask, run := asker(t)
	run("CREATE (:User {id: 1, name: 'Ann'})-[:KNOWS]->(:User {id: 2})")
	run(`CALL db.operations.put('// name: users\\n// route: get\\n{\"User[]\": {\"count\": 0, \"User\": {}}}')`)
	for _, path := range []string{"POST /get", "POST /get/User[]", "POST /head", "POST /gets", "POST /heads", "POST /get Arrow", "POST /get?operation=users", "POST /v1/op/users", "GET /v1/op/users"} {
		method, path, _ := strings.Cut(path, " ")
		path, arrow, _ := strings.Cut(path, " ")
		body := map[string]string{
			"/get": `{"User[]": {"count": 0, "User": {}, "User:f[]": {"hop": ">KNOWS", "User:f": {}}}}`, "/get/User[]": `{"User": {}}`, "/head": `{"User": {}}`, "/heads": `{"User": {}}`,
			"/gets": `{"User": {"id": 1}}`, "/get?operation=users": "{}", "/v1/op/users": "{}",
		}[path]
		accept := "application/json"
		if arrow != "" {
			accept = mediaArrow
		}
		get := func(none string) *httptest.ResponseRecorder {
			return ask(method, path, body, "If-None-Match", none, "Accept", accept)
		}
		tag := ""
		for _, change := range []string{"RETURN 1", "CREATE (:User {id: 9})-[:KNOWS]->(:User {id: 10})", "MATCH (n:User) WHERE n.id > 8 DETACH DELETE n", "MATCH (n:User {id: 1}) SET n.name = 'Eve' CREATE (:User {id: 3})"} {
			run(change)
			w := get(tag)
			require.Equal(t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
			require.NotEmpty(t, w.Body.String())
			require.NotEqual(t, tag, w.Header().Get("ETag"), path)
			tag = w.Header().Get("ETag")
			require.True(t, strings.HasPrefix(tag, "W/"), path)
			for range 2 {
				w = get(`"x", ` + tag)
				require.Equal(t, http.StatusNotModified, w.Code, path)
				require.Empty(t, w.Body.String())
				require.Equal(t, tag, w.Header().Get("ETag"))
				run("CREATE (:Other {name: 'x'})")
			}
		}
	}
	for _, body := range []string{`{"None": {}}`, `{"User": {"@explain": true}}`, `{"User[]": {"User": {"@near": {"property": "v", "vector": [0, 1]}}}}`, `{"@explain": true, "User[]": {"User": {}}}`, `{"User": {"@column": "id;now():n"}}`, `{"User": {"id": {}}}`} {
		w := ask("POST", "/get", body, "If-None-Match", `""`)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.Empty(t, w.Header().Get("ETag"), w.Body)
	}
	const user = `{"User": {"id": 1}}`
	require.Empty(t, ask("POST", "/get", user).Header().Get("ETag"), "nobody asks")
	require.Empty(t, ask("POST", "/get", user, "If-None-Match", `""`, staleHeader, "10").Header().Get("ETag"))
	require.Empty(t, ask("POST", "/put", `{"User": {"id": 1, "name": "x"}}`, "If-None-Match", `""`).Header().Get("ETag"))
}
