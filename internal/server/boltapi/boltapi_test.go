package boltapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/server/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a server on a free port of this machine.
type served struct {
	*Server
	e       *query.Engine
	address string
}

// serve serves an oracle; host may have settings that all transports share.
func serve(t testing.TB, opt Options, host ...request.Host) *served {
	store := oracle.New(2)
	require.NoError(t, store.CreateGraph(context.Background(), query.DefaultGraph))
	e := query.New(store, query.Options{Admission: admission.Limits{Running: 2, Queue: 10}, QueryBytes: 1 << 20})
	return serveEngine(t, e, opt, host...)
}

func serveEngine(t testing.TB, e *query.Engine, opt Options, host ...request.Host) *served {
	h := append(host, request.Host{})[0]
	h.Engine, h.Log = e, slog.New(slog.DiscardHandler)
	s := New(&h, opt)
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h.Address = func(name string) string {
		return map[string]string{listenerName: l.Addr().String(), "http": "127.0.0.1:8080"}[name]
	}
	s.Listen(l)
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Drain(ctx)
		require.NoError(t, <-done)
	})
	return &served{s, e, l.Addr().String()}
}

// client speaks Bolt by hand.
type client struct {
	t  testing.TB
	c  net.Conn
	in bolt.Reader
}

func (s *served) dial(t testing.TB) net.Conn {
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(5*time.Minute)))
	return c
}

// greet negotiates a version, 5.4 by default.
func greet(t testing.TB, conn net.Conn, version string) *client {
	_, err := conn.Write([]byte(bolt.Magic + version + strings.Repeat("\x00", 12)))
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	var got [4]byte
	_, err = io.ReadFull(r, got[:])
	require.NoError(t, err)
	require.Equal(t, version, string(got[:]))
	return &client{t: t, c: conn, in: bolt.NewReader(r)}
}

const (
	v54 = "\x00\x00\x04\x05"
	v44 = "\x00\x00\x04\x04"
)

// connect negotiates a version and logs on without credentials.
func (s *served) connect(t testing.TB) *client { return logOn(t, s.dial(t)) }

func logOn(t testing.TB, conn net.Conn) *client {
	c := greet(t, conn, v54)
	c.send(message(bolt.Hello, entries("user_agent", graph.StringValue("test/1"))), message(bolt.Logon, entries("scheme", graph.StringValue("none"))))
	c.ok()
	c.ok()
	return c
}

func entries(pairs ...any) graph.Value {
	var m []graph.MapEntry
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, graph.MapEntry{Key: pairs[i].(string), Value: pairs[i+1].(graph.Value)})
	}
	return graph.MapValue(m)
}

func message(tag bolt.Tag, fields ...graph.Value) []byte {
	b := packstream.AppendStruct(nil, byte(tag), len(fields))
	for _, f := range fields {
		b = packstream.Form{ElementIDs: true, UTC: true}.Append(b, f)
	}
	return b
}

func run(statement string) []byte {
	return message(bolt.Run, graph.StringValue(statement), entries(), entries())
}

func pull(n int64) []byte { return message(bolt.Pull, entries("n", graph.IntValue(n))) }

// send writes messages, all at once.
func (c *client) send(messages ...[]byte) {
	var b []byte
	for _, m := range messages {
		for chunk := range slices.Chunk(m, 0xFFFF) {
			b = append(b, byte(len(chunk)>>8), byte(len(chunk)))
			b = append(b, chunk...)
		}
		b = append(b, 0, 0)
	}
	_, err := c.c.Write(b)
	require.NoError(c.t, err)
}

// answer reads one answer: its tag and its field.
func (c *client) answer() (byte, graph.Value) {
	msg, err := c.in.Next(bolt.AtMost(1 << 20))
	require.NoError(c.t, err)
	d := packstream.NewDecoder(packstream.Form{UTC: true}, msg)
	tag, fields, err := d.Struct()
	require.NoError(c.t, err)
	var v graph.Value
	if fields > 0 {
		v, err = d.Value()
		require.NoError(c.t, err)
	}
	return tag, v
}

// ok reads a success.
func (c *client) ok() graph.Value {
	tag, v := c.answer()
	require.Equal(c.t, byte(0x70), tag, "%s", text(v))
	return v
}

// reset returns a failed connection to its initial state.
func (c *client) reset() {
	c.send(message(bolt.Reset))
	c.ok()
}

// failed reads a failure and returns its code.
func (c *client) failed() string {
	tag, v := c.answer()
	require.Equal(c.t, byte(0x7F), tag, "%s", text(v))
	return v.Get("code").Str()
}

// rows reads the rows of a result and the success behind them.
func (c *client) rows() (n int, end graph.Value) {
	for {
		tag, v := c.answer()
		if tag != 0x71 {
			require.Equal(c.t, byte(0x70), tag, "%s", text(v))
			return n, v
		}
		n++
	}
}

func text(v graph.Value) string {
	if v.Kind() == graph.Map {
		return v.Get("code").Str() + ": " + v.Get("message").Str()
	}
	return v.Kind().String()
}

func (c *client) closed() {
	_, err := c.in.Next(bolt.AtMost(1 << 20))
	require.ErrorIs(c.t, err, io.EOF)
}

// Statements run alone and in transactions, with several open results.
func TestStatements(t *testing.T) {
	s := serve(t, Options{})
	c := s.connect(t)
	c.send(run("UNWIND range(1, 3000) AS n RETURN n, toString(n) AS text"), pull(1000))
	require.Equal(t, 2, len(c.ok().Get("fields").List()))
	n, end := c.rows()
	require.Equal(t, 1000, n)
	require.True(t, end.Get("has_more").Bool())
	require.Eventually(t, func() bool { return s.e.Load().Running == 0 }, time.Minute, time.Millisecond, "a result that waits takes no place")
	c.send(pull(-1))
	n, end = c.rows()
	require.Equal(t, 2000, n)
	require.Equal(t, "r", end.Get("type").Str())
	require.Equal(t, "neo4j", end.Get("db").Str())
	first := end.Get("bookmark").Str()
	require.True(t, strings.HasPrefix(first, "hg1:default:"))

	c.send(message(bolt.Begin, entries("bookmarks", graph.ListValue([]graph.Value{graph.StringValue(first)}))), run("CREATE (a:A {n: 1}) RETURN a"), pull(-1),
		run("UNWIND range(1, 3000) AS n RETURN n"), pull(1), run("MATCH (a:A) RETURN a.n"), pull(-1),
		message(bolt.Pull, entries("n", graph.IntValue(-1), "qid", graph.IntValue(1))), message(bolt.Commit))
	c.ok()
	c.ok()
	n, end = c.rows()
	require.Equal(t, 1, n)
	require.EqualValues(t, 1, end.Get("stats").Get("nodes-created").Int())
	require.EqualValues(t, 1, c.ok().Get("qid").Int())
	c.rows()
	c.ok()
	n, _ = c.rows()
	require.Equal(t, 1, n)
	n, _ = c.rows()
	require.Equal(t, 2999, n)
	require.NotEqual(t, first, c.ok().Get("bookmark").Str())

	c.send(message(bolt.Begin, entries()), run("UNWIND range(1, 100000) AS n RETURN toString(n) + 'a long text that takes memory'"), pull(1), run("RETURN 1"))
	c.ok()
	c.ok()
	c.rows()
	require.Equal(t, "Neo.ClientError.General.TransactionOutOfMemoryError", c.failed())
	c.send(message(bolt.Reset), message(bolt.Run, graph.StringValue("CREATE (:B)"), entries(), entries("mode", graph.StringValue("r"))))
	c.ok()
	require.Equal(t, "Neo.ClientError.Statement.AccessMode", c.failed())
	require.Zero(t, s.e.Load().Running)
	require.Empty(t, s.e.Running(context.Background()))
}

// Long-running statements yield to each other. A result that waits, or whose rows are in memory, holds no CPU slot.
func TestTurns(t *testing.T) {
	s := serve(t, Options{})
	const costly = "UNWIND range(1, 2000000) AS n WITH n WHERE n % 1000 = 0 RETURN n"
	var open []*client
	for range 3 {
		c := s.connect(t)
		for range 2 {
			c.send(run(costly), pull(-1)) // the first time it is found out
			c.ok()
			c.rows()
		}
		c.send(message(bolt.Begin, entries("mode", graph.StringValue("r"))), run(costly))
		c.ok()
		c.ok()
		c.send(pull(1))
		c.rows()
		c.send(run(costly))
		c.ok()
		open = append(open, c)
	}
	for _, c := range open {
		c.send(pull(-1))
		n, _ := c.rows()
		require.Equal(t, 2000, n)
		c.send(message(bolt.Pull, entries("n", graph.IntValue(-1), "qid", graph.IntValue(0))))
		n, _ = c.rows()
		require.Equal(t, 1999, n)
	}
}

// RESET, a closed connection, the client's timeout and kill each end a statement that would run for a long time.
func TestEnds(t *testing.T) {
	s := serve(t, Options{})
	const long = "UNWIND range(1, 1000000000) AS n WITH n WHERE n < 0 RETURN n"
	running := func() []*query.Running { return s.e.Running(context.Background()) }
	started := func() bool { return len(running()) > 0 }
	ended := func() bool { return len(running()) == 0 && s.e.Load().Running == 0 }
	within := func(f func() bool) { t.Helper(); require.Eventually(t, f, time.Minute, time.Millisecond) }

	c := s.connect(t)
	c.send(run(long), pull(-1))
	c.ok()
	within(started)
	require.Equal(t, "bolt-1", running()[0].Session().ID)
	require.Equal(t, "test/1", running()[0].Session().Agent)
	c.send(message(bolt.Reset))
	// A RESET that arrives before the server takes the PULL makes it ignore the PULL.
	if tag, v := c.answer(); tag != 0x7E {
		require.Equal(t, byte(0x7F), tag, "%s", text(v))
		require.Equal(t, "Neo.ClientError.Transaction.Terminated", v.Get("code").Str())
	}
	c.ok()
	within(ended)

	c.send(run(long), pull(-1))
	c.ok()
	within(started)
	require.True(t, s.e.Kill(context.Background(), running()[0].ID))
	require.Equal(t, "Neo.ClientError.Transaction.Terminated", c.failed())

	timeout := entries("tx_timeout", graph.IntValue(20))
	c.send(message(bolt.Reset), message(bolt.Run, graph.StringValue(long), entries(), timeout), pull(-1))
	c.ok()
	require.Equal(t, "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", c.firstFailure())
	c.send(message(bolt.Reset), message(bolt.Begin, timeout), run(long), pull(-1))
	c.untilReset()
	require.Equal(t, "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", c.firstFailure())

	c.send(message(bolt.Reset), message(bolt.Begin, entries()), run("UNWIND range(1, 5000) AS n RETURN n"), pull(1))
	c.untilReset()
	c.ok()
	c.ok()
	c.rows()
	within(started)
	require.True(t, s.e.Kill(context.Background(), running()[0].ID), "while its result waits")
	within(ended)
	c.send(pull(1))
	require.Equal(t, "Neo.ClientError.Transaction.Terminated", c.failed())

	c.send(message(bolt.Reset), run(long), pull(-1))
	c.ok()
	c.ok()
	within(started)
	require.NoError(t, c.c.Close())
	within(ended)
}

// A transaction whose time is over while it waits for another one says so, as Neo4j's does.
func TestTimeoutOfWait(t *testing.T) {
	s := serveEngine(t, query.New(watch(t), query.Options{}), Options{})
	holder, c := s.connect(t), s.connect(t)
	holder.send(run("CREATE (:One)"), pull(-1))
	holder.ok()
	holder.ok()
	holder.send(message(bolt.Begin, entries()), run("MATCH (n:One) SET n.x = 1"), pull(-1))
	holder.ok()
	holder.ok()
	holder.ok()
	c.send(message(bolt.Begin, entries("tx_timeout", graph.IntValue(20))), run("MATCH (n:One) SET n.x = 2"), pull(-1))
	c.ok()
	require.Equal(t, "Neo.ClientError.Transaction.LockClientStopped", c.firstFailure())
	holder.send(message(bolt.Commit))
	holder.ok()
}

// The server rolls back a transaction that stays idle for its time limit, whatever results are open.
func TestIdle(t *testing.T) {
	inBubble(t, Options{TxIdle: time.Minute}, func(t *testing.T, s *Server, dial func() net.Conn) {
		c := logOn(t, dial())
		c.send(message(bolt.Begin, entries()), run("UNWIND range(1, 5000) AS n RETURN n"), pull(1))
		c.ok()
		c.ok()
		c.rows()
		time.Sleep(time.Minute - time.Second)
		require.Len(t, s.e.Running(t.Context()), 1)
		time.Sleep(2 * time.Second)
		require.Empty(t, s.e.Running(t.Context()))
		c.send(message(bolt.Commit))
		require.Equal(t, "Neo.ClientError.Transaction.TransactionTimedOut", c.failed())
		require.Zero(t, testutil.ToFloat64(s.metrics.transactions))
		require.Zero(t, testutil.ToFloat64(s.metrics.waiting))
	})
}

// Graphs have the names that Neo4j's clients know them by, and the system holds no data.
func TestGraphs(t *testing.T) {
	s := serve(t, Options{})
	c := s.connect(t)
	in := func(db, statement string) []byte {
		return message(bolt.Run, graph.StringValue(statement), entries(), entries("db", graph.StringValue(db)))
	}
	for _, db := range []string{"neo4j", "", "default"} {
		c.send(in(db, "RETURN 1"), pull(-1))
		c.ok()
		_, end := c.rows()
		require.Equal(t, "neo4j", end.Get("db").Str())
	}
	c.send(in("default", "USE neo4j RETURN 1"), pull(-1))
	c.ok()
	c.rows()
	c.send(in("system", "SHOW DATABASES"), pull(-1))
	c.ok()
	_, end := c.rows()
	require.Equal(t, "system", end.Get("db").Str())
	c.send(in("system", "CREATE DATABASE neo4j"), pull(-1))
	c.ok()
	c.rows()
	c.send(in("neo4j", "CREATE (:Here)"), pull(-1), in("", "MATCH (n) RETURN n"), pull(-1))
	c.ok()
	c.rows()
	c.ok()
	n, end := c.rows()
	require.Zero(t, n)
	require.Equal(t, "default", end.Get("db").Str(), "there is another one of that name")
	for _, statement := range []string{"MATCH (n) RETURN n", "CREATE (n)", "CREATE INDEX FOR (n:L) ON (n.p)", "RETURN 1"} {
		c.send(in("system", statement))
		require.Equal(t, "Neo.ClientError.Statement.SyntaxError", c.failed(), statement)
		c.reset()
	}
	c.send(in("nope", "RETURN 1"))
	require.Equal(t, "Neo.ClientError.Database.DatabaseNotFound", c.failed())
	c.reset()
	c.send(message(bolt.Route, entries(), graph.ListValue(nil), entries("db", graph.StringValue("nope"))))
	require.Equal(t, "Neo.ClientError.Database.DatabaseNotFound", c.failed())
	c.reset()
	c.send(message(bolt.Begin, entries("bookmarks", graph.ListValue([]graph.Value{graph.StringValue("FB:x")}))))
	require.Equal(t, "Neo.ClientError.Transaction.InvalidBookmark", c.failed())
}

// A routing table lists the gateways, the advertised address, the address that the client requested, or the listener's.
func TestRouting(t *testing.T) {
	for _, c := range []struct {
		opt   Options
		asked string
		want  []string
	}{
		{Options{Gateways: "a:1, b:2", Advertise: "c:3"}, "d:4", []string{"a:1", "b:2"}},
		{Options{Advertise: "c:3"}, "d:4", []string{"c:3"}},
		{Options{}, "d:4", []string{"d:4"}},
		{Options{}, "", nil},
	} {
		s := serve(t, c.opt)
		if c.want == nil {
			c.want = []string{s.address}
		}
		cl := s.connect(t)
		routing := entries()
		if c.asked != "" {
			routing = entries("address", graph.StringValue(c.asked))
		}
		cl.send(message(bolt.Route, routing, graph.ListValue(nil), entries()))
		for _, server := range cl.ok().Get("rt").Get("servers").List() {
			var got []string
			for _, a := range server.Get("addresses").List() {
				got = append(got, a.Str())
			}
			require.ElementsMatch(t, c.want, got)
		}
	}
}

// A caller presents a token as a password or as a bearer token. After ten failures in a row, its address must wait.
func TestAuthentication(t *testing.T) {
	token, entry := access.NewToken("ann", access.Reader)
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	require.NoError(t, os.WriteFile(file, []byte("tokens:\n"+entry), 0o600))
	auth, err := access.New(access.Options{TokensFile: file}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s := serve(t, Options{}, request.Host{Auth: auth})
	logon := func(scheme, name, secret string) *client {
		c := greet(t, s.dial(t), v54)
		c.send(message(bolt.Hello, entries("user_agent", graph.StringValue("x"))), message(bolt.Logon, entries(
			"scheme", graph.StringValue(scheme), "principal", graph.StringValue(name), "credentials", graph.StringValue(secret))))
		c.ok()
		return c
	}
	for _, way := range [][2]string{{"basic", "neo4j"}, {"basic", "ann"}, {"bearer", ""}} {
		c := logon(way[0], way[1], token)
		c.ok()
		c.send(run("CREATE (n)"))
		require.Equal(t, "Neo.ClientError.Security.Forbidden", c.failed())
	}
	c := logon("bearer", "", "nonsense")
	require.Equal(t, "Neo.ClientError.Security.Unauthorized", c.failed())
	c.closed()

	c = logon("bearer", "", token)
	c.ok()
	require.NoError(t, os.WriteFile(file, []byte("tokens: []\n"), 0o600))
	_, err = auth.Token(t.Context(), "makes it read the file again")
	require.Error(t, err)
	c.send(run("RETURN 1"))
	require.Equal(t, "Neo.ClientError.Security.Unauthorized", c.failed())
	for range mostFailures {
		s.failures.add("127.0.0.1")
	}
	c = logon("bearer", "", "nonsense")
	require.Equal(t, "Neo.ClientError.Security.AuthenticationRateLimit", c.failed())
	c.closed()
}

// Without authentication, a client may omit credentials, but may not name an unknown scheme.
func TestNoCredentials(t *testing.T) {
	s := serve(t, Options{})
	c := greet(t, s.dial(t), v54)
	c.send(message(bolt.Hello, entries("user_agent", graph.StringValue("x"))), message(bolt.Logon, entries()))
	c.ok()
	c.ok()
	c = greet(t, s.dial(t), v54)
	c.send(message(bolt.Hello, entries("user_agent", graph.StringValue("x"))), message(bolt.Logon, entries("scheme", graph.StringValue("kerberos"))))
	c.ok()
	require.Equal(t, "Neo.ClientError.Security.Unauthorized", c.failed())
	c.closed()
}

// A connection beyond the limit receives an error.
func TestTooManyConnections(t *testing.T) {
	s := serve(t, Options{MaxConnections: 1})
	s.connect(t)
	c := greet(t, s.dial(t), v44)
	c.send(message(bolt.Hello, entries("user_agent", graph.StringValue("x"))))
	require.Equal(t, "Neo.TransientError.Request.NoThreadsAvailable", c.failed())
	c.closed()
}

// A client that is not known may send no large messages.
func TestLargeMessages(t *testing.T) {
	s := serve(t, Options{}, request.Host{MaxRequestBytes: 200_000})
	large := graph.StringValue(strings.Repeat("x", 60_000))
	c := greet(t, s.dial(t), v54)
	c.send(message(bolt.Hello, entries("a", large)))
	c.ok()
	c.send(message(bolt.Logon, entries("scheme", graph.StringValue("none"))))
	c.ok()
	b := message(bolt.Run, graph.StringValue("RETURN $a"), entries("a", graph.ListValue([]graph.Value{large, large, large, large})), entries())
	for len(b) > 0 {
		n := min(len(b), 65535)
		_, err := c.c.Write(append([]byte{byte(n >> 8), byte(n)}, b[:n]...))
		require.NoError(t, err, "the server reads on until the client has the answer")
		b = b[n:]
	}
	require.Equal(t, "Neo.ClientError.Request.Invalid", c.failed())
}

// The first bytes determine the protocol of a connection. WebSocket frames need not align with messages.
func TestFirstBytes(t *testing.T) {
	s := serve(t, Options{})
	for _, first := range []string{"\x16\x03\x01\x00", "hello", "\x60\x60\xb0\x18"} {
		c := s.dial(t)
		_, err := c.Write([]byte(first))
		require.NoError(t, err)
		got, _ := io.ReadAll(c) // a reset is as good as an end
		require.Empty(t, got, "%q", first)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address+"/", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	var doc map[string]string
	require.NoError(t, json.NewDecoder(res.Body).Decode(&doc))
	require.NoError(t, res.Body.Close())
	require.Equal(t, "bolt://"+s.address, doc["bolt_direct"])
	require.Equal(t, "neo4j://"+s.address, doc["bolt_routing"])
	require.Equal(t, "http://127.0.0.1:8080/db/{databaseName}/query/v2", doc["query"])
	require.Equal(t, "*", res.Header.Get("Access-Control-Allow-Origin"))

	for _, h := range []http.Header{{}, {"Origin": {"http://localhost:3000"}}} { // another name than the listener's, as over HTTP
		_, res, err := websocket.Dial(t.Context(), "ws://"+s.address+"/any", &websocket.DialOptions{HTTPHeader: h, Host: "evil.example"})
		require.Error(t, err)
		require.Equal(t, http.StatusForbidden, res.StatusCode)
	}
	for origin, ok := range map[string]bool{"": true, "http://" + s.address: true, "http://localhost:3000": true, "http://127.0.0.2": true, "https://evil.example": false, "null": false} {
		h := http.Header{}
		if origin != "" {
			h.Set("Origin", origin)
		}
		ws, res, err := websocket.Dial(t.Context(), "ws://"+s.address+"/any", &websocket.DialOptions{HTTPHeader: h})
		if !ok {
			require.Error(t, err, origin)
			require.Equal(t, http.StatusForbidden, res.StatusCode)
			continue
		}
		require.NoError(t, err, origin)
		c := greet(t, &slow{websocket.NetConn(t.Context(), ws, websocket.MessageBinary)}, v54)
		c.send(message(bolt.Hello, entries("user_agent", graph.StringValue("x"))), message(bolt.Logon, entries("scheme", graph.StringValue("none"))))
		c.ok()
		c.ok()
		c.send(run("RETURN 1"), pull(-1))
		c.ok()
		n, _ := c.rows()
		require.Equal(t, 1, n)
		require.NoError(t, ws.Close(websocket.StatusNormalClosure, ""))
	}
}

// slow writes a byte at a time.
type slow struct{ net.Conn }

func (s *slow) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := s.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// The first byte identifies TLS. If TLS is required, the server refuses everything else.
func TestTLS(t *testing.T) {
	cert, err := tls.X509KeyPair(selfSigned(t))
	require.NoError(t, err)
	secure := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	for _, plain := range []bool{false, true} {
		s := serve(t, Options{PlainToo: plain}, request.Host{TLS: secure})
		c := tls.Client(s.dial(t), &tls.Config{InsecureSkipVerify: true})
		greet(t, c, v54)
		bare := s.dial(t)
		if plain {
			greet(t, bare, v54)
			continue
		}
		_, err := bare.Write([]byte(bolt.Magic))
		require.NoError(t, err)
		got, _ := io.ReadAll(bare)
		require.Empty(t, got)
	}
}

// A draining server closes idle connections, lets a transaction finish its statement, and starts nothing new.
func TestDrain(t *testing.T) {
	s := serve(t, Options{})
	resting, busy := s.connect(t), s.connect(t)
	busy.send(message(bolt.Begin, entries()))
	busy.ok()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Drain(ctx)
	}()
	resting.closed()
	busy.send(run("RETURN 1"))
	require.Equal(t, "Neo.TransientError.General.DatabaseUnavailable", busy.failed())
	<-done
	_, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address)
	require.Error(t, err)
}

// Any bytes are answered or refused by a close.
func TestNonsense(t *testing.T) {
	s := serve(t, Options{})
	for _, b := range []string{"0000", "FFFF00", "0002B0770000", "0001B00000", "0003B101C00000"} {
		c := greet(t, s.dial(t), v54)
		raw, err := hex.DecodeString(b)
		require.NoError(t, err)
		_, err = c.c.Write(raw)
		require.NoError(t, err)
		require.NoError(t, c.c.(*net.TCPConn).CloseWrite())
		_, err = io.ReadAll(c.c)
		require.NoError(t, err)
	}
}

// Large messages share the memory of large requests from their arrival until their result is closed. Small ones use none.
func TestLargeMessagesShareMemory(t *testing.T) {
	memory := request.NewMemory(300<<10, 10*time.Millisecond)
	s := serve(t, Options{}, request.Host{Memory: memory})
	parts := func(n int) graph.Value {
		return entries("a", graph.ListValue(slices.Repeat([]graph.Value{graph.StringValue(strings.Repeat("x", 50_000))}, n)))
	}
	large := message(bolt.Run, graph.StringValue("UNWIND range(1, 5000) AS n RETURN n, size($a) AS s"), parts(4), entries())
	first := s.connect(t)
	first.send(large, pull(1))
	first.ok()
	first.rows()

	second := s.connect(t)
	second.send(run("RETURN 1"), pull(-1))
	second.ok()
	second.rows()
	second.send(large)
	require.Equal(t, "Neo.TransientError.Request.NoThreadsAvailable", second.failed())
	second.closed()

	first.send(pull(-1))
	n, _ := first.rows()
	require.Equal(t, 4999, n)
	free := func() bool {
		release, err := memory.Acquire(t.Context(), 300<<10)
		if err == nil {
			release()
		}
		return err == nil
	}
	require.Eventually(t, free, time.Minute, time.Millisecond)
	for _, end := range []func(c *client){
		func(c *client) { c.send(message(bolt.Reset)); c.ok() },
		func(c *client) { require.NoError(t, c.c.Close()) },
		func(c *client) { c.send(pull(-1)); c.rows() },
	} {
		c := s.connect(t)
		c.send(large, pull(1))
		c.ok()
		c.rows()
		end(c)
		require.Eventually(t, free, time.Minute, time.Millisecond)
	}
	c := s.connect(t)
	c.send(message(bolt.Run, graph.StringValue("no statement"), parts(4), entries()))
	require.Equal(t, "Neo.ClientError.Statement.SyntaxError", c.failed())
	require.Eventually(t, free, time.Minute, time.Millisecond)
}
