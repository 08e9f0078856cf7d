package httpapi

import (
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// Statements, traversals, fetches and transactions read the moment of the URL or of their body.
func TestAsOf(t *testing.T) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler), LogBytes: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	h := newHTTP(past.NewStore(store, past.DefaultBytes), query.Options{}, Options{})
	ask := func(text string) (int, string) {
		res := do(t, h, text)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	create := func(statement string) {
		code, body := ask("POST /v1/query\n\n{\"statement\": \"" + statement + "\"}")
		require.Equal(t, 200, code, body)
	}
	create("CREATE (:User {id: 1, name: 'Ann'})-[:KNOWS]->(:User {id: 2, name: 'Bob'})")
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	st, err := g.ChangeLog().LogState(t.Context())
	require.NoError(t, err)
	at := token.NewSigner(st.Key).Text(token.Token{Commit: st.Last, Time: st.LastTime})
	clock := time.Unix(0, st.LastTime).UTC().Format(time.RFC3339Nano)
	create("CALL db.operations.put('// name: names\\nMATCH (n)-->(m) RETURN m.name')")
	create("CALL db.operations.put('// name: rename\\nMATCH (n:User {id: 2}) SET n.name = 1')")
	create("CREATE SNAPSHOT then")
	create("MATCH (a:User {id: 2})<-[r]-() SET a.name = 'Eve' DELETE r")

	for _, at := range []string{at, clock, "snapshot:then"} {
		esc := url.QueryEscape(at)
		for _, request := range []string{
			`POST /v1/query?at=` + esc + "\n\n" + `{"statement": "MATCH (n)-->(m) RETURN m.name"}`,
			`POST /v1/query` + "\n\n" + `{"statement": "MATCH (n)-->(m) RETURN m.name", "at": "` + at + `"}`,
			`POST /db/neo4j/query/v2?at=` + esc + "\n\n" + `{"statement": "MATCH (n)-->(m) RETURN m.name"}`,
			`POST /v1/query` + "\n\n" + `{"statement": "USE neo4j AS OF $at MATCH (n)-->(m) RETURN m.name", "parameters": {"at": "` + at + `"}}`,
			`POST /v1/traverse?at=` + esc + "\n\n" + `{"from": {"label": "User", "property": "id", "value": 1}, "edges": ["KNOWS"], "hops": 1}`,
			`POST /v1/traverse` + "\n\n" + `{"from": {"label": "User", "property": "id", "value": 1}, "edges": ["KNOWS"], "hops": 1, "at": "` + at + `"}`,
			"POST /v1/op/names\nHopgate-At: " + at + "\n\n{}",
			"GET /v1/op/names\nHopgate-At: " + at + "\n\n",
			`POST /get?at=` + esc + "\n\n" + `{"User": {"id": 2}}`,
			`POST /db/neo4j/query/v2/tx?at=` + esc + "\n\n" + `{"statement": "MATCH (n)-->(m) RETURN m.name", "accessMode": "READ"}`,
		} {
			code, body := ask(request)
			require.Contains(t, []int{200, 202}, code, "%s: %s", request, body)
			if strings.Contains(request, "traverse") {
				require.Contains(t, body, `"values":[["v`, request)
			} else {
				require.Contains(t, body, "Bob", request)
			}
			if _, id, ok := strings.Cut(body, `"transaction":{"id":"`); ok {
				id, _, _ = strings.Cut(id, `"`)
				code, body := ask("POST /db/neo4j/query/v2/tx/" + id + "?at=" + esc + "\n\n{}")
				require.Equal(t, 400, code, body)
				code, _ = ask("DELETE /db/neo4j/query/v2/tx/" + id)
				require.Equal(t, 200, code)
			}
		}
	}
	for request, detail := range map[string]string{
		`POST /v1/query?at=` + at + "\n\n" + `{"statement": "CREATE (n)"}`:                       "cannot change it",
		`POST /v1/query?at=` + at + "\n\n" + `{"statement": "RETURN 1", "at": "` + at + `"}`:     "must be sent once",
		`POST /v1/query?at=` + "\n\n" + `{"statement": "RETURN 1"}`:                              "at: is empty",
		`POST /v1/query?at=2026` + "\n\n" + `{"statement": "USE neo4j AS OF '2026' RETURN 1"}`:   "",
		`POST /v1/query?at=AAAA` + "\n\n" + `{"statement": "RETURN 1"}`:                          "nor a token",
		"POST /v1/op/rename\nHopgate-At: " + at + "\n\n{}":                                       "cannot change it",
		"GET /v1/op/names\nHopgate-At: " + at + "\nHopgate-At: " + at + "\n\n":                   "must be sent once",
		"GET /v1/op/names\nHopgate-At: AAAA\n\n":                                                 "nor a token",
		"GET /v1/op/names\nHopgate-Snapshot: AAAA\n\n":                                           "token",
		`POST /post?at=` + at + "\n\n" + `{"User": {"id": 3}}`:                                   "cannot change it",
		`POST /db/neo4j/query/v2/tx?at=` + at + "\n\n" + `{"statement": "MATCH (n) RETURN n.k"}`: "cannot change it",
	} {
		code, body := ask(request)
		require.True(t, code >= 400 || strings.Contains(body, `"ok":false`), "%s: %s", request, body)
		require.Contains(t, body, detail, request)
	}
	present := newHTTP(newOracle(t), query.Options{}, Options{})
	res := do(t, present, `POST /v1/query?at=`+at+"\n\n"+`{"statement": "RETURN 1"}`)
	require.Equal(t, 400, res.StatusCode, "a store that only has its present")
}
