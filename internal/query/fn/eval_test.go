package fn_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// evaluator evaluates syntax trees row by row, slowly and plainly. Nodes are materialised vertices.
type evaluator struct {
	ctx    *fn.Context
	params map[string]graph.Value
	nodes  []graph.Value
}

// row holds the variables in scope, the latest first; nil is the empty row.
type row = *binding

type binding struct {
	name  string
	value graph.Value
	next  row
}

func (r *binding) with(name string, v graph.Value) row { return &binding{name, v, r} }

func (r *binding) get(name string) (graph.Value, bool) {
	for ; r != nil; r = r.next {
		if r.name == name {
			return r.value, true
		}
	}
	return graph.Value{}, false
}

// unsupported is the panic value for expressions that the evaluator does not implement.
type unsupported struct{ what string }

// failure is the panic of an error of the functions.
type failure struct{ err error }

func must(v graph.Value, err error) graph.Value {
	if err != nil {
		panic(failure{err})
	}
	return v
}

func (e *evaluator) query(q *ast.Query) (columns []string, rows [][]graph.Value) {
	if len(q.Parts) != 1 {
		panic(unsupported{"UNION"})
	}
	in := []row{nil}
	for _, c := range q.Parts[0].Clauses {
		switch c := c.(type) {
		case *ast.Unwind:
			var out []row
			for _, r := range in {
				v := e.eval(r, c.List)
				if v.IsNull() {
					continue
				}
				if v.Kind() != graph.List {
					v = graph.ListValue([]graph.Value{v})
				}
				for _, x := range v.List() {
					out = append(out, r.with(c.Variable.Name, x))
				}
			}
			in = out
		case *ast.Match:
			in = e.match(in, c)
		case *ast.With:
			names, out := e.project(in, c.Projection)
			in = nil
			for _, vs := range out {
				var r row
				for i, n := range names {
					r = r.with(n, vs[i])
				}
				if e.holds(r, c.Where) {
					in = append(in, r)
				}
			}
		case *ast.Return:
			return e.project(in, c.Projection)
		default:
			panic(unsupported{fmt.Sprintf("%T", c)})
		}
	}
	return nil, nil
}

func (e *evaluator) holds(r row, where ast.Expr) bool {
	if where == nil {
		return true
	}
	t, err := fn.Truth(e.eval(r, where))
	if err != nil {
		panic(failure{err})
	}
	return t == fn.True
}

func (e *evaluator) match(in []row, m *ast.Match) []row {
	for _, p := range m.Pattern {
		n, ok := p.Elements[0].(*ast.NodePattern)
		if !ok || len(p.Elements) != 1 || m.Optional || n.Variable == nil || n.Properties != nil {
			panic(unsupported{"MATCH"})
		}
		var label string
		switch l := n.Labels.(type) {
		case nil:
		case *ast.LabelName:
			label = l.Name
		default:
			panic(unsupported{"labels"})
		}
		var out []row
		for _, r := range in {
			for _, v := range e.nodes {
				if label == "" || slices.Contains(v.Record().Labels, label) {
					out = append(out, r.with(n.Variable.Name, v))
				}
			}
		}
		in = out
	}
	return slices.DeleteFunc(in, func(r row) bool { return !e.holds(r, m.Where) })
}

// create runs a setup statement of single nodes.
func (e *evaluator) create(q *ast.Query) {
	for _, c := range q.Parts[0].Clauses {
		create, ok := c.(*ast.Create)
		if !ok {
			panic(unsupported{"setup"})
		}
		for _, p := range create.Pattern {
			n, ok := p.Elements[0].(*ast.NodePattern)
			if !ok || len(p.Elements) != 1 {
				panic(unsupported{"CREATE"})
			}
			rec := new(graph.Record)
			if l, ok := n.Labels.(*ast.LabelName); ok {
				rec.Labels = []string{l.Name}
			} else if n.Labels != nil {
				panic(unsupported{"labels"})
			}
			if n.Properties != nil {
				m := slices.Clone(e.eval(nil, n.Properties).Map())
				slices.SortFunc(m, func(a, b graph.MapEntry) int { return strings.Compare(a.Key, b.Key) })
				for _, x := range m {
					if !x.Value.IsNull() {
						rec.Keys, rec.Values = append(rec.Keys, x.Key), append(rec.Values, x.Value)
					}
				}
			}
			e.nodes = append(e.nodes, graph.VertexRecordValue(graph.VertexID(len(e.nodes)), rec))
		}
	}
}

func (e *evaluator) project(in []row, p *ast.Projection) (names []string, out [][]graph.Value) {
	if p.Star {
		panic(unsupported{"*"})
	}
	aggregates := false
	for _, i := range p.Items {
		names = append(names, i.Name())
		aggregates = aggregates || hasAggregate(i.Expr)
	}
	type line struct {
		r  row
		vs []graph.Value
	}
	var lines []line
	if aggregates {
		for _, vs := range e.group(in, p.Items) {
			lines = append(lines, line{nil, vs})
		}
	} else {
		for _, r := range in {
			var vs []graph.Value
			for _, i := range p.Items {
				vs = append(vs, e.eval(r, i.Expr))
			}
			lines = append(lines, line{r, vs})
		}
	}
	for i := range lines {
		for j, n := range names {
			lines[i].r = lines[i].r.with(n, lines[i].vs[j])
		}
	}
	if p.Distinct {
		var kept []line
		for _, l := range lines {
			if !slices.ContainsFunc(kept, func(k line) bool { return equivalent(k.vs, l.vs) }) {
				kept = append(kept, l)
			}
		}
		lines = kept
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		for _, s := range p.OrderBy {
			if hasAggregate(s.Expr) {
				panic(unsupported{"ORDER BY of an aggregate"})
			}
			c := fn.Order(e.eval(a.r, s.Expr), e.eval(b.r, s.Expr))
			if s.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	if p.Skip != nil {
		lines = lines[min(len(lines), int(e.eval(nil, p.Skip).Int())):]
	}
	if p.Limit != nil {
		lines = lines[:min(len(lines), int(e.eval(nil, p.Limit).Int()))]
	}
	for _, l := range lines {
		out = append(out, l.vs)
	}
	return names, out
}

func equivalent(a, b []graph.Value) bool {
	return slices.EqualFunc(a, b, fn.Equivalent)
}

// hasAggregate reports whether the expression is an aggregate; one within another expression is not supported.
func hasAggregate(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.CountStar:
		return true
	case *ast.Call:
		_, ok := fn.LookupAggregate(x.Name)
		return ok
	}
	return false
}

func (e *evaluator) group(in []row, items []*ast.ProjectionItem) [][]graph.Value {
	type group struct {
		keys []graph.Value
		accs []fn.Accumulator
		seen [][][]graph.Value
	}
	var groups []*group
	keyed := false
	for _, r := range in {
		var keys []graph.Value
		for _, i := range items {
			if !hasAggregate(i.Expr) {
				keys, keyed = append(keys, e.eval(r, i.Expr)), true
			}
		}
		at := slices.IndexFunc(groups, func(g *group) bool { return equivalent(g.keys, keys) })
		if at < 0 {
			groups = append(groups, &group{keys: keys, accs: newAccumulators(items), seen: make([][][]graph.Value, len(items))})
			at = len(groups) - 1
		}
		g := groups[at]
		for i, item := range items {
			if g.accs[i] == nil {
				continue
			}
			var args []graph.Value
			if call, ok := item.Expr.(*ast.Call); ok {
				for _, a := range call.Args {
					args = append(args, e.eval(r, a))
				}
				if call.Distinct {
					if slices.ContainsFunc(g.seen[i], func(s []graph.Value) bool { return equivalent(s, args) }) {
						continue
					}
					g.seen[i] = append(g.seen[i], args)
				}
			}
			if err := g.accs[i].Add(args); err != nil {
				panic(failure{err})
			}
		}
	}
	if len(groups) == 0 && !keyed {
		groups = append(groups, &group{accs: newAccumulators(items)})
	}
	var out [][]graph.Value
	for _, g := range groups {
		var vs []graph.Value
		keys := g.keys
		for i := range items {
			if g.accs[i] == nil {
				vs, keys = append(vs, keys[0]), keys[1:]
				continue
			}
			vs = append(vs, must(g.accs[i].Result()))
		}
		out = append(out, vs)
	}
	return out
}

func newAccumulators(items []*ast.ProjectionItem) []fn.Accumulator {
	accs := make([]fn.Accumulator, len(items))
	for i, item := range items {
		if !hasAggregate(item.Expr) {
			continue
		}
		name := "count"
		if call, ok := item.Expr.(*ast.Call); ok {
			name = call.Name
		}
		a, _ := fn.LookupAggregate(name)
		accs[i] = a.New()
	}
	return accs
}

func (e *evaluator) eval(r row, x ast.Expr) graph.Value {
	switch x := x.(type) {
	case *ast.NullLit:
		return graph.Value{}
	case *ast.BoolLit:
		return graph.BoolValue(x.Value)
	case *ast.IntLit:
		return graph.IntValue(x.Value)
	case *ast.FloatLit:
		return graph.FloatValue(x.Value)
	case *ast.StringLit:
		return graph.StringValue(x.Value)
	case *ast.ListLit:
		l := make([]graph.Value, len(x.Items))
		for i := range l {
			l[i] = e.eval(r, x.Items[i])
		}
		return graph.ListValue(l)
	case *ast.MapLit:
		var m []graph.MapEntry
		for _, i := range x.Entries {
			m = slices.DeleteFunc(m, func(o graph.MapEntry) bool { return o.Key == i.Key })
			m = append(m, graph.MapEntry{Key: i.Key, Value: e.eval(r, i.Value)})
		}
		return graph.MapValue(m)
	case *ast.Variable:
		v, ok := r.get(x.Name)
		if !ok {
			panic(unsupported{"variable " + x.Name})
		}
		return v
	case *ast.Parameter:
		return e.params[x.Name]
	case *ast.Property:
		return must(fn.Property(e.eval(r, x.Subject), x.Key))
	case *ast.Index:
		return must(fn.Index(e.eval(r, x.Subject), e.eval(r, x.Index)))
	case *ast.Slice:
		var from, to graph.Value
		if x.From != nil {
			from = e.eval(r, x.From)
		}
		if x.To != nil {
			to = e.eval(r, x.To)
		}
		return must(fn.Slice(e.eval(r, x.Subject), from, to, x.From != nil, x.To != nil))
	case *ast.ListComprehension:
		list := e.eval(r, x.List)
		if list.IsNull() {
			return list
		}
		var l []graph.Value
		for _, v := range list.List() {
			in := r.with(x.Variable.Name, v)
			if !e.holds(in, x.Where) {
				continue
			}
			if x.Projection != nil {
				v = e.eval(in, x.Projection)
			}
			l = append(l, v)
		}
		return graph.ListValue(l)
	case *ast.Quantifier:
		return e.quantifier(r, x)
	case *ast.Reduce:
		acc := e.eval(r, x.Init)
		list := e.eval(r, x.List)
		if list.IsNull() {
			return list
		}
		for _, v := range list.List() {
			acc = e.eval(r.with(x.Accumulator.Name, acc).with(x.Variable.Name, v), x.Body)
		}
		return acc
	case *ast.Case:
		return e.choose(r, x)
	case *ast.IsNull:
		return graph.BoolValue(e.eval(r, x.Operand).IsNull() != x.Not)
	case *ast.Unary:
		v := e.eval(r, x.Operand)
		switch x.Op {
		case ast.OpNot:
			return must(fn.Not(v))
		case ast.OpNeg:
			return must(fn.Neg(v))
		default:
			return must(fn.Pos(v))
		}
	case *ast.Binary:
		return e.binary(x.Op, e.eval(r, x.Left), e.eval(r, x.Right))
	case *ast.Comparison:
		left, all := e.eval(r, x.First), fn.True
		for _, s := range x.Steps {
			right := e.eval(r, s.Right)
			all = all.And(comparison(s.Op, left, right))
			left = right
		}
		return all.Value()
	case *ast.Call:
		f, ok := fn.Lookup(x.Name)
		if !ok || len(x.Args) < f.MinArgs || f.MaxArgs >= 0 && len(x.Args) > f.MaxArgs {
			panic(unsupported{"function " + x.Name})
		}
		args := make([]graph.Value, len(x.Args))
		for i := range args {
			args[i] = e.eval(r, x.Args[i])
		}
		return must(f.Eval(e.ctx, args))
	}
	panic(unsupported{fmt.Sprintf("%T", x)})
}

func comparison(op ast.CompareOp, a, b graph.Value) fn.Ternary {
	switch op {
	case ast.OpEq:
		return fn.Equal(a, b)
	case ast.OpNe:
		return fn.Equal(a, b).Not()
	case ast.OpLt:
		return fn.Less(a, b)
	case ast.OpLe:
		return fn.LessEqual(a, b)
	case ast.OpGt:
		return fn.Greater(a, b)
	}
	return fn.GreaterEqual(a, b)
}

func (e *evaluator) binary(op ast.BinaryOp, a, b graph.Value) graph.Value {
	switch op {
	case ast.OpOr:
		return must(fn.Or(a, b))
	case ast.OpXor:
		return must(fn.Xor(a, b))
	case ast.OpAnd:
		return must(fn.And(a, b))
	case ast.OpAdd, ast.OpConcat:
		return must(fn.Add(a, b))
	case ast.OpSub:
		return must(fn.Sub(a, b))
	case ast.OpMul:
		return must(fn.Mul(a, b))
	case ast.OpDiv:
		return must(fn.Div(a, b))
	case ast.OpMod:
		return must(fn.Mod(a, b))
	case ast.OpPow:
		return must(fn.Pow(a, b))
	case ast.OpIn:
		return must(fn.In(a, b))
	case ast.OpStartsWith:
		return fn.StartsWith(a, b)
	case ast.OpEndsWith:
		return fn.EndsWith(a, b)
	case ast.OpContains:
		return fn.Contains(a, b)
	}
	return must(e.ctx.Matches(a, b))
}

func (e *evaluator) quantifier(r row, x *ast.Quantifier) graph.Value {
	list := e.eval(r, x.List)
	if list.IsNull() {
		return list
	}
	var trues, unknowns, falses int
	for _, v := range list.List() {
		in := r.with(x.Variable.Name, v)
		if x.Where != nil {
			v = e.eval(in, x.Where)
		}
		switch t, err := fn.Truth(v); {
		case err != nil:
			panic(failure{err})
		case t == fn.True:
			trues++
		case t == fn.Unknown:
			unknowns++
		default:
			falses++
		}
	}
	sure := func(found bool, t fn.Ternary) graph.Value {
		if found {
			return t.Value()
		}
		if unknowns > 0 {
			return fn.Unknown.Value()
		}
		return t.Not().Value()
	}
	switch x.Kind {
	case ast.QuantifierAll:
		return sure(falses > 0, fn.False)
	case ast.QuantifierAny:
		return sure(trues > 0, fn.True)
	case ast.QuantifierNone:
		return sure(trues > 0, fn.False)
	}
	if trues > 1 {
		return fn.False.Value()
	}
	if unknowns > 0 {
		return fn.Unknown.Value()
	}
	return graph.BoolValue(trues == 1)
}

func (e *evaluator) choose(r row, x *ast.Case) graph.Value {
	for _, w := range x.Whens {
		for _, t := range w.Tests {
			v := e.eval(r, t.Expr)
			if x.Operand != nil && !t.Predicate {
				v = fn.Equal(e.eval(r, x.Operand), v).Value()
			}
			if t, err := fn.Truth(v); err == nil && t == fn.True {
				return e.eval(r, w.Then)
			}
		}
	}
	if x.Else == nil {
		return graph.Value{}
	}
	return e.eval(r, x.Else)
}
