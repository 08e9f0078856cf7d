package main_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A gateway that answers by 304 is right: whichever gateway wrote, and whichever gave the tag, the read still has the answer of that tag.
// clusterChanges are statements that change a graph of labels A, B and C and edges T, which need not have any.
var clusterChanges = []string{
	"MATCH (n:A) WITH n LIMIT 1 SET n.x = coalesce(n.x, 0) + 1", "CREATE (:B {x: 1})", "MATCH (n:B) WITH n LIMIT 1 SET n:A", "MATCH ()-[r:T]->() WITH r LIMIT 1 SET r.w = 5",
	"MATCH (a:A), (b:B) WITH a, b LIMIT 1 CREATE (a)-[:T {w: 1}]->(b)", "MATCH (n:B) WITH n LIMIT 1 DETACH DELETE n", "CREATE (:C {y: 1})", "MATCH (n:A) WITH n LIMIT 1 REMOVE n:A",
	"CREATE (:A {x: 7})", "MATCH ()-[r:T]->() WITH r LIMIT 1 DELETE r", "MATCH (n:C) WITH n LIMIT 1 SET n.y = 2", "CREATE INDEX made IF NOT EXISTS FOR (n:A) ON (n.x)", "DROP INDEX made IF EXISTS",
}

// clusterReads read it, in an order.
var clusterReads = []string{
	"MATCH (n:A) RETURN n.x ORDER BY n.x", "MATCH (n:B) RETURN count(*)", "MATCH (a:A)-[r:T]->(b) RETURN a.x, r.w, labels(b) ORDER BY a.x, r.w", "MATCH (n) RETURN count(n)",
	"MATCH (n:C) RETURN n ORDER BY n.y", "MATCH (n) WHERE n.x = 1 RETURN n.x", "MATCH (n:New) RETURN n",
}

func TestClusterUnmodified(t *testing.T) {
	_, gs := startCluster(t, 3, 2, "--response-cache", "1MiB")
	r := rand.New(rand.NewPCG(1, 2))
	ask := func(text, none string) (int, string, string) {
		body, err := json.Marshal(map[string]any{"statement": text})
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+gs[r.IntN(2)].http+"/v1/query", strings.NewReader(string(body)))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		if none != "" {
			req.Header.Set("If-None-Match", none)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, res.Header.Get("ETag"), string(answer)
	}
	changes, reads := clusterChanges, clusterReads
	tags, answers := map[string]string{}, map[string]string{}
	same := 0
	round := func(change string) {
		status, _, answer := ask(change, "")
		require.Equal(t, http.StatusOK, status, answer)
		for _, read := range reads {
			none := tags[read]
			if none == "" {
				none = `""`
			}
			status, tag, answer := ask(read, none)
			_, _, now := ask(read, "")
			switch status {
			case http.StatusNotModified:
				same++
				require.Equal(t, answers[read], now, "%s\nafter %s", read, change)
			case http.StatusOK:
				require.Equal(t, now, answer, "%s\nafter %s", read, change)
				require.NotEmpty(t, tag, read)
				tags[read], answers[read] = tag, answer
			default:
				t.Fatal(status, answer)
			}
		}
	}
	round("CREATE (:A {x: 1})-[:T {w: 1}]->(:B {x: 1}), (:C)")
	for range 40 {
		round(changes[r.IntN(len(changes))])
	}
	require.Greater(t, same, 40)
}
