package main_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
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
	ask := func(caller, path, body string) string { return s.askAs("token of "+caller, path, body) }
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

// Names are unique only within their issuer: a subject of JSON Web Tokens is not the caller of the same name in the tokens file. The access
// rules say whose names are keys of vertices, if both name callers.
func TestFetchCallerOfIssuer(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	mux := http.NewServeMux()
	issuer := httptest.NewServer(mux)
	defer issuer.Close()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	require.NoError(t, err)
	issued, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: issuer.URL, Subject: "1", Audience: jwt.Audience{"hopgate"}, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour)),
	}).Claims(map[string]any{"roles": []string{"fetcher"}}).Serialize()
	require.NoError(t, err)

	dir := t.TempDir()
	tokens, rules := filepath.Join(dir, "tokens.yaml"), filepath.Join(dir, "rules.yaml")
	file := "tokens:\n"
	for name, role := range map[string]string{"1": "fetcher", "root": "admin"} {
		sum := sha256.Sum256([]byte(name))
		file += fmt.Sprintf("  - {name: %q, sha256: %s, role: %s}\n", name, hex.EncodeToString(sum[:]), role)
	}
	require.NoError(t, os.WriteFile(tokens, []byte(file), 0o600))
	args := []string{filepath.Join(dir, "data"), "--tokens-file", tokens, "--fetch-access", rules, "--oidc-issuer", issuer.URL, "--oidc-audience", "hopgate"}
	for _, c := range []struct{ owner, owns, other string }{{"tokens", "1", issued}, {issuer.URL, issued, "1"}} {
		require.NoError(t, os.WriteFile(rules, []byte("issuer: "+c.owner+fetchAccess), 0o600))
		s := start(t, args[0], args[1:]...)
		for _, statement := range []string{
			"CREATE CONSTRAINT IF NOT EXISTS FOR (u:User) REQUIRE u.id IS UNIQUE", "CREATE CONSTRAINT IF NOT EXISTS FOR (m:Moment) REQUIRE m.id IS UNIQUE",
			"MERGE (:User {id: 1, phone: 11, contactIdList: []})", "MERGE (:Moment {id: 10, userId: 1})",
		} {
			require.NotContains(t, s.askAs("root", "/v1/query", `{"statement": "`+statement+`"}`), "errors")
		}
		require.Contains(t, s.askAs(c.owns, "/get", `{"User": {"id": 1, "@role": "OWNER"}}`), `"phone":11`)
		require.Contains(t, s.askAs(c.owns, "/put", `{"User": {"id": 1, "name": "Ann", "@role": "OWNER"}}`), `"code":200`)
		require.Contains(t, s.askAs(c.other, "/get", `{"Moment": {"id": 10}}`), `"userId":1`, "it is LOGIN")
		for _, request := range [][2]string{
			{"/get", `{"User": {"id": 1, "@role": "OWNER"}}`},
			{"/get", `{"Moment": {"id": 10, "@role": "CIRCLE"}}`},
			{"/put", `{"User": {"id": 1, "name": "Eve", "@role": "OWNER"}}`},
			{"/post", `{"Moment": {"id": 11, "@role": "OWNER"}}`},
			{"/delete", `{"Moment": {"id": 10, "@role": "OWNER"}}`},
		} {
			require.Contains(t, s.askAs(c.other, request[0], request[1]), "needs a caller of the issuer that the rules name", request)
		}
		require.Zero(t, s.stop(syscall.SIGTERM))
	}
	for _, line := range []string{"", "issuer: https://other.example"} {
		require.NoError(t, os.WriteFile(rules, []byte(line+fetchAccess), 0o600))
		out := run(t, nil, "hopgate", append([]string{"serve", "--data-dir"}, args...)...)
		require.Equal(t, 2, out.code)
		require.Contains(t, out.err, "issuer: must be one of")
	}
}

// askAs posts a body with a bearer token and returns the answer's text.
func (s *server) askAs(token, path, body string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addrs.HTTP+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return string(text)
}
