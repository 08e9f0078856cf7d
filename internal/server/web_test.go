package server

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
)

// Profiles and settings are not for pages of other names; probes and metrics are for all who reach them.
func TestAdminHosts(t *testing.T) {
	r := serve(t)
	for _, c := range []struct {
		method, path, host, origin string
		status                     int
	}{
		{"GET", "/debug/settings", "localhost:6060", "", 200},
		{"PUT", "/debug/settings", "localhost:6060", "http://localhost:6060", 200},
		{"GET", "/debug/pprof/cmdline", "evil.example:6060", "", 403},
		{"PUT", "/debug/settings", "evil.example", "http://evil.example", 403},
		{"PUT", "/debug/settings", "localhost:6060", "http://evil.example", 403},
		{"GET", "/metrics", "hopgate.monitoring.svc", "", 200},
		{"GET", "/livez", "hopgate.monitoring.svc", "", 200},
	} {
		req, err := http.NewRequest(c.method, "http://"+r.addrs.Admin+c.path, strings.NewReader("{}"))
		require.NoError(t, err)
		req.Host = c.host
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, c.status, res.StatusCode, "%v %s", c, body)
	}
}

// With tokens, which no browser sends unasked, the server accepts any host.
func TestHostsWithTokens(t *testing.T) {
	g := serveGuarded(t)
	req, err := http.NewRequest("POST", "http://"+g.addrs.HTTP+"/v1/query", strings.NewReader(`{"statement": "CREATE (:A)"}`))
	require.NoError(t, err)
	req.Host = "graphs.example.com"
	req.Header.Set("Origin", "https://app.example.com")
	req.Header.Set("Authorization", "Bearer "+g.tokens[access.Admin])
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Empty(t, res.Header.Get("Access-Control-Allow-Origin"))
}

// No page can call gRPC: a browser speaks HTTP/2 only over TLS, and needs a preflight for the content type of a call.
func TestGRPCFromBrowser(t *testing.T) {
	plain := serve(t)
	_, err := http.Post("http://"+plain.addrs.GRPC+"/hopgate.v1.GraphService/Query", "application/grpc", strings.NewReader(""))
	require.Error(t, err)

	own := httptest.NewTLSServer(nil)
	defer own.Close()
	s := serveOver(t, newOracle(t), query.Options{}, Options{TLS: &tls.Config{Certificates: own.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	for method, media := range map[string]string{"POST": "text/plain", "OPTIONS": ""} {
		req, err := http.NewRequest(method, "https://"+s.addrs.GRPC+"/hopgate.v1.GraphService/Query", strings.NewReader(""))
		require.NoError(t, err)
		req.Header.Set("Origin", "https://evil.example")
		req.Header.Set("Content-Type", media)
		res, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 2, res.ProtoMajor)
		require.GreaterOrEqual(t, res.StatusCode, 400, method)
		require.Empty(t, res.Header.Get("Access-Control-Allow-Origin"))
	}
}
