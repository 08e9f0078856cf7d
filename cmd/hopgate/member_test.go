package main_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
)

// startMembers starts processes of hopgate serve --join, with more arguments for each, and waits until each is ready.
func startMembers(t *testing.T, n int, more ...string) (ms []*process, bolts []string) {
	dirs := make([]string, n)
	for i := range dirs {
		dirs[i] = t.TempDir()
	}
	return startMembersIn(t, dirs, more...)
}

// startMembersIn is startMembers with the data directories.
func startMembersIn(t *testing.T, dirs []string, more ...string) (ms []*process, bolts []string) {
	n := len(dirs)
	peers := make([]string, n)
	for i := range peers {
		peers[i] = freeAddress(t)
	}
	for i := range peers {
		p := &process{t: t, http: freeAddress(t), grpc: freeAddress(t), admin: freeAddress(t)}
		bolts = append(bolts, freeAddress(t))
		p.args = append([]string{
			"serve", "--replicas", strconv.Itoa(n), "--join", strings.Join(peers, ","), "--peer", peers[i], "--data-dir", dirs[i], "--http", p.http,
			"--grpc", p.grpc, "--admin", p.admin, "--bolt", bolts[i], "--memory", "256MiB", "--query-timeout", "5m", "--tx-idle-timeout", "5m",
		}, more...)
		if slices.Contains(more, "--tls-cert") {
			p.http = "https://" + p.http
		}
		ms = append(ms, p)
	}
	for _, p := range ms {
		p.start()
	}
	for _, p := range ms {
		p.awaitReady()
	}
	return ms, bolts
}

// awaitReady waits until the process is ready for requests.
func (p *process) awaitReady() {
	eventually(p.t, func() bool {
		text, err := get("http://" + p.admin + "/readyz")
		return err == nil && strings.Contains(text, `"ok"`)
	}, 20*time.Millisecond)
}

// askBolt runs a statement over Bolt and returns the first value of its only row.
func askBolt(address, statement string) (v int64, err error) {
	c, err := (&net.Dialer{Timeout: patience}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	message := func(tag bolt.Tag, fields ...graph.Value) []byte {
		m := packstream.AppendStruct([]byte{0, 0}, byte(tag), len(fields))
		for _, f := range fields {
			m = packstream.Form{}.Append(m, f)
		}
		binary.BigEndian.PutUint16(m, uint16(len(m)-2))
		return append(m, 0, 0)
	}
	const success, record = 0x70, 0x71
	none := graph.MapValue(nil)
	entry := func(key string, v graph.Value) graph.Value {
		return graph.MapValue([]graph.MapEntry{{Key: key, Value: v}})
	}
	out := []byte(bolt.Magic + "\x00\x00\x04\x04" + strings.Repeat("\x00", 12))
	out = append(out, message(bolt.Hello, entry("scheme", graph.StringValue("none")))...)
	out = append(out, message(bolt.Run, graph.StringValue(statement), none, none)...)
	out = append(out, message(bolt.Pull, entry("n", graph.IntValue(-1)))...)
	if _, err := c.Write(out); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(c, make([]byte, 4)); err != nil { // the version
		return 0, err
	}
	for range 4 { // of HELLO and RUN, the row, and of PULL
		var body []byte
		for {
			var size [2]byte
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return 0, err
			}
			n := int(binary.BigEndian.Uint16(size[:]))
			if n == 0 {
				break
			}
			body = append(body, make([]byte, n)...)
			if _, err := io.ReadFull(c, body[len(body)-n:]); err != nil {
				return 0, err
			}
		}
		switch tag := body[1]; {
		case tag == record && body[2] == 0x91 && len(body) == 4: // a list of one small integer
			v = int64(int8(body[3]))
		case tag != success:
			return 0, fmt.Errorf("Neo. answer %q", body)
		}
	}
	return v, nil
}

// writes counts writes of members and remembers the acknowledged ones.
type writes struct {
	next, acknowledged atomic.Int64
	mu                 sync.Mutex
	done               []int64
}

// write creates a vertex through one process, and once that is acknowledged, looks for it through another one. A request may fail only with
// its process.
func (w *writes) write(t *testing.T, at, other *process) {
	id := w.next.Add(1)
	if _, err := ask(at.http, fmt.Sprintf("CREATE (:N {id: %d})-[:R]->(:M {id: %d})", id, id)); err != nil {
		if !unanswered(err) {
			t.Errorf("write %d failed: %v", id, err)
		}
		return
	}
	w.acknowledged.Add(1)
	w.mu.Lock()
	w.done = append(w.done, id)
	w.mu.Unlock()
	got, err := ask(other.http, fmt.Sprintf("MATCH (n:N {id: %d})-[:R]->(m) RETURN count(m)", id))
	if !unanswered(err) && (err != nil || !strings.Contains(got, "[[1]]")) {
		t.Errorf("a read after write %d gave %s, %v", id, got, err)
	}
}

// progress waits until more writes are acknowledged.
func (w *writes) progress(t *testing.T) {
	want := w.acknowledged.Load() + 20
	eventually(t, func() bool { return w.acknowledged.Load() >= want }, 10*time.Millisecond)
}

// check compares what each process has with what was acknowledged, and verifies the graph.
func (w *writes) check(t *testing.T, ms []*process) {
	w.compare(t, ms)
	o := run(t, []string{"GRAPHCTL_ADDRESS=" + ms[0].grpc}, "graphctl", "check")
	require.Zero(t, o.code, o.err)
}

// compare compares what each process has with what was acknowledged.
func (w *writes) compare(t *testing.T, ms []*process) {
	for _, p := range ms {
		p.awaitReady()
		for _, id := range w.done {
			got, err := ask(p.http, fmt.Sprintf("MATCH (n:N {id: %d})-[:R]->(m:M {id: n.id}) RETURN count(*)", id))
			require.NoError(t, err)
			require.Contains(t, got, "[[1]]", "write %d was acknowledged", id)
		}
	}
}

// Three processes of hopgate serve answer over HTTP, gRPC and Bolt. Each of them is killed while clients write and read at all: writes
// and reads go on at the others, no request fails except with its process, and each acknowledged write exists.
func TestMembersKilled(t *testing.T) {
	ms, bolts := startMembers(t, 3)
	_, err := ask(ms[0].http, "CREATE CONSTRAINT keys FOR (n:N) REQUIRE n.id IS UNIQUE")
	require.NoError(t, err)
	for i, p := range ms {
		o := run(t, []string{"GRAPHCTL_ADDRESS=" + p.grpc}, "graphctl", "query", "CREATE (:G) RETURN 1")
		require.Zero(t, o.code, o.err)
		v, err := askBolt(bolts[i], "CREATE (b:B) RETURN 7")
		require.NoError(t, err)
		require.EqualValues(t, 7, v)
	}
	for i, p := range ms {
		o := run(t, []string{"GRAPHCTL_ADDRESS=" + p.grpc}, "graphctl", "query", "MATCH (g:G) RETURN count(g) AS n", "-o", "csv")
		require.Equal(t, "n\n3\n", o.out, o.err)
		v, err := askBolt(bolts[i], "MATCH (b:B) RETURN count(b)")
		require.NoError(t, err)
		require.EqualValues(t, 3, v)
	}
	var w writes
	end := until(3, func(i int) { w.write(t, ms[i], ms[(i+1)%3]) })
	leader := leaderOf(t, ms, 0)
	victims := []*process{leader}
	for _, p := range ms {
		if p != leader {
			victims = append(victims, p)
		}
	}
	for _, p := range victims {
		w.progress(t)
		p.kill(syscall.SIGKILL)
		w.progress(t)
		lag := fmt.Sprintf(`hopgate_replica_lag_entries{process="%d",shard="0"} `, slices.Index(ms, p))
		others := slices.DeleteFunc(slices.Clone(ms), func(o *process) bool { return o == p })
		eventually(t, func() bool { // from the leader's first tick on
			text, err := get("http://" + leaderOf(t, others, 0).admin + "/metrics")
			return err == nil && strings.Contains(text, lag) && !strings.Contains(text, lag+"0\n")
		}, 20*time.Millisecond)
		p.start()
		p.awaitReady()
	}
	p := leaderOf(t, ms, 0)
	p.kill(syscall.SIGTERM)
	w.progress(t)
	p.start()
	end()
	w.check(t, ms)
}

// Each of three processes is stopped, as one that hangs is, while clients write and read. Writes and reads go on at the others; once it
// goes on, it answers what it was asked, nothing that was acknowledged is lost, and no read misses an earlier write.
func TestMembersStopped(t *testing.T) {
	ms, _ := startMembers(t, 3)
	var w writes
	end := until(6, func(i int) { w.write(t, ms[i%3], ms[(i+1+i/3)%3]) })
	leader := leaderOf(t, ms, 0)
	victims := []*process{leader}
	for _, p := range ms {
		if p != leader {
			victims = append(victims, p)
		}
	}
	for _, p := range victims {
		w.progress(t)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
		w.progress(t)
		w.progress(t)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
		p.awaitReady()
	}
	w.progress(t)
	end()
	w.check(t, ms)
}

// Of five processes, which speak by mutual TLS, the leader and another one are killed: writes and reads go on at the other three, and nothing
// that was acknowledged is lost. A caller without a certificate reaches no replica.
func TestFiveMembersTLS(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	a := newAuthority(t)
	cert, key := a.sign(t, "members", "127.0.0.1")
	a.trusted(t)
	ms, _ := startMembers(t, 5, "--tls-cert", file("crt", cert), "--tls-key", file("key", key), "--shard-ca", file("ca", a.pem))
	var w writes
	end := until(5, func(i int) { w.write(t, ms[i], ms[(i+2)%5]) })
	w.progress(t)
	leader := leaderOf(t, ms, 0)
	other := ms[(slices.Index(ms, leader)+1)%5]
	leader.kill(syscall.SIGKILL)
	other.kill(syscall.SIGKILL)
	w.progress(t)
	leader.start()
	other.start()
	end()
	w.compare(t, ms)

	conn, err := grpc.NewClient(ms[0].args[slices.Index(ms[0].args, "--peer")+1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = pb.NewPlaceServiceClient(conn).Place(t.Context(), &pb.PlaceRequest{})
	require.Equal(t, codes.Unavailable, status.Code(err))
}
