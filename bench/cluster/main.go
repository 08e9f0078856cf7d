// Command cluster measures hops through a gateway and the processes of a cluster, all on this machine, beside one process that
// holds as many shards of the same network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/bench/proc"
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "directory of hopgate and graphctl")
	flag.StringVar(&o.data, "data", "", "directory that keeps the loaded network for further runs; none: a temporary one")
	flag.StringVar(&o.memory, "memory", "512MiB", "--memory of every process")
	flag.IntVar(&o.processes, "processes", 4, "processes of the cluster")
	flag.IntVar(&o.replicas, "replicas", 1, "processes that keep each shard")
	flag.IntVar(&o.shards, "shards", 0, "shards; 0: as many as processes")
	flag.IntVar(&o.persons, "persons", 100_000, "people in the network")
	flag.IntVar(&o.runs, "runs", 200, "runs of each request")
	flag.StringVar(&o.only, "only", "", "a part of the names of the requests to run")
	flag.Parse()
	if o.shards == 0 {
		o.shards = o.processes
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

type options struct {
	bin, data, memory, only string
	processes, replicas     int
	shards, persons, runs   int
}

// asked is one request: a statement or a traversal.
type asked struct {
	name      string
	statement string
	traverse  *pb.TraverseRequest
}

func requests() (out []asked) {
	pattern := func(hops int) string {
		return "MATCH (p:Person {id: $id})" + strings.Repeat("-[:KNOWS]->()", hops-1) + "-[:KNOWS]->(q) "
	}
	traversal := func(hops uint32, returns string) *pb.TraverseRequest {
		return &pb.TraverseRequest{Hops: []*pb.Hop{{Types: []string{"KNOWS"}}}, MaxHops: hops, Returns: returns}
	}
	const three = "q.id, q.firstName, q.birthday"
	for hops := 1; hops <= 3; hops++ {
		out = append(out, asked{name: fmt.Sprintf("count, %d hops", hops), statement: pattern(hops) + "RETURN count(DISTINCT q)"})
	}
	for hops := 2; hops <= 3; hops++ {
		out = append(out,
			asked{name: fmt.Sprintf("count, 1 to %d hops", hops), statement: fmt.Sprintf("MATCH (p:Person {id: $id})-[:KNOWS*1..%d]->(q) RETURN count(DISTINCT q)", hops)},
			asked{name: fmt.Sprintf("rows, %d hops", hops), statement: pattern(hops) + "WITH DISTINCT q RETURN " + three},
			asked{name: fmt.Sprintf("rows, 1 to %d hops", hops), statement: fmt.Sprintf("MATCH (p:Person {id: $id})-[:KNOWS*1..%d]->(q) WITH DISTINCT q RETURN %s", hops, three)},
			asked{name: fmt.Sprintf("traverse count, %d hops", hops), traverse: traversal(uint32(hops), "count")},
			asked{name: fmt.Sprintf("traverse rows, %d hops", hops), traverse: traversal(uint32(hops), "v.id, v.firstName, v.birthday")},
		)
	}
	out = append(out, asked{name: "every edge, 2 hops", statement: pattern(2) + "RETURN count(q.birthday)"})
	for hops := 2; hops <= 3; hops++ {
		conditions := "MATCH (p:Person {id: $id})"
		var where []string
		for i := 1; i <= hops; i++ {
			conditions += fmt.Sprintf("-[r%d:KNOWS]->(v%d)", i, i)
			where = append(where, fmt.Sprintf("r%d.creationDate > 1300000000000", i))
		}
		conditions += " WHERE " + strings.Join(where, " AND ")
		out = append(out, asked{name: fmt.Sprintf("count, %d hops, conditions on edges", hops), statement: fmt.Sprintf("%s RETURN count(DISTINCT v%d)", conditions, hops)})
	}
	out = append(out, asked{
		name: "count, 2 hops of 1,000 people", statement: "MATCH (p:Person)-[:KNOWS]->()-[:KNOWS]->(q) WHERE $id <= p.id < $id + 1000 RETURN count(DISTINCT q)",
	}, asked{
		name: "count, 2 hops of everyone", statement: "MATCH (p:Person)-[:KNOWS]->()-[:KNOWS]->(q) WHERE p.id > $id - $id RETURN count(DISTINCT q)",
	})
	return out
}

// run starts both sides, loads the network if it is missing, and prints a table.
func run(w io.Writer, o options) (err error) {
	if o.data == "" {
		if o.data, err = os.MkdirTemp("", "hopgate-cluster-*"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.data)) }()
	}
	var one, many side
	defer func() { err = errors.Join(err, one.stop(), many.stop()) }()
	if err := one.start(&o, "serve", "--shards", strconv.Itoa(o.shards), "--data-dir", filepath.Join(o.data, "one")); err != nil {
		return err
	}
	if err := many.startCluster(&o); err != nil {
		return err
	}
	if err := load(&o, one.front, many.front); err != nil {
		return err
	}
	if err := settle(&o, &one, &many); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d people, %d shards; times and processor times of a request\n", o.persons, o.shards)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "request\trows\tone process\tcluster\ttimes\tprocessors\tgateway\tshards\ttimes\t")
	for _, q := range requests() {
		if !strings.Contains(q.name, o.only) {
			continue
		}
		r, err := measure(&o, &q, &one, &many)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		fmt.Fprintf(t, "%s\t%d\t%v\t%v\t%.1f\t%v\t%v\t%v\t%.1f\t\n", q.name, r.rows, round(r.one), round(r.many), float64(r.many)/float64(r.one),
			round(r.oneBusy), round(r.gatewayBusy), round(r.shardsBusy), float64(r.gatewayBusy+r.shardsBusy)/float64(r.oneBusy))
	}
	return t.Flush()
}

func round(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

// load generates the network and loads it into both sides.
func load(o *options, fronts ...*proc.Server) error {
	done := filepath.Join(o.data, "loaded-"+strconv.Itoa(o.persons))
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	files := filepath.Join(o.data, "files")
	graphctl := func(args ...string) error {
		out, err := exec.CommandContext(context.Background(), filepath.Join(o.bin, "graphctl"), args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("graphctl %s: %w: %s", args[0], err, out)
		}
		return nil
	}
	if err := graphctl("generate", "social", "--persons", strconv.Itoa(o.persons), "-d", files); err != nil {
		return err
	}
	for _, p := range fronts {
		if err := graphctl("--address", p.GRPC, "load", files); err != nil {
			return err
		}
	}
	return os.WriteFile(done, nil, 0o600)
}

// settle waits until the processes are idle: after a load they compact deltas and tables for a while. It gives up after a minute.
func settle(o *options, sides ...*side) error {
	idle := 50*time.Millisecond + time.Duration(o.shards*o.replicas)*3*time.Millisecond // of all processors in a second, for heartbeats too
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var before time.Duration
	for range 60 {
		var now time.Duration
		for _, s := range sides {
			front, others, err := s.processorTime()
			if err != nil {
				return err
			}
			now += front + others
		}
		if before > 0 && now-before <= idle {
			return nil
		}
		before = now
		<-tick.C
	}
	return errors.New("the processes are still at work a minute after the load")
}

// measured holds the medians of both sides and the mean CPU time.
type measured struct {
	rows                             int
	one, many                        time.Duration
	oneBusy, gatewayBusy, shardsBusy time.Duration
}

// measure queries both sides alternately and compares the numbers of rows and the sums of numbers in them.
func measure(o *options, q *asked, one, many *side) (r measured, err error) {
	sides := []*side{one, many}
	times := make([][]time.Duration, len(sides))
	var busy [][2]time.Duration
	runs := o.runs
	for i := -runs / 5; i < runs; i++ {
		if i == 0 {
			for _, s := range sides {
				front, rest, err := s.processorTime()
				if err != nil {
					return r, err
				}
				busy = append(busy, [2]time.Duration{front, rest})
			}
		}
		id := int64(1 + (i+runs)*7919%o.persons)
		var answers [2]answer
		for k, s := range sides {
			start := time.Now()
			if answers[k], err = s.ask(q, id); err != nil {
				return r, err
			}
			if i >= 0 {
				times[k] = append(times[k], time.Since(start))
			}
		}
		if answers[0] != answers[1] {
			return r, fmt.Errorf("one process gives %+v for %d, the cluster %+v", answers[0], id, answers[1])
		}
		r.rows += answers[0].rows
	}
	for k, s := range sides {
		front, rest, err := s.processorTime()
		if err != nil {
			return r, err
		}
		busy[k][0], busy[k][1] = (front-busy[k][0])/time.Duration(runs), (rest-busy[k][1])/time.Duration(runs)
		slices.Sort(times[k])
	}
	r.rows /= runs + runs/5
	r.one, r.many = times[0][runs/2], times[1][runs/2]
	r.oneBusy, r.gatewayBusy, r.shardsBusy = busy[0][0], busy[1][0], busy[1][1]
	return r, nil
}

// side is one of the compared configurations.
type side struct {
	front  *proc.Server
	others []*proc.Server
	conn   *grpc.ClientConn
	client pb.GraphServiceClient
}

// start starts the process that answers the requests.
func (s *side) start(o *options, args ...string) (err error) {
	if s.front, err = proc.Start(o.bin, args[0], append(args[1:], "--memory", o.memory)...); err != nil {
		return err
	}
	if s.conn, err = grpc.NewClient(s.front.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return err
	}
	s.client = pb.NewGraphServiceClient(s.conn)
	return nil
}

// startCluster starts the processes of a cluster and a gateway.
func (s *side) startCluster(o *options) error {
	addresses, err := proc.FreeAddresses(o.processes)
	if err != nil {
		return err
	}
	cluster := []string{"--join", strings.Join(addresses, ","), "--replicas", strconv.Itoa(o.replicas)}
	for no := o.processes - 1; no >= 0; no-- { // the leader waits for the others
		p, err := proc.Start(o.bin, "shard", append([]string{
			"--grpc", addresses[no], "--shards", strconv.Itoa(o.shards), "--data-dir", filepath.Join(o.data, "shard"+strconv.Itoa(no)),
			"--memory", o.memory,
		}, cluster...)...)
		if err != nil {
			return err
		}
		s.others = append(s.others, p)
	}
	return s.start(o, append([]string{"gateway"}, cluster...)...)
}

func (s *side) stop() (err error) {
	if s.conn != nil {
		err = s.conn.Close()
	}
	if s.front != nil {
		err = errors.Join(err, s.front.Stop())
	}
	for _, v := range slices.Backward(s.others) {
		err = errors.Join(err, v.Stop())
	}
	return err
}

func (s *side) processorTime() (front, others time.Duration, err error) {
	if front, err = s.front.ProcessorTime(); err != nil {
		return 0, 0, err
	}
	for _, p := range s.others {
		d, err := p.ProcessorTime()
		if err != nil {
			return 0, 0, err
		}
		others += d
	}
	return front, others, nil
}

// answer is the compared part of a response.
type answer struct {
	rows int
	sum  int64 // of all numbers
}

// ask runs a request with the parameter id and reads the response.
func (s *side) ask(q *asked, id int64) (a answer, err error) {
	value := &pb.Value{Kind: &pb.Value_Integer{Integer: id}}
	ctx := context.Background()
	if q.traverse != nil {
		q.traverse.From = &pb.VertexSelector{By: &pb.VertexSelector_Key{Key: &pb.KeySelector{Label: "Person", Property: "id", Values: []*pb.Value{value}}}}
		stream, err := s.client.Traverse(ctx, q.traverse)
		return drain(stream, err)
	}
	stream, err := s.client.Query(ctx, &pb.QueryRequest{Statement: q.statement, Parameters: map[string]*pb.Value{"id": value}})
	return drain(stream, err)
}

// drain reads a response.
func drain[R interface{ GetRows() *pb.RowBatch }](stream interface{ Recv() (R, error) }, err error) (a answer, _ error) {
	if err != nil {
		return a, err
	}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return a, err
		}
		rows := part.GetRows()
		a.rows += int(rows.GetRows())
		for _, c := range rows.GetColumns() {
			for _, n := range c.GetIntegers().GetValues() {
				a.sum += n
			}
		}
	}
}
