package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/bench/workload"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/cli"
)

// benchWarm is the number of unmeasured requests that each client sends first.
const benchWarm = 20

// bench is a running workload.
type bench struct {
	a       *app
	graph   string
	seconds float64 // for each request
	clients []pb.GraphServiceClient
	ids     []int64 // the vertices that requests refer to, at least two
	seed    uint64
}

func newBench(a *app) *cobra.Command {
	b := &bench{a: a}
	var output string
	clients := 1
	long := "Run a workload against a server. All clients send each request for --seconds; p50 and p99 are milliseconds,\n" +
		"throughput is requests a second. The graph must hold the people of graphctl generate social, except for commit.\n\nWorkloads:\n"
	names := make([]string, len(workload.All))
	for i, w := range workload.All {
		names[i] = w.Name
		long += fmt.Sprintf("  %-8s%s\n", w.Name, w.About)
	}
	cmd := &cobra.Command{
		Use: "bench NAME", Short: "Run a workload against a server: p50, p99 and throughput", Long: long, ValidArgs: names, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := -1
			if len(args) > 0 {
				i = slices.Index(names, args[0])
			}
			switch {
			case i < 0:
				return cli.Usagef("bench: name a workload: %s", strings.Join(names, ", "))
			case clients < 1 || clients > 10_000:
				return cli.Usagef("--clients %d: must be from 1 to 10000", clients)
			case !(b.seconds > 0 && b.seconds <= 86_400):
				return cli.Usagef("--seconds %v: must be more than 0, and at most a day", b.seconds)
			}
			p, err := newPrinter(output, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return b.run(cmd.Context(), workload.All[i], clients, p)
		},
	}
	f := cmd.Flags()
	f.IntVar(&clients, "clients", 1, "concurrent clients, each with a connection of its own")
	f.Float64Var(&b.seconds, "seconds", 5, "seconds for each request of the workload")
	f.Uint64Var(&b.seed, "seed", 0, "seed of the random people in requests")
	f.StringVarP(&output, "output", "o", "table", "table, json, ndjson or csv")
	return cmd
}

// run runs a workload and prints a row for each of its requests.
func (b *bench) run(ctx context.Context, w *workload.Workload, clients int, p *printer) (err error) {
	for range clients {
		conn, _, cancel, err := b.a.Dial(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		cancel() // its deadline is meant for one request, not for the run
		b.clients = append(b.clients, pb.NewGraphServiceClient(conn))
	}
	b.graph = b.a.Graph
	if len(w.Setup) == 0 {
		err = b.people(ctx)
	} else {
		var drop func() error
		if drop, err = b.setup(ctx, w); drop != nil {
			defer func() { err = errors.Join(err, drop()) }()
		}
	}
	if err != nil {
		return err
	}
	p.begin([]string{"request", "requests", "p50", "p99", "throughput"})
	for i := range w.Requests {
		r := &w.Requests[i]
		b.a.statement = r.Statement
		times, took, err := b.measure(ctx, r)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", r.Name, err), p.end())
		}
		slices.Sort(times)
		ms := func(part float64) *pb.Value {
			t := times[min(int(part*float64(len(times))), len(times)-1)]
			return &pb.Value{Kind: &pb.Value_Float{Float: float64(t.Microseconds()) / 1e3}}
		}
		rate := float64(len(times)) / took.Seconds()
		if err := p.row([]*pb.Value{
			{Kind: &pb.Value_String_{String_: r.Name}},
			integer(int64(len(times))), ms(0.5), ms(0.99),
			{Kind: &pb.Value_Float{Float: float64(int64(rate*10)) / 10}},
		}); err != nil {
			return err
		}
	}
	return p.end()
}

func integer(n int64) *pb.Value { return &pb.Value{Kind: &pb.Value_Integer{Integer: n}} }

// people finds the vertices for requests.
func (b *bench) people(ctx context.Context) error {
	err := b.query(ctx, b.clients[0], "MATCH (p:Person) WHERE p.id IS :: INTEGER RETURN p.id LIMIT 10000", nil, func(rows *pb.RowBatch) {
		for i := range int(rows.GetRows()) {
			b.ids = append(b.ids, answer.Cell(rows.GetColumns()[0], i).GetInteger())
		}
	})
	if err == nil && len(b.ids) < 2 {
		err = fmt.Errorf("bench: the graph %s holds %d vertices :Person with an id: load what graphctl generate social writes", b.graph, len(b.ids))
	}
	return err
}

// setup creates a graph for a workload; drop drops it, even if ctx has ended.
func (b *bench) setup(ctx context.Context, w *workload.Workload) (drop func() error, err error) {
	own := "bench_" + strconv.FormatUint(rand.Uint64(), 36)
	if err := b.query(ctx, b.clients[0], "CREATE GRAPH "+own, nil, nil); err != nil {
		return nil, err
	}
	drop = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		b.graph = b.a.Graph
		return b.query(ctx, b.clients[0], "DROP GRAPH "+own, nil, nil)
	}
	b.graph = own
	for _, s := range w.Setup {
		if err := b.query(ctx, b.clients[0], s, nil, nil); err != nil {
			return drop, err
		}
	}
	for id := range int64(workload.Keys) {
		b.ids = append(b.ids, id)
	}
	return drop, nil
}

// measure makes all clients repeat a request. It returns the time of each call and the total.
func (b *bench) measure(ctx context.Context, r *workload.Request) (times []time.Duration, took time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var warm, all sync.WaitGroup
	warm.Add(len(b.clients))
	start := make(chan time.Time)
	each := make([][]time.Duration, len(b.clients))
	for i, c := range b.clients {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(b.seed, uint64(i)))
			send := func() bool {
				id := rng.IntN(len(b.ids))
				to := (id + 1 + rng.IntN(len(b.ids)-1)) % len(b.ids)
				err := b.send(ctx, c, r, b.ids[id], b.ids[to])
				if err != nil {
					cancel(err)
				}
				return err == nil
			}
			ok := true
			for k := 0; k < benchWarm && ok; k++ {
				ok = send()
			}
			warm.Done()
			until := <-start
			for last := time.Now(); ok; {
				if ok = send(); !ok {
					return
				}
				now := time.Now()
				each[i] = append(each[i], now.Sub(last))
				if last = now; now.After(until) {
					return
				}
			}
		})
	}
	warm.Wait()
	begin := time.Now()
	until := begin.Add(time.Duration(b.seconds * float64(time.Second)))
	for range b.clients {
		start <- until
	}
	all.Wait()
	took = time.Since(begin)
	if err := context.Cause(ctx); err != nil {
		return nil, 0, err
	}
	return slices.Concat(each...), took, nil
}

// send sends a request and reads the whole response.
func (b *bench) send(ctx context.Context, c pb.GraphServiceClient, r *workload.Request, id, to int64) error {
	if r.Fetch == "" {
		return b.query(ctx, c, r.Statement, map[string]*pb.Value{"id": integer(id), "to": integer(to)}, nil)
	}
	req := &pb.FetchRequest{Graph: b.graph, Method: "get", Request: r.Body(id)}
	if b.a.Timeout > 0 {
		req.Timeout = durationpb.New(b.a.Timeout)
	}
	stream, err := c.Fetch(ctx, req)
	if err != nil {
		return err
	}
	for code := uint32(0); ; {
		part, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && code == http.StatusOK:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the response has code %d", code)
		case err != nil:
			return err
		}
		code = part.GetCode()
	}
}

// query runs a statement and passes its rows to each, unless that is nil.
func (b *bench) query(ctx context.Context, c pb.GraphServiceClient, text string, params map[string]*pb.Value, each func(*pb.RowBatch)) error {
	req := &pb.QueryRequest{Statement: text, Parameters: params, Graph: b.graph}
	if b.a.Timeout > 0 {
		req.Timeout = durationpb.New(b.a.Timeout)
	}
	stream, err := c.Query(ctx, req)
	if err != nil {
		return err
	}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if rows := part.GetRows(); rows != nil && each != nil {
			each(rows)
		}
	}
}
