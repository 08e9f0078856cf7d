package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// longPlanned is a statement of 4,000 parts, each of which returns a column more than the one before. Its plan has eight million columns,
// and it runs nothing.
func longPlanned() string {
	var s strings.Builder
	s.WriteString("EXPLAIN RETURN 0 AS x")
	for i := range 4000 {
		fmt.Fprintf(&s, " NEXT RETURN *, %d AS x%d", i, i)
	}
	return s.String()
}

// ask sends a statement with a timeout, 0 for none, and sends what the server answers to answer. leave ends the connection.
type ask func(t *testing.T, r *running, statement string, timeout time.Duration, answer chan<- string) (leave func())

var asks = map[string]ask{
	"HTTP": func(t *testing.T, r *running, statement string, timeout time.Duration, answer chan<- string) func() {
		body, err := json.Marshal(map[string]any{"statement": statement, "timeoutMs": timeout.Milliseconds()})
		require.NoError(t, err)
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addrs.HTTP+"/v1/query", bytes.NewReader(body))
		require.NoError(t, err)
		go func() {
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				answer <- err.Error()
				return
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			answer <- string(text)
		}()
		return leave
	},
	"gRPC": func(t *testing.T, r *running, statement string, timeout time.Duration, answer chan<- string) func() {
		ctx, leave := context.WithCancel(t.Context())
		req := &pb.QueryRequest{Statement: statement}
		if timeout > 0 {
			req.Timeout = durationpb.New(timeout)
		}
		go func() {
			_, err := r.query(ctx, req)
			answer <- fmt.Sprint(status.Convert(err).Details())
		}()
		return leave
	},
	"Bolt": func(t *testing.T, r *running, statement string, timeout time.Duration, answer chan<- string) func() {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.addrs.Bolt)
		require.NoError(t, err)
		send := func(tag bolt.Tag, fields ...graph.Value) {
			m := packstream.AppendStruct(nil, byte(tag), len(fields))
			for _, f := range fields {
				m = packstream.Form{}.Append(m, f)
			}
			var chunks []byte
			for len(m) > 0 {
				n := min(len(m), 1<<15)
				chunks = append(binary.BigEndian.AppendUint16(chunks, uint16(n)), m[:n]...)
				m = m[n:]
			}
			_, err := c.Write(append(chunks, 0, 0))
			require.NoError(t, err)
		}
		_, err = io.WriteString(c, bolt.Magic+"\x00\x00\x04\x04"+strings.Repeat("\x00", 12))
		require.NoError(t, err)
		send(bolt.Hello, graph.MapValue([]graph.MapEntry{
			{Key: "user_agent", Value: graph.StringValue("me/1")}, {Key: "scheme", Value: graph.StringValue("none")},
		}))
		// read reads until the server has sent one of the texts.
		read := func(texts ...string) string {
			var all []byte
			for part := make([]byte, 4096); ; {
				n, err := c.Read(part)
				all = append(all, part[:n]...)
				if err != nil || slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(all, []byte(text)) }) {
					return string(all)
				}
			}
		}
		require.Contains(t, read("connection_id", "Neo."), "connection_id") // larger messages may follow
		var extra []graph.MapEntry
		if timeout > 0 {
			extra = append(extra, graph.MapEntry{Key: "tx_timeout", Value: graph.IntValue(timeout.Milliseconds())})
		}
		send(bolt.Run, graph.StringValue(statement), graph.MapValue(nil), graph.MapValue(extra))
		go func() { answer <- read("Neo.", "fields") }()
		return func() { _ = c.Close() }
	},
}

// A statement ends while it is planned: at its timeout, when it is killed, and when its client leaves. It makes no plan.
func TestEndOfPlanning(t *testing.T) {
	statement := longPlanned()
	for transport, ask := range asks {
		for end, code := range map[string]string{
			"timeout": "TransactionTimedOut", "kill": "Neo.ClientError.Transaction.Terminated", "leave": "",
		} {
			t.Run(transport+"/"+end, func(t *testing.T) {
				r := serveOver(t, newOracle(t), query.Options{}, Options{})
				answer := make(chan string, 1)
				timeout := time.Duration(0)
				if end == "timeout" {
					timeout = 20 * time.Millisecond
				}
				leave := ask(t, r, statement, timeout, answer)
				defer leave()
				ended := func() uint64 { return r.engine.Metrics().Ended[graph.KindDeadline].Load() }
				if end != "timeout" {
					require.Eventually(t, func() bool { return r.engine.ActiveQueries() == 1 }, time.Minute, time.Millisecond)
					require.Zero(t, ended())
				}
				switch end {
				case "kill":
					res, err := pb.NewAdminServiceClient(r.conn).RunningQueries(t.Context(), &pb.RunningQueriesRequest{})
					require.NoError(t, err)
					require.Len(t, res.GetQueries(), 1)
					require.Equal(t, statement, res.GetQueries()[0].GetStatement())
					killed, err := pb.NewAdminServiceClient(r.conn).KillQuery(t.Context(), &pb.KillQueryRequest{Id: res.GetQueries()[0].GetId()})
					require.NoError(t, err)
					require.True(t, killed.GetKilled())
				case "leave":
					leave()
				}
				require.Eventually(t, func() bool { return ended() == 1 && r.engine.ActiveQueries() == 0 }, time.Minute, time.Millisecond)
				require.Zero(t, r.engine.Plans())
				require.Zero(t, r.engine.Metrics().OK.Load())
				if code != "" {
					require.Contains(t, <-answer, code)
				}
			})
		}
	}
}
