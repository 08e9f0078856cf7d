package console

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/version"
)

func ask(t *testing.T, path string, header ...string) *http.Response {
	c, err := New()
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w.Result()
}

// Files go out with the policy, compressed where the client takes it, and not at all where the client has them.
func TestFiles(t *testing.T) {
	for path, media := range map[string]string{
		"/": "text/html", "/console/": "text/html", "/console/main.js": "text/javascript", "/console/style.css": "text/css", "/console/icon.svg": "image/svg+xml",
	} {
		plain := ask(t, path)
		want, err := io.ReadAll(plain.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, plain.StatusCode, path)
		require.True(t, strings.HasPrefix(plain.Header.Get("Content-Type"), media), path)
		require.Equal(t, policy, plain.Header.Get("Content-Security-Policy"), path)
		require.Empty(t, plain.Header.Get("Content-Encoding"), path)
		require.Empty(t, plain.Header.Get("Set-Cookie"), path)

		packed := ask(t, path, "Accept-Encoding", "br, gzip;q=0.5")
		if path != "/console/icon.svg" { // which is too small
			require.NotEqual(t, plain.Header.Get("ETag"), packed.Header.Get("ETag"))
			r, err := gzip.NewReader(packed.Body)
			require.NoError(t, err, path)
			got, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Equal(t, want, got, path)
		}
		again := ask(t, path, "If-None-Match", plain.Header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.StatusCode)
		require.Equal(t, policy, again.Header.Get("Content-Security-Policy"), path)
		require.Empty(t, ask(t, path, "Accept-Encoding", "gzip;q=0").Header.Get("Content-Encoding"))
	}
	page, err := io.ReadAll(ask(t, "/").Body)
	require.NoError(t, err)
	require.Contains(t, string(page), "Hopgate <small>"+version.Number+"</small>")
	require.Equal(t, http.StatusNotFound, ask(t, "/console/none.js").StatusCode)
	require.Equal(t, http.StatusNotFound, ask(t, "/console/../console.go").StatusCode)
}

func TestWanted(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/html,application/xhtml+xml,*/*;q=0.8": true, "*/*": false, "": false, "application/json": false, "application/json, text/html;q=0.9": true,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept", accept)
		require.Equal(t, want, Wanted(r), accept)
	}
}

// mostBytes is the size of everything the browser loads at first.
const mostBytes = 150 << 10

// All files together stay small, and their imports exist on this server.
func TestSources(t *testing.T) {
	c, err := New()
	require.NoError(t, err)
	size := 0
	imported := regexp.MustCompile(`(?m)(?:from|import) "([^"]+)"`)
	for name, f := range c.files {
		require.NotEmpty(t, f.media, name)
		if f.packed != nil {
			packed, err := f.packed()
			require.NoError(t, err)
			size += len(packed)
		}
		for _, m := range imported.FindAllSubmatch(f.plain, -1) {
			require.NotNil(t, c.files[strings.TrimPrefix(string(m[1]), "./")], "%s imports %s", name, m[1])
		}
		require.False(t, bytes.Contains(f.plain, []byte("innerHTML")), name)
	}
	require.Less(t, size, mostBytes)
}

// The pure modules hold their unit tests under Node; the browser test runs the same ones.
func TestUnits(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node")
	}
	names, err := filepath.Glob("testdata/*_test.js")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	out, err := exec.Command(node, "--test", "testdata/run.mjs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "# pass 0")
}
