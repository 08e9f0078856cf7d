package query

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/resource"
	"github.com/hopgate/hopgate/internal/query/endless"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// endless runs a request to its end.
func (e *Engine) endless(ctx context.Context, r *endless.Request, timeout time.Duration) error {
	if r.Typed != nil {
		_, err := rowsOf(e.Traverse(ctx, TypedRequest{Typed: r.Typed, Limits: Limits{Timeout: timeout}}))
		return err
	}
	_, err := rowsOf(e.Query(ctx, Request{Statement: r.Statement, Timeout: timeout}))
	return err
}

// prepareEndless returns the plan of a request.
func (e *Engine) prepareEndless(t *testing.T, r *endless.Request) *prepared {
	g, err := e.known(t.Context(), DefaultGraph)
	require.NoError(t, err)
	req := &Request{Statement: r.Statement}
	if r.Typed != nil {
		req.typed, req.Params = r.Typed, r.Typed.Params(nil)
	}
	p, err := e.prepareRequest(context.Background(), g, req)
	require.NoError(t, err, r.Name())
	return p
}

// endlessWorlds are engines over each store with a small graph for the requests of package endless.
func endlessWorlds(t *testing.T, f func(t *testing.T, e *Engine)) {
	dir := t.TempDir()
	name, text := endless.File()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	overStores(t, Options{QueryBytes: 4 << 30, Open: resource.NewOpener(dir, resource.List{}).Open}, func(t *testing.T, e *Engine) {
		for _, s := range endless.World(2000) {
			must(t, e, s)
		}
		f(t, e)
	})
}

// TestEveryOperator checks that there is a request for each operator, and that its plan has it.
func TestEveryOperator(t *testing.T) {
	files, err := parser.ParseDir( //nolint:staticcheck // Build tags do not matter here.
		token.NewFileSet(), "plan", nil, 0)
	require.NoError(t, err)
	want := map[string]bool{}
	for _, f := range files["plan"].Files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name == "inputs" && d.Recv != nil {
				if name := d.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name; ast.IsExported(name) {
					want[name] = true
				}
			}
		}
	}
	delete(want, "Match") // the optimizer leaves none
	require.Greater(t, len(want), 30)
	e := New(stores["local"](t), Options{})
	for _, s := range endless.World(100) {
		must(t, e, s)
	}
	for _, r := range endless.Requests {
		if r.Operator == "" {
			continue
		}
		have := map[string]bool{}
		operators(reflect.ValueOf(e.prepareEndless(t, &r).exec.Query.Root), have)
		require.True(t, have[r.Operator], "%s: %v", r.Name(), have)
		delete(want, r.Operator)
	}
	require.Empty(t, want, "operators without a request")
}

// operators notes the types of the nodes below a plan's root.
func operators(v reflect.Value, seen map[string]bool) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if n, ok := reflect.TypeAssert[plan.Node](v); ok {
			seen[reflect.TypeOf(n).Elem().Name()] = true
		}
		operators(v.Elem(), seen)
	case reflect.Slice:
		for i := range v.Len() {
			operators(v.Index(i), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				operators(v.Field(i), seen)
			}
		}
	}
}

// asked is a context that ends after a number of calls of Err. It counts the work between two calls, and after its end. Only one
// goroutine calls it.
type asked struct {
	context.Context
	left  int // times until it ends
	after int // calls after its end
	rows  func() int64
	last  int64 // rows at the last time
	most  int64 // rows between two times
}

// Err is called by the operators.
func (a *asked) Err() error {
	n := a.rows()
	a.most, a.last = max(a.most, n-a.last), n
	if a.left--; a.left >= 0 {
		return nil
	}
	a.after++
	return errKilled
}

// TestOperatorsAsk runs every request until its operators have polled the context several times. They must poll again before they
// have returned many rows, and end when the context has ended.
func TestOperatorsAsk(t *testing.T) {
	endlessWorlds(t, func(t *testing.T, e *Engine) {
		for _, r := range endless.Requests {
			if r.What == "planning" || r.What == "text of a query" {
				continue
			}
			p := e.prepareEndless(t, &r)
			for _, times := range []int{5, 60} {
				func() {
					g, err := e.known(t.Context(), DefaultGraph)
					require.NoError(t, err)
					mode := shard.Read
					if p.writes() && !p.own {
						mode = shard.Write
					}
					tx, err := g.Begin(context.Background(), mode)
					require.NoError(t, err)
					defer tx.Rollback()
					env := exec.Env{Procs: e.procs, Open: e.opt.Open, Begin: g.Begin, Budget: exec.Budget{Bytes: 1 << 30}}
					if r.Typed != nil {
						env.Params = r.Typed.Params(nil)
					}
					ctx := &asked{Context: context.Background(), left: times}
					ctx.rows = func() int64 { return 0 }
					env.Params = p.bind(env.Params)
					rows, err := p.exec.Run(ctx, g, tx, env)
					require.NoError(t, err, r.Name())
					defer rows.Close()
					ctx.rows = func() (n int64) {
						for _, s := range rows.Stats() {
							n += s.Rows
						}
						return n
					}
					for err == nil {
						var b *graph.Batch
						if b, err = rows.Next(ctx); b == nil && err == nil {
							t.Fatalf("%s ended by itself", r.Name())
						}
					}
					require.Equal(t, graph.KindDeadline, graph.AsError(err).Kind, "%s: %v", r.Name(), err)
					require.LessOrEqual(t, ctx.after, 40, "%s goes on asking", r.Name())
					require.LessOrEqual(t, ctx.most, int64(20_000), "%s gives rows without asking", r.Name())
					require.LessOrEqual(t, ctx.rows()-ctx.last, int64(2_000), "%s goes on giving rows", r.Name())
				}()
			}
		}
	})
}

// TestCancel ends requests that are busy in each operator in three ways: each ends, and returns the reason.
func TestCancel(t *testing.T) {
	ways := []struct {
		code    string
		timeout time.Duration
		end     func(t *testing.T, e *Engine, cancel func())
	}{
		{"Neo.ClientError.Transaction.TransactionTimedOut", 0, func(_ *testing.T, _ *Engine, cancel func()) { cancel() }},
		{"Neo.ClientError.Transaction.TransactionTimedOut", 20 * time.Millisecond, func(*testing.T, *Engine, func()) {}},
		{"Neo.ClientError.Transaction.Terminated", 0, func(t *testing.T, e *Engine, _ func()) {
			var running []*Running
			require.Eventually(t, func() bool {
				running = e.Running(context.Background())
				return len(running) == 1
			}, time.Minute, time.Millisecond)
			require.Len(t, must(t, e, "TERMINATE TRANSACTION '"+transactionID(running[0])+"'"), 1)
		}},
	}
	endlessWorlds(t, func(t *testing.T, e *Engine) {
		for i, r := range endless.Requests {
			for k, way := range ways {
				if testing.Short() && i%len(ways) != k {
					continue
				}
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- e.endless(ctx, &r, way.timeout) }()
				var err error
				ended := false
				if way.timeout == 0 {
					select {
					case err = <-done:
						ended = true
					case <-time.After(20 * time.Millisecond):
						way.end(t, e, cancel)
					}
				}
				if !ended {
					select {
					case err = <-done:
					case <-time.After(patience):
						t.Fatalf("%s goes on", r.Name())
					}
				}
				cancel()
				require.Equal(t, way.code, code(err), "%s: %v", r.Name(), err)
			}
		}
	})
}

// TestCancelOnDisk kills statements that have spilled to disk: they end and remove their files.
func TestCancelOnDisk(t *testing.T) {
	spill, err := exec.NewSpill(t.TempDir(), 4<<30)
	require.NoError(t, err)
	overStores(t, Options{QueryBytes: 4 << 20, Spill: spill}, func(t *testing.T, e *Engine) {
		for _, statement := range []string{
			"UNWIND range(1, 1000000000000) AS x RETURN x ORDER BY x % 7",
			"UNWIND range(1, 1000000000000) AS x RETURN x, count(*)",
			"UNWIND range(1, 1000000000000) AS x WITH DISTINCT x AS y WITH y WHERE y < 0 RETURN y",
		} {
			ctx, cancel := context.WithCancelCause(context.Background())
			done := make(chan error, 1)
			go func() {
				_, err := rowsOf(e.Query(ctx, Request{Statement: statement}))
				done <- err
			}()
			require.Eventually(t, func() bool { return spill.Used() > 1<<20 }, patience, time.Millisecond, statement)
			cancel(errKilled)
			select {
			case err := <-done:
				require.Equal(t, "Neo.ClientError.Transaction.Terminated", code(err), statement)
			case <-time.After(patience):
				t.Fatal("it goes on")
			}
			require.Zero(t, spill.Used(), statement)
		}
	})
}

// TestQueryBytes checks that the memory of expressions and of the results of writes is bounded, and that the error names the holder.
func TestQueryBytes(t *testing.T) {
	overStores(t, Options{QueryBytes: 8 << 20}, func(t *testing.T, e *Engine) {
		must(t, e, "UNWIND range(1, 10) AS x CREATE (:N {k: x, text: reduce(s = '0123456789', i IN range(1, 12) | s + s)})")
		for statement, holder := range map[string]string{
			"UNWIND range(1, 1000) AS x WITH range(1, 10000 + x) AS l RETURN sum(size(l))":                        "range()",
			"UNWIND range(1, 1000) AS x WITH [y IN range(1, 999 + x) | y + x] AS l RETURN sum(size(l))":           "range()",
			"WITH range(1, 1000) AS l UNWIND l AS x WITH [y IN l | y + x] AS m RETURN sum(size(m))":               "ListComprehension",
			"WITH range(1, 1000) AS l RETURN [y IN l | reduce(s = 'x', i IN range(1, 15) | s + s) + y] AS m":      "Expression",
			"RETURN size(reduce(s = 'x', i IN range(1, 60) | s + s)) AS n":                                        "Expression",
			"RETURN size(reduce(s = [1], i IN range(1, 60) | s + s)) AS n":                                        "Expression",
			"RETURN size(reduce(s = 'x', i IN range(1, 23) | s + s)) AS n":                                        "Expression", // 4 MiB twice, to make 8
			"UNWIND range(1, 1000000) AS x CREATE (m:M) RETURN x":                                                 "Result",
			"UNWIND range(1, 300) AS x MATCH (n:N) SET n.v = 1 RETURN n":                                          "Result",
			"UNWIND range(1, 1000) AS x WITH x, range(1, 5000) AS l RETURN collect(l[x]), collect(reverse(l))[0]": "",
		} {
			_, err := e.rows(Request{Statement: statement})
			require.Equal(t, "Neo.TransientError.General.MemoryPoolOutOfMemoryError", code(err), statement)
			require.ErrorContains(t, err, "query-memory", statement)
			if holder != "" {
				require.ErrorContains(t, err, "operator "+holder, statement)
			}
		}
		for _, statement := range []string{
			"UNWIND range(1, 200000) AS x WITH range(1, x % 10) AS l RETURN sum(size(l))",
			"UNWIND range(1, 200000) AS x WITH 'text ' + x AS s, [y IN range(1, 5) | y] AS l RETURN sum(size(s) + size(l))",
			"RETURN reduce(s = '', x IN range(1, 10000) | s + 'x') AS s",
			"RETURN size(reduce(s = 'x', i IN range(1, 21) | s + s)) AS n",
		} {
			must(t, e, statement)
		}
	})
}
