package bolt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/telemetry"
)

const (
	one  = "RETURN 1"
	rows = "UNWIND range(1, 1000000) AS n RETURN n, n + 1 AS m, n * 2 AS k"
)

// listen starts a server with an empty graph.
func listen(b *testing.B) server.Addresses {
	log := slog.New(slog.DiscardHandler)
	store, err := local.Open(local.Options{Dir: b.TempDir(), Shards: 1, Logger: log})
	if err != nil {
		b.Fatal(err)
	}
	e := query.New(store, query.Options{})
	l := loader.New(store)
	s := server.New(e, l, store, telemetry.NewRegistry(e, l, store), server.Options{Logger: log})
	const free = "127.0.0.1:0"
	a, err := s.Listen(context.Background(), server.Addresses{"http": free, "grpc": free, server.Admin: free, "bolt": free})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Drain(ctx)
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return a
}

// conn is an authenticated client.
type conn struct {
	net.Conn
	in bolt.Reader
}

// dial connects with a read buffer of that many bytes.
func dial(b *testing.B, address string, buffer int) *conn {
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	r := bufio.NewReaderSize(c, buffer)
	out := &conn{c, bolt.NewReader(r)}
	if _, err := io.WriteString(c, bolt.Magic+"\x00\x00\x04\x05"+"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"); err != nil {
		b.Fatal(err)
	}
	if _, err := r.Discard(4); err != nil {
		b.Fatal(err)
	}
	none := graph.MapValue([]graph.MapEntry{{Key: "scheme", Value: graph.StringValue("none")}})
	out.send(b, message(bolt.Hello, none), message(bolt.Logon, none))
	out.success(b)
	out.success(b)
	return out
}

// message encodes a message.
func message(tag bolt.Tag, fields ...graph.Value) []byte {
	m := packstream.AppendStruct([]byte{0, 0}, byte(tag), len(fields))
	for _, f := range fields {
		m = packstream.Form{UTC: true}.Append(m, f)
	}
	m[0], m[1] = byte((len(m)-2)>>8), byte(len(m)-2)
	return append(m, 0, 0)
}

func (c *conn) send(b *testing.B, messages ...[]byte) {
	if _, err := c.Write(slices.Concat(messages...)); err != nil {
		b.Fatal(err)
	}
}

// success reads up to a SUCCESS and returns the number of records before it.
func (c *conn) success(b *testing.B) (records int) {
	for {
		msg, err := c.in.Next(bolt.AtMost(1 << 20))
		if err != nil || msg[1] == 0x7F {
			b.Fatalf("%q, %v", msg, err)
		}
		if msg[1] == 0x70 {
			return records
		}
		records++
	}
}

func (c *conn) query(b *testing.B, messages ...[]byte) int {
	c.send(b, messages...)
	c.success(b)
	return c.success(b)
}

func statement(text string) [][]byte {
	empty := graph.MapValue(nil)
	all := graph.MapValue([]graph.MapEntry{{Key: "n", Value: graph.IntValue(-1)}})
	return [][]byte{message(bolt.Run, graph.StringValue(text), empty, empty), message(bolt.Pull, all)}
}

// queryGRPC returns the number of rows of a statement.
func queryGRPC(b *testing.B, c pb.GraphServiceClient, text string) (n int) {
	stream, err := c.Query(b.Context(), &pb.QueryRequest{Statement: text})
	if err != nil {
		b.Fatal(err)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
		n += int(m.GetRows().GetRows())
	}
}

// Benchmark runs the same statements over both protocols: the shortest one, and one of a million rows of three integers.
func Benchmark(b *testing.B) {
	a := listen(b)
	c := dial(b, a["bolt"], 64<<10)
	cc, err := grpc.NewClient(a["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cc.Close() }()
	graphs := pb.NewGraphServiceClient(cc)
	for _, s := range []struct {
		name, text string
		rows       int
	}{{"one", one, 1}, {"rows", rows, 1_000_000}} {
		ways := map[string]func() int{
			"bolt": func() int { return c.query(b, statement(s.text)...) },
			"grpc": func() int { return queryGRPC(b, graphs, s.text) },
		}
		for _, way := range []string{"bolt", "grpc"} {
			b.Run(s.name+"/"+way, func(b *testing.B) {
				times := make([]time.Duration, 0, b.N)
				for b.Loop() {
					start := time.Now()
					if n := ways[way](); n != s.rows {
						b.Fatalf("%d rows", n)
					}
					times = append(times, time.Since(start))
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "p50-µs")
				b.ReportMetric(float64(s.rows)/times[len(times)/2].Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkRest measures the memory of idle connections, of the server and of clients that use hardly any. Run it once (-benchtime 1x): the
// connections stay open.
func BenchmarkRest(b *testing.B) {
	a := listen(b)
	const n, least = 1000, 16 // connections, and the bytes of a client's buffer
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	dial(b, a["bolt"], least)
	for b.Loop() {
		before := memory()
		for range n {
			c := dial(b, a["bolt"], least)
			if c.query(b, statement(one)...) != 1 {
				b.Fatal("no row")
			}
		}
		b.ReportMetric(float64(memory()-before)/n/1024, "KiB/connection")
	}
}

// BenchmarkIdle measures the shortest statement without and with 1,000 idle connections: their p99 should differ by less than 5 %. The
// clients send statements sequentially.
func BenchmarkIdle(b *testing.B) {
	const idle, least = 1000, 16 // connections, and the bytes of a client's buffer
	for _, n := range []int{0, idle} {
		b.Run(fmt.Sprintf("idle=%d", n), func(b *testing.B) {
			a := listen(b)
			for range n {
				dial(b, a["bolt"], least)
			}
			c := dial(b, a["bolt"], 64<<10)
			times := make([]time.Duration, 0, b.N)
			for b.Loop() {
				start := time.Now()
				if rows := c.query(b, statement(one)...); rows != 1 {
					b.Fatalf("%d rows", rows)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(times[len(times)*p/100].Nanoseconds())/1e3, fmt.Sprintf("p%d-µs", p))
			}
		})
	}
}
