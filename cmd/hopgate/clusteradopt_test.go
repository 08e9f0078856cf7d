package main_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClusterReplicate stops a cluster with one replica of each shard and starts it again with three, which are added while clients write; then a
// process dies.
func TestClusterReplicate(t *testing.T) {
	ss, gs := startCluster(t, 3, 1)
	g := gs[0]
	_, err := ask(g.http, "UNWIND range(1, 500) AS i CREATE (:Old {i: i})-[:R]->(:New)")
	require.NoError(t, err)
	for _, p := range ss {
		p.kill(syscall.SIGTERM)
	}
	wrong := run(t, nil, "hopgate", append(slices.Clone(ss[1].args), "--replicas", "3", "--shards", "4")...)
	require.NotZero(t, wrong.code)
	require.Contains(t, wrong.err, "belongs to process 1 of 3, with 3 shards of 1 replicas")
	for _, p := range ss {
		p.args = append(p.args, "--replicas", "3")
		p.start()
	}
	read := func() bool {
		got, err := ask(g.http, "MATCH (o:Old)-[:R]->(:New) RETURN count(DISTINCT o.i) = 500")
		return err == nil && strings.Contains(got, "true")
	}
	eventually(t, read, 20*time.Millisecond)
	progress, end := writers(t, g)
	eventually(t, func() bool { return g.members("leader") == 3 && g.members("follower") == 6 }, 50*time.Millisecond)
	progress(5)
	ss[0].kill(syscall.SIGKILL)
	progress(5)
	eventually(t, read, 20*time.Millisecond)
	ss[0].start()
	ss[0].awaitReady()
	end()
	ss[1].kill(syscall.SIGTERM)
	back := run(t, nil, "hopgate", append(slices.Clone(ss[1].args), "--replicas", "1")...)
	require.NotZero(t, back.code)
	require.Contains(t, back.err, "with 3 shards of 3 replicas")
}

// TestServeAdopt gives a single server two others, which begin without data, and kills it.
func TestServeAdopt(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	got := run(t, nil, "graphctl", "query", "--address", s.addrs.GRPC, "UNWIND range(1, 500) AS i CREATE (:Old {i: i})-[:R]->(:New)")
	require.Zero(t, got.code, got.err)
	require.Zero(t, s.stop(syscall.SIGTERM))
	ms, _ := startMembersIn(t, []string{dir, t.TempDir(), t.TempDir()})
	eventually(t, func() bool { return ms[1].members("leader") == 1 && ms[1].members("follower") == 2 }, 50*time.Millisecond)
	ms[0].kill(syscall.SIGKILL)
	eventually(t, func() bool {
		got, err := ask(ms[1].http, "MATCH (o:Old)-[:R]->(:New) RETURN count(DISTINCT o.i) = 500")
		return err == nil && strings.Contains(got, "true")
	}, 20*time.Millisecond)
	_, err := ask(ms[2].http, "CREATE (:Later)")
	require.NoError(t, err)
}
