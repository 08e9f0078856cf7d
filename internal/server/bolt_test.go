package server

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
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
