package boltapi

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
)

// inBubble runs a test with a server whose clock is the bubble's; dial connects to it.
func inBubble(t *testing.T, opt Options, f func(t *testing.T, s *Server, dial func() net.Conn), host ...request.Host) {
	synctest.Test(t, func(t *testing.T) {
		store := oracle.New(1)
		require.NoError(t, store.CreateGraph(context.Background(), query.DefaultGraph))
		h := append(host, request.Host{})[0]
		h.Engine, h.Log = query.New(store, query.Options{}), slog.New(slog.DiscardHandler)
		s := New(&h, opt)
		defer func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			s.Drain(ctx)
		}()
		f(t, s, func() net.Conn {
			client, server := net.Pipe()
			t.Cleanup(func() { _ = client.Close() })
			go s.accept(server)
			return client
		})
	})
}

// isClosed reports whether the server has closed a connection.
func isClosed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := io.ReadAll(c)
	return err == nil
}

// A client has ten seconds to select a protocol.
func TestSilentClient(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, s *Server, dial func() net.Conn) {
		c := dial()
		time.Sleep(firstBytes - time.Second)
		require.False(t, isClosed(c))
		time.Sleep(2 * time.Second)
		require.True(t, isClosed(c))
		require.Equal(t, 1.0, testutil.ToFloat64(s.metrics.failed.WithLabelValues("silent")))
	})
}

// From its connection to READY a client has thirty seconds, however it spends them; a client that is ready may wait for long.
func TestSlowAuthentication(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, _ *Server, dial func() net.Conn) {
		hello := message(bolt.Hello, entries("user_agent", graph.StringValue("x")))
		slow := greet(t, dial(), v54)
		slow.send(hello)
		slow.ok()
		ready := logOn(t, dial())
		time.Sleep(readyTime - 2*time.Second)
		require.False(t, isClosed(slow.c))
		time.Sleep(4 * time.Second)
		require.True(t, isClosed(slow.c))
		time.Sleep(time.Hour)
		require.False(t, isClosed(ready.c))
	})
}

// A client that takes no bytes for a minute is cut off.
func TestClientTakesNothing(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, s *Server, _ func() net.Conn) {
		client, server := net.Pipe()
		defer func() { _ = client.Close() }()
		c := &conn{Conn: request.NewPaced(server), s: s}
		c.peer = newPeer(s, c, "bolt-1", "tcp")
		began := time.Now()
		_, err := c.Write([]byte("an answer"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, request.WriteTime, time.Since(began))
	})
}

// An incomplete message keeps nobody from the memory for complete ones, and ends if it does not go on.
func TestHalfMessage(t *testing.T) {
	memory := request.NewMemory(1<<20, 0)
	inBubble(t, Options{}, func(t *testing.T, _ *Server, dial func() net.Conn) {
		c := logOn(t, dial())
		b := append([]byte{0xFF, 0xFF}, make([]byte, 0xFFFF)...)
		for range 2 {
			_, err := c.c.Write(b)
			require.NoError(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		release, err := memory.Acquire(ctx, 1<<20)
		require.NoError(t, err)
		release()
		require.False(t, isClosed(c.c))
		time.Sleep(request.PieceTime)
		synctest.Wait()
		require.True(t, isClosed(c.c))
	}, request.Host{Memory: memory})
}

// Ten failures in a row refuse an address for five seconds; one success forgets them.
func TestFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f failures
		for range mostFailures {
			require.NoError(t, f.check("a"))
			f.add("a")
		}
		require.Equal(t, "Neo.ClientError.Security.AuthenticationRateLimit", graph.AsError(f.check("a")).Code)
		require.NoError(t, f.check("b"))
		time.Sleep(refusalTime)
		require.NoError(t, f.check("a"))
		for range mostFailures - 1 {
			f.add("a")
		}
		f.forget("a")
		f.add("a")
		require.NoError(t, f.check("a"))
	})
}

// An expired JWT stops the next statement. The connection continues with LOGOFF and LOGON, as testdata/session shows.
func TestTokenEnds(t *testing.T) {
	s := serve(t, Options{}, request.Host{Auth: new(access.Authenticator)})
	p := newPeer(s.Server, &conn{Conn: s.dial(t), s: s.Server}, "bolt-1", "tcp")
	id := &access.Identity{Name: "ann", Every: access.Reader, Expires: time.Now().Add(time.Hour)}
	p.grant = access.Granted(access.WithIdentity(t.Context(), id))
	_, err := p.ask(t.Context(), &bolt.Context{})
	require.NoError(t, err)
	id.Expires = time.Now()
	_, err = p.ask(t.Context(), &bolt.Context{})
	require.Equal(t, "Neo.ClientError.Security.TokenExpired", graph.AsError(err).Code)
	_, err = p.ask(t.Context(), &bolt.Context{Impersonate: "ann"})
	require.Error(t, err)
}

// A caller may name itself as the user to act as, and no other.
func TestImpersonation(t *testing.T) {
	s := serve(t, Options{})
	c := s.connect(t)
	c.send(message(bolt.Run, graph.StringValue("RETURN 1"), entries(), entries("imp_user", graph.StringValue("bob"))))
	require.Equal(t, "Neo.ClientError.Security.Forbidden", c.failed())
	p := newPeer(s.Server, &conn{Conn: s.dial(t), s: s.Server}, "bolt-1", "tcp")
	p.grant = access.Granted(access.WithIdentity(t.Context(), &access.Identity{Name: "ann"}))
	require.NoError(t, p.impersonates("ann"))
	require.Error(t, p.impersonates("bob"))
}

// Before its authentication a client may send 64 KiB a message.
func TestUnknownClientSendsMuch(t *testing.T) {
	s := serve(t, Options{})
	c := greet(t, s.dial(t), v54)
	c.send(message(bolt.Hello, entries("a", graph.StringValue(strings.Repeat("x", unknownMessage)))))
	require.Equal(t, "Neo.ClientError.Request.Invalid", c.failed())
	c.closed()
}

// The listener has all metrics of docs/bolt.md.
func TestMetricNames(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	m.opened("tcp", bolt.Version{Major: 5, Minor: 4})
	m.refused("version")
	m.answered(bolt.Reset, 0x70, time.Millisecond)
	families, err := registry.Gather()
	require.NoError(t, err)
	have := map[string]bool{}
	for _, f := range families {
		have[f.GetName()] = true
	}
	for _, name := range []string{
		"connections", "connections_total", "handshakes_failed_total", "messages_total", "message_duration_seconds", "records_total",
		"received_bytes_total", "sent_bytes_total", "resets_total", "results_waiting", "transactions_open",
	} {
		require.True(t, have["hopgate_bolt_"+name], name)
	}
	require.Equal(t, 1.0, testutil.ToFloat64(m.resets))
	require.Equal(t, 1.0, testutil.ToFloat64(m.messages[bolt.Reset]["success"]))
}
