package main_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A process of a cluster dies while a commit over all shards waits for one of them, or a gateway while a transaction is open. The
// commit exists as a whole or not at all, the transaction does not, and its locks are released.
func TestClusterDiesInCommit(t *testing.T) {
	const vertices = 3 * 4096 // in all shards
	ss, gs := startCluster(t, 3, 2)
	_, err := ask(gs[0].http, "CREATE CONSTRAINT keys FOR (n:Held) REQUIRE n.id IS UNIQUE")
	require.NoError(t, err)
	count := func(label string) int {
		answer := gs[1].graphctl("query", "-o", "csv", fmt.Sprintf("MATCH (n:%s)-[:E]->() WITH n.i AS i RETURN count(i) AS n", label))
		var n int
		_, err := fmt.Sscan(strings.TrimPrefix(answer, "n\n"), &n)
		require.NoError(t, err)
		return n
	}

	// The gateway of an explicit transaction, and the leader of another's.
	for i, p := range []*process{gs[0], ss[0]} {
		create := fmt.Sprintf(`{"statement": "UNWIND range(1, 9) AS i CREATE (:Held {id: %d + i})-[:E]->(:M)"}`, 10*i)
		b := &both{t: t}
		code, body := b.post(gs[0].http, "/db/default/query/v2/tx", create)
		require.Equal(t, 2, code/100, body)
		p.kill(syscall.SIGKILL)
		p.start()
		require.Zero(t, count("Held"))
		_, err := ask(gs[1].http, fmt.Sprintf("CREATE (:Held {id: %d})", 10*i+1)) // its key is free
		require.NoError(t, err)
		eventually(t, func() bool { _, err := ask(gs[0].http, "RETURN 1"); return err == nil }, 20*time.Millisecond)
	}

	for i, victim := range []*process{gs[0], ss[0], ss[1], ss[2]} {
		label := fmt.Sprintf("L%d", i)
		still := ss[1]
		require.NoError(t, still.cmd.Process.Signal(syscall.SIGSTOP))
		done := make(chan error, 1)
		go func() {
			_, err := ask(gs[0].http, fmt.Sprintf("UNWIND range(1, %d) AS i CREATE (:%s {i: i})-[:E]->(:M)", vertices/2, label))
			done <- err
		}()
		select {
		case err := <-done:
			t.Fatalf("it was committed without a shard: %v", err)
		case <-time.After(2 * time.Second): // by now it waits for the shard, or is about to
		}
		victim.kill(syscall.SIGKILL)
		victim.start()
		if victim != still {
			require.NoError(t, still.cmd.Process.Signal(syscall.SIGCONT))
		}
		err := <-done
		eventually(t, func() bool { _, err := ask(gs[0].http, "RETURN 1"); return err == nil }, 20*time.Millisecond)
		n := count(label)
		require.Contains(t, []int{0, vertices / 2}, n, label)
		if err == nil {
			require.Equal(t, vertices/2, n, "it was acknowledged")
		}
		if victim == ss[0] && err != nil {
			require.ErrorContains(t, err, "504")
			require.ErrorContains(t, err, "TransactionCommitFailed")
		}
		if victim == ss[1] || victim == ss[2] {
			require.NoError(t, err, "a commit rides out the death of a shard that is led")
		}
		require.Contains(t, gs[1].graphctl("check"), "nothing is wrong")
	}
}
