package expr

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// flatten expands rows with lists to batches with one row for each element, for the inner expressions of a comprehension, a
// quantifier or a reduction. The inner batch has the outer columns that the inner expressions read, then the variables.
type flatten struct {
	captured []int // positions of outer columns
	es       *Evaluators
	in       runtime.Batch
	outer    runtime.Sel // the outer row of each inner row
}

// flatten creates inner evaluators over the columns of es that the expressions read, and the variables.
func (es *Evaluators) flatten(vars []plan.Col, inner ...plan.Expr) flatten {
	var f flatten
	var cols []plan.Col
	reads := plan.Reads(inner...)
	for pos, c := range es.cols {
		if reads.Has(c) && !slices.Contains(vars, c) {
			f.captured = append(f.captured, pos)
			cols = append(cols, c)
		}
	}
	f.es = New(es.r, append(cols, vars...))
	return f
}

// empty starts a new inner batch.
func (f *flatten) empty() {
	f.in.Reset(len(f.es.cols))
	f.outer = f.outer[:0]
}

// variable is the inner column of variable k.
func (f *flatten) variable(k int) *graph.Column { return &f.in.Cols[len(f.captured)+k] }

// add adds an inner row with the first variable.
func (f *flatten) add(outer int32, v graph.Value) {
	f.outer = append(f.outer, outer)
	c := f.variable(0)
	c.Vals = append(c.Vals, v)
}

// complete fills the outer columns and returns the selection of all inner rows.
func (f *flatten) complete(b *runtime.Batch) runtime.Sel {
	for k, p := range f.captured {
		runtime.AppendColumn(&f.in.Cols[k], &b.Cols[p], f.outer)
	}
	f.in.N = len(f.outer)
	s := runtime.AllRows(f.in.N)
	f.es.Begin(s)
	return s
}

// NotList is the error for a value that is not a list.
func NotList(v graph.Value) error {
	return graph.TypeError("InvalidArgumentType", "expected a List, but got %s", notation.Describe(v))
}

// each calls flush with batches of inner rows for the elements of the lists of the rows of s, in order. flush must not retain
// f.in.
func (f *flatten) each(ctx context.Context, b *runtime.Batch, lists []graph.Value, s runtime.Sel, flush func(inner runtime.Sel) error) error {
	size := f.es.r.BatchSize()
	f.empty()
	for _, i := range s {
		v := lists[i]
		if v.IsNull() {
			continue
		}
		if v.Kind() != graph.List {
			return NotList(v)
		}
		for _, e := range v.List() {
			f.add(i, e)
			if len(f.outer) >= size {
				if err := f.es.r.CheckCancel(ctx); err != nil {
					return err
				}
				if err := flush(f.complete(b)); err != nil {
					return err
				}
				f.empty()
			}
		}
	}
	if len(f.outer) == 0 {
		return nil
	}
	return flush(f.complete(b))
}

// comprehension is [x IN list WHERE where | map].
type comprehension struct {
	flatten
	list, mapped runtime.Evaluator // mapped may be nil
	where        runtime.Selector  // may be nil
	count        []int
	memory       runtime.ValueMemory
	nesting      runtime.Nesting
	out          []graph.Value
}

func (es *Evaluators) comprehension(e *plan.Comprehension) runtime.Evaluator {
	c := &comprehension{list: es.Add(e.List), flatten: es.flatten([]plan.Col{e.Var}, e.Where, e.Map), memory: es.r.NewValueMemory("ListComprehension"), nesting: runtime.Nesting{Run: es.r}}
	if e.Where != nil {
		c.where = selectorOf(c.es.Add(e.Where))
	}
	if e.Map != nil {
		c.es.Group++
		c.mapped = c.es.Add(e.Map)
	}
	return c
}

func (c *comprehension) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	lists, err := c.list.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	for len(c.count) < b.N {
		c.count = append(c.count, 0)
	}
	total := 0
	for _, i := range s {
		c.count[i] = 0
		if lists[i].Kind() == graph.List {
			total += len(lists[i].List())
		}
	}
	if c.where != nil {
		total = 0
	}
	c.memory.Begin()
	if err := c.memory.Grow(ctx, memory.CellSize*total); err != nil {
		return nil, err
	}
	results := make([]graph.Value, 0, total)
	err = c.each(ctx, b, lists, s, func(inner runtime.Sel) error {
		if c.where != nil {
			if inner, err = c.where.Select(ctx, &c.in, inner); err != nil {
				return err
			}
			c.es.Narrow(inner)
		}
		vs := c.variable(0).Vals
		if c.mapped != nil && len(inner) > 0 {
			if vs, err = c.mapped.Eval(ctx, &c.in, inner); err != nil {
				return err
			}
		}
		for _, j := range inner {
			if c.count[c.outer[j]]++; c.count[c.outer[j]] == 1 {
				c.nesting.Begin()
			}
			results = append(results, vs[j])
			if c.mapped != nil {
				if err := c.nesting.Add(vs[j]); err != nil {
					return err
				}
				if err := c.memory.Add(ctx, vs[j]); err != nil {
					return err
				}
			}
		}
		if c.where != nil {
			return c.memory.Grow(ctx, memory.CellSize*len(inner))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.out = Grown(c.out, b.N)
	for _, i := range s {
		if lists[i].IsNull() {
			c.out[i] = graph.Value{}
			continue
		}
		n := c.count[i]
		c.out[i] = graph.ListValue(results[:n:n])
		results = results[n:]
	}
	return c.out, nil
}

// quantifier is all, any, none or single of a list.
type quantifier struct {
	flatten
	kind       string
	list, pred runtime.Evaluator
	tally      []tally
	out        []graph.Value
}

// tally counts the truths of a predicate over one list.
type tally struct{ yes, no, unknown int32 }

func (es *Evaluators) quantifier(e *plan.Quantifier) runtime.Evaluator {
	q := &quantifier{kind: e.Kind, list: es.Add(e.List), flatten: es.flatten([]plan.Col{e.Var}, e.Pred)}
	q.pred = q.es.Add(e.Pred)
	return q
}

func (q *quantifier) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	lists, err := q.list.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	for len(q.tally) < b.N {
		q.tally = append(q.tally, tally{})
	}
	for _, i := range s {
		q.tally[i] = tally{}
	}
	err = q.each(ctx, b, lists, s, func(inner runtime.Sel) error {
		vs, err := q.pred.Eval(ctx, &q.in, inner)
		if err != nil {
			return err
		}
		for _, j := range inner {
			t, err := truth(vs[j])
			if err != nil {
				return err
			}
			switch n := &q.tally[q.outer[j]]; t {
			case yes:
				n.yes++
			case no:
				n.no++
			default:
				n.unknown++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	q.out = Grown(q.out, b.N)
	for _, i := range s {
		q.out[i] = graph.Value{}
		if !lists[i].IsNull() {
			q.out[i] = q.tally[i].of(q.kind).Value()
		}
	}
	return q.out, nil
}

// of returns the truth of a quantifier over the list.
func (t tally) of(kind string) fn.Ternary {
	switch kind {
	case "all":
		switch {
		case t.no > 0:
			return no
		case t.unknown > 0:
			return unknown
		}
		return yes
	case "any", "none":
		any := no
		switch {
		case t.yes > 0:
			any = yes
		case t.unknown > 0:
			any = unknown
		}
		if kind == "none" {
			return any.Not()
		}
		return any
	}
	switch {
	case t.yes > 1:
		return no
	case t.unknown > 0:
		return unknown
	}
	return fn.TernaryOf(t.yes == 1)
}

// reduce reduces the lists of all rows in lockstep: step k takes the k-th elements of the lists that have one.
type reduce struct {
	flatten
	init, list, body runtime.Evaluator
	out              []graph.Value
	todo             runtime.Sel
}

func (es *Evaluators) reduce(e *plan.Reduce) runtime.Evaluator {
	r := &reduce{init: es.Add(e.Init), list: es.Add(e.List), flatten: es.flatten([]plan.Col{e.Var, e.Acc}, e.Body)}
	r.body = r.es.Add(e.Body)
	return r
}

func (r *reduce) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	lists, err := r.list.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	inits, err := r.init.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	r.out = Grown(r.out, b.N)
	r.todo = r.todo[:0]
	for _, i := range s {
		switch v := lists[i]; v.Kind() {
		case graph.Null:
			r.out[i] = graph.Value{}
		case graph.List:
			r.out[i] = inits[i]
			r.todo = append(r.todo, i)
		default:
			return nil, NotList(v)
		}
	}
	for k := 0; ; k++ {
		if err := r.es.r.CheckCancel(ctx); err != nil {
			return nil, err
		}
		r.empty()
		left := r.todo[:0]
		for _, i := range r.todo {
			list := lists[i].List()
			if k >= len(list) {
				continue
			}
			left = append(left, i)
			r.add(i, list[k])
			acc := r.variable(1)
			acc.Vals = append(acc.Vals, r.out[i])
		}
		if r.todo = left; len(left) == 0 {
			return r.out, nil
		}
		inner := r.complete(b)
		vs, err := r.body.Eval(ctx, &r.in, inner)
		if err != nil {
			return nil, err
		}
		for _, j := range inner {
			r.out[r.outer[j]] = vs[j]
		}
	}
}
