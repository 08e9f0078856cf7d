package main_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Named snapshots come with a backup, and a backup is restored to one of them.
func TestSnapshotsRestored(t *testing.T) {
	tmp := t.TempDir()
	s := start(t, filepath.Join(tmp, "data"), "--shards", "2")
	s.graphctl("query", "CREATE (:N {i: 1})-[:E]->(:N {i: 2})")
	s.graphctl("query", "CREATE SNAPSHOT then EXPIRES 'P1D'")
	s.graphctl("query", "MATCH (n:N {i: 2}) DETACH DELETE n")
	dest := filepath.Join(tmp, "backups")
	s.graphctl("backup", dest)
	require.Zero(t, s.stop(syscall.SIGTERM))

	const past = "USE neo4j AS OF SNAPSHOT then MATCH (n:N)-[:E]->(m) RETURN n.i, m.i"
	back := filepath.Join(tmp, "back")
	o := run(t, nil, "graphctl", "restore", dest, "--data-dir", back)
	require.Zero(t, o.code, o.err)
	s = start(t, back, "--log-retention", "1KiB")
	for range 30 {
		s.graphctl("query", "UNWIND range(1, 50) AS i CREATE (:Later)")
	}
	require.Equal(t, "n.i,m.i\n1,2\n", s.graphctl("query", "-o", "csv", past))
	require.Contains(t, s.graphctl("query", "-o", "csv", "SHOW SNAPSHOTS"), "then,ONLINE")
	require.Zero(t, s.stop(syscall.SIGTERM))

	to := filepath.Join(tmp, "to")
	o = run(t, nil, "graphctl", "restore", dest, "--data-dir", to, "--to", "snapshot:then")
	require.Zero(t, o.code, o.err)
	s = start(t, to)
	require.Equal(t, "n.i,m.i\n1,2\n", s.graphctl("query", "-o", "csv", "MATCH (n:N)-[:E]->(m) RETURN n.i, m.i"))
	require.Equal(t, "n.i,m.i\n1,2\n", s.graphctl("query", "-o", "csv", past))
	require.Zero(t, s.stop(syscall.SIGTERM))
}

// Named snapshots survive the loss of each process of a cluster of three replicas, whichever leads.
func TestClusterSnapshots(t *testing.T) {
	ss, gs := startCluster(t, 3, 1, "--replicas", "3")
	must := func(text string) (data string) {
		eventually(t, func() bool {
			var err error
			data, err = ask(gs[0].http, text)
			return err == nil
		}, 20*time.Millisecond)
		return data
	}
	must("MERGE (:N {i: 1})")
	must("CREATE SNAPSHOT then IF NOT EXISTS")
	for _, p := range ss {
		must("MATCH (n:N) SET n.i = n.i + 1")
		p.kill(syscall.SIGKILL)
		require.Contains(t, must("USE neo4j AS OF SNAPSHOT then MATCH (n:N) RETURN n.i"), "[1]")
		require.Contains(t, must("SHOW SNAPSHOTS YIELD name, state"), "ONLINE")
		p.start()
	}
}
