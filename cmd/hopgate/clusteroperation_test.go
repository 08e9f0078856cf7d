package main_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// callOperation calls a trusted operation and returns the status and the answer.
func callOperation(t *testing.T, address, name, params string) (status int, answer string) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+address+"/v1/op/"+name, strings.NewReader(params))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(out)
}

// What is put, changed, disabled and dropped through one gateway of a cluster holds at the next call through the other one, without a wait.
// A backup has the operations, and so has what is restored of it: a cluster and a single server.
func TestClusterOperations(t *testing.T) {
	_, gs := startCluster(t, 3, 2)
	file := filepath.Join(t.TempDir(), "people.cypher")
	put := func(g *process, text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		g.graphctl("operation", "put", file)
	}
	calls := func(address, params, want string, code int) {
		t.Helper()
		got, answer := callOperation(t, address, "people", params)
		require.Equal(t, code, got, answer)
		require.Contains(t, answer, want)
	}
	gs[0].graphctl("query", "UNWIND range(1, 9) AS i CREATE (:Person {id: i})")
	for round := range 5 {
		by, other := gs[round%2], gs[1-round%2]
		put(by, "// name: people\n// param: below :: INTEGER\nMATCH (p:Person) WHERE p.id < $below RETURN count(p) AS n")
		calls(other.http, `{"below": 5}`, `[[4]]`, http.StatusOK)
		calls(by.http, `{"below": 5}`, `[[4]]`, http.StatusOK)
		put(by, "// name: people\n// param: above :: INTEGER\nMATCH (p:Person) WHERE p.id > $above RETURN count(p) AS n")
		calls(other.http, `{"above": 4}`, `[[5]]`, http.StatusOK)
		calls(other.http, `{"below": 5}`, `$above is missing`, http.StatusBadRequest)
		other.graphctl("operation", "disable", "people")
		calls(by.http, `{"above": 4}`, "OperationDisabled", http.StatusForbidden)
		by.graphctl("operation", "enable", "people")
		calls(other.http, `{"above": 4}`, `[[5]]`, http.StatusOK)
		by.graphctl("operation", "drop", "people")
		calls(other.http, `{"above": 4}`, "NoSuchOperation", http.StatusNotFound)
	}

	put(gs[0], "// name: people\n// description: How many there are.\n// role: support\n// param: below :: INTEGER = 3\nMATCH (p:Person) WHERE p.id < $below RETURN count(p) AS n\n// name: off\nRETURN 1 AS one")
	gs[0].graphctl("operation", "disable", "off")
	shown := func(graphctl func(...string) string) string {
		return graphctl("operation", "list", "-o", "json") + graphctl("operation", "show", "people", "-o", "json")
	}
	want := shown(gs[1].graphctl)
	require.Contains(t, want, "disabled")
	dest := filepath.Join(t.TempDir(), "backups")
	gs[1].graphctl("backup", dest)

	single := filepath.Join(t.TempDir(), "single")
	o := run(t, nil, "graphctl", "restore", dest, "--data-dir", single)
	require.Zero(t, o.code, o.err)
	s := start(t, single)
	require.Equal(t, want, shown(s.graphctl))
	calls(s.addrs.HTTP, "{}", `[[2]]`, http.StatusOK)
	require.Zero(t, s.stop(syscall.SIGTERM))
	s = start(t, single)
	require.Equal(t, want, shown(s.graphctl), "it outlives a restart")

	dirs := make([]string, 3)
	for no := range dirs {
		dirs[no] = filepath.Join(t.TempDir(), "back")
		o := run(t, nil, "graphctl", "restore", dest, "--data-dir", dirs[no], "--replicas", "1", "--processes", "3", "--process", strconv.Itoa(no))
		require.Zero(t, o.code, o.err)
	}
	_, back := startClusterIn(t, dirs, 1, "--replicas", "1")
	require.Equal(t, want, shown(back[0].graphctl))
	calls(back[0].http, "{}", `[[2]]`, http.StatusOK)
}
