package main_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers what is asked for the SRV records of a service, whose targets are all this machine.
type nameServer struct {
	conn    net.PacketConn
	service string

	mu        sync.Mutex
	addresses []string
}

func newNameServer(t *testing.T, service string) *nameServer {
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &nameServer{conn: conn, service: service}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buf := make([]byte, 4096); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) == nil && len(m.Questions) == 1 {
				s.answer(&m)
				if out, err := m.Pack(); err == nil {
					_, _ = conn.WriteTo(out, from)
				}
			}
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return s
}

func (s *nameServer) set(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = addresses
}

func (s *nameServer) answer(m *dnsmessage.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := m.Questions[0]
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionDesired: m.RecursionDesired}
	m.Additionals = nil
	head := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}
	switch name := strings.TrimSuffix(q.Name.String(), "."); {
	case name == s.service && q.Type == dnsmessage.TypeSRV:
		for i, a := range s.addresses {
			_, port, _ := net.SplitHostPort(a)
			n, _ := strconv.Atoi(port)
			target := dnsmessage.MustNewName("host-" + strconv.Itoa(i) + "." + s.service + ".")
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.SRVResource{Target: target, Port: uint16(n)}})
		}
	case strings.HasSuffix(name, s.service):
		if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
		}
	default:
		m.RCode = dnsmessage.RCodeNameError
	}
}

// A gateway finds the shards by SRV records in any order, at the start and whenever they move, even to each other's addresses. It
// verifies them by the names in the records.
func TestClusterFound(t *testing.T) {
	const service = "_grpc._tcp.shards.test"
	names := newNameServer(t, service)
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	a := newAuthority(t)
	a.trusted(t)
	cert, key := a.sign(t, "cluster", "127.0.0.1", "*."+service)
	var secure []string
	for flag, text := range map[string]string{"--tls-cert": cert, "--tls-key": key, "--shard-ca": a.pem} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		secure = append(secure, flag, path)
	}
	listen := freeAddress(t)
	g := &process{t: t, http: "https://" + listen, args: append([]string{
		"gateway", "--join", "srv://" + names.conn.LocalAddr().String() + "/" + service, "--http", listen, "--grpc", "127.0.0.1:0",
		"--admin", "127.0.0.1:0", "--memory", "256MiB", "--query-timeout", "5m",
	}, secure...)}
	g.start()
	ss, _ := startClusterIn(t, dirs, 0, secure...)
	names.set(ss[2].grpc, ss[0].grpc, ss[1].grpc)
	eventually(t, func() bool { _, err := ask(g.http, "RETURN 1"); return err == nil }, 20*time.Millisecond)
	_, err := ask(g.http, "UNWIND range(1, 20000) AS i CREATE (:N {i: i})") // in all shards
	require.NoError(t, err)
	const sum = "MATCH (n:N) WITH n.i AS i RETURN count(i), sum(i)"
	want, err := ask(g.http, sum)
	require.NoError(t, err)
	require.Contains(t, want, "200010000")

	// move restarts the shards at other addresses.
	move := func(to ...string) {
		for _, s := range ss {
			s.kill(syscall.SIGKILL)
		}
		for no, s := range ss {
			for i, flag := range s.args[:len(s.args)-1] {
				switch flag {
				case "--grpc", "--peer":
					s.args[i+1] = to[no]
				case "--join":
					s.args[i+1] = strings.Join(to, ",")
				}
			}
			s.start()
		}
	}
	first := []string{ss[0].grpc, ss[1].grpc, ss[2].grpc}
	for _, to := range [][]string{
		{first[2], first[0], first[1]}, // where others were, the records stay
		{first[2], freeAddress(t), first[1]},
	} {
		move(to...)
		names.set(to[1], to[0], to[2])
		got, err := ask(g.http, sum)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}

	for _, args := range [][]string{
		{"shard", "--join", "srv:_grpc._tcp.shards.test"},
		{"gateway", "--join", "srv://nowhere/_grpc._tcp.shards.test"},
		{"gateway", "--join", "srv:"},
	} {
		o := run(t, nil, "hopgate", args...)
		require.NotZero(t, o.code, "%q", args)
		require.Contains(t, o.err, "join: ", "%q", args)
	}
}
