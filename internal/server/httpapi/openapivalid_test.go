package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// exchanges are requests of every route, in order, with the status of the answer. @ is the id of the last transaction.
const exchanges = `
POST /v1/query {"statement": "CREATE (:User {id: 1, name: 'Ann'})-[:KNOWS {since: 2}]->(:User {id: 2}), (:Moment {id: 10, userId: 1})"} 200
POST /v1/query {"statement": "CREATE CONSTRAINT FOR (u:User) REQUIRE u.id IS UNIQUE"} 200
POST /v1/query {"statement": "CREATE CONSTRAINT FOR (m:Moment) REQUIRE m.id IS UNIQUE"} 200
POST /v1/query {"statement": "MATCH p = (n)-[r]->(m) RETURN n, r, p, [1, 2.5, null], {a: date('2020-01-01')}"} 200
POST /v1/query {"statement": "PROFILE MATCH (n:User) RETURN count(n)", "maxRows": 1} 200
POST /v1/query {"statement": "MATCH"} 400
POST /v1/query {"statement": "RETURN 1", "graph": "none"} 404
POST /v1/query {"statement": "CALL db.operations.put($text)", "parameters": {"text": "// name: by_id\n// param: id :: INTEGER\nMATCH (n:User {id: $id}) RETURN n.id"}} 200
POST /v1/query?at=- {"statement": "RETURN 1"} 400
POST /v1/query {"statement": "RETURN 1", "at": "-"} 400
POST /get?at=- {"User": {"id": 1}} 200
POST /v1/query {"statement": "MATCH (n:User) RETURN n ORDER BY n.id", "pageSize": 1} 400
POST /v1/query {"statement": "MATCH (n:User) RETURN n ORDER BY n.id", "pageToken": "x", "bookmarks": []} 400
POST /get?pageSize=1&pageToken=x {"User[]": {"User": {}}} 200
POST /v1/traverse {"from": {"label": "User", "property": "id", "value": 1}, "edges": ["KNOWS"], "hops": 1, "at": "-"} 400
POST /v1/query {"operation": "by_id", "parameters": {"id": 1}} 200
POST /v1/query {"hash": "none"} 404
POST /v1/op/by_id {"id": 1} 200
POST /v1/op/by_id {"id": "x", "y": 1} 400
GET /v1/op/by_id?id=1  200
GET /v1/op/by_id?id=x  400
GET /v1/op/none  404
POST /v1/query {"statement": "CALL db.operations.put($text)", "parameters": {"text": "// name: user\n// route: get\n// param: id :: INTEGER\n{\"User\": {\"id\": {\"$param\": \"id\"}}}\n// name: new_user\n// route: post\n// param: id :: INTEGER\n{\"User\": {\"id\": {\"$param\": \"id\"}}}"}} 200
POST /v1/op/user {"id": 1} 200
GET /v1/op/user?id=1  200
POST /v1/op/user {} 400
POST /v1/op/new_user {"id": 1} 409
POST /get?operation=user {"id": 1} 200
POST /get?hash=none {"id": 1} 200
GET /v1/op  200
POST /db/default/query/v2 {"statement": "MATCH (n:User) RETURN n", "includeCounters": true} 202
POST /db/default/query/v2 {"statement": "RETURN nope"} 400
POST /db/default/query/v2/tx {"statement": "RETURN 1"} 202
POST /db/default/query/v2/tx/@ {"statement": "RETURN 2"} 202
POST /db/default/query/v2/tx/@/commit {} 202
POST /db/default/query/v2/tx {} 202
DELETE /db/default/query/v2/tx/@  200
POST /db/default/query/v2/tx/@ {"statement": "RETURN 2"} 404
POST /db/default/tx/commit {"statements": [{"statement": "MATCH (n:User) RETURN n", "resultDataContents": ["row", "graph"], "includeStats": true}]} 200
POST /db/default/tx/commit {"statements": [{"statement": "RETURN nope"}]} 200
POST /db/none/tx/commit {} 404
POST /db/default/tx {"statements": [{"statement": "RETURN 1"}]} 201
POST /db/default/tx/@ {"statements": []} 200
POST /db/default/tx/@/commit {"statements": [{"statement": "RETURN 1"}]} 200
POST /db/default/tx {} 201
DELETE /db/default/tx/@  200
POST /db/default/tx/@ {} 404
GET /v1/changes?wait=0s  400
GET /v1/changes?wait=soon  400
GET /v1/changes?graph=none&wait=0s  404
GET /openapi.json  200
GET /v1/queries  200
DELETE /v1/queries/77  404
GET /v1/slowlog  200
GET /v1/slowlog?limit=0  400
GET /v1/top?intervalMs=100  200
GET /v1/top?intervalMs=1  400
GET /v1/metrics  200
GET /v1/shards  200
GET /v1/shards?graph=none  404
GET /v1/members  200
POST /v1/members?address=d:9190  200
DELETE /v1/members/1  204
POST /v1/members/1/replace  200
POST /v1/shards/4/replicas/1/move/2  200
POST /v1/shards/4/lead/5  204
POST /v1/shards/70000/lead/5  400
GET /v1/profile?seconds=1&statement=none  200
GET /v1/demo/person.csv?persons=5  200
GET /v1/demo/none.csv  404
POST /mcp {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get-schema", "arguments": {}}} 200
POST /mcp {"jsonrpc": "2.0", "method": "notifications/initialized"} 202
POST /mcp?graph=default&profile=rag {"nonsense": 1} 400
GET /v1/schema  200
GET /v1/schema?graph=none  404
PUT /v1/test/procedures {"procedures": []} 204
POST /v1/traverse {"from": {"label": "User", "property": "id", "value": 1}, "edges": ["KNOWS"], "hops": 1} 200
POST /v1/path {"from": {"label": "User", "property": "id", "value": 1}, "to": {"label": "User", "property": "id", "value": 2}, "edges": ["KNOWS"]} 200
POST /v1/subgraph {"from": {"label": "User", "property": "id", "value": 1}, "hops": 1} 200
POST /v1/vertices {"from": {"label": "User", "property": "id", "value": 1}} 200
POST /v1/edges {"edges": []} 400
POST /get {"User": {"id": 1}, "[]": {"count": 2, "query": 2, "User": {}, "Moment[]": {"Moment": {"userId@": "[]/User/id"}}}, "n": 1} 200
POST /get {"f[]": {"hop": ">KNOWS", "start": 1, "KNOWS": {}, "User": {}}, "total@": "/f[]/total"} 200
POST /get {"User": {"id>": {}}} 200
POST /get/User[] {"User": {}} 200
POST /head {"User": {}} 200
POST /head/User {"id": 1} 200
POST /gets {"User": {"id": 1}} 200
POST /gets/User {"id": 1} 200
POST /heads {"User": {"id": 1}} 200
POST /heads/User {"id": 1} 200
POST /post {"Moment[]": [{"id": 11}, {"userId": 1}], "KNOWS": {"from": {"User": 2}, "to": {"User": 1}}} 200
POST /post/Moment {"id": 10} 200
POST /put {"Moment": {"id": 11, "userId+": 1}} 200
POST /put/Moment {"id": 11, "userId": 2} 200
POST /delete {"Moment": {"id{}": [10, 11]}} 200
POST /delete/Moment {"id": 12} 200
`

// The document is valid OpenAPI, and real exchanges conform to it: requests, statuses and answers.
func TestOpenAPIExchanges(t *testing.T) {
	ctx := context.Background()
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(ctx))
	router, err := legacy.NewRouter(doc)
	require.NoError(t, err)
	store := &replicated{Store: newOracle(t)}
	h := newHTTP(store, query.Options{}, Options{TestProcedures: true}, request.Host{Store: store})
	opts := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("openapi.json", raw))
	used := map[string]bool{}
	tx := ""
	for line := range strings.Lines(strings.TrimSpace(exchanges)) {
		line = strings.TrimSpace(line)
		method, rest, _ := strings.Cut(line, " ")
		path, rest, _ := strings.Cut(rest, " ")
		at := strings.LastIndexByte(rest, ' ')
		body, status := rest[:max(at, 0)], rest[at+1:]
		if i := strings.Index(path, "@"); i >= 0 {
			path = path[:i] + tx + path[i+1:]
		}
		request := func() *http.Request {
			return newRequest(method, path, body)
		}
		asked := request()
		route, params, err := router.FindRoute(asked)
		require.NoError(t, err, line)
		used[route.Method+" "+route.Path] = true
		in := &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: route, Options: opts}
		require.NoError(t, openapi3filter.ValidateRequest(ctx, in), line)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request())
		answer := w.Body.String()
		require.Equal(t, status, strconv.Itoa(w.Code), "%s: %s", line, answer)
		requireAnswer(t, c, route, w, line)
		if _, id, ok := strings.Cut(answer, `"transaction":{"id":"`); ok {
			tx, _, _ = strings.Cut(id, `"`)
		} else if _, id, ok := strings.Cut(answer, "/tx/"); ok {
			tx, _, _ = strings.Cut(id, "/")
		}
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			require.True(t, used[method+" "+path], "no exchange of %s %s", method, path)
			if strings.HasPrefix(path, "/get") {
				content := item.Post.Responses.Status(http.StatusOK).Value.Content
				require.Contains(t, content, mediaArrow, path)
				require.Contains(t, content, mediaParquet, path)
			}
		}
	}
}

// requireAnswer holds an answer against the operation's response of its status and type.
func requireAnswer(t *testing.T, c *jsonschema.Compiler, route *routers.Route, w *httptest.ResponseRecorder, line string) {
	name := strconv.Itoa(w.Code)
	res := route.Operation.Responses.Status(w.Code)
	if res == nil {
		name, res = "default", route.Operation.Responses.Default()
	}
	require.NotNil(t, res, "%s: status %d", line, w.Code)
	if len(res.Value.Content) == 0 {
		require.Empty(t, w.Body.String(), line)
		return
	}
	media, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	require.Contains(t, res.Value.Content, media, line)
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace
	at := "#/paths/" + escape(route.Path) + "/" + strings.ToLower(route.Method) + "/responses/" + name
	if res.Ref != "" {
		at = res.Ref
	}
	if media != wire.MediaPlain {
		require.NotEmpty(t, media, line)
		return
	}
	schema, err := c.Compile("openapi.json" + at + "/content/" + escape(media) + "/schema")
	require.NoError(t, err, line)
	body, err := jsonschema.UnmarshalJSON(w.Body)
	require.NoError(t, err, line)
	require.NoError(t, schema.Validate(body), "%s", line)
}
