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

// CompileFilter is CompileLocalFilter with the ranges split off for the shards.
func CompileFilter(c *compile.Compiler, preds []plan.Expr, edge, to plan.Col) *EdgeFilter {
	var ranges []plan.PropRange
	var rest []plan.Expr
	for _, e := range preds {
		if r, ok := plan.RangeOf(e, edge); ok {
			ranges = append(ranges, r)
			if p, ok := r.Bound.(*plan.Param); ok {
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

// Ranges are the ranges of a property with the values of a run.
type Ranges []boundRange

type boundRange struct {
	plan.PropRange
	id    graph.PropID // 0: unknown yet
	value *expr.Constant
}

// NewRanges evaluates the bounds of ranges. ok is false if the value of a parameter cannot be a bound.
func NewRanges(r *runtime.Run, ranges []plan.PropRange) (_ Ranges, ok bool) {
	for _, x := range ranges {
		if p, ok := x.Bound.(*plan.Param); ok && !graph.Bounds(r.Env.Params[p.Name]) {
			return nil, false
		}
	}
	es := expr.New(r, nil)
	var out Ranges
	for _, x := range ranges {
		c, ok := es.Add(x.Bound).(*expr.Constant)
		if !ok {
			c = &expr.Constant{}
		}
		out = append(out, boundRange{PropRange: x, value: c})
	}
	return out, true
}

// Where appends the ranges to a request's conditions. ok is false if nothing has one of the properties.
func (rs Ranges) Where(r *runtime.Run, dst []shard.EdgeRange) (_ []shard.EdgeRange, ok bool) {
	for k := range rs {
		b := &rs[k]
		if b.id == 0 {
			if b.id, ok = r.Graph.Prop(b.Key); !ok {
				return dst, false
			}
		}
		lower, upper := b.Op == plan.Gt || b.Op == plan.Ge, b.Op == plan.Lt || b.Op == plan.Le
		at := slices.IndexFunc(dst, func(r shard.EdgeRange) bool {
			return r.Prop == b.id && (lower && r.In.Lo.IsNull() || upper && r.In.Hi.IsNull())
		})
		if at < 0 {
			at = len(dst)
			dst = append(dst, shard.EdgeRange{Prop: b.id})
		}
		in := &dst[at].In
		if !upper {
			in.Lo, in.LoOpen = b.value.Value, b.Op == plan.Gt
		}
		if !lower {
			in.Hi, in.HiOpen = b.value.Value, b.Op == plan.Lt
		}
	}
	return dst, true
}
