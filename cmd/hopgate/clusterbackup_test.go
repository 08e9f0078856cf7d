package main_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// graphctl runs the client against a gateway.
func (p *process) graphctl(args ...string) string {
	o := run(p.t, []string{"GRAPHCTL_ADDRESS=" + p.grpc}, "graphctl", args...)
	require.Zero(p.t, o.code, "%q: %s%s", args, o.out, o.err)
	return o.out
}

// A backup of a cluster taken under load contains whole transactions, including all acknowledged before it. Like the backup of a
// single server, it restores to a cluster and to a single server.
func TestClusterBackup(t *testing.T) {
	for _, replication := range []string{"1", "3"} {
		t.Run("replication="+replication, func(t *testing.T) { clusterBackup(t, replication) })
	}
}

func clusterBackup(t *testing.T, replication string) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	_, gs := startClusterIn(t, dirs, 2, "--replicas", replication)
	g, dest := gs[0], filepath.Join(t.TempDir(), "backups")
	g.graphctl("query", "CREATE CONSTRAINT n FOR (n:N) REQUIRE n.i IS UNIQUE")
	g.graphctl("query", "CREATE CONSTRAINT s FOR (s:Seed) REQUIRE s.i IS UNIQUE")
	const block = 4096 // vertices lie in one shard, the next ones in the other
	g.graphctl("query", fmt.Sprintf("UNWIND range(0, %d) AS i CREATE (:Seed {i: i, n: 0})", 3*block-1))
	g.graphctl("query", "CREATE INDEX texts FOR (n:N) ON (n.text)")
	g.graphctl("query", "CALL db.awaitIndex('texts')")
	g.graphctl("query", "CREATE FULLTEXT INDEX words FOR (r:Restored) ON EACH [r.text]")
	g.graphctl("query", "CALL db.awaitIndexes()")
	var next, acked atomic.Int64
	end := until(2, func(w int) {
		i := next.Add(1)
		_, err := ask(gs[w].http, fmt.Sprintf("MATCH (a:Seed {i:%d}), (b:Seed {i:%d}) SET a.n = a.n + 1, b.n = b.n + 1 "+
			"CREATE (:N {i:%d, text:'%02000d'})-[:E]->(:M), (a)-[:X]->(b)", i%9, (1+i%2)*block+i*7%99, i, i))
		if err == nil {
			acked.Add(1)
		}
	})
	progress := func() int64 {
		want := acked.Load() + 20
		eventually(t, func() bool { return acked.Load() >= want }, time.Millisecond)
		return acked.Load()
	}
	progress()
	g.graphctl("backup", dest)
	second := progress()
	g.graphctl("backup", dest)
	progress()
	require.Contains(t, g.graphctl("check"), "nothing is wrong")
	require.Contains(t, g.graphctl("check", "--repair"), "nothing is wrong")
	end()
	eventually(t, func() bool { // all processes have removed their copies
		for _, dir := range dirs {
			for _, pattern := range []string{"checkpoints/*", "replicas/*/checkpoints/*"} {
				if names, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(names) > 0 {
					return false
				}
			}
		}
		return true
	}, 10*time.Millisecond)

	whole := "MATCH (a:Seed)-[x:X]->(b:Seed) WITH count(x) AS edges MATCH (s:Seed) RETURN edges, sum(s.n) AS total, sum(CASE WHEN s.n = COUNT { (s)-[:X]-() } THEN 0 ELSE 1 END) AS bad"
	holds := func(g *process, least int64) string {
		var n int64
		_, err := fmt.Sscan(g.graphctl("query", "-o", "csv", "MATCH (n:N)-[:E]->(:M) WHERE size(n.text) = 2000 RETURN count(*) AS n")[2:], &n)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, least)
		answer := g.graphctl("query", "-o", "csv", whole)
		require.Equal(t, fmt.Sprintf("edges,total,bad\n%d,%d,0\n", n, 2*n), answer, "a transaction is not whole")
		require.Contains(t, g.graphctl("check"), "nothing is wrong")
		return answer
	}
	holds(gs[1], acked.Load())

	restore := func(dest string) (g *process) {
		_, gs := startClusterIn(t, restored(t, dest, 3, "--replicas", "1"), 1)
		return gs[0]
	}
	want := holds(restore(dest), second)
	require.Equal(t, want, holds(restoreReplicas(t, dest), second))

	back := filepath.Join(t.TempDir(), "back")
	o := run(t, nil, "graphctl", "restore", dest, "--data-dir", back)
	require.Zero(t, o.code, o.err)
	o = run(t, nil, "graphctl", "check", "--data-dir", back)
	require.Zero(t, o.code, o.out+o.err)
	s := start(t, back)
	require.Equal(t, want, s.graphctl("query", "-o", "csv", whole))
	other := filepath.Join(t.TempDir(), "other")
	s.graphctl("backup", other)
	require.Zero(t, s.stop(syscall.SIGTERM))
	require.Equal(t, want, holds(restore(other), second))
}

// restoreReplicas restores a backup to two of three processes with replicas. The third one begins empty, waits until it is replaced, and
// then makes a majority with one of the others.
func restoreReplicas(t *testing.T, dest string) *process {
	dirs := []string{filepath.Join(t.TempDir(), "0"), filepath.Join(t.TempDir(), "1"), filepath.Join(t.TempDir(), "2")}
	restore := func(process int, args ...string) outcome {
		return run(t, nil, "graphctl", append([]string{"restore", dest, "--data-dir", dirs[process], "--replicas", "3", "--processes", "3", "--process", strconv.Itoa(process)}, args...)...)
	}
	require.Contains(t, restore(0, "--shards", "2").err, "the graphs of the backup have 3 shards")
	require.Contains(t, restore(0, "--replicas", "4").err, "must be 1, 3, 5 or 7")
	require.Contains(t, restore(0, "--process", "3").err, "must be from 0 to 2")
	require.Contains(t, restore(0, "--processes", "2").err, "need as many processes")
	for process := range 2 {
		o := restore(process)
		require.Zero(t, o.code, o.err)
	}
	require.Contains(t, restore(0).err, "is not empty")
	ss, gs := startClusterIn(t, dirs, 1, "--replicas", "3")
	g := gs[0]
	eventually(t, func() bool { return strings.Count(g.graphctl("member", "list"), "waiting") == 3 }, 20*time.Millisecond)
	g.graphctl("query", "CREATE (:Restored {text: 'a word'})")
	g.graphctl("member", "replace", "2")
	eventually(t, func() bool { _, err := get("http://" + ss[2].admin + "/readyz"); return err == nil }, 20*time.Millisecond)
	require.Contains(t, g.graphctl("check"), "nothing is wrong")
	ss[0].kill(syscall.SIGKILL)
	eventually(t, func() bool { // a new leader builds the index first
		o := run(t, []string{"GRAPHCTL_ADDRESS=" + g.grpc}, "graphctl", "query", "-o", "csv", "CALL db.index.fulltext.queryNodes('words', 'word') YIELD node RETURN count(node) AS n")
		return o.code == 0 && o.out == "n\n1\n"
	}, 100*time.Millisecond)
	require.Contains(t, g.graphctl("query", "-o", "csv", "MATCH (r:Restored) DELETE r RETURN count(*) AS n"), "1")
	return g
}

// A gateway exports what a server of one process would.
func TestClusterExport(t *testing.T) {
	_, gs := startCluster(t, 3, 1)
	for _, s := range clusterStatements {
		_, err := ask(gs[0].http, s)
		require.NoError(t, err, s)
	}
	out := filepath.Join(t.TempDir(), "out")
	gs[0].graphctl("export", out, "--format", "jsonl")
	s := start(t, t.TempDir())
	s.graphctl("load", out)
	for _, q := range []string{
		"MATCH (n) RETURN count(n)", "MATCH (p:Person)-[k:KNOWS]->(q) RETURN p.id, k.since, q.id ORDER BY p.id, q.id, k.since",
		"MATCH (p:Person) RETURN p.id, p.name, p.even, size(p.text), labels(p) ORDER BY p.id",
	} {
		want, err := ask(s.addrs.HTTP, q)
		require.NoError(t, err)
		got, err := ask(gs[0].http, q)
		require.NoError(t, err)
		require.JSONEq(t, want, got, q)
	}
	stats := gs[0].graphctl("stats")
	for _, part := range []string{"KNOWS", "shard 0", "shard 1", "shard 2"} {
		require.Contains(t, stats, part)
	}
}
