package adjacency

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// edgeRange is a conjunct that compares a property of an edge with a constant or a parameter. The shards test it while they
// read the lists.
type edgeRange struct {
	key   string
	op    plan.OpCode // between the property and the bound
	bound plan.Expr
}

// mirrored swaps the sides of a comparison.
var mirrored = map[plan.OpCode]plan.OpCode{plan.Eq: plan.Eq, plan.Lt: plan.Gt, plan.Le: plan.Ge, plan.Gt: plan.Lt, plan.Ge: plan.Le}

// rangeOf converts a conjunct on the edge in a column to a range, if it is one.
func rangeOf(e plan.Expr, edge plan.Col) (edgeRange, bool) {
	op, ok := e.(*plan.Op)
	if !ok || len(op.Args) != 2 || edge == 0 {
		return edgeRange{}, false
	}
	other, ok := mirrored[op.Op]
	if !ok {
		return edgeRange{}, false
	}
	for i, code := range [...]plan.OpCode{op.Op, other} {
		p, ok := op.Args[i].(*plan.Prop)
		if !ok {
			continue
		}
		if ref, ok := p.X.(*plan.ColRef); !ok || ref.Col != edge {
			continue
		}
		switch b := op.Args[1-i].(type) {
		case *plan.Param:
			return edgeRange{p.Key, code, b}, true
		case *plan.Const:
			return edgeRange{p.Key, code, b}, graph.Bounds(b.Value)
		}
	}
	return edgeRange{}, false
}

// AllRanges reports whether the conditions of a hop are only ranges.
func AllRanges(preds []plan.Expr, edge plan.Col) bool {
	return !slices.ContainsFunc(preds, func(e plan.Expr) bool {
		_, ok := rangeOf(e, edge)
		return !ok
	})
}

// CompileFilter is CompileLocalFilter with the ranges split off for the shards.
func CompileFilter(c *compile.Compiler, preds []plan.Expr, edge, to plan.Col) *EdgeFilter {
	var ranges []edgeRange
	var rest []plan.Expr
	for _, e := range preds {
		if r, ok := rangeOf(e, edge); ok {
			ranges = append(ranges, r)
			if p, ok := r.bound.(*plan.Param); ok {
				c.Bounds = append(c.Bounds, p.Name)
			}
		} else {
			rest = append(rest, e)
		}
	}
	whole := CompileLocalFilter(c, preds, edge, to)
	if len(ranges) == 0 {
		return whole
	}
	w := CompileLocalFilter(c, rest, edge, to)
	if w == nil {
		w = &EdgeFilter{}
	}
	w.ranges, w.whole = ranges, whole
	return w
}

// bounded reports whether the values of the parameters can serve as bounds.
func bounded(ranges []edgeRange, params map[string]graph.Value) bool {
	for _, r := range ranges {
		if p, ok := r.bound.(*plan.Param); ok && !graph.Bounds(params[p.Name]) {
			return false
		}
	}
	return true
}

// edgeBound is an edgeRange with the values of a run.
type edgeBound struct {
	edgeRange
	id    graph.PropID // 0: unknown yet
	value *expr.Constant
}

// bounds evaluates the ranges of a run.
func bounds(r *runtime.Run, ranges []edgeRange) []edgeBound {
	es := expr.New(r, nil)
	var out []edgeBound
	for _, x := range ranges {
		c, ok := es.Add(x.bound).(*expr.Constant)
		if !ok {
			c = &expr.Constant{}
		}
		out = append(out, edgeBound{edgeRange: x, value: c})
	}
	return out
}

// where appends the ranges to a request's conditions. ok is false if no edge has one of the properties.
func (t *EdgeTest) where(dst []shard.EdgeRange) (_ []shard.EdgeRange, ok bool) {
	for k := range t.bounds {
		b := &t.bounds[k]
		if b.id == 0 {
			if b.id, ok = t.r.Graph.Prop(b.key); !ok {
				return dst, false
			}
		}
		lower, upper := b.op == plan.Gt || b.op == plan.Ge, b.op == plan.Lt || b.op == plan.Le
		at := slices.IndexFunc(dst, func(r shard.EdgeRange) bool {
			return r.Prop == b.id && (lower && r.In.Lo.IsNull() || upper && r.In.Hi.IsNull())
		})
		if at < 0 {
			at = len(dst)
			dst = append(dst, shard.EdgeRange{Prop: b.id})
		}
		in := &dst[at].In
		if !upper {
			in.Lo, in.LoOpen = b.value.Value, b.op == plan.Gt
		}
		if !lower {
			in.Hi, in.HiOpen = b.value.Value, b.op == plan.Lt
		}
	}
	return dst, true
}
