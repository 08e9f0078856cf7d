package exec

import (
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// execution is the state of a run apart from its transaction: its operators and their memory. A plan whose operators are all
// reusable keeps those of ended runs for later ones, so a short statement does not pay for building them.
type execution struct {
	run  runtime.Run
	p    *Prepared
	fn   fn.Context
	root runtime.Operator
	out  runtime.Batch // the batch that Next returns
	// recorder reads the records of the result.
	recorder expr.Recorder
}

// maxKeptRows bounds the rows, and so the memory, of operators that are kept for later runs.
const maxKeptRows = 4 * graph.BatchSize

// reusable reports whether the operators of a stage and of those below it hold nothing of their run except for what begin sets
// and end clears. last says that only projections are above the stage.
func reusable(s *runtime.Stage, last bool) bool {
	if len(s.Subplans) > 0 || s.Exchange != nil {
		return false
	}
	_, passes := s.Node.(*plan.Project)
	for _, kid := range s.Inputs {
		if !reusable(kid, last && passes) {
			return false
		}
	}
	switch n := s.Node.(type) {
	case *plan.Unit:
		return true
	case *plan.Seek:
		return compile.Plain(n.Keys...)
	case *plan.Filter:
		for _, e := range n.Preds {
			if !test(e) {
				return false
			}
		}
		return true
	case *plan.Slice:
		return compile.Plain(n.Skip) && compile.Plain(n.Limit)
	case *plan.Expand:
		return len(n.Where) == 0 && !n.Into && !slices.ContainsFunc(s.Cols, compile.IsEdgeProp)
	case *plan.FrontierCount:
		for _, h := range n.Hops {
			if !plan.AllRanges(h.Where, h.Edge) {
				return false
			}
		}
		return true
	case *plan.Project:
		for _, it := range n.Items {
			if !compile.Plain(it.Expr) && !(last && propOfColumn(it.Expr)) {
				return false
			}
		}
		return true
	case *plan.Drain:
		return true
	case *plan.Create:
		for _, v := range n.Vertices {
			if len(v.LabelsOf) > 0 || !plainMap(v.Props) {
				return false
			}
		}
		for _, e := range n.Edges {
			if e.TypeOf != nil || !plainMap(e.Props) {
				return false
			}
		}
		return true
	}
	return false
}

// plainMap reports whether an expression is nil or a map of plain expressions.
func plainMap(e plan.Expr) bool {
	if e == nil {
		return true
	}
	m, ok := e.(*plan.MapLit)
	return ok && compile.Plain(m.Elems...)
}

// propOfColumn reports whether an expression is a property of an entity in a column. The value may point into cached columns
// and must not outlive its transaction: only its reader, tests and projections, which copy nothing, may hold it.
func propOfColumn(e plan.Expr) bool {
	p, ok := e.(*plan.Prop)
	if !ok {
		return false
	}
	_, ok = p.X.(*plan.ColRef)
	return ok
}

// test reports whether an expression only compares plain expressions and properties of columns, so its value is a truth value.
func test(e plan.Expr) bool {
	op, ok := e.(*plan.Op)
	if !ok {
		return false
	}
	switch op.Op {
	case plan.And, plan.Or, plan.Not:
		return !slices.ContainsFunc(op.Args, func(e plan.Expr) bool { return !test(e) })
	case plan.Eq, plan.Ne, plan.Lt, plan.Le, plan.Gt, plan.Ge, plan.IsNull, plan.IsNotNull:
		return !slices.ContainsFunc(op.Args, func(e plan.Expr) bool { return !compile.Plain(e) && !propOfColumn(e) })
	}
	return false
}

// execution returns operators for a run, reusing those of an ended run if possible.
func (p *Prepared) execution(ctx context.Context, g shard.Graph, tx shard.Tx, env *runtime.Env) (*execution, error) {
	if p.keeps(env) {
		if x, ok := p.ended.Get().(*execution); ok && x.run.Graph == g {
			x.begin(ctx, tx, env, time.Time{}) // kept operators read no clock
			return x, x.run.Bind()
		}
	}
	now := time.Now()
	x := &execution{p: p}
	x.run.Init(&p.program, g)
	x.begin(ctx, tx, env, now)
	x.root = x.run.Build(p.program.Root)
	return x, x.run.Err
}

// begin sets the state that belongs to one run.
func (x *execution) begin(ctx context.Context, tx shard.Tx, env *runtime.Env, now time.Time) {
	x.run.Begin(env, now)
	if env.Fn == nil {
		x.fn = fn.Context{Statement: now, Transaction: now, MaxList: env.Budget.Bytes / 24, Run: ctx}
		x.run.Env.Fn = &x.fn
	}
	x.run.SetTx(tx)
}

// end keeps the operators for a later run unless they hold much memory. The ended run must not use them any more.
func (x *execution) end() {
	r := &x.run
	for i := range r.Stats {
		if r.Stats[i].Rows > maxKeptRows {
			return
		}
	}
	r.Forget()
	x.recorder.Forget()
	clear(x.out.Cols[:cap(x.out.Cols)])
	x.fn.Run = nil //nolint:fatcontext // It is removed.
	x.p.ended.Put(x)
}

// keeps reports whether runs with these parameters can share operators with others.
func (p *Prepared) keeps(env *runtime.Env) bool {
	return p.program.Reusable && !env.Profile && !slices.ContainsFunc(p.bounds, func(name string) bool {
		return !graph.Bounds(env.Params[name])
	})
}
