package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The settings name the hosts and the origins that a server without tokens takes.
func TestWebSettings(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "--http-hosts", "graphs.example.com", "--http-origins", "https://app.example.com")
	ask := func(host, origin string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.addrs.HTTP+"/v1/query", strings.NewReader(`{"statement": "RETURN 1"}`))
		require.NoError(t, err)
		req.Host, req.Header["Origin"] = host, []string{origin}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res
	}
	res := ask("graphs.example.com", "https://app.example.com")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "https://app.example.com", res.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, http.StatusForbidden, ask("other.example.com", "https://app.example.com").StatusCode)
	require.Equal(t, http.StatusForbidden, ask("graphs.example.com", "https://other.example.com").StatusCode)
	o := run(t, nil, "hopgate", "serve", "--http-hosts", "a:1")
	require.Equal(t, 2, o.code)
	require.Contains(t, o.err, "http-hosts: must be host names without a port")
}
