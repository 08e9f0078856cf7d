package main_test

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClusterPast reads a graph over three processes as of the tokens of earlier answers, through either of two gateways, and compares the
// answers with those of then. A read that brings the token of a write through the other gateway sees it.
func TestClusterPast(t *testing.T) {
	_, gs := startCluster(t, 3, 2)
	r := rand.New(rand.NewPCG(3, 4))
	ask := func(gateway int, text, at, least string) (token, data string) {
		body, err := json.Marshal(map[string]any{"statement": text})
		require.NoError(t, err)
		target := "http://" + gs[gateway].http + "/v1/query"
		if at != "" {
			target += "?at=" + url.QueryEscape(at)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(string(body)))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		if least != "" {
			req.Header.Set("Hopgate-Snapshot", least)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { require.NoError(t, res.Body.Close()) }()
		answer, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, "%s as of %q: %s", text, at, answer)
		var rows struct{ Data json.RawMessage }
		require.NoError(t, json.Unmarshal(answer, &rows))
		token = res.Header.Get("Hopgate-Snapshot")
		if token == "" {
			token = res.Trailer.Get("Hopgate-Snapshot")
		}
		require.NotEmpty(t, token)
		return token, string(rows.Data)
	}
	type moment struct {
		token   string
		answers []string // to the reads
	}
	var moments []moment
	for n := range 60 {
		writer := r.IntN(2)
		token, _ := ask(writer, clusterChanges[r.IntN(len(clusterChanges))], "", "")
		m := moment{token: token}
		for _, read := range clusterReads {
			_, data := ask(1-writer, read, "", token)
			m.answers = append(m.answers, data)
		}
		moments = append(moments, m)
		for range 3 {
			old := moments[r.IntN(n+1)]
			i := r.IntN(len(clusterReads))
			_, data := ask(r.IntN(2), clusterReads[i], old.token, "")
			require.Equal(t, old.answers[i], data, "%s, %d changes later", clusterReads[i], n)
		}
	}
}
