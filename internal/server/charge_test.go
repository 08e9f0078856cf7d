package server

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// TestLargeParameters sends parameters that need more memory than a statement, or than all statements together, over each transport.
func TestLargeParameters(t *testing.T) {
	const n = 60_000 // values of 24 bytes
	few, empty := strings.Repeat("1,", n)+"1", strings.Repeat("[],", n)+"[]"
	typed := strings.Repeat(`{"$type":"Integer","_value":"1"},`, n/4) + `{"$type":"Integer","_value":"1"}`
	for name, limits := range map[string]query.Options{
		"query-memory":        {QueryBytes: 1 << 20},
		"statements together": {PoolBytes: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			r := serveOver(t, newOracle(t), limits, Options{})
			for _, c := range []struct{ path, kind, body string }{
				{"/v1/query", "application/json", `{"statement": "RETURN size($x)", "parameters": {"x": [` + few + `]}}`},
				{"/v1/query", "application/json", `{"statement": "RETURN size($x)", "parameters": {"x": [` + empty + `]}}`},
				{"/v1/query", "application/json", `{"statement": "RETURN size($x)", "parameters": {"x": {"a": [` + few + `]}}}`},
				{"/db/default/query/v2", "application/json", `{"statement": "RETURN size($x)", "parameters": {"x": [` + few + `]}}`},
				{"/db/default/query/v2/tx", "application/json", `{"statement": "RETURN size($x)", "parameters": {"x": [` + few + `]}}`},
				{
					"/db/default/query/v2", "application/vnd.neo4j.query",
					`{"statement": "RETURN size($x)", "parameters": {"x": {"$type":"List","_value":[` + typed + `]}}}`,
				},
				{"/v1/traverse", "application/json", `{"from": {"label": "A", "property": "x", "value": 1}, "parameters": {"x": [` + few + `]}}`},
				{"/v1/traverse", "application/json", `{"from": {"label": "A", "property": "x", "values": [` + few + `]}}`},
				{"/v1/edges", "application/json", `{"to": {"label": "A", "property": "x", "values": [[` + few + `]]}}`},
				{"/get", "application/json", `{"A[]": {"A": {"id{}": [` + few + `]}}}`},
			} {
				for range 3 { // memory that stayed taken would fail a later request for another reason
					res, err := http.Post("http://"+r.addrs.HTTP+c.path, c.kind, strings.NewReader(c.body))
					require.NoError(t, err)
					text, err := io.ReadAll(res.Body)
					require.NoError(t, err)
					require.NoError(t, res.Body.Close())
					if c.path != "/get" { // its code is in the answer
						require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode, "%s: %s", c.path, text)
					} else {
						require.Contains(t, string(text), `"code":413`)
						require.Less(t, len(text), 1000)
					}
					require.Contains(t, string(text), name)
				}
			}

			list := &pb.ListValue{}
			for range n {
				list.Values = append(list.Values, &pb.Value{Kind: &pb.Value_Integer{Integer: 1}})
			}
			params := map[string]*pb.Value{"x": {Kind: &pb.Value_List{List: list}}}
			_, err := r.query(t.Context(), &pb.QueryRequest{Statement: "RETURN size($x)", Parameters: params})
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			require.ErrorContains(t, err, name)

			// So do the values of typed requests and of loads.
			selections := [][]*pb.Value{list.Values, {params["x"]}}
			if limits.PoolBytes > 0 { // for the message there is room, but not for the values beside it
				long := make([]*pb.Value, 7000)
				for i := range long {
					long[i] = &pb.Value{Kind: &pb.Value_Integer{Integer: 1 << 60}}
				}
				selections = append(selections, long, []*pb.Value{{Kind: &pb.Value_List{List: &pb.ListValue{Values: long}}}})
			}
			for _, values := range selections {
				from := &pb.VertexSelector{By: &pb.VertexSelector_Key{Key: &pb.KeySelector{Label: "A", Property: "x", Values: values}}}
				stream, err := pb.NewGraphServiceClient(r.conn).Traverse(t.Context(), &pb.TraverseRequest{From: from, Hops: []*pb.Hop{{}}})
				require.NoError(t, err)
				_, err = stream.Recv()
				require.Equal(t, codes.ResourceExhausted, status.Code(err))
				require.ErrorContains(t, err, name)
			}
			load := openLoad(t, r, loadOpen())
			_, err = load.Recv()
			require.NoError(t, err)
			for seq := range uint64(20) { // more than there is memory for, in batches for which there is
				keys := make([]int64, 4000)
				for i := range keys {
					keys[i] = int64(seq)*4000 + int64(i)
				}
				requireSent(t, load.Send(loadBatch(seq+1, intKeys(keys...))))
			}
			for seq := range uint64(20) {
				res, err := load.Recv()
				require.NoError(t, err)
				require.Equal(t, seq+1, res.GetAck().GetSeq())
			}
			requireSent(t, load.Send(loadBatch(21, intKeys(make([]int64, n)...))))
			_, err = load.Recv()
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			require.ErrorContains(t, err, name)

			refused := overBolt(t, r.addrs.Bolt, n)
			require.Contains(t, refused, name)
			require.Contains(t, refused, "Neo.ClientError.General.TransactionOutOfMemoryError", "drivers would try again")

			// All of the memory has been returned.
			require.Eventually(t, func() bool {
				a, err := r.query(t.Context(), &pb.QueryRequest{Statement: "UNWIND range(1, 20000) AS x RETURN size(collect(x))"})
				return err == nil && a.rows == 1
			}, time.Minute, time.Millisecond)
			a, err := r.query(t.Context(), &pb.QueryRequest{Statement: "RETURN size($x)", Parameters: map[string]*pb.Value{
				"x": {Kind: &pb.Value_List{List: &pb.ListValue{Values: list.Values[:2000]}}},
			}})
			require.NoError(t, err)
			require.Equal(t, 1, a.rows)
		})
	}
}

// overBolt runs a statement with a list of n values as its parameter, and returns the text of the failure.
func overBolt(t *testing.T, address string, n int) string {
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	send := func(tag bolt.Tag, fields ...graph.Value) {
		m := packstream.AppendStruct(nil, byte(tag), len(fields))
		for _, f := range fields {
			m = packstream.Form{}.Append(m, f)
		}
		for len(m) > 0 {
			chunk := m[:min(len(m), 60_000)]
			_, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(chunk))), chunk...))
			require.NoError(t, err)
			m = m[len(chunk):]
		}
		_, err := c.Write([]byte{0, 0})
		require.NoError(t, err)
	}
	receive := func() string {
		var message []byte
		for {
			var size [2]byte
			_, err := io.ReadFull(c, size[:])
			require.NoError(t, err)
			if size == [2]byte{} {
				return string(message)
			}
			chunk := make([]byte, binary.BigEndian.Uint16(size[:]))
			_, err = io.ReadFull(c, chunk)
			require.NoError(t, err)
			message = append(message, chunk...)
		}
	}
	_, err = io.WriteString(c, bolt.Magic+"\x00\x00\x04\x04"+"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 4))
	require.NoError(t, err)
	entry := func(key, value string) graph.MapEntry {
		return graph.MapEntry{Key: key, Value: graph.StringValue(value)}
	}
	send(bolt.Hello, graph.MapValue([]graph.MapEntry{entry("user_agent", "me/1"), entry("scheme", "none")}))
	receive()
	list := make([]graph.Value, n)
	for i := range list {
		list[i] = graph.IntValue(1)
	}
	send(bolt.Run, graph.StringValue("RETURN size($x)"), graph.MapValue([]graph.MapEntry{{Key: "x", Value: graph.ListValue(list)}}), graph.MapValue(nil))
	return receive()
}
