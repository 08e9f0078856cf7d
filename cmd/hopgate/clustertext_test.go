package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClusterText keeps a full-text index in a cluster with replicas while its leaders are killed: every leader finds each text that was
// acknowledged, and nothing of a graph of the same name that was dropped while another process led.
func TestClusterText(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	ss, gs := startClusterIn(t, dirs, 1, "--replicas", "3")
	must := func(statement string) string {
		t.Helper()
		var out string
		eventually(t, func() bool {
			var err error
			out, err = ask(gs[0].http, statement)
			return err == nil
		}, 20*time.Millisecond, statement)
		return out
	}
	n := 0
	write := func() {
		for range 20 {
			n++
			must(fmt.Sprintf("MERGE (d:Doc {id: %d}) SET d.text = 'fox number%d'", n, n))
		}
	}
	found := func() {
		t.Helper()
		got := must("CALL db.index.fulltext.queryNodes('texts', 'fox') YIELD node RETURN count(DISTINCT node.id) = " + strconv.Itoa(n))
		require.Contains(t, got, "true")
		got = must(fmt.Sprintf("CALL db.index.fulltext.queryNodes('texts', 'number%d') YIELD node RETURN node.id = %d", n, n))
		require.Contains(t, got, "true")
	}
	must("CREATE FULLTEXT INDEX texts IF NOT EXISTS FOR (d:Doc) ON EACH [d.text]")
	write()
	found()
	for range 3 { // the third leader, or an earlier one again, whose index lacks what came meanwhile
		lead := leaderOf(t, ss, 0)
		lead.kill(syscall.SIGKILL)
		write()
		found()
		lead.start()
	}
	o := run(t, []string{"GRAPHCTL_ADDRESS=" + gs[0].grpc}, "graphctl", "check")
	require.Zero(t, o.code, o.out+o.err)

	text := func() { must("USE other CREATE FULLTEXT INDEX words IF NOT EXISTS FOR (d:Doc) ON EACH [d.text]") }
	must("CREATE DATABASE other IF NOT EXISTS")
	text()
	must("USE other CREATE (:Doc {text: 'first'})")
	require.Contains(t, must("USE other CALL db.index.fulltext.queryNodes('words', 'first') YIELD node RETURN count(node) = 1"), "true")
	away := leaderOf(t, ss, 0)
	away.kill(syscall.SIGKILL)
	must("DROP DATABASE other IF EXISTS")
	must("CREATE DATABASE other IF NOT EXISTS")
	text()
	must("USE other CREATE (:Doc {text: 'second'})")
	away.start()
	leaderOf(t, ss, 0).kill(syscall.SIGKILL)
	require.Contains(t, must("USE other CALL db.index.fulltext.queryNodes('words', 'first OR second') YIELD node RETURN collect(node.text) = ['second']"), "true")
	kept := 0
	for _, dir := range dirs {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.HasSuffix(filepath.Dir(path), "search") {
				kept++
			}
			return err
		}))
	}
	require.LessOrEqual(t, kept, 3*len(dirs), "the indexes of dropped graphs go")
}
