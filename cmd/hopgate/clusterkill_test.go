package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// until runs f in the background, again and again, until the returned function is called, which waits for its end.
func until(n int, f func(i int)) (end func()) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f(i)
				}
			}
		})
	}
	return sync.OnceFunc(func() { close(stop); running.Wait() })
}

// fetchStatics runs a fetch and returns its answer without the elapsed time.
func fetchStatics(address string) (string, error) {
	const body = `{"[]": {"count": 20, "page": 200, "Static": {"@order": "id", "@column": "id,name"}}}`
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+address+"/get", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && !strings.Contains(string(text), `"ok":true`) {
		err = fmt.Errorf("%d Neo. %s", res.StatusCode, text)
	}
	return fetchTime.ReplaceAllString(string(text), ""), err
}

// unanswered reports whether an error is one of the connection to a gateway, which was killed.
func unanswered(err error) bool {
	return err != nil && !strings.Contains(err.Error(), "Neo.")
}

// Each process of a cluster is killed and restarted while clients write and read and files are loaded. Afterwards, everything
// acknowledged exists, with both ends of each edge; a failed write exists as a whole or not at all; the load has inserted each row
// once; and no query or fetch fails except with its gateway, or returns another answer than a single server. HOPGATE_SEEDS is the
// number of kills.
func TestClusterKilled(t *testing.T) {
	for _, replication := range []string{"1", "3"} {
		t.Run("replication="+replication, func(t *testing.T) { clusterKilled(t, replication) })
	}
}

func clusterKilled(t *testing.T, replication string) {
	ss, gs := startCluster(t, 3, 2, "--replicas", replication)
	one := start(t, filepath.Join(t.TempDir(), "one"))
	for _, s := range []string{
		"CREATE CONSTRAINT keys FOR (n:N) REQUIRE n.id IS UNIQUE", "CREATE CONSTRAINT statics FOR (n:Static) REQUIRE n.id IS UNIQUE",
		"UNWIND range(0, 8999) AS i CREATE (:Static {id: i, i: i, name: 's' + i % 7})", "MATCH (a:Static), (b:Static {id: (a.i * 7 + 1) % 9000}) CREATE (a)-[:NEXT {w: a.i % 5}]->(b)",
	} {
		for _, address := range []string{one.addrs.HTTP, gs[0].http} {
			_, err := ask(address, s)
			require.NoError(t, err, s)
		}
	}
	fixed := []func(address string) (string, error){fetchStatics}
	for _, s := range []string{
		"MATCH (a:Static)-[:NEXT]->(b)-[:NEXT]->(c) WHERE a.id < 100 RETURN count(*), sum(b.i), sum(c.i)",
		"MATCH (a:Static {id: 8500})-[:NEXT*1..3]->(b) RETURN b.id, b.name ORDER BY b.id",
		"MATCH (a:Static)<-[r:NEXT]-(b) WHERE r.w = 3 AND a.id > 8900 RETURN a.id, b.id ORDER BY a.id",
		"MATCH (a:Static) RETURN a.name, count(*), min(a.i), max(a.i) ORDER BY a.name",
		"MATCH p = shortestPath((a:Static {id: 1})-[:NEXT*..5]->(b:Static {id: 57})) RETURN length(p)",
		"UNWIND range(0, 40) AS k OPTIONAL MATCH (a:Static {id: k * 250}) RETURN k, a.i, EXISTS { (a)-[:NEXT {w: 1}]->() } ORDER BY k",
	} {
		fixed = append(fixed, func(address string) (string, error) { return ask(address, s) })
	}
	want := make([]string, len(fixed))
	for i, read := range fixed {
		var err error
		want[i], err = read(one.addrs.HTTP)
		require.NoError(t, err)
		require.NotEmpty(t, want[i])
	}

	persons := "500"
	if !testing.Short() {
		persons = "3000"
	}
	dir, vertices, edges := network(t, "--persons", persons, "--comment-bytes", "1KiB..2KiB")
	loaded := make(chan int, 1)
	go func() {
		for tries := 1; ; tries++ {
			o := run(t, []string{"GRAPHCTL_ADDRESS=" + gs[tries%2].grpc}, "graphctl", "load", dir, "--memory", "16MiB")
			if o.code == 0 || tries == 100 {
				loaded <- o.code
				return
			}
			t.Logf("load %d: %s", tries, strings.TrimSpace(o.err))
		}
	}()

	var next, acknowledged, reads atomic.Int64
	var mu sync.Mutex
	done := map[int64]bool{}
	end := until(3, func(w int) {
		id := next.Add(1)
		_, err := ask(gs[w%2].http, fmt.Sprintf("CREATE (a:N {id: %d})-[:R {id: %d}]->(b:M {id: %d}), (b)-[:S]->(:O {id: %d})", id, id, id, id))
		if err == nil {
			acknowledged.Add(1)
			mu.Lock()
			done[id] = true
			mu.Unlock()
		}
		k := int(id) % len(fixed)
		got, err := fixed[k](gs[(w+1)%2].http)
		switch {
		case err == nil && got != want[k]:
			t.Errorf("read %d gave %s, not %s", k, got, want[k])
		case err == nil:
			reads.Add(1)
		case !unanswered(err):
			t.Errorf("a read failed: %v", err)
		}
	})
	progress := func() {
		want := acknowledged.Load() + 5
		eventually(t, func() bool { return acknowledged.Load() >= want }, 10*time.Millisecond)
	}
	progress()
	victims := []*process{ss[1], ss[0], gs[0], ss[2], gs[1], ss[0]}
	if os.Getenv("HOPGATE_SEEDS") != "" {
		all := append(append([]*process(nil), ss...), gs...)
		victims = nil
		for range rounds(0) {
			victims = append(victims, all[rand.IntN(len(all))])
		}
	}
	for _, p := range victims {
		p.kill(syscall.SIGKILL)
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
		p.start()
		progress()
	}
	if replication == "3" {
		// One process after the other is dead for as long as it takes: those that lead the shards, and one that follows.
		for _, shard := range []int{0, 1, 2, 0} {
			leader := leaderOf(t, ss, shard)
			leader.kill(syscall.SIGKILL)
			progress()
			leader.start()
		}
		for _, p := range ss {
			if p != leaderOf(t, ss, 0) {
				p.kill(syscall.SIGKILL)
				progress()
				p.start()
				break
			}
		}
	}
	require.Zero(t, <-loaded, "the load")
	end()

	rows, err := ask(gs[0].http, "MATCH (a:N)-[r:R]->(b:M)-[:S]->(c:O) WHERE a.id = b.id AND b.id = c.id AND r.id = a.id RETURN a.id ORDER BY a.id")
	require.NoError(t, err)
	back, err := ask(gs[1].http, "MATCH (c:O)<-[:S]-(b:M)<-[r:R]-(a:N) WHERE a.id = b.id AND b.id = c.id AND r.id = a.id RETURN a.id ORDER BY a.id")
	require.NoError(t, err)
	require.JSONEq(t, rows, back)
	var table struct{ Values [][]int64 }
	require.NoError(t, json.Unmarshal([]byte(rows), &table), rows)
	there := map[int64]bool{}
	for _, r := range table.Values {
		there[r[0]] = true
	}
	for id := range done {
		require.True(t, there[id], "write %d was acknowledged and is lost", id)
	}
	own := len(there)
	for statement, want := range map[string]int{
		"MATCH (n:N) RETURN count(n)": own, "MATCH (n:M) RETURN count(n)": own, "MATCH (n:O) RETURN count(n)": own,
		"MATCH (n) WITH n, 1 AS one RETURN sum(one)":          vertices + 9000 + 3*own,
		"MATCH (a)-[r]->(b) WITH r, 1 AS one RETURN sum(one)": edges + 9000 + 2*own,
		"MATCH (b)<-[r]-(a) WITH r, 1 AS one RETURN sum(one)": edges + 9000 + 2*own,
		"MATCH (n) RETURN count(n)":                           vertices + 9000 + 3*own,
		"MATCH ()-[r]->() RETURN count(r)":                    edges + 9000 + 2*own,
	} {
		got, err := ask(gs[0].http, statement)
		require.NoError(t, err, statement)
		var n struct{ Values [][]int }
		require.NoError(t, json.Unmarshal([]byte(got), &n), got)
		require.Equal(t, want, n.Values[0][0], statement)
	}
	o := run(t, []string{"GRAPHCTL_ADDRESS=" + gs[0].grpc}, "graphctl", "check")
	require.Zero(t, o.code, o.err)
	require.Contains(t, o.out, "nothing is wrong")
	t.Logf("%d acknowledged, %d there, %d reads", len(done), own, reads.Load())
}

// leaderOf returns the process that leads the replicas of a shard, by the metrics of all.
func leaderOf(t *testing.T, ss []*process, shard int) (leader *process) {
	leads := fmt.Sprintf("hopgate_replica_leads{shard=\"%d\"} 1", shard)
	eventually(t, func() bool {
		for _, p := range ss {
			if text, err := get("http://" + p.admin + "/metrics"); err == nil && strings.Contains(text, leads) {
				leader = p
				return true
			}
		}
		return false
	}, 10*time.Millisecond)
	return leader
}

// get returns what is at a URL.
func get(url string) (string, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return string(text), err
}

// Gateways restart one after another while clients use both behind a load balancer, which sends new connections to other gateways
// before one stops, and keeps existing ones. No request is lost.
func TestGatewaysRestarted(t *testing.T) {
	_, gs := startCluster(t, 2, 2, "--drain-timeout", "5m")
	var stopped atomic.Pointer[process]
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			to := gs[rand.IntN(2)]
			if to == stopped.Load() {
				to = gs[1-slices.Index(gs, to)]
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", to.http)
		},
	}}
	t.Cleanup(client.CloseIdleConnections)
	var asked atomic.Int64
	end := until(4, func(int) {
		began := time.Now()
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://gateways.localhost/v1/query", strings.NewReader(`{"statement": "UNWIND range(1, 2000) AS i RETURN i"}`))
		if err == nil {
			var res *http.Response
			if res, err = client.Do(req); err == nil {
				var text []byte
				text, err = io.ReadAll(res.Body)
				var answer struct{ Data struct{ Values []any } }
				if err == nil {
					err = json.Unmarshal(text, &answer)
				}
				if err == nil && len(answer.Data.Values) != 2000 {
					err = fmt.Errorf("status %d, %s", res.StatusCode, text)
				}
				_ = res.Body.Close()
			}
		}
		if err != nil {
			t.Errorf("a request was lost after %v: %v", time.Since(began), err)
		}
		asked.Add(1)
	})
	for range rounds(1) {
		for _, g := range gs {
			want := asked.Load() + 20
			eventually(t, func() bool { return asked.Load() >= want }, time.Millisecond)
			stopped.Store(g)
			g.kill(syscall.SIGTERM)
			g.start()
			eventually(t, func() bool { _, err := ask(g.http, "RETURN 1"); return err == nil }, 20*time.Millisecond)
			stopped.Store(nil)
		}
	}
	end()
}
