package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// follower is a graphctl changes that appends to a file.
type follower struct {
	t    *testing.T
	path string
	args []string
	cmd  *exec.Cmd
	err  bytes.Buffer
}

func follow(t *testing.T, address string, args ...string) *follower {
	f := &follower{t: t, path: filepath.Join(t.TempDir(), "out.ndjson"), args: append([]string{"changes", "--address", address, "--from", "earliest"}, args...)}
	f.start()
	t.Cleanup(f.kill)
	return f
}

func (f *follower) start() {
	out, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(f.t, err)
	defer out.Close()
	f.err.Reset()
	f.cmd = exec.CommandContext(context.Background(), filepath.Join(bin, "graphctl"), f.args...)
	f.cmd.Env, f.cmd.Stdout, f.cmd.Stderr = environ(), out, &f.err
	require.NoError(f.t, f.cmd.Start())
}

func (f *follower) kill() {
	_ = f.cmd.Process.Kill()
	_ = f.cmd.Wait()
}

// numbers returns the property n of the events that have been written whole, and how many were written again.
func (f *follower) numbers() (ns []int, repeated int) {
	data, err := os.ReadFile(f.path)
	require.NoError(f.t, err)
	seen := map[string]bool{}
	for text := range strings.Lines(string(data)) {
		var l struct {
			ID    string
			Event struct {
				State struct {
					After struct{ Properties struct{ N int } }
				}
			}
		}
		if json.Unmarshal([]byte(text), &l) != nil {
			continue // a run was killed within it
		}
		if seen[l.ID] {
			repeated++
			continue
		}
		seen[l.ID] = true
		ns = append(ns, l.Event.State.After.Properties.N)
	}
	return ns, repeated
}

// While the server is killed and starts again, a client has each event once and in order; one that is killed itself, and keeps its token in a
// file, repeats some and loses none.
func TestChangesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	address := s.addrs.GRPC
	state := filepath.Join(t.TempDir(), "token")
	steady, killed := follow(t, address), follow(t, address, "--state", state)
	n := 0
	for round := range 3 {
		for range 30 {
			n++
			_, err := ask(s.addrs.HTTP, fmt.Sprintf("CREATE (:N {n: %d})", n))
			require.NoError(t, err)
		}
		eventually(t, func() bool { // both have begun
			one, _ := steady.numbers()
			two, _ := killed.numbers()
			return min(len(one), len(two)) >= n-round*10
		}, 10*time.Millisecond)
		killed.kill()
		require.Equal(t, -1, s.stop(syscall.SIGKILL))
		s = start(t, dir, "--grpc", address)
		killed.start()
	}
	want := make([]int, n)
	for i := range want {
		want[i] = i + 1
	}
	eventually(t, func() bool {
		got, _ := steady.numbers()
		return len(got) >= n
	}, 10*time.Millisecond)
	got, repeated := steady.numbers()
	require.Equal(t, want, got)
	require.Zero(t, repeated)
	eventually(t, func() bool {
		got, _ := killed.numbers()
		return len(got) >= n
	}, 10*time.Millisecond)
	killed.kill()
	got, _ = killed.numbers()
	require.Equal(t, want, got)

	// What follows the state of a run that ended is what that run has not written.
	after := filepath.Join(t.TempDir(), "token")
	lines := func(args ...string) int {
		return strings.Count(s.graphctl(append([]string{"changes", "--once", "--state", after, "--from", "earliest"}, args...)...), "\n")
	}
	require.Equal(t, n, lines())
	require.Zero(t, lines())
	_, err := ask(s.addrs.HTTP, "CREATE (:M), (:N {n: 0})")
	require.NoError(t, err)
	require.Equal(t, 1, lines("--selectors", `[{"select": "n", "labels": ["M"]}]`, "--format", "debezium"))
	require.Zero(t, lines())
	require.NoError(t, os.WriteFile(after, []byte("two words\n"), 0o600))
	o := run(t, nil, "graphctl", "changes", "--address", address, "--state", after)
	require.Equal(t, 2, o.code)
	require.Contains(t, o.err, "must hold one token")
	require.NoError(t, os.WriteFile(after, []byte("forged\n"), 0o600))
	o = run(t, nil, "graphctl", "changes", "--address", address, "--state", after)
	require.Equal(t, 1, o.code)
	require.Contains(t, o.err, "ChangeDataCapture.InvalidIdentifier")

	// A run that is interrupted has ended in good order.
	require.NoError(t, steady.cmd.Process.Signal(syscall.SIGINT))
	_ = steady.cmd.Wait()
	require.Zero(t, steady.cmd.ProcessState.ExitCode())
	require.Contains(t, steady.err.String(), "the stream continues later")
}

// Each of three members is killed and starts again while clients follow one of them each: all have the same events, each once and in order.
func TestChangesOfMembers(t *testing.T) {
	ms, _ := startMembers(t, 3)
	var all []*follower
	for _, p := range ms {
		all = append(all, follow(t, p.grpc))
		_, err := ask(p.http, "RETURN 1")
		require.NoError(t, err)
	}
	n := 0
	write := func(but int) {
		for range 20 {
			n++
			for try := 0; ; try++ { // a write without an answer may have been done
				at := try % 3
				if at == but {
					continue
				}
				_, err := ask(ms[at].http, fmt.Sprintf("MERGE (:N {n: %d})", n))
				if err == nil {
					break
				}
				require.True(t, unanswered(err), "%v", err)
			}
		}
	}
	had := func(f *follower) func() bool {
		return func() bool {
			got, _ := f.numbers()
			return len(got) >= n
		}
	}
	write(-1)
	for _, f := range all {
		eventually(t, had(f), 10*time.Millisecond)
	}
	victims := []int{slices.Index(ms, leaderOf(t, ms, 0))}
	for i := range ms {
		if i != victims[0] {
			victims = append(victims, i)
		}
	}
	for _, i := range victims {
		ms[i].kill(syscall.SIGKILL)
		write(i)
		for k, f := range all {
			if k != i {
				eventually(t, had(f), 10*time.Millisecond)
			}
		}
		ms[i].start()
		ms[i].awaitReady()
		write(-1)
	}
	want := make([]int, n)
	for i := range want {
		want[i] = i + 1
	}
	for i, f := range all {
		eventually(t, had(f), 10*time.Millisecond, i)
		got, repeated := f.numbers()
		require.Equal(t, want, got, i)
		require.Zero(t, repeated, i)
	}
}
