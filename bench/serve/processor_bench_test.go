package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/bench/workload"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
)

// client sends a statement with a parameter id over a connection of its own. It adds what comes back to a, unless that is nil.
type client func(ctx context.Context, id int64, a *answer) error

// protocols connect clients.
var protocols = []struct {
	name    string
	connect func(b *testing.B, address, statement string) client
}{{"http", connectHTTP}, {"grpc", connectGRPC}, {"bolt", connectBolt}}

func connectHTTP(b *testing.B, address, statement string) client {
	b.Helper()
	t := &http.Transport{}
	b.Cleanup(t.CloseIdleConnections)
	c := &http.Client{Transport: t}
	return func(ctx context.Context, id int64, a *answer) error {
		body := fmt.Appendf(nil, `{"statement": %q, "parameters": {"id": %d}}`, statement, id)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/query", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := c.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		data, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", res.Status, data)
		}
		if a != nil {
			a.Fields, a.Body = res.Header, data
			delete(a.Fields, "Date") // net/http adds it
		}
		return err
	}
}

func connectGRPC(b *testing.B, address, statement string) client {
	b.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	c := pb.NewGraphServiceClient(conn)
	return func(ctx context.Context, id int64, a *answer) error {
		stream, err := c.Query(ctx, &pb.QueryRequest{
			Statement: statement, Parameters: map[string]*pb.Value{"id": {Kind: &pb.Value_Integer{Integer: id}}},
		})
		if err != nil {
			return err
		}
		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if a != nil {
				data, err := proto.Marshal(m)
				if err != nil {
					return err
				}
				a.Messages = append(a.Messages, data)
			}
		}
		if a != nil {
			if a.Header, err = stream.Header(); err != nil {
				return err
			}
			a.Header = metadata.Pairs("x-request-id", a.Header.Get("x-request-id")[0])
			a.Trailer = stream.Trailer()
		}
		return nil
	}
}

func connectBolt(b *testing.B, address, statement string) client {
	b.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	r := bufio.NewReader(c)
	in := bolt.NewReader(r)
	answers := func(n int, a *answer) error { // reads up to the nth SUCCESS
		for n > 0 {
			m, err := in.Next(bolt.AtMost(1 << 20))
			if err != nil {
				return err
			}
			if a != nil {
				a.Bolt = append(a.Bolt, chunk(m)...)
			}
			switch m[1] {
			case 0x70:
				n--
			case 0x7F:
				return fmt.Errorf("failure: %q", m)
			}
		}
		return nil
	}
	message := func(tag bolt.Tag, fields ...graph.Value) []byte {
		m := packstream.AppendStruct(nil, byte(tag), len(fields))
		for _, f := range fields {
			m = packstream.Form{UTC: true}.Append(m, f)
		}
		return chunk(m)
	}
	entry := func(key string, v graph.Value) graph.Value {
		return graph.MapValue([]graph.MapEntry{{Key: key, Value: v}})
	}
	none := entry("scheme", graph.StringValue("none"))
	hello := slices.Concat([]byte(bolt.Magic), []byte{0, 0, 4, 5}, make([]byte, 12), message(bolt.Hello, none), message(bolt.Logon, none))
	if _, err := c.Write(hello); err != nil {
		b.Fatal(err)
	}
	if _, err := r.Discard(4); err != nil {
		b.Fatal(err)
	}
	if err := answers(2, nil); err != nil {
		b.Fatal(err)
	}
	all := message(bolt.Pull, entry("n", graph.IntValue(-1)))
	return func(_ context.Context, id int64, a *answer) error {
		run := message(bolt.Run, graph.StringValue(statement), entry("id", graph.IntValue(id)), graph.MapValue(nil))
		if _, err := c.Write(append(run, all...)); err != nil {
			return err
		}
		return answers(2, a)
	}
}

// side is a server with the clients of a run.
type side struct {
	*process
	clients []client
	used    usage
	time    time.Duration
}

// run sends n requests by all clients together.
func (s *side) run(b *testing.B, n, persons int) {
	b.Helper()
	before, began := s.process.used(b), time.Now()
	var wg sync.WaitGroup
	for i, c := range s.clients {
		wg.Go(func() {
			for k := i; k < n; k += len(s.clients) {
				if err := c(b.Context(), int64(1+k*7919%persons), nil); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	s.time += time.Since(began)
	s.used = s.used.plus(s.process.used(b).since(before))
}

// BenchmarkProcessor measures the processor time that the server takes for a request, and that of a null server: one that answers the bytes
// of such a request over the same transport without work. Both are processes of their own, and take requests in turns.
func BenchmarkProcessor(b *testing.B) {
	persons := network.Persons(b)
	s := start(b, orders{Dir: b.TempDir(), Persons: persons})
	for _, p := range protocols {
		for _, q := range workload.Hops.Requests[:2] {
			for _, n := range []int{1, 64} {
				b.Run(fmt.Sprintf("%s/%s/%d", p.name, q.Name, n), func(b *testing.B) {
					var a answer
					if err := p.connect(b, s.addrs[p.name], q.Statement)(b.Context(), 1, &a); err != nil {
						b.Fatal(err)
					}
					sides := []*side{{process: s}, {process: start(b, orders{Null: &a})}}
					for _, d := range sides {
						for range n {
							d.clients = append(d.clients, p.connect(b, d.addrs[p.name], q.Statement))
						}
						d.run(b, 10*n, persons) // warm
						d.used, d.time = usage{}, 0
					}
					const turns = 8
					b.ResetTimer()
					for i := range turns {
						for _, d := range sides {
							d.run(b, b.N*(i+1)/turns-b.N*i/turns, persons)
						}
					}
					for i, name := range []string{"", "null-"} {
						d := sides[i]
						b.ReportMetric(float64(d.used.Processor.Nanoseconds())/1e3/float64(b.N), name+"cpu-µs/op")
						b.ReportMetric(float64(d.used.Allocs)/float64(b.N), name+"server-allocs/op")
						b.ReportMetric(float64(d.used.Sleeps)/float64(b.N), name+"server-sleeps/op")
						b.ReportMetric(float64(b.N)/d.time.Seconds(), name+"op/s")
					}
					b.ReportMetric(float64(sides[0].used.Processor)/float64(sides[1].used.Processor), "ratio")
				})
			}
		}
	}
}
