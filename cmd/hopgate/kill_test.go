package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// Each client writes a chain, one transaction after another. Transaction n of a client sets the client's vertex to n, with a text,
// creates two vertices and three edges, increments a counter at a vertex that all share, and sometimes deletes the elements of
// transaction n-2. So the n of a client's vertex determines the rest.
const (
	chainOwn    = "MATCH (w:W {id: $w}) SET w.last = $n, w.text = $text"
	chainMake   = "CREATE (w)-[:MADE {n: $n}]->(a:N {id: $id, w: $w, n: $n, text: $text})-[:R {n: $n, text: $text}]->(b:N {id: $id + 1, w: $w, n: $n})-[:R {n: $n}]->(a)"
	chainCount  = "MATCH (h:Hot) SET h.n = h.n + 1"
	chainDelete = "OPTIONAL MATCH (n:N {w: $w, n: $gone}) DETACH DELETE n"
)

var chainSchema = []string{
	"CREATE CONSTRAINT FOR (w:W) REQUIRE w.id IS UNIQUE",
	"CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS NODE KEY",
	"CREATE CONSTRAINT FOR (n:N) REQUIRE n.w IS NOT NULL",
	"CREATE INDEX FOR (n:N) ON (n.w, n.n)",
	"CREATE INDEX FOR ()-[r:R]-() ON (r.n)",
	"CREATE (:Hot {n: 0})",
}

// deletes returns the transaction whose vertices transaction n deletes, -1 for none.
func deletes(n int) int {
	if n%4 == 3 {
		return n - 2
	}
	return -1
}

func chainText(w, n int) string {
	if n%3 == 2 {
		return fmt.Sprint("short ", w, n)
	}
	return strings.Repeat(fmt.Sprintf("client %d, transaction %d; ", w, n), 60+40*(n%3))
}

func chainParams(w, n int) map[string]any {
	return map[string]any{"w": w, "n": n, "id": (w*1_000_000 + n) * 2, "text": chainText(w, n), "gone": deletes(n)}
}

// answered is an error that a server answered.
type answered struct {
	status int
	code   string
}

func (a answered) Error() string { return fmt.Sprintf("%d %s", a.status, a.code) }

// again reports whether the server asks for the transaction to be run again.
func again(err error) bool {
	var a answered
	return errors.As(err, &a) && strings.HasPrefix(a.code, "Neo.TransientError.Transaction.") || status.Code(err) == codes.Aborted
}

type reply struct {
	Data struct {
		Values [][]any
	}
	Errors      []struct{ Code string }
	Transaction struct{ ID string }
}

// call sends a request of Neo4j's Query API; its answer is complete, or err has the reason.
func call(ctx context.Context, method, url, statement string, params map[string]any) (*reply, error) {
	body, err := json.Marshal(map[string]any{"statement": statement, "parameters": params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	var r reply
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("status %d: %w: %s", res.StatusCode, err, data)
	}
	if len(r.Errors) > 0 || res.StatusCode >= 300 {
		a := answered{status: res.StatusCode}
		if len(r.Errors) > 0 {
			a.code = r.Errors[0].Code
		}
		return nil, a
	}
	return &r, nil
}

// writeChain runs transaction n of a client as a statement, transaction or stream, and commits it or rolls it back.
func (s *server) writeChain(ctx context.Context, conn *grpc.ClientConn, w, n int, commit bool) error {
	url, params := "http://"+s.addrs.HTTP+"/db/default/query/v2", chainParams(w, n)
	steps := []string{chainOwn + " " + chainMake, chainCount, chainDelete}
	switch {
	case w%3 == 0 && commit:
		one := strings.Join([]string{chainOwn, chainMake, "WITH DISTINCT w", chainCount, "WITH DISTINCT h", chainDelete}, " ")
		_, err := call(ctx, http.MethodPost, url, one, params)
		return err
	case w%3 == 1:
		r, err := call(ctx, http.MethodPost, url+"/tx", steps[0], params)
		if err != nil {
			return err
		}
		tx := url + "/tx/" + r.Transaction.ID
		if _, err := call(ctx, http.MethodPost, tx, steps[1], params); err != nil {
			return err
		}
		if !commit {
			_, err := call(ctx, http.MethodDelete, tx, "", nil)
			return err
		}
		_, err = call(ctx, http.MethodPost, tx+"/commit", steps[2], params)
		return err
	default:
		return transact(ctx, conn, steps, params, commit)
	}
}

// transact runs statements in a transaction by gRPC.
func transact(ctx context.Context, conn *grpc.ClientConn, steps []string, params map[string]any, commit bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewGraphServiceClient(conn).Transact(ctx)
	if err != nil {
		return err
	}
	// step sends a request and waits for the answer's last part.
	step := func(req *pb.TransactRequest) error {
		if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) { // Recv then returns the reason
			return err
		}
		for {
			res, err := stream.Recv()
			if err != nil || res.GetResult() == nil || res.GetResult().GetSummary() != nil {
				return err
			}
		}
	}
	vals := map[string]*pb.Value{}
	for name, v := range params {
		if n, ok := v.(int); ok {
			vals[name] = &pb.Value{Kind: &pb.Value_Integer{Integer: int64(n)}}
		} else {
			vals[name] = &pb.Value{Kind: &pb.Value_String_{String_: fmt.Sprint(v)}}
		}
	}
	if err := step(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.TransactBegin{}}}); err != nil {
		return err
	}
	for _, statement := range steps {
		if err := step(&pb.TransactRequest{Step: &pb.TransactRequest_Run{Run: &pb.TransactRun{Statement: statement, Parameters: vals}}}); err != nil {
			return err
		}
	}
	if !commit {
		return step(&pb.TransactRequest{Step: &pb.TransactRequest_Rollback{Rollback: &pb.TransactRollback{}}})
	}
	return step(&pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: &pb.TransactCommit{}}})
}

// chains are the clients.
type chains struct {
	t     *testing.T
	acked []atomic.Int64 // by client: its last transaction that was acknowledged
	tried []atomic.Int64 // that was begun
}

func newChains(t *testing.T, clients int) *chains {
	return &chains{t: t, acked: make([]atomic.Int64, clients), tried: make([]atomic.Int64, clients)}
}

func (c *chains) total() (n int64) {
	for i := range c.acked {
		n += c.acked[i].Load()
	}
	return n
}

// begin creates the schema and the clients' vertices.
func (c *chains) begin(s *server) {
	for _, statement := range chainSchema {
		_, err := ask(s.addrs.HTTP, statement)
		require.NoError(c.t, err, statement)
	}
	_, err := ask(s.addrs.HTTP, fmt.Sprintf("UNWIND range(0, %d) AS i CREATE (:W {id: i, last: 0, text: ''})", len(c.acked)-1))
	require.NoError(c.t, err)
}

// run has all clients write until the server is gone; ended gets the error with which each one ended.
func (c *chains) run(s *server) (ended chan error) {
	ended = make(chan error, len(c.acked))
	var running sync.WaitGroup
	for w := range c.acked {
		running.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			defer cancel()
			conn, err := grpc.NewClient(s.addrs.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				ended <- err
				return
			}
			defer conn.Close()
			for err == nil || again(err) {
				n := int(c.acked[w].Load()) + 1
				if n%5 == 0 { // must never become visible
					if err = s.writeChain(ctx, conn, w, 500_000+n, false); err != nil {
						continue
					}
				}
				c.tried[w].Store(int64(n))
				if err = s.writeChain(ctx, conn, w, n, true); err == nil {
					c.acked[w].Store(int64(n))
				}
			}
			ended <- err
		})
	}
	go func() { running.Wait(); close(ended) }()
	return ended
}

// check compares the graph with the acknowledged transactions, and each client's transactions with its vertex. The clients continue
// from there.
func (c *chains) check(s *server) {
	t := c.t
	rows := func(statement string, w int) [][]any {
		r, err := call(context.Background(), http.MethodPost, "http://"+s.addrs.HTTP+"/db/default/query/v2", statement, map[string]any{"w": w})
		require.NoError(t, err, statement)
		return r.Data.Values
	}
	vertices, edges := 1+len(c.acked), 0
	for w := range c.acked {
		own := rows("MATCH (w:W {id: $w}) RETURN w.last, w.text", w)
		last := int(own[0][0].(float64))
		require.GreaterOrEqual(t, int64(last), c.acked[w].Load(), "client %d: what was acknowledged is lost", w)
		require.LessOrEqual(t, int64(last), c.tried[w].Load(), "client %d: something is there that was rolled back", w)
		c.acked[w].Store(int64(last))
		gone := map[int]bool{}
		for n := 1; n <= last; n++ {
			gone[deletes(n)] = true
		}
		var made, circles [][]any
		for n := 1; n <= last; n++ {
			if gone[n] {
				continue
			}
			p, f := chainParams(w, n), float64(n)
			id, text := float64(p["id"].(int)), p["text"]
			made = append(made, []any{id, f, text}, []any{id + 1, f, nil})
			circles = append(circles, []any{f, id, f, text, id + 1, f})
		}
		if last > 0 {
			require.Equal(t, chainText(w, last), own[0][1])
		}
		for what, c := range map[string]struct {
			statement string
			want      [][]any
		}{
			"scan":     {"MATCH (n:N) WHERE n.w + 0 = $w RETURN n.id, n.n, n.text ORDER BY n.id", made},
			"index":    {"MATCH (n:N {w: $w}) WHERE n.n >= 0 RETURN n.id, n.n, n.text ORDER BY n.id", made},
			"forwards": {"MATCH (w:W {id: $w})-[m:MADE]->(a)-[r:R]->(b)-[q:R]->(a) RETURN m.n, a.id, r.n, r.text, b.id, q.n ORDER BY m.n", circles},
			"backwards": {
				"MATCH (b:N {w: $w})<-[r:R]-(a)<-[q:R]-(b) MATCH (a)<-[m:MADE]-(:W) RETURN m.n, a.id, r.n, r.text, b.id, q.n ORDER BY m.n", circles,
			},
			"edges": {"MATCH (a:N)-[r:R]->(b:N) WHERE r.n > 0 AND a.w = $w AND a.id < b.id RETURN r.n AS m, a.id, r.n, r.text, b.id, r.n AS q ORDER BY m", circles},
		} {
			require.Equal(t, append([][]any{}, c.want...), append([][]any{}, rows(c.statement, w)...), "client %d, %s", w, what)
		}
		vertices, edges = vertices+len(made), edges+3*len(circles)
	}
	require.Equal(t, [][]any{{float64(c.total())}}, rows("MATCH (h:Hot) RETURN h.n", 0))
	require.Equal(t, [4]int{vertices, edges, vertices, edges}, s.counts())
	s.graphctl("check")
}

// rounds returns how often a test kills a server: a few times, or HOPGATE_SEEDS.
func rounds(n int) int {
	if s, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		return s
	}
	return n
}

// Killed while clients write by statements and by explicit transactions, over HTTP and gRPC, and an index is being built, the server
// restarts with each transaction whole or absent, and with everything that it acknowledged.
func TestKillDuringTransactions(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"--shards", "2", "--memory", "256MiB"}
	c := newChains(t, 6)
	s := start(t, data, args...)
	c.begin(s)
	for round := range rounds(3) {
		ended := c.run(s)
		until := c.total() + 1 + rand.Int64N(150)
		eventually(t, func() bool { return c.total() >= until }, time.Millisecond)
		building := make(chan struct{})
		go func() {
			_, _ = ask(s.addrs.HTTP, fmt.Sprintf("CREATE INDEX late%d IF NOT EXISTS FOR (n:N) ON (n.n, n.w)", round))
			close(building)
		}()
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		s.stop(syscall.SIGKILL)
		for err := range ended {
			var a answered
			require.Error(t, err)
			require.False(t, errors.As(err, &a), "a client received: %v", err)
		}
		<-building
		acked := c.total()
		s = start(t, data, args...)
		c.check(s)
		t.Logf("killed after %d acknowledged transactions; %d are there", acked, c.total())
	}
	require.Zero(t, s.stop(syscall.SIGTERM), s.log)
}
