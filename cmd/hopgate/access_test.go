package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
)

// The admin listener of a shard asks for tokens as a gateway's does, and the shard says that its other listener is open.
func TestShardAsksForTokens(t *testing.T) {
	t.Parallel()
	token, entry := access.NewToken("ann", access.Admin)
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	require.NoError(t, os.WriteFile(path, []byte("tokens:\n"+entry), 0o600))
	ss, _ := startCluster(t, 2, 0, "--tokens-file", path)
	get := func(path, token string) (code int, body map[string]any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ss[1].admin+path, nil)
		require.NoError(t, err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		_ = json.NewDecoder(res.Body).Decode(&body) // profiles are no JSON
		return res.StatusCode, body
	}
	eventually(t, func() bool {
		res, err := http.Get("http://" + ss[1].admin + "/livez")
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	}, 20*time.Millisecond)
	for _, path := range []string{"/debug/settings", "/debug/pprof/cmdline", "/debug/pprof/goroutine"} {
		code, _ := get(path, "")
		require.Equal(t, http.StatusUnauthorized, code, path)
		code, _ = get(path, token)
		require.Equal(t, http.StatusOK, code, path)
	}
	_, body := get("/readyz?verbose", "")
	require.Contains(t, body["warnings"].([]any)[0], "shard-ca is not set")
	_, body = get("/readyz", "")
	require.NotContains(t, body, "warnings")
	ss[1].kill(syscall.SIGKILL)
	require.Contains(t, ss[1].log.String(), "shard-ca is not set")
}
