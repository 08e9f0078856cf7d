package expr

import (
	"context"
	"fmt"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Evaluators are made for the expressions of one operator; they share the property values that they read, so that each
// property of a column is fetched once a batch, and all of them in one request.
//
//	es := r.evaluators(in.cols)
//	x, y := es.add(n.X), es.add(n.Y)
//	…
//	es.begin(s)                // a new batch, and its relevant rows
//	xs, err := x.eval(ctx, b, s)
//	ys, err := y.eval(ctx, b, s)
type Evaluators struct {
	r    *runtime.Run
	cols []plan.Col // the columns of the batches
	// fetches are the properties to read. Add puts new ones into the last group, so a filter fetches properties of later
	// conjuncts only for the remaining rows.
	fetches []*fetch
	Group   int
	sel     relevant
}

// New creates an empty set of evaluators over batches with these columns.
func New(r *runtime.Run, cols []plan.Col) *Evaluators { return &Evaluators{r: r, cols: cols} }

// Begin starts a batch. Eval may be called for the rows of s or a part of them. s must stay as it is until the next Begin or
// Narrow.
func (es *Evaluators) Begin(s runtime.Sel) {
	es.sel.set(s)
	for _, f := range es.fetches {
		f.fetched = false
	}
}

// Narrow restricts the relevant rows of the batch to s, a part of them that must stay as it is until the next Begin or Narrow.
func (es *Evaluators) Narrow(s runtime.Sel) { es.sel.set(s) }

// Add creates the evaluator of an expression. It reports errors by Run.Fail.
func (es *Evaluators) Add(e plan.Expr) runtime.Evaluator {
	switch e := e.(type) {
	case *plan.Const:
		return &Constant{Value: e.Value}
	case *plan.Param:
		v, ok := es.r.Env.Params[e.Name]
		if !ok {
			es.r.Fail(missingParam(e.Name))
		}
		c := &Constant{Value: v, param: e.Name}
		if es.r.Program.Reusable {
			es.r.Params = append(es.r.Params, c)
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
		c := &branches{when: selectors(es.AddAll(e.When)), then: es.AddAll(e.Then)}
		if e.Else != nil {
			c.otherwise = es.Add(e.Else)
		}
		return c
	case *plan.ListLit:
		elems := es.AddAll(e.Elems)
		return es.once(&listLit{Tuple: NewTuple(elems), nesting: runtime.Nesting{Run: es.r}}, elems)
	case *plan.MapLit:
		elems := es.AddAll(e.Elems)
		return es.once(&mapLit{Tuple: NewTuple(elems), keys: e.Keys, nesting: runtime.Nesting{Run: es.r}}, elems)
	case *plan.MapProject:
		m := &mapProject{x: es.Add(e.X), Tuple: NewTuple(es.AddAll(e.Elems)), keys: e.Keys, nesting: runtime.Nesting{Run: es.r}}
		if e.All {
			m.all = &EntityMaps{Run: es.r}
		}
		return m
	case *plan.Comprehension:
		return es.comprehension(e)
	case *plan.Quantifier:
		return es.quantifier(e)
	case *plan.Reduce:
		return es.reduce(e)
	case *plan.HasLabels:
		return &hasLabels{x: es.Add(e.X), test: NewLabelTest(es.r, e.Labels), sets: LabelSets{Run: es.r}}
	case *plan.HasEdge:
		return es.r.Program.HasEdge(es.r, e, es.Add(e.From), es.Add(e.To))
	case *plan.Subquery:
		return es.subquery(e)
	case *plan.MakePath:
		return es.makePath(e)
	case *plan.IsType:
		return es.isType(e)
	}
	es.r.Fail(graph.InternalError("compile", fmt.Errorf("no evaluator for %T", e)))
	return &Constant{}
}

// AddAll creates the evaluators of several expressions; that of nil is nil.
func (es *Evaluators) AddAll(list []plan.Expr) []runtime.Evaluator {
	out := make([]runtime.Evaluator, len(list))
	for i, e := range list {
		if e != nil {
			out[i] = es.Add(e)
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

// Grown returns a slice of n undefined values that reuses buf if it is large enough.
func Grown(buf []graph.Value, n int) []graph.Value {
	if cap(buf) < n {
		buf = make([]graph.Value, n, max(n, 16))
	}
	poison(buf[:n])
	return buf[:n]
}

// Constant has the same value for all rows.
type Constant struct {
	Value  graph.Value
	param  string // the parameter's name, or ""
	filled []graph.Value
}

// Eval implements runtime.Evaluator.
func (c *Constant) Eval(_ context.Context, b *runtime.Batch, _ runtime.Sel) ([]graph.Value, error) {
	for len(c.filled) < b.N {
		c.filled = append(c.filled, c.Value)
	}
	return c.filled[:b.N], nil
}

// Bind sets the value of the parameter for a run.
func (c *Constant) Bind(r *runtime.Run) error {
	v, ok := r.Env.Params[c.param]
	if !ok {
		return missingParam(c.param)
	}
	c.Value = v
	return nil
}

// Forget clears the value.
func (c *Constant) Forget() {
	c.Value = graph.Value{}
	clear(c.filled)
	c.filled = c.filled[:0]
}

// IsConst returns the value of an evaluator that is constant.
func IsConst(e runtime.Evaluator) (graph.Value, bool) {
	if c, ok := e.(*Constant); ok {
		return c.Value, true
	}
	return graph.Value{}, false
}

// Column reads a column.
type Column struct {
	Pos int
	buf []graph.Value // for a column of ids
}

func (es *Evaluators) column(col plan.Col) runtime.Evaluator {
	pos := slices.Index(es.cols, col)
	if pos < 0 {
		es.r.Fail(es.r.Program.Unbound(col))
		return &Constant{}
	}
	return &Column{Pos: pos}
}

// Eval implements runtime.Evaluator.
func (c *Column) Eval(_ context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	col := &b.Cols[c.Pos]
	if col.IDs == nil {
		return col.Vals, nil
	}
	c.buf = Grown(c.buf, b.N)
	for _, i := range s {
		c.buf[i] = graph.VertexValue(col.IDs[i])
	}
	return c.buf, nil
}

// Scalar returns the value of an expression that reads no row.
func Scalar(ctx context.Context, r *runtime.Run, e plan.Expr) (graph.Value, error) {
	switch e := e.(type) {
	case *plan.Const:
		return e.Value, nil
	case *plan.Param:
		v, ok := r.Env.Params[e.Name]
		if !ok {
			return graph.Value{}, missingParam(e.Name)
		}
		return v, nil
	}
	es := New(r, nil)
	x := es.Add(e)
	if r.Err != nil {
		return graph.Value{}, r.Err
	}
	b := &runtime.Batch{Batch: graph.Batch{N: 1}}
	es.Begin(runtime.AllRows(1))
	vs, err := x.Eval(ctx, b, runtime.AllRows(1))
	if err != nil {
		return graph.Value{}, err
	}
	return vs[0], nil
}
