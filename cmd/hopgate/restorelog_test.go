package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// all reads all that a graph has, with the ids of its elements.
const all = "MATCH (n) OPTIONAL MATCH (n)-[e]->(m) RETURN elementId(n), labels(n), n.i, n.x, elementId(e), e.w, elementId(m) ORDER BY elementId(n), elementId(e)"

// A server that is backed up once, and whose log is shipped by processes that are killed, is restored to moments between backups: with the same
// ids, and streams of changes go on from tokens of before and after the backup, without loss or doubles. A gap restores nothing, until the next
// backup.
func TestRestoreShipped(t *testing.T) {
	tmp := t.TempDir()
	dest := filepath.Join(tmp, "backups")
	s := start(t, filepath.Join(tmp, "data"), "--shards", "2")
	s.graphctl("query", "CREATE DATABASE other")
	state := func(s *server) string {
		return s.graphctl("query", "-o", "csv", all) + s.graphctl("query", "--graph", "other", "-o", "csv", all) +
			s.graphctl("query", "-o", "csv", "SHOW INDEXES YIELD name, type, labelsOrTypes, properties RETURN name, type, labelsOrTypes, properties ORDER BY name")
	}
	type moment struct{ time, token, state string }
	var moments []moment
	change := func(i int) {
		s.graphctl("query", fmt.Sprintf("CREATE (n:N {i: %d, x: 'made'}) WITH n MATCH (m:N) WHERE m.i < n.i AND m.i > n.i - 3 CREATE (n)-[:E {w: n.i}]->(m)", i))
		s.graphctl("query", "--graph", "other", fmt.Sprintf("CREATE (:O {i: %d})", i))
		switch i % 4 {
		case 1:
			s.graphctl("query", fmt.Sprintf("DROP INDEX n%d IF EXISTS", max(0, i-4)))
			s.graphctl("query", fmt.Sprintf("CREATE INDEX n%d FOR (n:N) ON (n.i)", i))
		case 2:
			s.graphctl("query", fmt.Sprintf("MATCH (n:N {i: %d}) DETACH DELETE n", i-1))
		case 3:
			s.graphctl("query", "MATCH (n:N) WITH n LIMIT 3 SET n:L, n.x = 7, n.y = 1")
		}
		out := s.graphctl("query", "-o", "csv", "CALL db.cdc.current() YIELD id RETURN id")
		moments = append(moments, moment{time.Now().UTC().Format(time.RFC3339Nano), strings.Fields(out)[1], state(s)})
	}
	for i := range 3 {
		change(i)
	}
	s.graphctl("backup", dest)
	for i := 3; i < 12; i++ {
		change(i)
		switch i % 3 {
		case 0: // one that is killed, perhaps while it writes
			kill := ship(t, dest, s.addrs.GRPC, time.Millisecond)
			time.Sleep(50 * time.Millisecond)
			kill()
		case 1:
			require.Contains(t, s.graphctl("backup", "--log", dest, "--once"), `"msg":"shipped"`)
		}
	}
	last := moments[len(moments)-1]
	s.graphctl("backup", "--log", dest, "--once")
	require.Zero(t, s.stop(syscall.SIGTERM))

	for i, m := range []moment{moments[3], moments[6], moments[9], last} {
		back := filepath.Join(tmp, fmt.Sprint("back", i))
		for after := range 3 { // those that are killed leave what the next one begins again
			p := exec.CommandContext(context.Background(), filepath.Join(bin, "hopgate"), "restore", dest, "--data-dir", back, "--to", last.time)
			require.NoError(t, p.Start())
			time.Sleep(time.Duration(30+30*after) * time.Millisecond)
			_ = p.Process.Kill() // it may have ended
			_ = p.Wait()
			if _, err := os.Stat(filepath.Join(back, "graphs")); err == nil {
				require.NoError(t, os.RemoveAll(back)) // it was done
			}
		}
		o := run(t, nil, "graphctl", "restore", dest, "--data-dir", back, "--to", m.time)
		require.Zero(t, o.code, o.err)
		require.Contains(t, o.out, "commits made again")
		b := start(t, back)
		require.Equal(t, m.state, state(b))
		require.Contains(t, b.graphctl("check"), "nothing is wrong")
		b.graphctl("query", "CREATE (:After)")
		// The stream from a token of before the backup: each commit once, then what came after.
		seen := map[string]int{}
		lines := strings.Split(strings.TrimSpace(b.graphctl("changes", "--from", moments[0].token, "--once")), "\n")
		for _, l := range lines {
			if id, _, ok := strings.Cut(l, `"txId"`); ok && strings.Contains(l, `"event"`) {
				seen[id]++
			}
		}
		for id, n := range seen {
			require.Equal(t, 1, n, id)
		}
		require.Contains(t, lines[len(lines)-1]+lines[max(0, len(lines)-2)], "After")
		require.NotContains(t, b.graphctl("changes", "--from", m.token, "--once"), `"made"`, "it goes on after the moment")
		if i == 3 { // its log is another history, in a branch of its own
			require.Contains(t, b.graphctl("backup", "--log", dest, "--once"), `"msg":"shipped"`)
		}
		require.Zero(t, b.stop(syscall.SIGTERM))
	}
	token := filepath.Join(tmp, "token")
	o := run(t, nil, "graphctl", "restore", dest, "--data-dir", token, "--to", moments[7].token, "--to-graph", "default")
	require.Zero(t, o.code, o.err)
	b := start(t, token)
	require.True(t, strings.HasPrefix(moments[7].state, b.graphctl("query", "-o", "csv", all)))
	require.Zero(t, b.stop(syscall.SIGTERM))

	// A load that is kept out of the log is a gap, which the next backup heals.
	s = start(t, filepath.Join(tmp, "data"))
	csv := filepath.Join(tmp, "n.csv")
	require.NoError(t, os.WriteFile(csv, []byte(":ID,i:int,:LABEL\n1,100,N\n"), 0o644))
	s.graphctl("load", "--no-log", "--nodes", csv)
	change(12)
	require.Contains(t, s.graphctl("backup", "--log", dest, "--once"), "ChangeLogGap")
	o = run(t, nil, "graphctl", "restore", dest, "--data-dir", filepath.Join(tmp, "gap"), "--to", moments[12].time)
	require.NotZero(t, o.code)
	require.Contains(t, o.err, "ChangeLogGap")
	s.graphctl("backup", dest)
	change(13)
	s.graphctl("backup", "--log", dest, "--once")
	change(14)
	s.graphctl("backup", "--log", dest, "--once")
	require.Zero(t, s.stop(syscall.SIGTERM))
	healed := filepath.Join(tmp, "healed")
	o = run(t, nil, "graphctl", "restore", dest, "--data-dir", healed, "--to", moments[13].time)
	require.Zero(t, o.code, o.err)
	b = start(t, healed)
	require.Equal(t, moments[13].state, state(b))
	require.Zero(t, b.stop(syscall.SIGTERM))
}
