package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// try runs graphctl by a random gateway.
func (n *nemesis) try(args ...string) outcome {
	g := n.gs[int(n.h.next.Add(1))%nemesisGateways]
	return run(n.t, []string{"GRAPHCTL_ADDRESS=" + g.grpc}, "graphctl", args...)
}

// insist runs graphctl until it succeeds.
func (n *nemesis) insist(args ...string) string {
	var o outcome
	for range 100 {
		if o = n.try(args...); o.code == 0 {
			return o.out
		}
		time.Sleep(50 * time.Millisecond)
	}
	n.t.Errorf("%q: %s", args, o.err)
	return ""
}

// ask returns the only value of a statement's answer.
func (n *nemesis) ask(graph, statement string) string {
	lines := strings.Fields(n.insist("--graph", graph, "query", "-o", "csv", statement))
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// during lets the leader of the cluster fail twice while work goes on.
func (n *nemesis) during(work func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for range 2 {
		time.Sleep(n.between(0, 500*time.Millisecond))
		switch leader := n.leader(0); n.rng.IntN(3) {
		case 0:
			n.kill(leader)
		case 1:
			n.stop(leader, stopped)
		default:
			n.part(func(from, to int) bool { return from == leader || to == leader })
		}
	}
	<-done
}

// graphs drops graphs while they are filled.
func (n *nemesis) graphs() {
	const graph = "fleeting"
	n.during(func() {
		for range 2 {
			n.insist("query", "CREATE GRAPH "+graph+" IF NOT EXISTS")
			filled := make(chan struct{})
			go func() {
				defer close(filled)
				n.try("--graph", graph, "query", "UNWIND range(1, 20000) AS i CREATE (:N {i: i})-[:R]->(:M)") // it may fail
			}()
			time.Sleep(50 * time.Millisecond)
			n.insist("query", "DROP GRAPH "+graph+" IF EXISTS")
			<-filled
		}
	})
	n.ends = append(n.ends, func() {
		n.insist("query", "CREATE GRAPH "+graph+" IF NOT EXISTS")
		require.Equal(n.t, "0", n.ask(graph, "MATCH (n) RETURN count(n)"))
	})
}

// index builds an index of what the clients write.
func (n *nemesis) index() {
	n.during(func() {
		n.insist("query", "CREATE INDEX byValue IF NOT EXISTS FOR (k:Key) ON (k.v)")
		n.insist("query", "CALL db.awaitIndexes()")
	})
	n.ends = append(n.ends, func() {
		indexed := "MATCH (k:Key) WHERE k.v > 0 RETURN count(k) + sum(k.v)"
		require.Contains(n.t, n.insist("query", "EXPLAIN "+indexed), "IndexRangeSeek")
		require.Equal(n.t, n.ask("default", "MATCH (k:Key) WITH k.v + 0 AS v WHERE v > 0 RETURN count(v) + sum(v)"), n.ask("default", indexed))
	})
}

// load loads a graph. When a load has succeeded, each row is there once.
func (n *nemesis) load() {
	const graph = "loaded"
	dir, vertices, edges := network(n.t, "--persons", "300")
	n.insist("query", "CREATE GRAPH "+graph+" IF NOT EXISTS")
	n.during(func() { n.insist("--graph", graph, "load", dir, "--memory", "16MiB") })
	n.ends = append(n.ends, func() {
		require.Equal(n.t, strconv.Itoa(vertices), n.ask(graph, "MATCH (n) WITH n, 1 AS one RETURN sum(one)"))
		require.Equal(n.t, strconv.Itoa(edges), n.ask(graph, "MATCH ()-[r]->() WITH r, 1 AS one RETURN sum(one)"))
		require.Equal(n.t, strconv.Itoa(edges), n.ask(graph, "MATCH ()<-[r]-() WITH r, 1 AS one RETURN sum(one)"))
		require.Contains(n.t, n.insist("--graph", graph, "check"), "nothing is wrong")
	})
}

// backup makes a backup, which has whole transactions.
func (n *nemesis) backup() {
	dest := filepath.Join(n.t.TempDir(), "backups")
	n.during(func() { n.insist("backup", dest) })
	n.ends = append(n.ends, func() {
		n.insist("backup", "--verify", dest)
		data := filepath.Join(n.t.TempDir(), "restored")
		o := run(n.t, nil, "graphctl", "restore", dest, "--data-dir", data)
		require.Zero(n.t, o.code, o.err)
		s := start(n.t, data)
		got, err := ask(s.addrs.HTTP, fmt.Sprintf("MATCH (a:Account) RETURN sum(a.balance) = %d", accounts*balance))
		require.NoError(n.t, err)
		require.Contains(n.t, got, "true")
		require.Contains(n.t, s.graphctl("check"), "nothing is wrong")
	})
}

// expire writes vertices that expire while others delete them.
func (n *nemesis) expire() {
	n.insist("query", "CREATE LABEL Brief IF NOT EXISTS OPTIONS {ttl: duration('PT1S')}")
	n.during(func() {
		for range 5 {
			n.insist("query", "UNWIND range(1, 500) AS i CREATE (:Brief {i: i})-[:E]->(:Brief)")
		}
	})
	n.ends = append(n.ends, func() {
		eventually(n.t, func() bool { return n.ask("default", "MATCH (b:Brief) RETURN count(b)") == "0" }, 100*time.Millisecond)
	})
}

// replace has a process lose its disk, and replaces its replicas.
func (n *nemesis) replace() {
	lost := n.rng.IntN(nemesisProcesses)
	n.ss[lost].kill(syscall.SIGKILL)
	require.NoError(n.t, os.RemoveAll(n.dirs[lost]))
	n.ss[lost].start()
	n.insist("member", "replace", strconv.Itoa(lost))
}

// transfer hands the leads of shards over, one after another.
func (n *nemesis) transfer() {
	for range 10 {
		n.insist("member", "transfer", strconv.Itoa(n.rng.IntN(nemesisProcesses)), strconv.Itoa(n.rng.IntN(nemesisProcesses)))
	}
}
