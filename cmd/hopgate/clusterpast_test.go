package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClusterPast reads a graph over three processes as of the tokens of earlier answers, through either of two gateways, and compares the
// answers with those of then. Named snapshots are read also when the log keeps less, and after all processes have restarted. A read that brings the token of a write through the other gateway sees it.
func TestClusterPast(t *testing.T) {
	ss, gs := startCluster(t, 3, 2)
	r := rand.New(rand.NewPCG(3, 4))
	send := func(gateway int, text, at, least string) (status int, token string, answer []byte) {
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
		answer, err = io.ReadAll(res.Body)
		require.NoError(t, err)
		token = res.Header.Get("Hopgate-Snapshot")
		if token == "" {
			token = res.Trailer.Get("Hopgate-Snapshot")
		}
		return res.StatusCode, token, answer
	}
	ask := func(gateway int, text, at, least string) (token, data string) {
		status, token, answer := send(gateway, text, at, least)
		require.Equal(t, http.StatusOK, status, "%s as of %q: %s", text, at, answer)
		var rows struct{ Data json.RawMessage }
		require.NoError(t, json.Unmarshal(answer, &rows))
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
		if n%20 == 5 {
			ask(r.IntN(2), fmt.Sprintf("CREATE SNAPSHOT s%d EXPIRES 'P1D'", n), "", "")
			_, data := ask(r.IntN(2), fmt.Sprintf("SHOW SNAPSHOTS YIELD name WHERE name = 's%d' RETURN count(*)", n), "", "")
			require.Contains(t, data, "[1]")
		}
		for range 3 {
			old := moments[r.IntN(n+1)]
			i := r.IntN(len(clusterReads))
			_, data := ask(r.IntN(2), clusterReads[i], old.token, "")
			require.Equal(t, old.answers[i], data, "%s, %d changes later", clusterReads[i], n)
		}
	}
	ask(0, "DROP SNAPSHOT s5", "", "")
	for _, p := range ss {
		p.kill(syscall.SIGKILL)
	}
	for _, p := range ss {
		p.env = append(p.env, "HOPGATE_LOG_RETENTION=2KiB")
		p.start()
	}
	eventually(t, func() bool {
		for g := range gs {
			if status, _, _ := send(g, "UNWIND range(1, 100) AS i CREATE (:Later {text: 'what the log has no room for'})", "", ""); status != http.StatusOK {
				return false
			}
		}
		status, _, answer := send(0, "RETURN 1", moments[5].token, "")
		return status != http.StatusOK && strings.Contains(string(answer), "no longer in the commit log")
	}, 20*time.Millisecond)
	for g := range gs {
		for i, read := range clusterReads {
			for _, n := range []int{25, 45} {
				_, data := ask(g, read, fmt.Sprintf("snapshot:s%d", n), "")
				require.Equal(t, moments[n].answers[i], data, "%s as of snapshot s%d", read, n)
			}
		}
		status, _, answer := send(g, "RETURN 1", "snapshot:s5", "")
		require.Equal(t, http.StatusNotFound, status, "%s", answer)
	}
}
