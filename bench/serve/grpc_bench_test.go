package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/bench/network"
	"github.com/hopgate/hopgate/bench/workload"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server"
)

// dial serves a network on the loopback interface and returns a client.
func dial(b *testing.B, n *network.Network) pb.GraphServiceClient {
	b.Helper()
	s := server.New(n.Engine, loader.New(n.Store), nil, prometheus.NewRegistry(), server.Options{Logger: slog.New(slog.DiscardHandler)})
	addrs, err := s.Listen(context.Background(), server.Addresses{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", server.Admin: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	conn, err := grpc.NewClient(addrs["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		s.Drain(context.Background())
	})
	return pb.NewGraphServiceClient(conn)
}

// cells sums what a client reads, so that the compiler does not remove the reads.
var cells int64

// read reads every cell of some rows, strings as strings.
func read(b *testing.B, rows *pb.RowBatch) {
	b.Helper()
	for _, c := range rows.GetColumns() {
		switch d := c.GetData().(type) {
		case *pb.Column_Integers:
			for _, n := range d.Integers.GetValues() {
				cells += n
			}
		case *pb.Column_Texts:
			text, from := string(d.Texts.GetText()), uint32(0)
			for _, to := range d.Texts.GetEnds() {
				cells += int64(len(text[from:to]))
				from = to
			}
		default:
			b.Fatalf("a column of type %T", d)
		}
	}
}

// call runs a statement through gRPC and returns the number of its rows.
func call(b *testing.B, c pb.GraphServiceClient, statement string, params map[string]int64) (rows int) {
	b.Helper()
	req := &pb.QueryRequest{Statement: statement, Parameters: map[string]*pb.Value{}}
	for name, n := range params {
		req.Parameters[name] = &pb.Value{Kind: &pb.Value_Integer{Integer: n}}
	}
	stream, err := c.Query(b.Context(), req)
	if err != nil {
		b.Fatal(err)
	}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			b.Fatal(err)
		}
		rows += int(part.GetRows().GetRows())
		read(b, part.GetRows())
	}
}

// inside runs a statement in the engine and returns the number of its rows.
func inside(b *testing.B, e *query.Engine, statement string, params map[string]int64) (rows int) {
	b.Helper()
	values := map[string]graph.Value{}
	for name, n := range params {
		values[name] = graph.IntValue(n)
	}
	res, err := e.Query(b.Context(), query.Request{Statement: statement, Params: values})
	if err != nil {
		b.Fatal(err)
	}
	defer res.Close()
	for {
		batch, err := res.Next()
		if err != nil {
			b.Fatal(err)
		}
		if batch == nil {
			return rows
		}
		rows += batch.N
	}
}

// BenchmarkGRPC measures warm requests through a real connection on the loopback interface, each directly after the same request in the
// engine.
func BenchmarkGRPC(b *testing.B) {
	n := network.Open(b, network.Persons(b))
	c := dial(b, n)
	for _, q := range workload.Hops.Requests {
		b.Run(q.Name, func(b *testing.B) {
			params := func(i int) map[string]int64 {
				return map[string]int64{"id": int64(1 + i*7919%n.Persons), "to": int64(1 + (i*104729+n.Persons/2)%n.Persons)}
			}
			for i := range 50 {
				call(b, c, q.Statement, params(i))
			}
			var times, engine []time.Duration
			var spent, spentInside time.Duration
			rows := 0
			b.ResetTimer()
			for i := range b.N {
				start := time.Now()
				inside(b, n.Engine, q.Statement, params(i))
				mid := time.Now()
				rows += call(b, c, q.Statement, params(i))
				times, engine = append(times, time.Since(mid)), append(engine, mid.Sub(start))
				spent, spentInside = spent+times[i], spentInside+engine[i]
			}
			percentiles(b, times)
			slices.Sort(engine)
			b.ReportMetric(float64(engine[len(engine)/2].Nanoseconds())/1e3, "engine-p50-µs")
			if rows > b.N {
				b.ReportMetric(float64(spent.Nanoseconds())/float64(rows), "ns/row")
				b.ReportMetric(float64(spentInside.Nanoseconds())/float64(rows), "engine-ns/row")
			}
		})
	}
}
