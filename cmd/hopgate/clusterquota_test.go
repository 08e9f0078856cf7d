package main_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// quotaLeft runs a statement over HTTP and returns the status and what is left of quotas.
func quotaLeft(t *testing.T, address string) (status int, left string) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+address+"/v1/query", strings.NewReader(`{"statement": "RETURN 1"}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	return res.StatusCode, res.Header.Get("RateLimit")
}

// Two gateways of a cluster share the amount of a quota, and see each other's changes of it. A backup has the quotas.
func TestClusterQuotas(t *testing.T) {
	_, gs := startCluster(t, 3, 2)
	put := func(g *process, amount string) {
		g.graphctl("query", "CALL db.quotas.put({name: 'calls', for: 'everyone', measure: 'requests', amount: "+amount+", window: 'day', mode: 'enforce'})")
	}
	const amount = 400
	put(gs[0], "400")
	ran := 0
	for refused := 0; refused < 2; {
		refused = 0
		for _, g := range gs {
			status, left := quotaLeft(t, g.http)
			require.Contains(t, []int{http.StatusOK, http.StatusTooManyRequests}, status)
			if status == http.StatusOK {
				if ran++; ran > 4 { // a gateway learns of the quota by its first request
					require.Contains(t, left, `"calls";r=`)
				}
				continue
			}
			refused++
		}
	}
	require.Greater(t, ran, amount/2, "a gateway gets more than its half")
	require.Less(t, ran, amount*3/2, "alone, each would let all run")
	used := func(g *process) string { return g.graphctl("query", "-o", "csv", "CALL db.quotas.list()") }
	require.Contains(t, used(gs[0]), "calls,everyone,false,requests,400.0,day,enforce,")

	put(gs[1], "100000")
	for _, g := range gs {
		require.Eventually(t, func() bool {
			status, _ := quotaLeft(t, g.http)
			return status == http.StatusOK
		}, 20*time.Second, 50*time.Millisecond)
	}
	gs[0].graphctl("query", "CALL db.quotas.drop('calls')")
	for _, g := range gs {
		require.Eventually(t, func() bool {
			_, left := quotaLeft(t, g.http)
			return left == ""
		}, 20*time.Second, 50*time.Millisecond)
	}

	put(gs[1], "7")
	dest := filepath.Join(t.TempDir(), "backups")
	gs[1].graphctl("backup", dest)
	single := filepath.Join(t.TempDir(), "single")
	o := run(t, nil, "graphctl", "restore", dest, "--data-dir", single)
	require.Zero(t, o.code, o.err)
	s := start(t, single)
	require.Contains(t, s.graphctl("query", "-o", "csv", "CALL db.quotas.list()"), "calls,everyone,false,requests,7.0,day,enforce,0,")
}
