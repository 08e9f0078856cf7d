package main_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const fetchAccess = `
contacts: {label: User, property: contactIdList}
labels:
  User:
    owner: id
    get: [UNKNOWN, LOGIN, OWNER]
    put: [OWNER]
    columns: {phone: {read: [OWNER], write: []}}
  Moment: {owner: userId, get: [LOGIN, CIRCLE], post: [OWNER], delete: [OWNER]}
edges:
  KNOWS: {get: [LOGIN], post: [OWNER], owner: from}
`

// TestFetchCaller holds access rules of fetches against callers that their tokens name, through a real server: each request
// has the code of its answer, of the statement's for /v1/query, and a text that the answer has.
func TestFetchCaller(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := "tokens:\n"
	for name, role := range map[string]string{"1": "fetcher", "2": "fetcher", "reads": "reader", "root": "admin"} {
		sum := sha256.Sum256([]byte("token of " + name))
		tokens += fmt.Sprintf("  - {name: %q, sha256: %s, role: %s}\n", name, hex.EncodeToString(sum[:]), role)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokens.yaml"), []byte(tokens), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(fetchAccess), 0o600))
	data := filepath.Join(dir, "data")
	s := start(t, data, "--tokens-file", filepath.Join(dir, "tokens.yaml"), "--fetch-access", filepath.Join(dir, "rules.yaml"))
	ask := func(caller, path, body string) string {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addrs.HTTP+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer token of "+caller)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return string(text)
	}
	for _, statement := range []string{
		"CREATE CONSTRAINT FOR (u:User) REQUIRE u.id IS UNIQUE", "CREATE CONSTRAINT FOR (m:Moment) REQUIRE m.id IS UNIQUE",
		"CREATE (a:User {id: 1, name: 'Ann', phone: 11, contactIdList: [2]}), (b:User {id: 2, name: 'Bob', phone: 22}), (a)-[:KNOWS {since: 1}]->(b), (:Moment {id: 10, userId: 1}), (:Moment {id: 20, userId: 2}), (:Moment {id: 30, userId: 3}), (:Secret {id: 1})",
	} {
		require.NotContains(t, ask("root", "/v1/query", `{"statement": "`+statement+`"}`), "errors")
	}
	const ok = `"ok":true,"code":200`
	for _, c := range []struct{ caller, path, body, want string }{
		{"1", "/get", `{"User": {"id": 2}}`, `{"User":{"id":2,"name":"Bob"},` + ok},
		{"1", "/get", `{"User": {"id": 1, "@role": "OWNER"}}`, `"phone":11`},
		{"1", "/get", `{"User": {"id": 2, "@role": "OWNER"}}`, `{` + ok},
		{"1", "/get", `{"User": {"phone": 22}}`, `"code":401`},
		{"1", "/get", `{"Moment[]": {"Moment": {"@role": "CIRCLE", "@column": "id", "@order": "id+"}}}`, `{"Moment[]":[{"id":10},{"id":20}],` + ok},
		{"2", "/get", `{"Moment[]": {"Moment": {"@role": "CIRCLE", "@column": "id", "@order": "id+"}}}`, `{"Moment[]":[{"id":20}],` + ok},
		{"1", "/get", `{"f[]": {"hop": ">KNOWS", "start": 1, "KNOWS": {}, "User": {"@column": "id"}}}`, `"User":{"id":2}`},
		{"1", "/get", `{"Secret": {"id": 1}}`, `"code":401`},
		{"root", "/get", `{"Secret": {"id": 1}, "@role": "ADMIN"}`, `"Secret":{"id":1}`},
		{"1", "/get", `{"Secret": {"id": 1}, "@role": "ADMIN"}`, `"code":401`},
		{"1", "/put", `{"User": {"id": 1, "name": "Anna", "@role": "OWNER"}}`, ok},
		{"1", "/put", `{"User": {"id": 2, "name": "Bo", "@role": "OWNER"}}`, `"code":412`},
		{"1", "/put", `{"User": {"id": 1, "phone": 3, "@role": "OWNER"}}`, `"code":401`},
		{"1", "/post", `{"Moment": {"id": 11, "userId": 1, "@role": "OWNER"}}`, ok},
		{"1", "/post", `{"Moment": {"id": 21, "userId": 2, "@role": "OWNER"}}`, `"code":401`},
		{"1", "/delete", `{"Moment": {"id": 20, "@role": "OWNER"}}`, `"code":412`},
		{"1", "/delete", `{"Moment": {"id": 11, "@role": "OWNER"}}`, ok},
		// Callers who may only fetch cannot use other routes; others can by role.
		{"1", "/v1/query", `{"statement": "RETURN 1"}`, "Security.Forbidden"},
		{"1", "/db/default/query/v2", `{"statement": "RETURN 1"}`, "Security.Forbidden"},
		{"1", "/v1/traverse", `{"from": {"label": "User", "property": "id", "value": 1}, "edges": ["KNOWS"], "hops": 1}`, "Security.Forbidden"},
		{"reads", "/v1/query", `{"statement": "MATCH (u:User {id: 2}) RETURN u.phone"}`, "22"},
		{"reads", "/post", `{"Moment": {"id": 12, "userId": 1}}`, `"code":401`},
		{"nobody", "/get", `{"User": {"id": 2}}`, `"code":407`},
	} {
		require.Contains(t, ask(c.caller, c.path, c.body), c.want, "%s %s %s", c.caller, c.path, c.body)
	}
	require.Zero(t, s.stop(syscall.SIGTERM))
	// Without rules a fetcher may do nothing.
	s = start(t, data, "--tokens-file", filepath.Join(dir, "tokens.yaml"))
	require.Contains(t, ask("1", "/get", `{"User": {"id": 1}}`), `"code":401`)
	require.Contains(t, ask("reads", "/get", `{"User": {"id": 1}}`), `"phone":11`)
	require.Zero(t, s.stop(syscall.SIGTERM))
}
