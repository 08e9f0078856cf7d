package httpapi

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
)

// A browser sends no token with a preflight: it is answered without one, the request itself is not.
func TestPreflightWithTokens(t *testing.T) {
	token, entry := access.NewToken("ann", access.Reader)
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	require.NoError(t, os.WriteFile(path, []byte("tokens:\n"+entry), 0o600))
	auth, err := access.New(access.Options{TokensFile: path}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	web, err := access.NewWeb("https://app.example.com", "")
	require.NoError(t, err)
	h := newHTTP(newOracle(t), query.Options{}, Options{}, request.Host{Auth: auth, Web: web})
	ask := func(request string) (status int, allowed string) {
		res := do(t, h, request)
		defer res.Body.Close()
		return res.StatusCode, res.Header.Get("Access-Control-Allow-Origin")
	}
	const allowed, foreign = "\nHost: graphs.example.com\nOrigin: https://app.example.com", "\nHost: graphs.example.com\nOrigin: https://evil.example"
	const preflight = "\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: authorization"
	const body = "\n\n" + `{"statement": "RETURN 1"}`
	for _, c := range []struct {
		request, allowed string
		status           int
	}{
		{"OPTIONS /v1/query" + allowed + preflight, "https://app.example.com", http.StatusNoContent},
		{"OPTIONS /v1/query" + foreign + preflight, "", http.StatusMethodNotAllowed},
		{"POST /v1/query" + allowed + body, "https://app.example.com", http.StatusUnauthorized},
		{"POST /v1/query" + allowed + "\nAuthorization: Bearer " + token + body, "https://app.example.com", http.StatusOK},
		{"POST /v1/query" + foreign + "\nAuthorization: Bearer " + token + body, "", http.StatusOK},
	} {
		status, origin := ask(c.request)
		require.Equal(t, c.status, status, c.request)
		require.Equal(t, c.allowed, origin, c.request)
	}
}
