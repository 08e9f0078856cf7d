package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/version"
)

// previous returns the server of the previous version, which .ci/upgrade builds.
func previous(t *testing.T) string {
	binary := os.Getenv("HOPGATE_PREVIOUS")
	if binary == "" {
		t.Skip("HOPGATE_PREVIOUS names no server of the previous version: .ci/upgrade runs this test")
	}
	return binary
}

// inForce returns the cluster version in force, as far as a process knows.
func (p *process) inForce() int {
	metrics, err := get("http://" + p.admin + "/metrics")
	require.NoError(p.t, err)
	found := regexp.MustCompile(`(?m)^hopgate_cluster_version (\d+)$`).FindStringSubmatch(metrics)
	if found == nil {
		return 1 // a program from before cluster versions
	}
	n, err := strconv.Atoi(found[1])
	require.NoError(p.t, err)
	return n
}

// A cluster of the previous version becomes one of this version by a rolling restart, while clients write and read: no acknowledged write is lost, and
// the version in force rises once the last process is of this version.
func TestUpgrade(t *testing.T) {
	binary, peers := previous(t), []string{freeAddress(t), freeAddress(t), freeAddress(t)}
	var ps []*process
	for _, peer := range peers {
		p := &process{t: t, binary: binary, http: freeAddress(t), grpc: freeAddress(t), admin: freeAddress(t)}
		p.args = []string{
			"serve", "--replicas", "3", "--join", strings.Join(peers, ","), "--peer", peer, "--data-dir", t.TempDir(), "--http", p.http, "--grpc", p.grpc,
			"--admin", p.admin, "--bolt", "", "--memory", "256MiB", "--query-timeout", "5m",
		}
		p.start()
		ps = append(ps, p)
	}
	allReady := func() {
		for _, p := range ps {
			eventually(t, func() bool { _, err := get("http://" + p.admin + "/readyz"); return err == nil }, 20*time.Millisecond)
		}
	}
	allReady()
	_, err := ask(ps[0].http, "CREATE CONSTRAINT keys FOR (n:Written) REQUIRE n.id IS UNIQUE")
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var acknowledged atomic.Int64
	written := make(chan int64)
	go func() {
		id := int64(0)
		for try := 0; ctx.Err() == nil; try++ {
			statement := fmt.Sprintf("MERGE (n:Written {id: %d}) WITH n MATCH (p:Written {id: n.id - 1}) MERGE (n)-[:AFTER]->(p)", id)
			if _, err := ask(ps[try%len(ps)].http, statement); err == nil {
				id++
				acknowledged.Store(id)
			}
		}
		written <- id
	}()
	before := ps[0].inForce()
	for i, p := range ps {
		eventually(t, func() bool { return acknowledged.Load() > int64(10*i) }, 20*time.Millisecond)
		require.Equal(t, before, ps[0].inForce(), "a process of the previous version runs")
		p.kill(syscall.SIGTERM)
		p.binary = ""
		p.start()
		allReady()
		for _, p := range ps { // whichever leads, each of them answers, and with all that was acknowledged
			least := acknowledged.Load()
			answer := p.graphctl("query", "-o", "csv", "MATCH (n:Written) RETURN count(n) AS n")
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(answer, "n\n")), 10, 64)
			require.NoError(t, err, answer)
			require.GreaterOrEqual(t, n, least)
		}
	}
	for _, p := range ps {
		eventually(t, func() bool { return p.inForce() == version.Cluster }, 20*time.Millisecond)
	}
	reached := acknowledged.Load()
	eventually(t, func() bool { return acknowledged.Load() > reached+10 }, 20*time.Millisecond)
	stop()
	n := <-written
	require.Equal(t, fmt.Sprintf("ids,n,edges\n%d,%d,%d\n", n, n, n-1), ps[2].graphctl("query", "-o", "csv", fmt.Sprintf(
		"MATCH (a:Written) WHERE a.id < %d OPTIONAL MATCH (a)-[r:AFTER]->() RETURN count(DISTINCT a.id) AS ids, count(a) AS n, count(r) AS edges", n)))
	require.Contains(t, ps[1].graphctl("check"), "nothing is wrong")
}

// The data directory and the backup of the previous version's server are read: all that it has answered is answered alike.
func TestUpgradeDirectory(t *testing.T) {
	binary, dir, backup := previous(t), t.TempDir(), filepath.Join(t.TempDir(), "backup")
	serve := func(binary, dir string) *process {
		p := &process{t: t, binary: binary, http: freeAddress(t), grpc: freeAddress(t)}
		p.args = []string{"serve", "--data-dir", dir, "--http", p.http, "--grpc", p.grpc, "--admin", "127.0.0.1:0", "--bolt", "", "--memory", "256MiB", "--query-timeout", "5m"}
		p.start()
		eventually(t, func() bool { _, err := ask(p.http, "RETURN 1"); return err == nil }, 20*time.Millisecond)
		return p
	}
	answers := func(p *process) (all []string) {
		for _, statement := range []string{
			"MATCH (p:Person) RETURN p.id, p.name, p.at, p.born, p.tags, size(p.text), p.text ORDER BY p.id",
			"MATCH (a:Person)-[k:KNOWS]->(b) WHERE k.since > 1990 RETURN a.id, k.since, b.id ORDER BY a.id, b.id LIMIT 1000",
			"MATCH (a:Person {id: 7})-[:KNOWS*1..3]->(b) RETURN count(b), count(DISTINCT b)",
			"CALL db.index.fulltext.queryNodes('words', 'seven') YIELD node, score RETURN node.id, score ORDER BY node.id",
			"CALL db.index.vector.queryNodes('near', 3, [1.0, 0.5, 0.25]) YIELD node, score RETURN node.id, score ORDER BY node.id",
			"SHOW CONSTRAINTS YIELD name, type RETURN name, type ORDER BY name",
		} {
			all = append(all, p.graphctl("query", "-o", "ndjson", statement))
		}
		return all
	}
	old := serve(binary, dir)
	for _, statement := range []string{
		"CREATE CONSTRAINT ids FOR (p:Person) REQUIRE p.id IS UNIQUE",
		"CREATE FULLTEXT INDEX words FOR (p:Person) ON EACH [p.name]",
		"CREATE VECTOR INDEX near FOR (p:Person) ON (p.at) OPTIONS {indexConfig: {`vector.dimensions`: 3, `vector.similarity_function`: 'cosine'}}",
		`UNWIND range(1, 3000) AS i CREATE (:Person {id: i, name: CASE i % 7 WHEN 0 THEN 'seven ' ELSE 'other ' END + i, at: [1.0, i * 0.001, 0.25],
		   born: date({year: 1900 + i % 100, month: 1 + i % 12, day: 1}), tags: [toString(i), 'x'], text: reduce(s = '', j IN range(1, CASE i % 100 WHEN 0 THEN 500 ELSE 1 END) | s + 'word ')})`,
		"MATCH (a:Person) UNWIND range(1, 5) AS j MATCH (b:Person {id: (a.id * 31 + j * 17) % 3000 + 1}) CREATE (a)-[:KNOWS {since: 1950 + (a.id + j) % 70}]->(b)",
		"MATCH (p:Person) WHERE p.id % 50 = 3 DETACH DELETE p",
		"MATCH (p:Person) WHERE p.id % 50 = 4 SET p.name = 'seven times', p:Renamed",
		"CALL db.awaitIndexes()",
	} {
		old.graphctl("query", statement)
	}
	want := answers(old)
	old.graphctl("backup", backup)
	old.kill(syscall.SIGTERM)

	restored := filepath.Join(t.TempDir(), "restored")
	o := run(t, nil, "hopgate", "restore", backup, "--data-dir", restored)
	require.Zero(t, o.code, "%s%s", o.out, o.err)
	for _, dir := range []string{dir, restored} {
		upgraded := serve("", dir)
		require.Equal(t, want, answers(upgraded))
		upgraded.graphctl("query", "MATCH (p:Person {id: 1}) SET p.name = 'seven'")
		require.Contains(t, upgraded.graphctl("check"), "nothing is wrong")
		upgraded.kill(syscall.SIGTERM)
	}
}
