package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/server/request"
)

const endlessRows = "UNWIND range(1, 1000000000) AS x RETURN x, 'some text that fills the buffers of the connection'"

// Clients that do not read what they ask for, over any transport, keep no other from running.
func TestSilentReaders(t *testing.T) {
	const places = 5
	r := serveOver(t, newOracle(t), query.Options{Admission: admission.Limits{Running: places, Queue: 10}}, Options{})
	create := "UNWIND range(1, 50000) AS x CREATE (:Many {id: x, text: '" + strings.Repeat("x", 500) + "'})"
	_, err := r.query(t.Context(), &pb.QueryRequest{Statement: create})
	require.NoError(t, err)
	asks := func(body, path, accept string) {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.addrs.HTTP)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, accept, len(body), body)
		require.NoError(t, err)
	}
	asks(`{"statement": "`+endlessRows+`"}`, "/v1/query", "application/x-ndjson")
	asks(`{"statement": "`+endlessRows+`"}`, "/v1/query", "application/json")
	asks(`{"Many[]": {"count": 50000, "Many": {}}}`, "/get", "application/json")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := pb.NewGraphServiceClient(r.conn).Query(ctx, &pb.QueryRequest{Statement: endlessRows})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	b := (&guarded{running: r}).bolt(t, access.None)
	empty := graph.MapValue(nil)
	require.NoError(t, b.ask(bolt.Run, graph.StringValue(endlessRows), empty, empty))
	require.NoError(t, b.send(bolt.Pull, graph.MapValue([]graph.MapEntry{{Key: "n", Value: graph.IntValue(-1)}})))
	require.Eventually(t, func() bool { return len(r.engine.Running(t.Context())) == places }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := r.query(t.Context(), &pb.QueryRequest{Statement: "RETURN 1"})
		return err == nil && r.engine.Load().Running == 0
	}, time.Minute, 10*time.Millisecond)

	// A stream that is not read ends, as a connection does.
	r.sweep(time.Now().Add(2 * request.WriteTime))
	for err == nil {
		_, err = stream.Recv()
	}
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
}

// pipes is a listener of connections in memory, which hold nothing: a write waits for its reader.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// inPipes runs f with an HTTP server whose clock is the bubble's.
func inPipes(t *testing.T, f func(t *testing.T, e *query.Engine, dial func() net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		store := newOracle(t)
		e := query.New(store, query.Options{})
		s := New(e, loader.New(store), nil, prometheus.NewRegistry(), Options{LargeBytes: 1 << 20})
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		served := make(chan error, 1)
		web := s.listeners[0]
		web.Listen(p)
		go func() { served <- web.Serve() }()
		defer func() {
			s.Drain(t.Context())
			<-served
		}()
		f(t, e, func() net.Conn {
			client, server := net.Pipe()
			t.Cleanup(func() { _ = client.Close() })
			p.conns <- server
			return client
		})
	})
}

// The request and the connection of a client that reads nothing end after a minute; one that reads slowly goes on.
func TestSilentReaderEnds(t *testing.T) {
	inPipes(t, func(t *testing.T, e *query.Engine, dial func() net.Conn) {
		body := `{"statement": "` + endlessRows + `"}`
		ask := fmt.Sprintf("POST /v1/query HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		silent, slow := dial(), dial()
		for _, c := range []net.Conn{silent, slow} {
			_, err := io.WriteString(c, ask)
			require.NoError(t, err)
		}
		for range 10 {
			synctest.Wait()
			require.NotEmpty(t, e.Running(t.Context()))
			_, err := io.ReadFull(slow, make([]byte, 32<<10))
			require.NoError(t, err)
			time.Sleep(request.WriteTime / 4)
		}
		synctest.Wait()
		require.Len(t, e.Running(t.Context()), 1)
	})
}

// A body must arrive at a minimum rate, and a slow one gets an answer that says so.
func TestSlowBody(t *testing.T) {
	inPipes(t, func(t *testing.T, _ *query.Engine, dial func() net.Conn) {
		c := dial()
		_, err := fmt.Fprintf(c, "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", 10<<20, strings.Repeat(" ", 2*request.BodyPiece))
		require.NoError(t, err)
		began := time.Now()
		answer := make([]byte, 4096)
		n, err := c.Read(answer)
		require.NoError(t, err)
		require.Contains(t, string(answer[:n]), fmt.Sprintf("HTTP/1.1 %d", http.StatusRequestTimeout))
		require.Equal(t, request.PieceTime, time.Since(began))
	})
}
