package exec

import (
	"context"
	"fmt"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// evaluators are made for the expressions of one operator; they share the property values that they read, so that each
// property of a column is fetched once a batch, and all of them in one request.
//
//	es := r.evaluators(in.cols)
//	x, y := es.add(n.X), es.add(n.Y)
//	…
//	es.begin(s)                // a new batch, and its rows that are of interest
//	xs, err := x.eval(ctx, b, s)
//	ys, err := y.eval(ctx, b, s)
type evaluators struct {
	r    *run
	cols []plan.Col // the columns of the batches
	// fetches are the properties to read; add puts new ones into the last group, so that what stands in a later
	// conjunct of a filter is fetched only for the rows that are left.
	fetches []*fetch
	group   int
	// sel are the rows that are of interest now.
	sel sel
}

// evaluators makes an empty set of evaluators over batches with these columns.
func (r *run) evaluators(cols []plan.Col) *evaluators { return &evaluators{r: r, cols: cols} }

// begin is called once a batch before its first eval. s are the rows that any of the evaluators may be asked for.
func (es *evaluators) begin(s sel) {
	es.sel = s
	for _, f := range es.fetches {
		f.fetched = false
	}
}

// add makes the evaluator of an expression. What is wrong with the expression is reported by run.fail.
func (es *evaluators) add(e plan.Expr) evaluator {
	switch e := e.(type) {
	case *plan.Const:
		return &constant{value: e.Value}
	case *plan.Param:
		v, ok := es.r.env.Params[e.Name]
		if !ok {
			es.r.fail(missingParam(e.Name))
		}
		c := &constant{value: v, param: e.Name}
		if es.r.p.reusable {
			es.r.params = append(es.r.params, c)
		}
		return c
	case *plan.ColRef:
		return es.column(e.Col)
	case *plan.Prop:
		return es.prop(e)
	case *plan.Op:
		return es.op(e)
	case *plan.Call:
		return es.call(e)
	case *plan.Case:
		c := &branches{when: es.addAll(e.When), then: es.addAll(e.Then)}
		if e.Else != nil {
			c.otherwise = es.add(e.Else)
		}
		return c
	case *plan.ListLit:
		return &listLit{tuple: newTuple(es.addAll(e.Elems)), nesting: nesting{r: es.r}}
	case *plan.MapLit:
		return &mapLit{tuple: newTuple(es.addAll(e.Elems)), keys: e.Keys, nesting: nesting{r: es.r}}
	case *plan.MapProject:
		m := &mapProject{x: es.add(e.X), tuple: newTuple(es.addAll(e.Elems)), keys: e.Keys, nesting: nesting{r: es.r}}
		if e.All {
			m.all = &entityMaps{r: es.r}
		}
		return m
	case *plan.Comprehension:
		return es.comprehension(e)
	case *plan.Quantifier:
		return es.quantifier(e)
	case *plan.Reduce:
		return es.reduce(e)
	case *plan.HasLabels:
		return &hasLabels{x: es.add(e.X), test: es.r.labelTest(e.Labels), sets: labelSets{r: es.r}}
	case *plan.HasEdge:
		return es.r.p.hasEdge(es.r, e, es.add(e.From), es.add(e.To))
	case *plan.Subquery:
		return es.subquery(e)
	case *plan.MakePath:
		return es.makePath(e)
	case *plan.IsType:
		return es.isType(e)
	}
	es.r.fail(graph.InternalError("compile", fmt.Errorf("no evaluator for %T", e)))
	return &constant{}
}

// addAll makes the evaluators of several expressions; a nil one gives nil.
func (es *evaluators) addAll(list []plan.Expr) []evaluator {
	out := make([]evaluator, len(list))
	for i, e := range list {
		if e != nil {
			out[i] = es.add(e)
		}
	}
	return out
}

func missingParam(name string) error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ParameterMissing", Type: "ParameterMissing",
		Phase: graph.PhaseCompile, Detail: "MissingParameter", Msg: "expected parameter(s): " + name,
	}
}

// grown gives a slice of n values that shares buf's memory where it can. Its cells hold anything.
func grown(buf []graph.Value, n int) []graph.Value {
	if cap(buf) >= n {
		return buf[:n]
	}
	return make([]graph.Value, n, max(n, 16))
}

// constant gives one value for all rows.
type constant struct {
	value  graph.Value
	param  string // that gives the value, or ""
	filled []graph.Value
}

func (c *constant) eval(_ context.Context, b *batch, _ sel) ([]graph.Value, error) {
	for len(c.filled) < b.N {
		c.filled = append(c.filled, c.value)
	}
	return c.filled[:b.N], nil
}

// bind takes the value of the parameter in a run.
func (c *constant) bind(r *run) error {
	v, ok := r.env.Params[c.param]
	if !ok {
		return missingParam(c.param)
	}
	c.value = v
	return nil
}

// forget lets go of the value.
func (c *constant) forget() {
	c.value = graph.Value{}
	clear(c.filled)
	c.filled = c.filled[:0]
}

// isConst gives the value of an evaluator that gives the same for all rows.
func isConst(e evaluator) (graph.Value, bool) {
	if c, ok := e.(*constant); ok {
		return c.value, true
	}
	return graph.Value{}, false
}

// column gives the values of a column.
type column struct {
	pos int
	buf []graph.Value // for a column of ids
}

func (es *evaluators) column(col plan.Col) evaluator {
	pos := slices.Index(es.cols, col)
	if pos < 0 {
		es.r.fail(es.r.p.unbound(col))
		return &constant{}
	}
	return &column{pos: pos}
}

func (c *column) eval(_ context.Context, b *batch, s sel) ([]graph.Value, error) {
	col := &b.Cols[c.pos]
	if col.IDs == nil {
		return col.Vals, nil
	}
	c.buf = grown(c.buf, b.N)
	for _, i := range s {
		c.buf[i] = graph.VertexValue(col.IDs[i])
	}
	return c.buf, nil
}

// scalar gives the value of an expression that reads no row.
func (r *run) scalar(ctx context.Context, e plan.Expr) (graph.Value, error) {
	switch e := e.(type) {
	case *plan.Const:
		return e.Value, nil
	case *plan.Param:
		v, ok := r.env.Params[e.Name]
		if !ok {
			return graph.Value{}, missingParam(e.Name)
		}
		return v, nil
	}
	es := r.evaluators(nil)
	x := es.add(e)
	if r.err != nil {
		return graph.Value{}, r.err
	}
	b := &batch{Batch: graph.Batch{N: 1}}
	es.begin(allRows(1))
	vs, err := x.eval(ctx, b, allRows(1))
	if err != nil {
		return graph.Value{}, err
	}
	return vs[0], nil
}

// predicates test the conjuncts of a filter, from the first to the last.
type predicates struct {
	es    *evaluators
	preds []evaluator
}

// predicates makes the evaluators of conjuncts; they are the only ones of es.
func (es *evaluators) predicates(preds []plan.Expr) *predicates {
	p := &predicates{es: es}
	for i, e := range preds {
		es.group = i
		p.preds = append(p.preds, es.add(e))
	}
	return p
}

// filter appends to dst the rows of s for which all conjuncts are true; dst must not share memory with s, unless it is
// s[:0]. It calls begin.
func (p *predicates) filter(ctx context.Context, b *batch, s, dst sel) (sel, error) {
	p.es.begin(s)
	if len(p.preds) == 0 {
		return append(dst, s...), nil
	}
	at := len(dst)
	for _, e := range p.preds {
		p.es.sel = s
		var err error
		if dst, err = pick(ctx, e, b, s, dst[:at]); err != nil {
			return nil, err
		}
		if s = dst[at:]; len(s) == 0 {
			break
		}
	}
	return dst, nil
}

// pick appends to dst the rows of s for which e is true.
func pick(ctx context.Context, e evaluator, b *batch, s, dst sel) (sel, error) {
	if f, ok := e.(selector); ok {
		return f.filter(ctx, b, s, dst)
	}
	vs, err := e.eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	for _, i := range s {
		t, err := truth(vs[i])
		if err != nil {
			return nil, err
		}
		if t == yes {
			dst = append(dst, i)
		}
	}
	return dst, nil
}
