package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// grantRoles gives the tokens of a guarded server other roles; None removes a token. It returns once the server knows.
func (g *guarded) grantRoles(t testing.TB, roles map[access.Role]access.Role) {
	text := "tokens: []\n"
	if len(roles) > 0 {
		text = "tokens:\n"
	}
	for of, now := range roles {
		text += strings.Replace(g.entries[of], "role: "+of.String(), "role: "+now.String(), 1)
	}
	write(t, g.path, text)
	require.Eventually(t, func() bool {
		return (g.request(t, access.Fetcher, "GET", "http://"+g.addrs.HTTP+"/v1/queries", "") == http.StatusOK) == (roles[access.Fetcher] != access.None)
	}, time.Minute, 10*time.Millisecond)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	tmp := filepath.Join(filepath.Dir(path), "next")
	require.NoError(t, os.WriteFile(tmp, []byte(text), 0o600))
	require.NoError(t, os.Rename(tmp, path))
}

// boltConn is a hand-made client of Bolt.
type boltConn struct {
	net.Conn
	in bolt.Reader
}

func (g *guarded) bolt(t testing.TB, r access.Role) *boltConn {
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.addrs.Bolt)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	b := &boltConn{c, bolt.NewReader(bufio.NewReader(c))}
	_, err = io.WriteString(c, bolt.Magic+"\x00\x00\x04\x04"+strings.Repeat("\x00", 12))
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 4))
	require.NoError(t, err)
	text := func(key, value string) graph.MapEntry {
		return graph.MapEntry{Key: key, Value: graph.StringValue(value)}
	}
	hello := []graph.MapEntry{text("user_agent", "me/1"), text("scheme", "none")}
	if token := g.tokens[r]; token != "" {
		hello[1] = text("scheme", "bearer")
		hello = append(hello, text("credentials", token))
	}
	require.NoError(t, b.ask(bolt.Hello, graph.MapValue(hello)))
	return b
}

// send sends a message.
func (b *boltConn) send(tag bolt.Tag, fields ...graph.Value) error {
	m := packstream.AppendStruct([]byte{0, 0}, byte(tag), len(fields))
	for _, f := range fields {
		m = packstream.Form{}.Append(m, f)
	}
	m[0], m[1] = byte((len(m)-2)>>8), byte(len(m)-2)
	_, err := b.Write(append(m, 0, 0))
	return err
}

// ask sends a message and returns the code of its failure as an error.
func (b *boltConn) ask(tag bolt.Tag, fields ...graph.Value) error {
	if err := b.send(tag, fields...); err != nil {
		return err
	}
	answer, err := b.in.Next(bolt.AtMost(1 << 20))
	if err == nil && answer[1] == 0x7F {
		_, rest, _ := bytes.Cut(answer, []byte("Neo."))
		return fmt.Errorf("Neo.%s", rest)
	}
	return err
}

// A caller who loses its token, or its role, does not go on with what it has begun: over every transport, at the next message or commit,
// and after a moment without one.
func TestLostRights(t *testing.T) {
	const endless = "UNWIND range(1, 1000000000) AS x RETURN x"
	const busy = "UNWIND range(1, 1000000000000) AS x RETURN count(*)"
	lowered := map[access.Role]access.Role{access.Writer: access.Fetcher, access.Admin: access.Writer}
	for _, c := range []struct {
		name   string
		after  map[access.Role]access.Role
		code   codes.Code
		status int
		says   string
	}{
		{"token removed", nil, codes.Unauthenticated, 401, "Neo.ClientError.Security.Unauthorized"},
		{"role lowered", lowered, codes.PermissionDenied, 403, "Neo.ClientError.Security.Forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := serveGuarded(t)
			ctx, cancel := context.WithTimeout(g.as(access.Writer), 2*time.Minute)
			defer cancel()
			adminCtx, cancelAdmin := context.WithTimeout(g.as(access.Admin), 2*time.Minute)
			defer cancelAdmin()
			checks := map[string]func() error{}
			want := func(err error) error {
				if status.Code(err) != c.code {
					return fmt.Errorf("is %w", err)
				}
				return nil
			}
			create := func(where string) string { return "CREATE (:Mine {by: '" + where + "'})" }

			x := g.transact(ctx, t)
			require.NoError(t, x.begin(&pb.TransactBegin{}))
			_, err := x.run(create("grpc"), nil)
			require.NoError(t, err)
			checks["Transact"] = func() error { _, err := x.commit(); return want(err) }

			idle := g.transact(ctx, t)
			require.NoError(t, idle.begin(&pb.TransactBegin{}))
			_, err = idle.run("MATCH (n) RETURN n", nil)
			require.NoError(t, err)
			checks["idle Transact"] = func() error {
				if c.code == codes.PermissionDenied {
					return nil // its statements are refused
				}
				_, err := idle.Recv()
				return want(err)
			}

			load, err := pb.NewLoadServiceClient(g.conn).Load(ctx)
			require.NoError(t, err)
			requireSent(t, load.Send(loadOpen()))
			_, err = load.Recv()
			require.NoError(t, err)
			requireSent(t, load.Send(loadBatch(1, intKeys(1))))
			_, err = load.Recv()
			require.NoError(t, err)
			checks["Load"] = func() error {
				_ = load.Send(loadBatch(2, intKeys(2)))
				_, err := load.Recv()
				return want(err)
			}

			trace, err := pb.NewAdminServiceClient(g.conn).Trace(adminCtx, &pb.TraceRequest{Match: "never"})
			require.NoError(t, err)
			g.untilWatched(t)
			checks["idle Trace"] = func() error { _, err := trace.Recv(); return want(err) }

			rows, err := pb.NewGraphServiceClient(g.conn).Query(ctx, &pb.QueryRequest{Statement: endless})
			require.NoError(t, err)
			_, err = rows.Recv()
			require.NoError(t, err)
			checks["Query"] = func() error {
				for err == nil {
					_, err = rows.Recv()
				}
				return want(err)
			}

			records, err := flight.NewFlightServiceClient(g.conn).DoGet(ctx, &flight.Ticket{Ticket: []byte(endless)})
			require.NoError(t, err)
			_, err = records.Recv()
			require.NoError(t, err)
			checks["Flight"] = func() error {
				var err error
				for err == nil {
					_, err = records.Recv()
				}
				return want(err)
			}

			lines := g.stream(t, access.Writer, endless)
			checks["NDJSON"] = func() error { return lastHas(lines, c.says) }
			long := make(chan error, 1)
			go func() { long <- lastHas(g.stream(t, access.Writer, busy), c.says) }()
			checks["long statement"] = func() error { return <-long }

			tx := "http://" + g.addrs.HTTP + "/db/default/query/v2/tx"
			code, body := g.answer(t, access.Writer, "POST", tx, `{"statement": "`+create("http")+`"}`)
			require.Equal(t, http.StatusAccepted, code)
			_, id, _ := strings.Cut(string(body), `"transaction":{"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			checks["HTTP transaction"] = func() error {
				if code := g.request(t, access.Writer, "POST", tx+"/"+id+"/commit", ""); code != c.status && code != http.StatusNotFound { // it has been rolled back
					return fmt.Errorf("the status is %d", code)
				}
				return nil
			}

			b := g.bolt(t, access.Writer)
			empty := graph.MapValue(nil)
			require.NoError(t, b.ask(bolt.Begin, empty))
			require.NoError(t, b.ask(bolt.Run, graph.StringValue(create("bolt")), empty, empty))
			require.NoError(t, b.ask(bolt.Pull, graph.MapValue([]graph.MapEntry{{Key: "n", Value: graph.IntValue(-1)}})))
			checks["Bolt transaction"] = func() error {
				if err := b.ask(bolt.Commit); err == nil || !strings.Contains(err.Error(), c.says) {
					return fmt.Errorf("the answer is %w", err)
				}
				return nil
			}
			p := g.bolt(t, access.Writer)
			require.NoError(t, p.ask(bolt.Run, graph.StringValue(endless), empty, empty))
			checks["Bolt result"] = func() error {
				err := p.ask(bolt.Pull, graph.MapValue([]graph.MapEntry{{Key: "n", Value: graph.IntValue(1)}}))
				if err == nil || !strings.Contains(err.Error(), c.says) {
					return fmt.Errorf("the answer is %w", err)
				}
				return nil
			}

			g.grantRoles(t, c.after)
			for name, check := range checks {
				require.NoError(t, check(), name)
			}
			if c.code == codes.Unauthenticated {
				require.Eventually(t, func() bool { return len(g.engine.Running(context.Background())) == 0 }, time.Minute, time.Millisecond, "transactions stay open")
			}
			res, err := g.engine.Query(context.Background(), query.Request{Statement: "MATCH (n:Mine) RETURN n.by"})
			require.NoError(t, err)
			defer res.Close()
			left, err := res.Next()
			require.NoError(t, err)
			require.Nil(t, left, "a transaction has committed")
		})
	}
}

// stream sends a statement and returns the lines of the answer.
func (g *guarded) stream(t testing.TB, r access.Role, statement string) io.Reader {
	req, err := http.NewRequest("POST", "http://"+g.addrs.HTTP+"/v1/query", strings.NewReader(`{"statement": "`+statement+`"}`))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+g.tokens[r])
	req.Header.Set("Accept", "application/x-ndjson")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return strings.NewReader(err.Error())
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res.Body
}

// lastHas reads to the end, which must contain a text.
func lastHas(r io.Reader, text string) error {
	var last []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		last = append(last, buf[:n]...)
		last = last[max(0, len(last)-4096):]
		if err != nil {
			if !bytes.Contains(last, []byte(text)) {
				return fmt.Errorf("%w: %s", err, last)
			}
			return nil
		}
	}
}
