package check

import (
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// aggregateUse says whether an expression may aggregate.
type aggregateUse uint8

const (
	aggregatesForbidden aggregateUse = iota
	aggregatesAllowed
	aggregatesMatched // only expressions that are columns already
	aggregatesInside  // within an aggregate
)

// env is the context of an expression.
type env struct {
	scope      *scope
	aggregates aggregateUse
	columns    map[string]typ // expressions, by key, that are columns already
	operand    typ            // of the enclosing CASE
}

// in returns the context for the body of a comprehension or similar expression, which may not aggregate.
func (v env) in(s *scope) env {
	v.scope = s
	if v.aggregates == aggregatesAllowed || v.aggregates == aggregatesMatched {
		v.aggregates = aggregatesForbidden
	}
	return v
}

// predicate checks a condition on rows or branches: a boolean, or a list, which is true unless it is empty.
func (c *checker) predicate(e ast.Expr, v env) { c.test(e, fn.Boolean|fn.List, v) }

// condition checks an operand of a boolean operator.
func (c *checker) condition(e ast.Expr, v env) { c.test(e, fn.Boolean, v) }

// test checks an expression of the given kinds; a pattern is a boolean.
func (c *checker) test(e ast.Expr, want fn.Kinds, v env) {
	if t := c.truth(e, v); !t.canBe(of(want)) {
		fail(invalidArgumentType, e, "expected Boolean, not %s", t.kinds)
	}
}

// truth returns the type of an expression in a place where a pattern means whether it matches.
func (c *checker) truth(e ast.Expr, v env) typ {
	if p, ok := e.(*ast.PatternPredicate); ok {
		c.matchPattern([]*ast.PathPattern{p.Path}, newScope(v.scope), patternPredicate)
		return boolean
	}
	return c.expr(e, v)
}

// expr checks an expression and returns its type.
func (c *checker) expr(e ast.Expr, v env) typ {
	c.Steps.Add(1)
	if v.columns != nil {
		key := ast.Key(e)
		c.Steps.Add(len(key) / 32)
		if t, ok := v.columns[key]; ok {
			return t
		}
	}
	switch e := e.(type) {
	case *ast.NullLit:
		return of(fn.Null)
	case *ast.BoolLit:
		return boolean
	case *ast.IntLit:
		return of(fn.Integer)
	case *ast.FloatLit:
		return of(fn.Float)
	case *ast.StringLit:
		return of(fn.String)
	case *ast.Variable:
		if isFloat(e, v.scope) {
			return of(fn.Float)
		}
		return c.variable(e, v.scope)
	case *ast.CaseOperand:
		return v.operand
	case *ast.ListLit:
		elem := of(0)
		for _, i := range e.Items {
			elem = elem.or(c.expr(i, v))
		}
		if len(e.Items) == 0 {
			elem = anything
		}
		return listOf(elem.kinds)
	case *ast.MapLit:
		for _, m := range e.Entries {
			c.expr(m.Value, v)
		}
		return of(fn.Map)
	case *ast.MapProjection:
		return c.mapProjection(e, v)
	case *ast.Property:
		return c.property(e, v)
	case *ast.Index:
		return c.index(e, v)
	case *ast.Slice:
		return c.slice(e, v)
	case *ast.Call:
		return c.call(e, v)
	case *ast.CountStar:
		c.aggregate(e, v)
		return of(fn.Integer)
	case *ast.Case:
		return c.caseExpr(e, v)
	default:
		return c.compound(e, v)
	}
}

// compound checks operators and expressions with variables of their own.
func (c *checker) compound(e ast.Expr, v env) typ {
	switch e := e.(type) {
	case *ast.Unary:
		return c.unary(e, v)
	case *ast.Binary:
		return c.binary(e, v)
	case *ast.Comparison:
		c.expr(e.First, v)
		for _, s := range e.Steps {
			c.expr(s.Right, v)
		}
		return of(fn.Boolean | fn.Null)
	case *ast.IsNull:
		c.expr(e.Operand, v)
		return boolean
	case *ast.IsType:
		c.expr(e.Operand, v)
		return boolean
	case *ast.IsNormalized:
		c.expr(e.Operand, v)
		return of(fn.Boolean | fn.Null)
	case *ast.HasLabels:
		if t := c.expr(e.Subject, v); !t.canBe(of(fn.Node | fn.Relationship)) {
			fail(invalidArgumentType, e.Subject, "only nodes and relationships have labels or a type, not %s", t.kinds)
		}
		c.labels(e.Labels, v.scope)
		return of(fn.Boolean | fn.Null)
	case *ast.ListComprehension:
		return c.listComprehension(e, v)
	case *ast.Quantifier:
		in := v.in(v.scope.with(e.Variable.Name, c.elements(e.List, v)))
		if e.Where != nil {
			c.predicate(e.Where, in)
		}
		return of(fn.Boolean | fn.Null)
	case *ast.Reduce:
		c.expr(e.Init, v)
		elem := c.elements(e.List, v)
		in := v.scope.with(e.Accumulator.Name, anything)
		in.define(e.Variable.Name, elem)
		c.expr(e.Body, v.in(in))
		if e.Where != nil {
			c.predicate(e.Where, v.in(in))
			return of(fn.Boolean | fn.Null)
		}
		return anything
	case *ast.PatternComprehension:
		s := newScope(v.scope)
		c.matchPattern([]*ast.PathPattern{e.Path}, s, patternComprehension)
		if e.Where != nil {
			c.predicate(e.Where, v.in(s))
		}
		return listOf(c.expr(e.Projection, v.in(s)).kinds)
	case *ast.PatternPredicate:
		fail(unexpectedSyntax, e, "a pattern can only stand where a condition may; for its matches use a comprehension, [pattern | value]")
	case *ast.PathSearch:
		c.matchPattern([]*ast.PathPattern{e.Path}, newScope(v.scope), patternPredicate)
		if e.Path.Search == ast.SearchAllShortestPaths {
			return listOf(fn.Path)
		}
		return of(fn.Path | fn.Null)
	case *ast.Subquery:
		return c.subquery(e, v)
	}
	return anything
}

// elements checks a list that is visited and returns the type of its elements.
func (c *checker) elements(list ast.Expr, v env) typ {
	t := c.expr(list, v)
	if !t.canBe(of(fn.List)) {
		fail(invalidArgumentType, list, "expected List, not %s", t.kinds)
	}
	if t.kinds&^(fn.List|fn.Null) != 0 {
		return anything
	}
	return of(t.elem)
}

func (c *checker) listComprehension(e *ast.ListComprehension, v env) typ {
	elem := c.elements(e.List, v)
	in := v.in(v.scope.with(e.Variable.Name, elem))
	if e.Where != nil {
		c.predicate(e.Where, in)
	}
	if e.Projection != nil {
		elem = c.expr(e.Projection, in)
	}
	return listOf(elem.kinds)
}

func (c *checker) mapProjection(e *ast.MapProjection, v env) typ {
	if t := c.expr(e.Subject, v); !t.canBe(of(fn.Node | fn.Relationship | fn.Map)) {
		failType(e.Subject, "a map projection takes a node, a relationship or a map, not %s", t.kinds)
	}
	for _, i := range e.Items {
		if i.Value != nil {
			c.expr(i.Value, v)
		}
	}
	return of(fn.Map | fn.Null)
}

// keyed are the kinds of values that have properties.
const keyed = fn.Node | fn.Relationship | fn.Map | fn.Point | fn.Temporal

func (c *checker) property(e *ast.Property, v env) typ {
	switch t := c.expr(e.Subject, v); {
	case t.canBe(of(keyed)):
	case t.kinds == fn.Path:
		fail(invalidArgumentType, e, "a path has no properties; nodes(path) and relationships(path) give what has")
	default:
		failType(e, "%s has no properties", t.kinds)
	}
	return anything
}

func (c *checker) index(e *ast.Index, v env) typ {
	t := c.expr(e.Subject, v)
	i := c.expr(e.Index, v)
	if !t.canBe(of(fn.List | fn.Map | fn.Node | fn.Relationship | fn.Point)) {
		failType(e, "%s has no elements", t.kinds)
	}
	if t.kinds == fn.List && !i.canBe(of(fn.Integer)) {
		failType(e.Index, "an element of a list is found by an integer, not %s", i.kinds)
	}
	if t.kinds == fn.List {
		return of(t.elem | fn.Null)
	}
	return anything
}

func (c *checker) slice(e *ast.Slice, v env) typ {
	t := c.expr(e.Subject, v)
	if !t.canBe(of(fn.List)) {
		failType(e, "%s has no elements", t.kinds)
	}
	if e.From == nil && e.To == nil {
		fail(unexpectedSyntax, e, "a slice needs a start or an end")
	}
	for _, b := range []ast.Expr{e.From, e.To} {
		if b != nil && c.expr(b, v).onlyFloat() {
			failType(b, "the bounds of a slice are integers, not floats")
		}
	}
	return typ{fn.List | fn.Null, t.elem}
}

func (c *checker) unary(e *ast.Unary, v env) typ {
	if e.Op == ast.OpNot {
		c.condition(e.Operand, v)
		return of(fn.Boolean | fn.Null)
	}
	return c.arithmetic(e.Operand, e, fn.Number|fn.Duration, v)
}

func (c *checker) binary(e *ast.Binary, v env) typ {
	switch e.Op {
	case ast.OpOr, ast.OpXor, ast.OpAnd:
		c.condition(e.Left, v)
		c.condition(e.Right, v)
		return of(fn.Boolean | fn.Null)
	case ast.OpIn:
		c.expr(e.Left, v)
		c.elements(e.Right, v)
		return of(fn.Boolean | fn.Null)
	case ast.OpStartsWith, ast.OpEndsWith, ast.OpContains, ast.OpMatches:
		c.expr(e.Left, v)
		c.expr(e.Right, v)
		return of(fn.Boolean | fn.Null)
	case ast.OpSub, ast.OpMul, ast.OpDiv:
		return c.arithmetic(e.Left, e, fn.Number|fn.Temporal, v).or(c.arithmetic(e.Right, e, fn.Number|fn.Temporal, v))
	case ast.OpMod, ast.OpPow:
		return c.arithmetic(e.Left, e, fn.Number, v).or(c.arithmetic(e.Right, e, fn.Number, v))
	}
	left, right := c.expr(e.Left, v), c.expr(e.Right, v)
	if e.Op == ast.OpAdd && (left.kinds == fn.String && right.kinds == fn.Boolean || left.kinds == fn.Boolean && right.kinds == fn.String) {
		fail(invalidArgumentType, e, "cannot add %s and %s; toString() turns a Boolean into text", left.kinds, right.kinds)
	}
	return c.sum(left, right)
}

// arithmetic checks an operand of an operator that takes the wanted kinds.
func (c *checker) arithmetic(operand ast.Expr, operator ast.Node, want fn.Kinds, v env) typ {
	t := c.expr(operand, v)
	if !t.canBe(of(want)) {
		fail(invalidArgumentType, operator, "expected %s, not %s", want, t.kinds)
	}
	t.kinds = t.kinds&(want|fn.Null) | fn.Null
	if t.kinds&fn.Number != 0 {
		t.kinds |= fn.Number
	}
	return t
}

// sum is the type of a + b or a || b.
func (c *checker) sum(a, b typ) typ {
	all := a.kinds | b.kinds
	switch {
	case a.kinds == fn.List || b.kinds == fn.List:
		return listOf(fn.Any)
	case all&^(fn.Number|fn.Null) == 0:
		return of(fn.Number | fn.Null)
	case all&(fn.List|fn.Temporal|fn.Point|fn.Map) == 0:
		return of(fn.Number | fn.String | fn.Null)
	}
	return anything
}

func (c *checker) caseExpr(e *ast.Case, v env) typ {
	inner := v
	if e.Operand != nil {
		inner.operand = c.expr(e.Operand, v)
	}
	result := of(0)
	for _, w := range e.Whens {
		for _, t := range w.Tests {
			if e.Operand == nil {
				c.predicate(t.Expr, v)
			} else {
				c.expr(t.Expr, inner)
			}
		}
		result = result.or(c.expr(w.Then, v))
	}
	if e.Else == nil {
		return result.or(of(fn.Null))
	}
	return result.or(c.expr(e.Else, v))
}

func (c *checker) subquery(e *ast.Subquery, v env) typ {
	if e.Query == nil {
		s := newScope(v.scope)
		c.matchPattern(e.Pattern, s, patternMatch)
		c.where(e.Where, s)
		if e.Kind == ast.SubqueryCount {
			return of(fn.Integer)
		}
		return boolean
	}
	in := newScope(v.scope)
	out := c.query(e.Query, in, block{nested: true, readOnly: true, noResult: e.Kind != ast.SubqueryCollect})
	switch e.Kind {
	case ast.SubqueryCount:
		return of(fn.Integer)
	case ast.SubqueryCollect:
		if out == nil || out.vars.Len() != 1 {
			fail(invalidClauseComposition, e, "COLLECT {…} takes a query that returns exactly one column")
		}
		return listOf(out.typeOf(out.names()[0]).kinds)
	}
	return boolean
}

// aggregate checks that an aggregate is allowed.
func (c *checker) aggregate(e ast.Node, v env) {
	switch v.aggregates {
	case aggregatesInside:
		fail(nestedAggregation, e, "an aggregate cannot stand within another")
	case aggregatesForbidden, aggregatesMatched:
		fail(invalidAggregation, e, "an aggregate can only stand in the columns of WITH and RETURN; in ORDER BY if it is one of them")
	}
}

func (c *checker) call(e *ast.Call, v env) typ {
	sig := c.function(e)
	if n := len(e.Args); n < sig.MinArgs || sig.MaxArgs >= 0 && n > sig.MaxArgs {
		fail(invalidNumberOfArguments, e, "%s() takes %s, not %d", sig.Name, arity(sig.MinArgs, sig.MaxArgs), n)
	}
	if e.Distinct && !sig.Aggregating() {
		fail(unexpectedSyntax, e, "DISTINCT can only stand in an aggregate")
	}
	if sig.Aggregating() {
		return c.aggregateCall(e, sig, v)
	}
	for i, a := range e.Args {
		if sig.Name == "exists" {
			c.exists(a, v)
			continue
		}
		t := c.expr(a, v)
		if i < len(sig.Args) && !t.canBe(of(sig.Args[i])) {
			fail(invalidArgumentType, a, "%s() takes %s, not %s", sig.Name, sig.Args[i], t.kinds)
		}
		if sig.TakesInteger(i) && t.onlyFloat() {
			c.floatArgument(sig, a)
		}
	}
	return result(sig)
}

// floatArgument rejects an argument that is always a float where a function takes an integer. openCypher leaves that of range() to the run.
func (c *checker) floatArgument(sig *fn.Function, a ast.Expr) {
	const msg = "%s() takes an Integer, not a Float"
	if sig.Name == "range" {
		e := graph.RuntimeError("ArgumentError", invalidArgumentType, msg, sig.Name)
		panic(failure{e.At(a.Position())})
	}
	fail(invalidArgumentType, a, msg, sig.Name)
}

// exists checks the argument of exists(): a pattern or a property.
func (c *checker) exists(e ast.Expr, v env) {
	switch e.(type) {
	case *ast.PatternPredicate, *ast.Property, *ast.Index:
		c.truth(e, v)
	default:
		fail(invalidArgumentType, e, "exists() takes a pattern or a property; IS NOT NULL is for other expressions")
	}
}

func (c *checker) aggregateCall(e *ast.Call, sig *fn.Function, v env) typ {
	if v.aggregates == aggregatesAllowed {
		in := v
		in.aggregates = aggregatesInside
		for _, a := range e.Args {
			c.expr(a, in)
			c.deterministic(a)
		}
		return result(sig)
	}
	if v.aggregates == aggregatesMatched { // a variable hidden by grouping has a clearer message
		for _, a := range e.Args {
			c.expr(a, v)
		}
	}
	c.aggregate(e, v)
	return anything
}

// deterministic rejects an aggregate's argument whose value changes at every call.
func (c *checker) deterministic(e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.Call); ok && c.function(call).Volatile {
			fail(nonConstantExpression, call, "an aggregate cannot take %s(); compute it in an earlier WITH", call.Name)
		}
		return true
	})
}

func result(sig *fn.Function) typ {
	t := anything
	t.kinds = sig.Result
	if sig.Elem != 0 {
		t.elem = sig.Elem
	}
	return t
}

// arity describes the number of arguments.
func arity(least, most int) string {
	switch {
	case most == least && least == 1:
		return "1 argument"
	case most == least:
		return strconv.Itoa(least) + " arguments"
	case most < 0:
		return strconv.Itoa(least) + " or more arguments"
	}
	return strconv.Itoa(least) + " to " + strconv.Itoa(most) + " arguments"
}
