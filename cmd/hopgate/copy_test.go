package main_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bolt is the URL of the server.
func (s *server) bolt() string { return "bolt://" + s.addrs.Bolt }

// load runs graphctl load, and returns how it ended.
func (s *server) load(args ...string) outcome {
	return run(s.t, []string{"GRAPHCTL_ADDRESS=" + s.addrs.GRPC, "GRAPHCTL_FROM_PASSWORD=unused"}, "graphctl", append([]string{"load"}, args...)...)
}

// A copy over Bolt equals its source: values of all types, vertices with no, one or several labels, parallel edges, loops, indexes, constraints.
func TestCopyDatabase(t *testing.T) {
	t.Parallel()
	s := start(t, filepath.Join(t.TempDir(), "data"), "--bolt", "127.0.0.1:0")
	for seed := range uint64(3) {
		graph, copied := fmt.Sprint("g", seed), fmt.Sprint("c", seed)
		s.graphctl("query", "CREATE GRAPH "+graph)
		s.graphctl("query", "CREATE GRAPH "+copied)
		source := func(statement string) { s.graphctl("--graph", graph, "query", statement) }
		source(randomGraph(rand.New(rand.NewPCG(seed, 7)), 80, 150, true))
		source("CREATE (:`N w` {a: 1})-[:`T t` {b: 2}]->(:`N w` {a: 3})")
		source("CREATE CONSTRAINT `c``1` FOR (n:A) REQUIRE n.k IS UNIQUE")
		source("CREATE CONSTRAINT c2 FOR ()-[r:Z]-() REQUIRE r.p1 IS NOT NULL")
		source("CREATE CONSTRAINT c3 FOR (n:Z) REQUIRE (n.p1, n.p2) IS NODE KEY")
		source("CREATE CONSTRAINT c4 FOR ()-[r:Z]-() REQUIRE r.p2 IS RELATIONSHIP KEY")
		source("CREATE INDEX i FOR (n:B) ON (n.p1, n.p2)")
		source("CREATE POINT INDEX q FOR ()-[r:Z]-() ON (r.p2)")
		source("CREATE VECTOR INDEX v FOR (n:B) ON n.p1 OPTIONS {indexConfig: {`vector.dimensions`: 3, `vector.similarity_function`: 'euclidean', " +
			"`vector.hnsw.m`: 9, `vector.hnsw.ef_construction`: 99, `vector.quantization.enabled`: false}}")
		source("CREATE FULLTEXT INDEX f FOR (n:A|B) ON EACH [n.p1, n.p2] OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: true}}")

		o := s.load(s.bolt(), "--from-database", graph, "--graph", copied)
		require.Zero(t, o.code, o.out+o.err)
		require.Contains(t, o.out, "created 8 indexes and constraints; 0 failed, 0 are not supported\n")
		require.Contains(t, o.out, "the copy equals its source\n")
		equal(t, s.canonical(graph), s.canonical(copied))
		for _, show := range []string{"SHOW INDEXES YIELD name, createStatement", "SHOW CONSTRAINTS YIELD name, createStatement"} {
			require.Equal(t, s.graphctl("--graph", graph, "query", show), s.graphctl("--graph", copied, "query", show))
		}
		require.Contains(t, s.graphctl("--graph", copied, "check"), "nothing is wrong")
	}
	again := []string{s.bolt(), "--from-database", "g0", "--graph", "c0"}
	o := s.load(again...)
	require.Zero(t, o.code, o.out+o.err)
	require.Contains(t, o.out, "nothing to do")
	require.Contains(t, o.out, "the copy equals its source\n")

	// Differences are said by kind, and are an error.
	s.graphctl("--graph", "c0", "query", "MATCH (:`N w`)-[r:`T t`]->(:`N w`) SET r.b = 4.0 CREATE (:More)")
	o = s.load(again...)
	require.Equal(t, 1, o.code)
	require.Contains(t, o.out, "differs: (:`N w`)-[:`T t`]->(:`N w`): properties of the 1 elements differ\n")
	require.Contains(t, o.out, "differs: (:`More`): 0 in the source, 1 in the copy\n")
	require.Contains(t, o.err, "differs from its source in 2 places")
	o = s.load(append(again, "--compare", "counts")...)
	require.Contains(t, o.err, "differs from its source in 1 places")

	// A graph that holds something else is left alone.
	for _, args := range [][]string{{"--graph", "c1"}, {"--graph", "c0", "--restart"}} {
		before := s.canonical(args[1])
		o = s.load(append([]string{s.bolt(), "--from-database", "g0"}, args...)...)
		require.Equal(t, 1, o.code)
		require.Contains(t, o.err, "is not empty")
		equal(t, before, s.canonical(args[1]))
	}
	require.Zero(t, s.stop(syscall.SIGTERM), s.log)
}

// What is wrong with the arguments of a copy is bad usage.
func TestCopyDatabaseUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"without --offline", []string{"bolt://127.0.0.1:1", "--offline", "--data-dir", t.TempDir()}},
		{"without --offline and --init", []string{"bolt://127.0.0.1:1", "--init"}},
		{"name it alone", []string{"bolt://127.0.0.1:1", "a.csv"}},
		{"--id-type is for files", []string{"bolt://127.0.0.1:1", "--id-type", "integer"}},
		{"--compare x: must be values or counts", []string{"bolt://127.0.0.1:1", "--compare", "x"}},
		{"--from-password-file", []string{"bolt://127.0.0.1:1", "--from-password-file", filepath.Join(t.TempDir(), "none")}},
	} {
		o := run(t, nil, "graphctl", append([]string{"load"}, c.args...)...)
		require.Equal(t, 2, o.code, o.err)
		require.Contains(t, o.err, c.want)
	}
	o := run(t, nil, "graphctl", "load", "bolt://user:secret@127.0.0.1:1")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.err, "contains a user or a password")
	require.NotContains(t, o.err, "secret")
	o = run(t, nil, "hopgate", "import", "--data-dir", t.TempDir(), "bolt://127.0.0.1:1")
	require.Equal(t, 2, o.code, o.err)
	require.Contains(t, o.err, "graphctl load copies a running database")
}

// A copy that is killed again and again ends, run again, as an equal graph: each vertex and edge is there once.
func TestCopyDatabaseKilled(t *testing.T) {
	t.Parallel()
	dir, vertices, edges := network(t, "--persons", "400", "--comment-bytes", "100B..200B")
	s := start(t, filepath.Join(t.TempDir(), "data"), "--bolt", "127.0.0.1:0")
	s.graphctl("load", dir)
	args := []string{"load", s.bolt(), "--from-database", "default", "--graph", "copied", "--memory", "16MiB", "--address", s.addrs.GRPC}
	s.graphctl("query", "CREATE GRAPH copied")
	kills := 0
	for at := 150 * time.Millisecond; ; at = at * 3 / 2 {
		cmd := exec.CommandContext(context.Background(), filepath.Join(bin, "graphctl"), args...)
		var out bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = environ(), &out, &out
		require.NoError(t, cmd.Start())
		killer := time.AfterFunc(at, func() { _ = cmd.Process.Kill() })
		if kills == 8 {
			killer.Stop()
		}
		err := cmd.Wait()
		killer.Stop()
		if err == nil {
			require.Contains(t, out.String(), "the copy equals its source")
			break
		}
		require.Equal(t, -1, cmd.ProcessState.ExitCode(), out.String())
		kills++
	}
	t.Logf("%d kills", kills)
	for statement, want := range map[string]int{"MATCH (n) RETURN count(n) AS n": vertices, "MATCH ()-[r]->() RETURN count(r) AS n": edges} {
		require.Equal(t, fmt.Sprintf("n\n%d\n", want), s.graphctl("--graph", "copied", "query", "-o", "csv", statement))
	}
	require.Positive(t, kills)
	require.Contains(t, s.graphctl("--graph", "copied", "check"), "nothing is wrong")
	require.Zero(t, s.stop(syscall.SIGTERM), s.log)
}
