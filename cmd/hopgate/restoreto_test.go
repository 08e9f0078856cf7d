package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A backup restores to any moment that its log has: by time, all graphs, and by token, the one whose token it is. Streams of changes go on from
// a token of before, with what was undone. A moment that the log does not have restores nothing.
func TestRestoreTo(t *testing.T) {
	tmp := t.TempDir()
	s := start(t, filepath.Join(tmp, "data"), "--shards", "2")
	s.graphctl("query", "CREATE DATABASE other")
	s.graphctl("query", "CREATE CONSTRAINT n FOR (n:N) REQUIRE n.i IS UNIQUE")
	var moments, tokens, states []string
	read := func(s *server, graphName string) string {
		return s.graphctl("query", "--graph", graphName, "-o", "csv", "MATCH (n) OPTIONAL MATCH (n)-[e]->(m) RETURN n.i, labels(n), n.x, e.w, m.i ORDER BY n.i, m.i, e.w")
	}
	for i := range 6 {
		s.graphctl("query", fmt.Sprintf("CREATE (n:N {i: %d, x: 'made'}) WITH n OPTIONAL MATCH (m:N {i: %d}) FOREACH (o IN CASE WHEN m IS NULL THEN [] ELSE [m] END | CREATE (n)-[:E {w: %d}]->(o))", i, i-1, i))
		s.graphctl("query", "--graph", "other", fmt.Sprintf("CREATE (:N {i: %d})", i))
		if i == 3 {
			s.graphctl("query", "MATCH (n:N {i: 1}) DETACH DELETE n")
			s.graphctl("query", "MATCH (n:N {i: 2}) SET n:L, n.x = 7, n.y = 1")
		}
		out := s.graphctl("query", "-o", "csv", "CALL db.cdc.current() YIELD id RETURN id")
		tokens = append(tokens, strings.Fields(out)[1])
		moments = append(moments, time.Now().UTC().Format(time.RFC3339Nano))
		states = append(states, read(s, "default")+read(s, "other"))
	}
	dest := filepath.Join(tmp, "backups")
	s.graphctl("backup", dest)
	require.Zero(t, s.stop(syscall.SIGTERM))
	for i := range moments {
		back := filepath.Join(tmp, fmt.Sprint("time", i))
		o := run(t, nil, "graphctl", "restore", dest, "--data-dir", back, "--to", moments[i])
		require.Zero(t, o.code, o.err)
		s := start(t, back)
		require.Equal(t, states[i], read(s, "default")+read(s, "other"))
		require.Contains(t, s.graphctl("check"), "nothing is wrong")
		if i < 5 {
			require.Contains(t, s.graphctl("changes", "--from", tokens[i], "--once"), `"i":5`, "what was undone")
		}
		require.Zero(t, s.stop(syscall.SIGTERM))
	}
	back := filepath.Join(tmp, "token")
	o := run(t, nil, "graphctl", "restore", dest, "--data-dir", back, "--to", tokens[2])
	require.NotZero(t, o.code)
	require.Contains(t, o.err, "graph other: ")
	o = run(t, nil, "graphctl", "restore", dest, "--data-dir", back, "--to", "2001-01-01T00:00:00Z", "--to-graph", "nothere")
	require.NotZero(t, o.code)
	o = run(t, nil, "graphctl", "restore", dest, "--data-dir", back, "--to", tokens[2], "--to-graph", "default")
	require.Zero(t, o.code, o.err)
	s = start(t, back)
	require.True(t, strings.HasPrefix(states[2], read(s, "default")))
	require.True(t, strings.HasSuffix(states[5], read(s, "other")))
	require.Zero(t, s.stop(syscall.SIGTERM))
}
