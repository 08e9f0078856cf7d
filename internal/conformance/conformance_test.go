package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// write creates a file.
func write(t *testing.T, parts ...string) string {
	path := filepath.Join(parts...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("{\"id\": 1}\n{\"id\": 2}\n"), 0o600))
	return path
}

// Each suite is found in the first place that has it: the folder of the variable alone, the one beside the module, the cache.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Dir(write(t, dir, "module", "a", "b", "file"))
	write(t, dir, "module", "go.mod")
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("HOPGATE_CONFORMANCE", "")
	t.Chdir(inside)
	_, err := OpenCypher.Path()
	require.ErrorContains(t, err, "run make conformance")

	cache, err := Cache()
	require.NoError(t, err)
	cached := write(t, cache, OpenCypher.path)
	path, err := OpenCypher.Path()
	require.NoError(t, err)
	require.Equal(t, cached, path)

	beside := write(t, dir, "shared", OpenCypher.path)
	path, err = OpenCypher.Path()
	require.NoError(t, err)
	require.Equal(t, beside, path)
	require.Len(t, Cases[struct{ ID int }](t, OpenCypher), 2)

	t.Setenv("HOPGATE_CONFORMANCE", "none")
	_, err = OpenCypher.Path()
	require.Error(t, err)
	named := write(t, dir, "module", "none", OpenCypher.path)
	path, err = OpenCypher.Path()
	require.NoError(t, err)
	require.Equal(t, named, path)
}

// The summary names what ran, what is absent, and what no test reached.
func TestSummary(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOPGATE_CONFORMANCE", dir)
	log := filepath.Join(dir, "log")
	t.Setenv("HOPGATE_CONFORMANCE_LOG", log)
	line, err := Summary(strings.NewReader(""))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(line, "conformance: no suite ran; did not run openCypher (run make conformance), APIJSON ("), line)

	write(t, dir, LDBC.path)
	OpenCypher.Ran(t, "engine", 3)
	OpenCypher.Ran(t, "HTTP", 2)
	OpenCypher.Ran(t, "engine", 4)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	line, err = Summary(strings.NewReader(string(text)))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(line, "conformance: ran openCypher (engine 7, HTTP 2); did not run APIJSON ("), line)
	require.Contains(t, line, "LDBC (it is there, but no test reached it), LDBC answers (")
	require.NotContains(t, line, "\n")
	_, err = Summary(strings.NewReader("openCypher\n"))
	require.Error(t, err)
}
