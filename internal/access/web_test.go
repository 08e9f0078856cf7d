package access

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// Hosts and origins of requests, against the lists of the settings.
func TestWeb(t *testing.T) {
	web, err := NewWeb(" https://App.example.com:443 ,http://dev.example.com:3000", "graphs.example.com,*.inner.example.com")
	require.NoError(t, err)
	every, err := NewWeb("", "*")
	require.NoError(t, err)
	for _, c := range []struct {
		web          *Web
		host, origin string
		detail       string
	}{
		{nil, "localhost", "", ""},
		{nil, "localhost:8080", "http://localhost:8080", ""},
		{nil, "db.localhost:8080", "", ""},
		{nil, "127.0.0.1:8080", "http://127.0.0.1:8080", ""},
		{nil, "[::1]", "", ""},
		{nil, "[fe80::1%25eth0]:8080", "", ""},
		{nil, "10.1.2.3", "", ""},
		{nil, "graphs.example.com", "", "HostNotAllowed"},
		{nil, "", "", "HostNotAllowed"},
		{nil, "notlocalhost", "", "HostNotAllowed"},
		{nil, "127.0.0.1.evil.example", "", "HostNotAllowed"},
		{nil, "localhost:8080", "http://localhost", "OriginNotAllowed"},
		{nil, "localhost:8080", "http://127.0.0.1:8080", "OriginNotAllowed"},
		{nil, "localhost:8080", "localhost:8080", "OriginNotAllowed"},
		{nil, "localhost", "null", "OriginNotAllowed"},
		{web, "graphs.example.com:8443", "https://graphs.example.com:8443", ""},
		{web, "GRAPHS.example.com.", "", ""},
		{web, "a.inner.example.com", "", ""},
		{web, "inner.example.com", "", "HostNotAllowed"},
		{web, "evil-graphs.example.com", "", "HostNotAllowed"},
		{web, "localhost", "https://app.example.com", ""},
		{web, "localhost", "https://app.example.com:8443", "OriginNotAllowed"},
		{web, "localhost", "http://app.example.com", "OriginNotAllowed"},
		{web, "localhost", "http://dev.example.com:3000", ""},
		{web, "evil.example", "https://app.example.com", "HostNotAllowed"},
		{every, "evil.example", "", ""},
		{every, "evil.example", "http://other.example", "OriginNotAllowed"},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if err := c.web.Check(r); c.detail == "" {
			require.NoError(t, err, "%q %q", c.host, c.origin)
		} else {
			e := graph.AsError(err)
			require.Equal(t, [2]string{c.detail, "Neo.ClientError.Security.Forbidden"}, [2]string{e.Detail, e.Code}, "%q %q", c.host, c.origin)
			require.Equal(t, graph.KindDenied, e.Kind)
		}
	}
}

// Lists with meaningless entries are refused.
func TestWebLists(t *testing.T) {
	for _, origins := range []string{"*", "null", "app.example.com", "https://", "https://app.example.com/", "https://app.example.com/x", "https://a@app.example.com", "https://*.example.com"} {
		_, err := NewWeb(origins, "")
		require.ErrorContains(t, err, "http-origins: must be", origins)
		_, err = NewOrigins("bolt-origins", origins, "")
		require.ErrorContains(t, err, "bolt-origins: must be", origins)
	}
	for _, hosts := range []string{"graphs.example.com:8080", "http://graphs.example.com", "*.", "**", "a.*.example.com", "a b"} {
		_, err := NewWeb("", hosts)
		require.ErrorContains(t, err, "http-hosts", hosts)
	}
	_, err := NewWeb("", ",, localhost ,")
	require.NoError(t, err)
}

// Content types that a browser sends without a preflight must not write.
func TestWebTypes(t *testing.T) {
	for media, allowed := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "application/vnd.neo4j.query": true, "application/vnd.neo4j.query.v1.1": true,
		"": false, "text/plain": false, " TEXT/plain;x=\"": false, "multipart/form-data; boundary=a": false, "application/x-www-form-urlencoded": false,
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Content-Type", media)
		require.Equal(t, allowed, (*Web)(nil).CheckType(r) == nil, media)
	}
}
