package bolt

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// fake is a backend whose statements are words: ROWS n returns n rows of one column, in batches of three; WRITE changes something;
// FAIL fails immediately and LATE with its second batch; BLOCK ends with its context; NONE has no columns; SYSTEM changes two
// graphs; VECTORS n returns vectors.
type fake struct {
	log     []string
	blocked chan struct{} // receives a value when BLOCK runs
	open    atomic.Int64  // results and transactions
	batches int           // as requested
}

func (f *fake) note(format string, args ...any) { f.log = append(f.log, fmt.Sprintf(format, args...)) }

func (f *fake) Hello(c Client) error {
	if c.Agent == "one too many" {
		return fakeError(graph.KindBusy, "Neo.TransientError.Request.NoThreadsAvailable", "too many connections")
	}
	f.note("hello agent=%q routed=%v address=%q", c.Agent, c.Routed, c.Address)
	return nil
}

func (f *fake) Logon(_ context.Context, a Auth) error {
	if a.Credentials == "wrong" {
		return fakeError(graph.KindUnauthenticated, "Neo.ClientError.Security.Unauthorized", "the token is not known")
	}
	f.note("logon %s %s", a.Scheme, a.Principal)
	return nil
}

func (f *fake) Logoff() { f.note("logoff") }

func (f *fake) Run(ctx context.Context, s *Statement) (Result, error) { return f.run(ctx, s, true) }

func (f *fake) run(ctx context.Context, s *Statement, alone bool) (Result, error) {
	f.note("run %s params=%d db=%q read=%v timeout=%v,%v meta=%v bookmarks=%v filter=%v", s.Text, len(s.Params), s.Graph, s.ReadOnly,
		s.HasTimeout, s.Timeout, !s.Metadata.IsNull(), s.Bookmarks, s.Filter)
	word, arg, _ := strings.Cut(s.Text, " ")
	n, _ := strconv.Atoi(arg)
	r := &fakeResult{f: f, ctx: ctx, left: n, columns: []string{"n"}, alone: alone, word: word}
	switch word {
	case "FAIL":
		return nil, fakeError(graph.KindInvalid, "Neo.ClientError.Statement.SyntaxError", "no such statement")
	case "EXPIRED":
		return nil, fakeError(graph.KindUnauthenticated, "Neo.ClientError.Security.TokenExpired", "the token's time is over")
	case "BLOCK":
		f.blocked <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case "NONE":
		r.columns = []string{}
	}
	f.open.Add(1)
	return r, nil
}

func (f *fake) Begin(_ context.Context, c *Context) (Tx, error) {
	f.note("begin db=%q read=%v", c.Graph, c.ReadOnly)
	if c.Graph == "none" {
		return nil, graph.NoGraph("none")
	}
	f.open.Add(1)
	return &fakeTx{f: f, done: make(chan struct{})}, nil
}

func (f *fake) Route(_ context.Context, r *RouteRequest) (*Table, error) {
	f.note("route db=%q address=%q bookmarks=%v", r.Graph, r.Address, r.Bookmarks)
	return &Table{Graph: "neo4j", TTL: 300 * time.Second, Addresses: []string{"a:1"}}, nil
}

func (f *fake) Telemetry(api int)              { f.note("telemetry %d", api) }
func (f *fake) Sent(int)                       {}
func (f *fake) Count(Tag, byte, time.Duration) {}

func (f *fake) Failure(err error) *Failure {
	e := graph.AsError(err)
	return &Failure{Code: e.Code, Message: e.Msg, Status: "50N42", Description: "error", Class: "CLIENT_ERROR", Pos: e.Pos}
}

func fakeError(kind graph.Kind, code, msg string) error {
	return &graph.Error{Kind: kind, Code: code, Msg: msg, Pos: graph.Pos{Line: 1, Column: 2, Offset: 1}}
}

type fakeTx struct {
	f    *fake
	done chan struct{}
	err  error
}

func (t *fakeTx) Graph() string { return "neo4j" }

func (t *fakeTx) Run(ctx context.Context, s *Statement) (Result, error) {
	return t.f.run(ctx, s, false)
}

func (t *fakeTx) Commit(context.Context) (string, error) {
	t.f.note("commit")
	t.f.open.Add(-1)
	return "hg1:default:1", nil
}

func (t *fakeTx) Rollback() {
	t.f.note("rollback")
	t.f.open.Add(-1)
}
func (t *fakeTx) Done() <-chan struct{} { return t.done }
func (t *fakeTx) Err() error            { return t.err }

type fakeResult struct {
	f       *fake
	ctx     context.Context
	word    string
	columns []string
	next    int64
	left    int
	held    []*graph.Batch
	isHeld  bool
	alone   bool
	count   int64
	closed  bool
}

func (r *fakeResult) Graph() string     { return "neo4j" }
func (r *fakeResult) Columns() []string { return r.columns }

func (r *fakeResult) Next() (*graph.Batch, error) {
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	r.f.batches++
	if r.isHeld {
		if len(r.held) == 0 {
			return nil, nil
		}
		b := r.held[0]
		r.held = r.held[1:]
		r.count += int64(b.N)
		return b, nil
	}
	return r.make()
}

func (r *fakeResult) make() (*graph.Batch, error) {
	if r.word == "LATE" && r.next > 0 {
		return nil, fakeError(graph.KindInvalid, "Neo.ClientError.Statement.ArithmeticError", "division by zero")
	}
	n := min(r.left, 3)
	if n == 0 {
		return nil, nil
	}
	b := &graph.Batch{N: n, Cols: make([]graph.Column, len(r.columns))}
	for k := range b.Cols {
		for i := range n {
			v := graph.IntValue(r.next + int64(i))
			if r.word == "VECTORS" {
				x, _ := graph.VectorOf(graph.Integer8, []graph.Value{v, v})
				v = graph.VectorValue(x)
			}
			b.Cols[k].Vals = append(b.Cols[k].Vals, v)
		}
	}
	r.next += int64(n)
	r.left -= n
	r.count += int64(n)
	return b, nil
}

func (r *fakeResult) Sending() {}

func (r *fakeResult) Sent(int) {}
func (r *fakeResult) Wait()    { r.f.note("wait") }

func (r *fakeResult) Hold(b *graph.Batch, from int) error {
	r.f.note("hold")
	before := r.count
	if b != nil {
		before -= int64(b.N - from)
		r.held = append([]*graph.Batch{{N: b.N - from, Cols: []graph.Column{{Vals: b.Cols[0].Vals[from:]}}}}, r.held...)
	}
	for {
		b, err := r.make()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		r.held = append(r.held, b)
	}
	r.isHeld, r.count = true, before
	return nil
}

func (r *fakeResult) Whole() bool           { return r.word == "PROFILE" }
func (r *fakeResult) Done() <-chan struct{} { return r.ctx.Done() }

func (r *fakeResult) Close() {
	if !r.closed {
		r.closed = true
		r.f.open.Add(-1)
	}
}

func (r *fakeResult) Summary() *Summary {
	s := &Summary{Summary: query.Summary{Type: "r"}}
	s.Rows = r.count
	if r.alone {
		s.Bookmark = "hg1:default:1"
	}
	switch r.word {
	case "WRITE":
		s.Type = "w"
		s.Counters.NodesCreated = 2
	case "SYSTEM":
		s.Type, s.SystemUpdates = "s", 2
	case "NOTE":
		s.Notifications = []plan.Notification{
			{Code: "c1", Title: "t1", Description: "d1", Severity: "WARNING", Category: "UNRECOGNIZED", Status: "01N50", StatusText: "warn: x", Pos: graph.Pos{Line: 1, Column: 3, Offset: 2}},
			{Code: "c2", Title: "t2", Description: "d2", Severity: "INFORMATION", Category: "PERFORMANCE", Status: "03N90", StatusText: "info: y"},
		}
	case "PROFILE", "EXPLAIN":
		s.Plan = &explain.Node{Operator: "Scan", Args: "(n)", Estimate: 2, Profiled: r.word == "PROFILE", Rows: 1, Children: []*explain.Node{{Operator: "Unit", Estimate: -1}}}
		s.Planner = "+Scan\n"
	}
	return s
}
