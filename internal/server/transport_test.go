package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// lines is a transport that takes a statement in each line, and answers with a line for each row and an empty line or an error. All that
// belongs to it is here, in linesTransport's line of a list, and in the setting with its address.
type lines struct {
	host     *request.Host
	l        net.Listener
	answered prometheus.Counter
	all      sync.WaitGroup
	ctx      context.Context // of all connections
	cancel   context.CancelFunc
}

func linesTransport() request.Transport {
	return request.Transport{Name: "lines", Speaks: "lines", New: func(host *request.Host) request.Listener {
		s := &lines{host: host, answered: prometheus.NewCounter(prometheus.CounterOpts{Name: "hopgate_lines_total", Help: "Lines answered."})}
		host.Registry.MustRegister(s.answered)
		s.ctx, s.cancel = context.WithCancel(context.Background())
		return s
	}}
}

func (s *lines) Listen(l net.Listener) { s.l = l }

func (s *lines) Serve() error {
	for {
		c, err := s.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		s.all.Go(func() { s.converse(c) })
	}
}

// converse answers lines until the client leaves or the server drains.
func (s *lines) converse(c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(s.host.Drained, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })()
	for in := bufio.NewScanner(c); in.Scan(); s.answered.Inc() {
		out, err := s.answer(in.Text())
		if err != nil {
			out = append(wire.AppendError(nil, err), '\n')
		}
		if _, err := c.Write(append(out, '\n')); err != nil {
			return
		}
	}
}

func (s *lines) answer(statement string) (out []byte, err error) {
	res, err := s.host.Engine.Query(s.ctx, query.Request{Statement: statement})
	if err != nil {
		return nil, err
	}
	defer res.Close()
	for b, err := res.Next(); b != nil || err != nil; b, err = res.Next() {
		if err != nil {
			return nil, err
		}
		for row := range b.N {
			for i := range b.Cols {
				out = append(notation.PlainJSON.Append(out, b.Cols[i].Value(row)), ' ')
			}
			out = append(out, '\n')
		}
	}
	return out, nil
}

func (s *lines) Drain(ctx context.Context) {
	if s.l != nil {
		_ = s.l.Close()
	}
	defer context.AfterFunc(ctx, s.cancel)()
	s.all.Wait()
}

// A server that takes a transport into its list opens its listener, tells lost clients what it speaks, counts what it says, and drains it:
// no other file knows it.
func TestNewTransport(t *testing.T) {
	store := newOracle(t)
	s := New(query.New(store, query.Options{}), loader.New(store), nil, prometheus.NewRegistry(), Options{
		Transports: append(all(), linesTransport()), Logger: slog.New(slog.DiscardHandler),
	})
	to := maps.Clone(anyPorts)
	to["lines"] = "127.0.0.1:0"
	addrs, err := s.Listen(t.Context(), to)
	require.NoError(t, err)
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addrs["lines"])
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c, bufio.NewReader(c)
	}
	c, in := dial()
	for _, x := range [][2]string{
		{"UNWIND [1, 2] AS n RETURN n, 'a'", "1 \"a\" \n2 \"a\" \n\n"},
		{"RETURN", `{"code":"Neo.ClientError.Statement.SyntaxError"`},
	} {
		_, err = io.WriteString(c, x[0]+"\n")
		require.NoError(t, err)
		answer := ""
		for !strings.HasSuffix(answer, "\n\n") {
			line, err := in.ReadString('\n')
			require.NoError(t, err)
			answer += line
		}
		require.True(t, strings.HasPrefix(answer, x[1]), answer)
	}
	lost, answer := dial()
	_, err = io.WriteString(lost, bolt.Magic)
	require.NoError(t, err)
	text, err := io.ReadAll(answer)
	require.NoError(t, err)
	require.Contains(t, string(text), "this port speaks lines; Bolt is at port ")
	code, body := get(t, "http://"+addrs[Admin]+"/metrics")
	require.Equal(t, 200, code)
	require.Contains(t, body, "hopgate_lines_total 2\n")

	s.Drain(t.Context())
	_, err = in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	_, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", addrs["lines"])
	require.Error(t, err)
	require.Empty(t, s.Failed())
}
