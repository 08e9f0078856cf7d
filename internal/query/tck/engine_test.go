package tck

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
)

// setting is how an engine is built; the answers must not depend on it.
type setting struct {
	shards, batch int
	disable       []string // optimizer rules
	eager         bool     // cypher.Options.Eager
	lift          bool     // literals are parameters where they may be
	parallel      bool     // cores are idle, so workers run beside the statement
	edges         int64    // that a statement may visit; 0: any number
	bytes         int64    // that operators may hold; 0: any number
	spill         *exec.Spill
}

// engine runs statements on one graph, without a cache or a server.
type engine struct {
	setting
	g     shard.Graph
	procs []procedure
	whole *query.Engine   // runs the statements of cached
	store shard.Store     // of whole, if newGuarded has made the engine
	ctx   context.Context // of the caller, nil without one
	cheap bool            // plans take labels for large, beside which indexes are cheap
}

// context is that of a statement.
func (e *engine) context() context.Context {
	if e.ctx != nil {
		return e.ctx
	}
	return context.Background()
}

func newEngine(s setting, procs []procedure) *engine {
	return &engine{setting: s, g: oracle.NewGraph(s.shards), procs: procs}
}

// idle is the slot of a long-running request on a machine of three cores on which no other request computes for a while.
type idle struct{ left int }

func (*idle) Yield(context.Context) error { return nil }

func (i *idle) Helpers(int) []exec.Helper {
	if i.left--; i.left < 0 {
		return nil
	}
	return []exec.Helper{&helper{}, &helper{stays: true}, &helper{stays: true}}
}

// helper is the slot of a worker. Others ask for it after a while unless it stays.
type helper struct {
	idle
	stays bool
	asked int
}

func (h *helper) Contended() bool {
	h.asked++
	return !h.stays && h.asked > 3
}

func (*helper) Release() {}

// answer is the result of a statement.
type answer struct {
	columns []string
	rows    [][]any
	// entities are the ids of the vertices or edges in the first column, for the graph's state.
	entities []string
	counters exec.Counters
}

// byRules is how often a statement scanned by an index of what rules compare.
var byRules atomic.Int64

func (e *engine) fired(rule string) {
	if rule == "RuleIndex" {
		byRules.Add(1)
	}
}

func (e *engine) run(text string, params map[string]graph.Value) (a *answer, err error) {
	ctx := e.context()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	opts := cypher.Options{Procedures: e.signature, Eager: e.eager}
	if e.lift {
		opts.Literals = parse.Literals(text, cypher.IsLiteralName, nil)
	}
	q, _, err := cypher.Compile(text, opts)
	if err != nil {
		return nil, err
	}
	params = maps.Clone(params)
	for i, l := range opts.Literals {
		if l.Lifted && params == nil {
			params = map[string]graph.Value{}
		}
		if l.Lifted {
			params[cypher.LiteralName(i)] = l.Value
		}
	}
	mode := shard.Read
	if q.Writes {
		mode = shard.Write
	}
	env := exec.Env{Params: params, Procs: e, Committed: !q.Writes && !q.OwnTransactions(), Budget: exec.Budget{Edges: e.edges, Bytes: e.bytes}, Spill: e.spill}
	if q.OwnTransactions() {
		mode = shard.Read
		env.Begin = e.g.Begin
	} else if e.parallel {
		env.Slot = &idle{left: 3}
	}
	tx, err := e.g.Begin(ctx, mode)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	counts := tx.Statistics()
	if e.cheap {
		some := *counts
		some.ByLabel = map[string]uint64{"A": 1 << 20, "B": 1 << 20, "C": 1 << 20}
		counts = &some
	}
	optimize.Plan(q, optimize.Env{Counts: counts, Indexes: e.g.Indexes(), Features: e.g.Features(), Rules: tx.Features().Rules, Disable: e.disable, Fired: e.fired})
	p, err := exec.Compile(q, exec.Options{BatchSize: e.batch})
	if err != nil {
		return nil, err
	}
	rows, err := p.Run(ctx, e.g, tx, env)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	a = &answer{columns: p.Columns()}
	if err := a.take(func() (*graph.Batch, error) { return rows.Next(ctx) }); err != nil {
		return nil, err
	}
	a.counters = rows.Counters()
	if err := tx.Commit(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// cached runs a statement with a plan that may be an earlier statement's.
func (e *engine) cached(text string) (*answer, error) {
	res, err := e.whole.Query(e.context(), query.Request{Statement: text})
	if err != nil {
		return nil, err
	}
	defer res.Close()
	a := &answer{columns: res.Columns}
	if err := a.take(res.Next); err != nil {
		return nil, err
	}
	a.counters = res.Summary().Counters
	return a, nil
}

// take reads all rows.
func (a *answer) take(next func() (*graph.Batch, error)) error {
	for {
		b, err := next()
		if b == nil || err != nil {
			return err
		}
		for i := range b.N {
			row := make([]any, len(b.Cols))
			for j := range b.Cols {
				v := b.Cols[j].Value(i)
				row[j] = caseValue(v)
				switch v.Kind() {
				case graph.VertexKind:
					a.entities = append(a.entities, strconv.FormatUint(uint64(v.Vertex()), 10))
				case graph.EdgeKind:
					a.entities = append(a.entities, strconv.FormatUint(uint64(v.EdgeID()), 10))
				}
			}
			a.rows = append(a.rows, row)
		}
	}
}

// procedure is a procedure that a case defines.
type procedure struct {
	sig  cypher.Signature
	rows [][]graph.Value // arguments, then results
}

// parseProcedure reads name(a :: TYPE, …) :: (b :: TYPE, …).
func parseProcedure(signature string, rows [][]string) (procedure, error) {
	name, rest, _ := strings.Cut(signature, "(")
	params, results, ok := strings.Cut(rest, ") :: (")
	if !ok {
		return procedure{}, fmt.Errorf("not a signature: %s", signature)
	}
	p := procedure{sig: cypher.Signature{Name: name, Params: fields(params), Results: fields(strings.TrimSuffix(results, ")"))}}
	for _, row := range rows {
		var values []graph.Value
		for _, cell := range row {
			v, err := parseValue(cell)
			if err != nil {
				return p, err
			}
			values = append(values, graphValue(v))
		}
		p.rows = append(p.rows, values)
	}
	return p, nil
}

func fields(list string) []cypher.Field {
	var out []cypher.Field
	for f := range strings.SplitSeq(list, ",") {
		if name, typ, ok := strings.Cut(f, " :: "); ok {
			out = append(out, cypher.Field{Name: strings.TrimSpace(name), Type: strings.TrimSpace(typ)})
		}
	}
	return out
}

func (e *engine) signature(name string) (cypher.Signature, bool) {
	for _, p := range e.procs {
		if p.sig.Name == name {
			return p.sig, true
		}
	}
	return cypher.Signature{}, false
}

// Procedure implements exec.Procedures with the procedures of the cases: a call returns the rows that begin with its arguments.
func (e *engine) Procedure(name string) (exec.Procedure, bool) {
	for _, p := range e.procs {
		if p.sig.Name != name {
			continue
		}
		x := exec.Procedure{Run: func(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
			var out [][]graph.Value
		next:
			for _, row := range p.rows {
				for i, a := range c.Args {
					w, g := caseValue(row[i]), caseValue(a)
					if n, ok := w.(int64); ok && a.Kind() == graph.Float {
						w = float64(n)
					}
					if !same(w, g, false) {
						continue next
					}
				}
				out = append(out, row[len(c.Args):])
			}
			return out, nil
		}}
		for _, f := range p.sig.Params {
			x.Args = append(x.Args, f.Name)
		}
		for _, f := range p.sig.Results {
			x.Results = append(x.Results, f.Name)
		}
		return x, true
	}
	return exec.Procedure{}, false
}
