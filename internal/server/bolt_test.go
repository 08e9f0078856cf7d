package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// Requests over Bolt are listed with their connection, and clients discover the listener through HTTP.
func TestBolt(t *testing.T) {
	r := serve(t)
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.addrs.Bolt)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	send := func(tag bolt.Tag, fields ...graph.MapEntry) {
		m := packstream.AppendStruct([]byte{0, 0}, byte(tag), 1)
		m = packstream.Form{}.Append(m, graph.MapValue(fields))
		m[1] = byte(len(m) - 2)
		_, err := c.Write(append(m, 0, 0))
		require.NoError(t, err)
	}
	_, err = io.WriteString(c, bolt.Magic+"\x00\x00\x04\x04"+"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	require.NoError(t, err)
	send(bolt.Hello, graph.MapEntry{Key: "user_agent", Value: graph.StringValue("me/1")}, graph.MapEntry{Key: "scheme", Value: graph.StringValue("none")})
	send(bolt.Begin)
	var queries []*pb.RunningQuery
	require.Eventually(t, func() bool {
		res, err := pb.NewAdminServiceClient(r.conn).RunningQueries(context.Background(), &pb.RunningQueriesRequest{})
		require.NoError(t, err)
		queries = res.GetQueries()
		return len(queries) == 1
	}, time.Minute, time.Millisecond)
	require.Equal(t, "bolt-1", queries[0].GetConnection())
	require.Equal(t, c.LocalAddr().String(), queries[0].GetClient())
	require.Equal(t, "me/1", queries[0].GetAgent())

	code, body := get(t, "http://"+r.addrs.HTTP+"/")
	require.Equal(t, 200, code)
	var doc map[string]string
	require.NoError(t, json.Unmarshal([]byte(body), &doc))
	require.Equal(t, "bolt://"+r.addrs.Bolt, doc["bolt_direct"])
	require.Equal(t, "http://"+r.addrs.HTTP+"/db/{databaseName}/query/v2", doc["query"])
}

// A client that speaks to the wrong port gets an answer at once, in HTTP, that says what the port is.
func TestWrongPort(t *testing.T) {
	own := httptest.NewTLSServer(nil)
	own.Close()
	plain, secure := serve(t), serveOver(t, newOracle(t), query.Options{}, Options{TLS: &tls.Config{Certificates: own.TLS.Certificates}})
	const handshake = bolt.Magic + "\x00\x00\x04\x04" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	port := func(address string) string {
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		return port
	}
	for _, c := range []struct {
		to   string
		sent []string // in pieces
		want string
	}{
		{plain.addrs.HTTP, []string{handshake}, "this port speaks HTTP; Bolt is at port " + port(plain.addrs.Bolt)},
		{plain.addrs.HTTP, []string{handshake[:3], handshake[3:]}, "this port speaks HTTP; Bolt is at port " + port(plain.addrs.Bolt)},
		{plain.addrs.Admin, []string{handshake}, "this port speaks HTTP for administrators; Bolt is"},
		{plain.addrs.GRPC, []string{handshake}, "this port speaks gRPC; Bolt is"},
		{secure.addrs.HTTP, []string{handshake}, "this port speaks HTTP; Bolt is"},
		{plain.addrs.Bolt, []string{"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"}, "this port speaks Bolt; HTTP is at port " + port(plain.addrs.HTTP)},
		{plain.addrs.Bolt, []string{"DELETE /db/neo4j/query/v2/tx/1 HTTP/1.1\r\nHost: localhost\r\n\r\n"}, "this port speaks Bolt; HTTP is"},
		{plain.addrs.Bolt, []string{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, "this port speaks Bolt; HTTP is"},
		{secure.addrs.Bolt, []string{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"}, "this port speaks Bolt over TLS; HTTP is"},
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", c.to)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Second))) // less than a server waits for the rest of a request
		for _, piece := range c.sent {
			_, err = io.WriteString(conn, piece)
			require.NoError(t, err)
			time.Sleep(time.Millisecond)
		}
		answer, err := io.ReadAll(conn)
		require.NoError(t, err, "%q: %q", c.sent, answer)
		require.NoError(t, conn.Close())
		require.Contains(t, string(answer), "HTTP/1.1 400 Bad Request\r\n", "%q", c.sent)
		require.Contains(t, string(answer), c.want, "%q", c.sent)
	}
}
