package main_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tokens of the callers in newRuled.
const (
	rootToken = "token of root"
	annToken  = "token of ann"
)

// clerk are the rules of a caller who sees and changes all but what is hidden.
var clerk = []string{
	"GRANT MATCH {*} ON HOME GRAPH TO clerk",
	"GRANT WRITE ON HOME GRAPH TO clerk",
	"DENY TRAVERSE ON HOME GRAPH ELEMENTS Hidden TO clerk",
	"DENY TRAVERSE ON HOME GRAPH FOR (n) WHERE n.hidden = $claims.yes TO clerk",
	"DENY TRAVERSE ON HOME GRAPH FOR ()-[r]-() WHERE r.hidden = $claims.yes TO clerk",
	"DENY READ {hidden, veil} ON HOME GRAPH TO clerk",
}

// writeTokens writes a tokens file of callers, each with what its entry has beside its name and its token.
func writeTokens(t *testing.T, file string, callers map[string]string) {
	tokens := "tokens:\n"
	for name, more := range callers {
		tokens += fmt.Sprintf("  - {name: %s, sha256: %x, %s}\n", name, sha256.Sum256([]byte("token of "+name)), more)
	}
	require.NoError(t, os.WriteFile(file, []byte(tokens), 0o600))
}

// newRuled returns a server of one process and a cluster whose graph has more than that of the server, which its caller does not see.
func newRuled(t *testing.T) *both {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	writeTokens(t, file, map[string]string{"root": "role: admin", "ann": "roles: [clerk], claims: {yes: true}"})
	b := &both{t: t, one: start(t, filepath.Join(t.TempDir(), "data"))}
	b.ss, _ = startCluster(t, 3, 0)
	for range 2 {
		g := &process{t: t, http: freeAddress(t), grpc: freeAddress(t)}
		g.args = []string{
			"gateway", "--join", b.ss[0].grpc + "," + b.ss[1].grpc + "," + b.ss[2].grpc, "--http", g.http, "--grpc", g.grpc, "--admin", "127.0.0.1:0",
			"--memory", "256MiB", "--query-timeout", "5m", "--tx-idle-timeout", "5m", "--tokens-file", file,
		}
		g.start()
		b.gs = append(b.gs, g)
		eventually(t, func() bool { return g.answersAs(rootToken) }, 20*time.Millisecond)
	}
	b.root("CREATE (:Hidden {hidden: true, veil: 1})-[:Hidden]->(:Hidden)")
	for _, statement := range clerk {
		b.root(statement)
	}
	b.token = annToken
	b.reset = func() { b.root("MATCH (n) DETACH DELETE n") }
	b.hide = func() {
		for _, label := range b.root("CALL db.labels() YIELD label WHERE label <> 'Hidden' RETURN label") {
			name := "`" + label.([]any)[0].(string) + "`"
			b.root("MATCH (n:" + name + ") WITH n LIMIT 3 CREATE (h:" + name + ":Hidden) SET h = properties(n), h.id = 'h' + toString(n.id)")
			b.root("MATCH (n:" + name + ") WITH n LIMIT 3 CREATE (h:" + name + " {hidden: true}) SET h += properties(n), h.id = 'i' + toString(n.id)")
		}
		b.root("UNWIND range(1, 3) AS i CREATE (:Hidden {name: 'a', num: i}), ({hidden: true, name: 'a', num: i})")
		for _, typ := range b.root("CALL db.relationshipTypes() YIELD relationshipType AS t WHERE t <> 'Hidden' RETURN t") {
			name := "`" + typ.([]any)[0].(string) + "`"
			b.root("MATCH (h:Hidden), (i {hidden: true}) WITH h, i LIMIT 3 CREATE (h)-[:" + name + "]->(i), (i)-[:" + name + " {hidden: true}]->(h)")
		}
		b.root("MATCH (n) SET n.veil = 1")
	}
	return b
}

// answersAs reports whether a process answers a statement of the caller with a token.
func (p *process) answersAs(token string) bool {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+p.http+"/v1/query", strings.NewReader(`{"statement": "RETURN 1"}`))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode < http.StatusMultipleChoices
}

// root runs a statement in the cluster as one who sees all, and returns its rows.
func (b *both) root(statement string) []any {
	caller := b.token
	defer func() { b.token = caller }()
	b.token = rootToken
	_, rows, code := b.run(b.gateway(), statement, nil)
	require.Empty(b.t, code, statement)
	return rows
}

// A caller under rules gets from each gateway of a cluster the answers of a server whose graph has only what the caller may see.
func TestClusterRules(t *testing.T) {
	b := newRuled(t)
	require.NotEmpty(t, b.root("MATCH (n) RETURN n"))
	_, rows, _ := b.run(b.gateway(), "MATCH (n) RETURN n", nil)
	require.Empty(t, rows)
	t.Run("statements", func(t *testing.T) {
		b.t = t
		b.scripts()
	})
	t.Run("conformance", func(t *testing.T) {
		b.t = t
		b.conformance("cluster under rules")
	})
	t.Run("fetches", func(t *testing.T) {
		b.t = t
		b.fetches()
	})
}
