package cypher

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

var binaryOps = map[ast.BinaryOp]plan.OpCode{
	ast.OpOr: plan.Or, ast.OpXor: plan.Xor, ast.OpAnd: plan.And, ast.OpAdd: plan.Add, ast.OpSub: plan.Sub,
	ast.OpMul: plan.Mul, ast.OpDiv: plan.Div, ast.OpMod: plan.Mod, ast.OpPow: plan.Pow, ast.OpIn: plan.In,
	ast.OpStartsWith: plan.StartsWith, ast.OpEndsWith: plan.EndsWith, ast.OpContains: plan.Contains,
	ast.OpMatches: plan.Regexp, ast.OpConcat: plan.Concat,
}

var compareOps = map[ast.CompareOp]plan.OpCode{
	ast.OpEq: plan.Eq, ast.OpNe: plan.Ne, ast.OpLt: plan.Lt, ast.OpLe: plan.Le, ast.OpGt: plan.Gt, ast.OpGe: plan.Ge,
}

var unaryOps = map[ast.UnaryOp]plan.OpCode{ast.OpNot: plan.Not, ast.OpNeg: plan.Neg, ast.OpPlus: plan.Pos}

var quantifiers = map[ast.QuantifierKind]string{
	ast.QuantifierAll: "all", ast.QuantifierAny: "any", ast.QuantifierNone: "none", ast.QuantifierSingle: "single",
}

// expressions binds the expressions of clauses.
type expressions struct {
	variables
	queries *binder      // binds their subqueries and patterns
	fx      *effects     // of the current clause
	aggs    *aggregation // collects aggregates where they are allowed
	// operand is the value of *ast.CaseOperand.
	operand plan.Expr
}

func (b *expressions) exprs(es []ast.Expr) []plan.Expr {
	out := make([]plan.Expr, 0, len(es))
	for _, e := range es {
		out = append(out, b.expr(e))
	}
	return out
}

// opt binds an expression that may be absent.
func (b *expressions) opt(e ast.Expr) plan.Expr {
	if e == nil {
		return nil
	}
	return b.expr(e)
}

// expr binds an expression in the current scope.
func (b *expressions) expr(e ast.Expr) plan.Expr {
	b.opts.Steps.Add(1)
	switch e := e.(type) {
	case *ast.NullLit:
		return &plan.Const{}
	case *ast.BoolLit:
		return &plan.Const{Value: graph.BoolValue(e.Value)}
	case *ast.IntLit:
		return &plan.Const{Value: graph.IntValue(e.Value)}
	case *ast.FloatLit:
		return &plan.Const{Value: graph.FloatValue(e.Value)}
	case *ast.StringLit:
		return &plan.Const{Value: graph.StringValue(e.Value)}
	case *ast.ListLit:
		return &plan.ListLit{Elems: b.exprs(e.Items)}
	case *ast.MapLit:
		return b.mapLit(e)
	case *ast.Variable:
		return b.variable(e)
	case *ast.Parameter:
		return &plan.Param{Name: e.Name}
	case *ast.Property:
		b.fx.keys.add(e.Key)
		x := b.expr(e.Subject)
		b.mentionKey(x, e.Key, e.KeyPos)
		return &plan.Prop{X: x, Key: e.Key}
	case *ast.Index:
		b.fx.keys.all = true
		x := b.expr(e.Subject)
		if key, ok := e.Index.(*ast.StringLit); ok {
			b.mentionKey(x, key.Value, key.Pos)
		}
		return op(plan.Index, e.Pos, x, b.expr(e.Index))
	case *ast.Slice:
		return op(plan.SliceOp, e.Pos, b.expr(e.Subject), b.opt(e.From), b.opt(e.To))
	case *ast.MapProjection:
		return b.mapProjection(e)
	case *ast.ListComprehension:
		return b.comprehension(e)
	case *ast.PatternComprehension:
		return b.queries.patternSubquery(plan.Collect, []*ast.PathPattern{e.Path}, e.Where, e.Projection)
	case *ast.PatternPredicate:
		return b.queries.patternSubquery(plan.Exists, []*ast.PathPattern{e.Path}, nil, nil)
	case *ast.PathSearch:
		return b.queries.pathSearch(e)
	case *ast.Subquery:
		return b.queries.subquery(e)
	case *ast.Case:
		return b.caseExpr(e)
	case *ast.CaseOperand:
		return b.operand
	case *ast.Quantifier:
		return b.quantifier(e)
	case *ast.Reduce:
		return b.reduce(e)
	case *ast.Call:
		return b.call(e)
	case *ast.CountStar:
		return b.aggregate("count", false, nil, e)
	case *ast.Unary:
		return op(unaryOps[e.Op], e.Pos, b.expr(e.Operand))
	case *ast.Binary:
		return b.binary(e)
	case *ast.Comparison:
		return b.comparison(e)
	case *ast.IsNull:
		if e.Not {
			return op(plan.IsNotNull, e.Pos, b.expr(e.Operand))
		}
		return op(plan.IsNull, e.Pos, b.expr(e.Operand))
	case *ast.IsNormalized:
		x := b.expr(e.Operand)
		n := plan.Expr(&plan.Call{Func: "cypher.isnormalized", Args: []plan.Expr{x, &plan.Const{Value: graph.StringValue(e.Form)}}, Pos: e.Pos})
		if e.Not {
			n = op(plan.Not, e.Pos, n)
		}
		return n
	case *ast.IsType:
		return &plan.IsType{X: b.expr(e.Operand), Type: typeName(e.Type), Not: e.Not}
	case *ast.HasLabels:
		b.mentionLabels(e)
		return b.hasLabels(e.Labels, func() plan.Expr { return b.expr(e.Subject) })
	}
	b.unsupported(e, "this expression is")
	return &plan.Const{}
}

func op(code plan.OpCode, at graph.Pos, args ...plan.Expr) plan.Expr {
	return &plan.Op{Op: code, Args: args, Pos: at}
}

// and joins conditions; none is nil.
func and(es []plan.Expr) plan.Expr {
	switch len(es) {
	case 0:
		return nil
	case 1:
		return es[0]
	}
	return &plan.Op{Op: plan.And, Args: es}
}

func (b *expressions) binary(e *ast.Binary) plan.Expr {
	code := binaryOps[e.Op]
	if code != plan.And && code != plan.Or {
		left := b.expr(e.Left)
		return op(code, e.Pos, left, b.expr(e.Right))
	}
	chain := []ast.Expr{e.Right} // from the right
	first := e.Left
	for {
		left, ok := first.(*ast.Binary)
		if !ok || left.Op != e.Op {
			break
		}
		b.opts.Steps.Add(1)
		chain, first = append(chain, left.Right), left.Left
	}
	var args []plan.Expr
	for _, x := range slices.Backward(append(chain, first)) {
		bound := b.expr(x)
		if o, ok := bound.(*plan.Op); ok && o.Op == code {
			args = append(args, o.Args...)
		} else {
			args = append(args, bound)
		}
	}
	return op(code, e.Pos, args...)
}

// comparison binds a chain of comparisons. A middle operand belongs to two of them.
func (b *expressions) comparison(e *ast.Comparison) plan.Expr {
	left := b.expr(e.First)
	var all []plan.Expr
	var wrap []func(plan.Expr) plan.Expr
	for i, s := range e.Steps {
		right := b.expr(s.Right)
		if i < len(e.Steps)-1 && evaluateOnce(right) {
			var w func(plan.Expr) plan.Expr
			right, w = b.let(right)
			wrap = append(wrap, w)
		}
		all = append(all, op(compareOps[s.Op], s.Pos, left, right))
		left = right
	}
	out := and(all)
	for _, w := range wrap {
		out = w(out)
	}
	return out
}

// let returns a reference to a value that is computed once, and a function that wraps an expression that uses it in the
// computation.
func (b *expressions) let(value plan.Expr) (plan.Expr, func(plan.Expr) plan.Expr) {
	acc, none := b.newCol("", b.kindOf(value)), b.newCol("", graph.Null)
	return &plan.ColRef{Col: acc}, func(body plan.Expr) plan.Expr {
		return &plan.Reduce{Acc: acc, Init: value, Var: none, List: &plan.ListLit{Elems: []plan.Expr{&plan.Const{}}}, Body: body}
	}
}

func (b *expressions) caseExpr(e *ast.Case) plan.Expr {
	outer := b.operand
	out := &plan.Case{}
	var wrap func(plan.Expr) plan.Expr
	if e.Operand != nil {
		x := b.expr(e.Operand)
		if evaluateOnce(x) {
			x, wrap = b.let(x)
		}
		b.operand = x
	}
	operand := b.operand
	for _, w := range e.Whens {
		var tests []plan.Expr
		for _, t := range w.Tests {
			test := b.expr(t.Expr)
			if e.Operand != nil && !t.Predicate {
				test = op(plan.Eq, t.Pos, operand, test)
			}
			tests = append(tests, test)
		}
		when := tests[0]
		if len(tests) > 1 {
			when = op(plan.Or, w.Pos, tests...)
		}
		out.When = append(out.When, when)
		out.Then = append(out.Then, b.expr(w.Then))
	}
	out.Else = b.opt(e.Else)
	b.operand = outer
	if wrap != nil {
		return wrap(out)
	}
	return out
}

func (b *expressions) mapLit(e *ast.MapLit) plan.Expr {
	out := &plan.MapLit{}
	at := map[string]int{}
	for _, m := range e.Entries {
		v := b.expr(m.Value)
		if i, ok := at[m.Key]; ok {
			out.Elems[i] = v
			continue
		}
		at[m.Key] = len(out.Keys)
		out.Keys, out.Elems = append(out.Keys, m.Key), append(out.Elems, v)
	}
	return out
}

func (b *expressions) mapProjection(e *ast.MapProjection) plan.Expr {
	out := &plan.MapProject{X: b.expr(e.Subject)}
	for _, i := range e.Items {
		var v plan.Expr
		switch i.Kind {
		case ast.ProjectAll:
			b.fx.keys.all = true
			out.All = true
			continue
		case ast.ProjectProperty:
			b.fx.keys.add(i.Name)
			x := b.expr(e.Subject)
			b.mentionKey(x, i.Name, i.Pos)
			v = &plan.Prop{X: x, Key: i.Name}
		default:
			v = b.expr(i.Value)
		}
		out.Keys, out.Elems = append(out.Keys, i.Name), append(out.Elems, v)
	}
	return out
}

// local runs f with a variable of a comprehension in scope.
func (b *expressions) local(name string, kind graph.ValueKind, f func()) plan.Col {
	outer := b.scope
	c := b.newCol(name, kind)
	b.declare(name, c)
	f()
	b.scope = outer
	return c
}

func (b *expressions) comprehension(e *ast.ListComprehension) plan.Expr {
	out := &plan.Comprehension{List: b.expr(e.List)}
	out.Var = b.local(e.Variable.Name, b.elementKind(out.List), func() {
		out.Where, out.Map = b.opt(e.Where), b.opt(e.Projection)
	})
	return out
}

// elementKind is the static kind of the elements of a list.
func (b *expressions) elementKind(list plan.Expr) graph.ValueKind {
	switch l := list.(type) {
	case *plan.ColRef:
		if b.kind(l.Col) == graph.List {
			return graph.EdgeKind
		}
	case *plan.Call:
		switch l.Func {
		case "nodes":
			return graph.VertexKind
		case "relationships":
			return graph.EdgeKind
		}
	}
	return graph.Null
}

func (b *expressions) quantifier(e *ast.Quantifier) plan.Expr {
	out := &plan.Quantifier{Kind: quantifiers[e.Kind], List: b.expr(e.List)}
	out.Var = b.local(e.Variable.Name, b.elementKind(out.List), func() {
		if e.Where == nil {
			out.Pred = b.expr(e.Variable)
		} else {
			out.Pred = b.expr(e.Where)
		}
	})
	return out
}

func (b *expressions) reduce(e *ast.Reduce) plan.Expr {
	if e.Where != nil {
		return b.allReduce(e)
	}
	out := &plan.Reduce{Init: b.expr(e.Init), List: b.expr(e.List)}
	out.Acc = b.local(e.Accumulator.Name, graph.Null, func() {
		out.Var = b.local(e.Variable.Name, b.elementKind(out.List), func() { out.Body = b.expr(e.Body) })
	})
	return out
}

// allReduce reduces the list to a pair of the accumulator and whether the condition has held, and returns the latter.
func (b *expressions) allReduce(e *ast.Reduce) plan.Expr {
	pair := b.newCol("", graph.Null)
	half := func(of plan.Expr, i int64) plan.Expr {
		return op(plan.Index, e.Pos, of, &plan.Const{Value: graph.IntValue(i)})
	}
	out := &plan.Reduce{
		Acc: pair, List: b.expr(e.List),
		Init: &plan.ListLit{Elems: []plan.Expr{b.expr(e.Init), &plan.Const{Value: graph.BoolValue(true)}}},
	}
	once := func(value plan.Expr) *plan.Reduce {
		return &plan.Reduce{Init: value, Var: b.newCol("", graph.Null), List: &plan.ListLit{Elems: []plan.Expr{&plan.Const{}}}}
	}
	out.Var = b.local(e.Variable.Name, b.elementKind(out.List), func() {
		before := once(half(&plan.ColRef{Col: pair}, 0))
		var after *plan.Reduce
		before.Acc = b.local(e.Accumulator.Name, graph.Null, func() { after = once(b.expr(e.Body)) })
		after.Acc = b.local(e.Accumulator.Name, graph.Null, func() {
			held := op(plan.And, e.Pos, half(&plan.ColRef{Col: pair}, 1), b.expr(e.Where))
			after.Body = &plan.ListLit{Elems: []plan.Expr{b.expr(e.Accumulator), held}}
		})
		before.Body = after
		out.Body = before
	})
	return half(out, 1)
}

func (b *expressions) call(e *ast.Call) plan.Expr {
	name := strings.ToLower(e.Name)
	if aggregates[name] {
		return b.aggregate(name, e.Distinct, e.Args, e)
	}
	switch name {
	case "exists":
		if len(e.Args) == 1 {
			if p, ok := e.Args[0].(*ast.PatternPredicate); ok {
				return b.expr(p)
			}
			return op(plan.IsNotNull, e.Pos, b.expr(e.Args[0]))
		}
	case "apoc.any.property":
		return b.expr(&ast.Index{At: e.At, Subject: e.Args[0], Index: e.Args[1]})
	case "properties", "keys":
		b.fx.keys.all = true
	case "labels":
		b.fx.labels.all = true
	case "linenumber", "file":
		return b.ofFile(name)
	}
	if f, ok := fn.Lookup(name); ok && f.Records {
		b.fx.readEntities()
	}
	return &plan.Call{Func: name, Args: b.exprs(e.Args), Pos: e.Pos}
}

// hasLabels is the condition that the entity referenced by x has labels, or a type.
func (b *expressions) hasLabels(l ast.LabelExpr, x func() plan.Expr) plan.Expr {
	if !ast.Dynamic(l) {
		known := labelExpr(l)
		b.fx.readLabels(known)
		return &plan.HasLabels{X: x(), Labels: known}
	}
	each := func(code plan.OpCode, operands ...ast.LabelExpr) plan.Expr {
		args := make([]plan.Expr, 0, len(operands))
		for _, o := range operands {
			args = append(args, b.hasLabels(o, x))
		}
		return op(code, l.Position(), args...)
	}
	switch l := l.(type) {
	case *ast.LabelNot:
		return each(plan.Not, l.Operand)
	case *ast.LabelAnd:
		return each(plan.And, l.Operands...)
	case *ast.LabelOr:
		return each(plan.Or, l.Operands...)
	case *ast.LabelOf:
		b.fx.labels.all = true
		return &plan.Call{Func: "cypher.haslabels", Pos: l.Pos, Args: []plan.Expr{
			&plan.Call{Func: "cypher.labels", Args: []plan.Expr{x()}, Pos: l.Pos}, b.expr(l.Expr), &plan.Const{Value: graph.BoolValue(l.Any)},
		}}
	}
	return &plan.Const{}
}

// labels splits a condition on the labels of a pattern's vertex into the static part, which it returns, and conditions for add.
func (b *expressions) labels(l ast.LabelExpr, x func() plan.Expr, add func(plan.Expr)) *plan.LabelExpr {
	if !ast.Dynamic(l) {
		return labelExpr(l)
	}
	operands := []ast.LabelExpr{l}
	if and, ok := l.(*ast.LabelAnd); ok {
		operands = and.Operands
	}
	var known *plan.LabelExpr
	for _, o := range operands {
		if ast.Dynamic(o) {
			add(b.hasLabels(o, x))
			continue
		}
		known = andLabels(known, labelExpr(o))
	}
	return known
}

// labelExpr converts a static condition on labels to the plan's.
func labelExpr(l ast.LabelExpr) *plan.LabelExpr {
	if name, ok := ast.Constant(l); ok {
		return &plan.LabelExpr{Op: plan.LabelName, Name: name}
	}
	switch l := l.(type) {
	case *ast.LabelAny:
		return &plan.LabelExpr{Op: plan.LabelAny}
	case *ast.LabelNot:
		return &plan.LabelExpr{Op: plan.LabelNot, Args: []*plan.LabelExpr{labelExpr(l.Operand)}}
	case *ast.LabelAnd:
		return &plan.LabelExpr{Op: plan.LabelAnd, Args: labelExprs(l.Operands)}
	case *ast.LabelOr:
		return &plan.LabelExpr{Op: plan.LabelOr, Args: labelExprs(l.Operands)}
	}
	return nil
}

func labelExprs(ls []ast.LabelExpr) []*plan.LabelExpr {
	out := make([]*plan.LabelExpr, 0, len(ls))
	for _, l := range ls {
		out = append(out, labelExpr(l))
	}
	return out
}

// typeName writes a type in normal form.
func typeName(t *ast.Type) string {
	var s string
	switch {
	case len(t.Alternatives) > 0:
		names := make([]string, 0, len(t.Alternatives))
		for _, a := range t.Alternatives {
			names = append(names, typeName(a))
		}
		s = strings.Join(names, " | ")
	case t.Element != nil:
		s = t.Name + "<" + typeName(t.Element) + ">"
	default:
		s = t.Name
	}
	if t.Dimensions > 0 {
		s += "(" + strconv.Itoa(t.Dimensions) + ")"
	}
	if t.NotNull {
		s += " NOT NULL"
	}
	return s
}
