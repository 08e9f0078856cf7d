package boltapi

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

const terminated = "Neo.ClientError.Transaction.Terminated"

// watched is a store with one graph. It counts reads, and its commits block until their context ends while stuck is set.
type watched struct {
	shard.Store
	g *watchedGraph
}

type watchedGraph struct {
	shard.Graph
	reads, commits atomic.Int64
	stuck          atomic.Bool
}

type watchedTx struct {
	shard.Tx
	g *watchedGraph
}

func (s *watched) Graph(name string) (shard.Graph, error) {
	if name == query.DefaultGraph {
		return s.g, nil
	}
	return s.Store.Graph(name)
}

func (g *watchedGraph) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	tx, err := g.Graph.Begin(ctx, mode)
	return &watchedTx{tx, g}, err
}

func (tx *watchedTx) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) ([]graph.VertexID, graph.VertexID, bool, error) {
	tx.g.reads.Add(1)
	return tx.Tx.Scan(ctx, label, from, dst)
}

func (tx *watchedTx) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	tx.g.reads.Add(1)
	return tx.Tx.Expand(ctx, req, res)
}

func (tx *watchedTx) Commit(ctx context.Context) error {
	if !tx.g.stuck.Load() {
		return tx.Tx.Commit(ctx)
	}
	tx.g.commits.Add(1)
	<-ctx.Done()
	tx.Rollback()
	return graph.DeadlineError(ctx.Err())
}

func watch(t testing.TB) *watched {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	return &watched{store, &watchedGraph{Graph: g}}
}

// work is the phase in which a statement is interrupted.
type work struct {
	name, statement string
	tx              bool // an explicit transaction whose COMMIT does not return
	at              func(s *watched, q *query.Running) bool
}

func reading(s *watched, _ *query.Running) bool { return s.g.reads.Load() > 2 }

func committing(s *watched, _ *query.Running) bool { return s.g.commits.Load() > 0 }

func holding(operator string) func(*watched, *query.Running) bool {
	return func(_ *watched, q *query.Running) bool {
		name, bytes := q.Held()
		return name == operator && bytes > 0
	}
}

var works = []work{
	{"scan", "UNWIND range(1, 1000000000) AS x MATCH (a:V) WHERE a.k + x < 0 RETURN x", false, reading},
	{"expand", "MATCH (a:N)-->(b)-->(c)-->(d)-->(e)-->(f)-->(g)-->(h)-->(i) WHERE a.k + i.k < 0 RETURN a.k", false, reading},
	{"sort", "UNWIND range(1, 1000000000000) AS x RETURN x ORDER BY x % 7", false, holding("Sort")},
	{"aggregate", "UNWIND range(1, 1000000000000) AS x RETURN x % 1000, collect(x % 2)[0], sum(x)", false, holding("Aggregate")},
	{"commit", "CREATE (:Made)", false, committing},
	{"commit of a transaction", "CREATE (:Made)", true, committing},
}

// end interrupts the client's request and returns the code of the answer, "" if there is none.
type end struct {
	name    string
	timeout int64 // ms, of the statement or its transaction
	do      func(t *testing.T, s *served, c *client)
	code    string
}

var ends = []end{
	{"reset", 0, func(_ *testing.T, _ *served, c *client) { c.send(message(bolt.Reset)) }, terminated},
	{"closed socket", 0, func(t *testing.T, _ *served, c *client) { require.NoError(t, c.c.Close()) }, ""},
	{"tx_timeout", 300, func(*testing.T, *served, *client) {}, "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"},
	{"kill", 0, func(t *testing.T, s *served, _ *client) {
		require.True(t, s.e.Kill(context.Background(), s.e.Running(context.Background())[0].ID))
	}, terminated},
	{"drain", 0, func(_ *testing.T, s *served, _ *client) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // the drain timeout is over
		s.Drain(ctx)
	}, ""},
}

// Each end ends each work, is answered where there is a client, and leaves no goroutine, place or transaction.
func TestEndsOfWork(t *testing.T) {
	store := watch(t)
	world := query.New(store, query.Options{})
	for _, statement := range []string{
		"UNWIND range(1, 30) AS x CREATE (:N {k: x})", "MATCH (a:N), (b:N) WHERE a <> b CREATE (a)-[:R]->(b)", "UNWIND range(1, 200) AS x CREATE (:V {k: x})",
	} {
		res, err := world.Query(context.Background(), query.Request{Statement: statement})
		require.NoError(t, err)
		res.Close()
	}
	for _, w := range works {
		for _, end := range ends {
			t.Run(w.name+" "+end.name, func(t *testing.T) { endWork(t, store, &w, &end) })
		}
	}
	store.g.stuck.Store(false)
	res, err := world.Query(context.Background(), query.Request{Statement: "MATCH (m:Made) RETURN m"})
	require.NoError(t, err)
	defer res.Close()
	b, err := res.Next()
	require.NoError(t, err)
	require.Nil(t, b, "no commit came to pass")
}

// firstFailure reads answers up to a failure and returns its code. If time is short, the failure may answer any message.
func (c *client) firstFailure() string {
	for {
		if tag, v := c.answer(); tag == 0x7F {
			return v.Get("code").Str()
		}
	}
}

// untilReset reads the answers after a failure up to the answer to RESET.
func (c *client) untilReset() {
	for {
		tag, v := c.answer()
		if tag == 0x70 {
			return
		}
		require.Equal(c.t, byte(0x7E), tag, "%s", text(v))
	}
}

func endWork(t *testing.T, store *watched, w *work, end *end) {
	before := goleak.IgnoreCurrent()
	store.g.reads.Store(0)
	store.g.commits.Store(0)
	store.g.stuck.Store(true)
	e := query.New(store, query.Options{Admission: admission.Limits{Running: 2, Queue: 10}, PoolBytes: 1 << 30})
	var s *served
	t.Run("work", func(t *testing.T) { // its end drains the server
		s = serveEngine(t, e, Options{})
		c := s.connect(t)
		var extra []any
		if end.timeout > 0 {
			extra = []any{"tx_timeout", graph.IntValue(end.timeout)}
		}
		statement := message(bolt.Run, graph.StringValue(w.statement), entries(), entries(extra...))
		switch {
		case w.tx:
			c.send(message(bolt.Begin, entries(extra...)), run(w.statement), pull(-1), message(bolt.Commit))
		case w.name == "commit": // RUN commits
			c.send(statement)
		default:
			c.send(statement, pull(-1))
		}
		if end.timeout == 0 {
			require.Eventually(t, func() bool {
				running := e.Running(context.Background())
				return len(running) == 1 && w.at(store, running[0])
			}, time.Minute, time.Millisecond, "it does not get to work")
		}
		began := time.Now()
		end.do(t, s, c)
		if end.code != "" {
			require.Equal(t, end.code, c.firstFailure())
			t.Logf("answered after %v", time.Since(began))
			if end.name != "reset" {
				c.send(message(bolt.Reset))
			}
			c.untilReset()
		}
		require.Eventually(t, func() bool {
			return len(e.Running(context.Background())) == 0 && e.Load().Running == 0
		}, time.Minute, time.Millisecond, "a statement or a place is left")
		t.Logf("ended after %v", time.Since(began))
	})
	require.Zero(t, testutil.ToFloat64(s.metrics.transactions))
	require.Zero(t, testutil.ToFloat64(s.metrics.waiting))
	held, _ := e.Held()
	require.Zero(t, held, "memory is left")
	// The store keeps a goroutine for each call that it makes beside others.
	spare := goleak.IgnoreTopFunction("github.com/hopgate/hopgate/internal/storage/kv.(*Instance).Guard.func1")
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.NoError(c, goleak.Find(before, spare)) }, time.Minute, 10*time.Millisecond)
}
