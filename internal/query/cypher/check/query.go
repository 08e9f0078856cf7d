package check

import (
	"slices"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// block is the context of a query.
type block struct {
	nested   bool // within CALL {…}, WHEN or FOREACH
	readOnly bool // in EXISTS {…}, COUNT {…} or COLLECT {…}: no updates
	noResult bool // in EXISTS {…} and COUNT {…}: a query may end without RETURN
	aliased  bool // in CALL {…}: a column is a variable or has an alias
	imports  *scope
}

// query checks a query from the scope in, and returns the columns; nil if it returns nothing.
func (c *checker) query(q *ast.Query, in *scope, b block) *scope {
	for ; q.Next != nil; q = q.Next {
		before := b
		before.aliased, before.noResult = true, false
		out := c.parts(q, in, before)
		in = newScope(in.outer)
		if out != nil {
			in = in.over(out)
		}
		b.imports = nil
	}
	return c.parts(q, in, b)
}

// parts checks the parts of a UNION, each from the scope in.
func (c *checker) parts(q *ast.Query, in *scope, b block) *scope {
	var first *scope
	for i, part := range q.Parts {
		out := c.single(part, in, b)
		if i == 0 {
			first = out
			continue
		}
		same(first, out, part, false, "all parts of a UNION must have the same columns")
	}
	return first
}

// same checks that two parts of a query have the same columns, in the same order if that counts, and adds the second's types to
// the first.
func same(first, out *scope, at ast.Node, ordered bool, message string) {
	if (out == nil) != (first == nil) {
		fail(differentColumnsInUnion, at, "%s", message)
	}
	if out != nil {
		a, b := first.names(), out.names()
		if !ordered {
			a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
		}
		if !slices.Equal(a, b) {
			fail(differentColumnsInUnion, at, "%s", message)
		}
	}
	if out != nil {
		for n, t := range out.vars.All() {
			first.define(n, first.typeOf(n).or(t))
		}
	}
}

// conditional checks WHEN … THEN …; its branches share its scope.
func (c *checker) conditional(cl *ast.Conditional, s *scope, b block) *scope {
	b.aliased, b.imports, b.nested = true, nil, true
	var first *scope
	for i, br := range cl.Branches {
		c.where(br.When, s)
		out := c.query(br.Query, newScope(s), b)
		if i == 0 {
			first = out
			continue
		}
		same(first, out, br, true, "all branches of WHEN must have the same columns in the same order")
	}
	return first
}

// single checks the clauses of a single query and returns the columns; nil if it returns nothing.
func (c *checker) single(q *ast.SingleQuery, in *scope, b block) *scope {
	s := newScope(in.outer).over(in)
	last := len(q.Clauses) - 1
	for i, cl := range q.Clauses {
		c.Steps.Add(1)
		if i < last {
			switch cl.(type) {
			case *ast.Return, *ast.Finish:
				fail(invalidClauseComposition, cl, "RETURN and FINISH can only stand at the end of a query")
			}
		}
		switch cl := cl.(type) {
		case *ast.With:
			if i == 0 && b.imports != nil && isImport(cl) {
				s = c.importing(cl, b.imports)
				continue
			}
			if cl.Form == ast.WithLet {
				c.noAggregates(cl.Projection)
				for _, item := range cl.Projection.Items {
					if _, ok := s.vars.Get(item.Name()); ok {
						fail(variableAlreadyBound, item, "variable `%s` is already defined", item.Name())
					}
				}
			}
			s = c.project(cl.Projection, s, true, false, cl.Where)
		case *ast.Return:
			return c.project(cl.Projection, s, false, b.aliased, nil)
		case *ast.Braces:
			return c.query(cl.Query, s, b)
		case *ast.Conditional:
			return c.conditional(cl, s, b)
		default:
			c.clause(cl, s, b)
		}
	}
	if !b.noResult {
		c.conclude(q.Clauses[last])
	}
	return nil
}

// noAggregates checks that LET does not aggregate.
func (c *checker) noAggregates(p *ast.Projection) {
	for _, i := range p.Items {
		if c.hasAggregate(i.Expr) {
			fail(invalidAggregation, i.Expr, "LET cannot aggregate; use WITH")
		}
	}
}

// conclude checks that a query without RETURN may end with its last clause.
func (c *checker) conclude(last ast.Clause) {
	word := ""
	switch last := last.(type) {
	case *ast.Match:
		word = "MATCH"
	case *ast.With:
		word = [...]string{"WITH", "LET", "FILTER", "ORDER BY"}[last.Form]
	case *ast.Unwind:
		word = "UNWIND"
	case *ast.LoadCSV:
		word = "LOAD CSV"
	case *ast.CallProcedure:
		if last.Yield != nil && !last.Standalone {
			word = "CALL … YIELD"
		}
	case *ast.CallSubquery:
		if last.Query.Returns() {
			word = "CALL"
		}
	}
	if word != "" {
		fail(invalidClauseComposition, last, "a query cannot end in %s: it needs a RETURN or an update", word)
	}
}

// isImport reports whether the first WITH of CALL {…} only names variables.
func isImport(w *ast.With) bool {
	p := w.Projection
	for _, i := range p.Items {
		if _, ok := i.Expr.(*ast.Variable); !ok || i.Alias != nil {
			return false
		}
	}
	return !p.Distinct && w.Where == nil && p.OrderBy == nil && p.Skip == nil && p.Limit == nil
}

// importing returns the scope that an importing WITH opens.
func (c *checker) importing(w *ast.With, from *scope) *scope {
	s := newScope(nil)
	if w.Projection.Star {
		s = s.over(from)
	}
	for _, i := range w.Projection.Items {
		v, _ := i.Expr.(*ast.Variable)
		s.define(v.Name, c.variable(v, from))
	}
	return s
}

// clause checks any clause but WITH and RETURN, and adds its variables to the scope.
func (c *checker) clause(cl ast.Clause, s *scope, b block) {
	if b.readOnly && updates(cl) {
		fail(invalidClauseComposition, cl, "a subquery expression cannot update the graph")
	}
	switch cl := cl.(type) {
	case *ast.Match:
		if cl.Mode == ast.MatchRepeatable {
			repeatable(cl.Pattern)
		}
		c.matchPattern(cl.Pattern, s, patternMatch)
		for _, h := range cl.Hints {
			for _, v := range h.Variables {
				c.variable(v, s)
			}
		}
		c.where(cl.Where, s)
	case *ast.Unwind:
		t := c.expr(cl.List, env{scope: s})
		elem := anything
		if t.kinds == fn.List {
			elem = of(t.elem)
		}
		c.bind(cl.Variable, elem, s)
	case *ast.Create:
		c.createPattern(cl.Pattern, s, true)
	case *ast.Merge:
		c.createPattern([]*ast.PathPattern{cl.Path}, s, false)
		c.set(cl.OnCreate, s)
		c.set(cl.OnMatch, s)
	case *ast.Set:
		c.set(cl.Items, s)
	case *ast.Remove:
		c.remove(cl.Items, s)
	case *ast.Delete:
		c.delete(cl, s)
	case *ast.Foreach:
		c.foreach(cl, s)
	case *ast.CallProcedure:
		c.callProcedure(cl, s)
	case *ast.CallSubquery:
		c.callSubquery(cl, s, b)
	case *ast.LoadCSV:
		c.expr(cl.URL, env{scope: s})
		t := of(fn.List)
		if cl.Headers {
			t = of(fn.Map)
		}
		c.bind(cl.Variable, t, s)
	}
}

// updates reports whether a clause itself may change the graph.
func updates(cl ast.Clause) bool {
	switch cl.(type) {
	case *ast.Create, *ast.Merge, *ast.Set, *ast.Remove, *ast.Delete, *ast.Foreach:
		return true
	}
	return false
}

// bind adds a new variable to the scope.
func (c *checker) bind(v *ast.Variable, t typ, s *scope) {
	c.unbound(v, s)
	s.define(v.Name, t)
}

// unbound checks that a variable is not defined yet.
func (c *checker) unbound(v *ast.Variable, s *scope) {
	if _, ok := s.lookup(v.Name); ok {
		fail(variableAlreadyBound, v, "variable `%s` is already defined", v.Name)
	}
}

// variable returns the type of a variable that is used.
func (c *checker) variable(v *ast.Variable, s *scope) typ {
	t, ok := s.lookup(v.Name)
	if !ok {
		fail(undefinedVariable, v, "variable `%s` is not defined%s", v.Name, didYouMean(v.Name, s.visible()))
	}
	return t
}

// isFloat reports whether a name is that of a float and of no variable.
func isFloat(v *ast.Variable, s *scope) bool {
	_, defined := s.lookup(v.Name)
	_, named := ast.NamedFloat(v.Name)
	return named && !defined
}

// where checks a condition without aggregates.
func (c *checker) where(e ast.Expr, s *scope) {
	if e != nil {
		c.predicate(e, env{scope: s})
	}
}

func (c *checker) set(items []ast.SetItem, s *scope) {
	for _, item := range items {
		switch i := item.(type) {
		case *ast.SetProperty:
			c.target(i.Target, s)
			c.expr(i.Value, env{scope: s})
		case *ast.SetProperties:
			c.entity(i.Variable, fn.Node|fn.Relationship, s)
			c.expr(i.Value, env{scope: s})
		case *ast.SetLabels:
			c.relabel(i.Variable, i.Labels, s)
		}
	}
}

func (c *checker) remove(items []ast.RemoveItem, s *scope) {
	for _, item := range items {
		switch i := item.(type) {
		case *ast.RemoveProperty:
			c.target(i.Target, s)
		case *ast.RemoveLabels:
			c.relabel(i.Variable, i.Labels, s)
		}
	}
}

// relabel checks a node and the labels to set or remove.
func (c *checker) relabel(v *ast.Variable, labels []ast.LabelExpr, s *scope) {
	c.entity(v, fn.Node, s)
	for _, l := range labels {
		if _, _, ok := ast.Named(l); !ok {
			fail(unexpectedSyntax, l, "$any(…) cannot say which labels to set or to remove")
		}
		c.labels(l, s)
	}
}

// labels checks the expressions in a label expression.
func (c *checker) labels(l ast.LabelExpr, s *scope) {
	ast.Inspect(l, func(n ast.Node) bool {
		given, ok := n.(*ast.LabelOf)
		if ok {
			if t := c.expr(given.Expr, env{scope: s}); !t.canBe(of(fn.String | fn.List)) {
				fail(invalidArgumentType, given.Expr, "labels and types are a String or a list of them, not %s", t.kinds)
			}
		}
		return !ok
	})
}

// target checks the property that SET or REMOVE changes.
func (c *checker) target(e ast.Expr, s *scope) {
	var subject ast.Expr
	switch e := e.(type) {
	case *ast.Property:
		subject = e.Subject
	case *ast.Index:
		subject = e.Subject
		c.expr(e.Index, env{scope: s})
	}
	t := c.expr(subject, env{scope: s})
	if !t.canBe(of(fn.Node | fn.Relationship | fn.Map)) {
		fail(invalidArgumentType, subject, "only nodes and relationships have properties to change, not %s", t.kinds)
	}
}

// entity checks a variable that SET or REMOVE changes.
func (c *checker) entity(v *ast.Variable, want fn.Kinds, s *scope) {
	if t := c.variable(v, s); !t.canBe(of(want)) {
		fail(invalidArgumentType, v, "`%s` must be %s, not %s", v.Name, want, t.kinds)
	}
}

func (c *checker) delete(d *ast.Delete, s *scope) {
	for _, e := range d.Exprs {
		if _, ok := e.(*ast.HasLabels); ok {
			fail(invalidDelete, e, "labels and relationship types cannot be deleted; REMOVE removes a label")
		}
		if t := c.expr(e, env{scope: s}); !t.canBe(of(fn.Node | fn.Relationship | fn.Path)) {
			fail(invalidArgumentType, e, "only nodes, relationships and paths can be deleted, not %s", t.kinds)
		}
	}
}

func (c *checker) foreach(f *ast.Foreach, s *scope) {
	t := c.expr(f.List, env{scope: s})
	if !t.canBe(of(fn.List)) {
		fail(invalidArgumentType, f.List, "FOREACH goes over a list, not %s", t.kinds)
	}
	elem := anything
	if t.kinds == fn.List {
		elem = of(t.elem)
	}
	in := s.with(f.Variable.Name, elem)
	for _, cl := range f.Clauses {
		if !updates(cl) {
			fail(invalidClauseComposition, cl, "FOREACH can only hold updating clauses")
		}
		c.clause(cl, in, block{nested: true})
	}
}

func (c *checker) callSubquery(cl *ast.CallSubquery, s *scope, b block) {
	in := newScope(nil)
	inner := block{nested: true, readOnly: b.readOnly, aliased: true}
	switch {
	case cl.ImportAll:
		in.outer = s
	case cl.Scoped:
		in.outer = newScope(nil)
		for _, v := range cl.Imports {
			in.outer.define(v.Name, c.variable(v, s))
		}
	default:
		inner.imports = s
	}
	if t := cl.InTransactions; t != nil {
		if b.nested || b.readOnly {
			fail(invalidClauseComposition, t, "CALL {…} IN TRANSACTIONS cannot stand within another query")
		}
		if t.Report != nil && t.OnError == ast.OnErrorFail {
			fail(unexpectedSyntax, t.Report, "REPORT STATUS needs ON ERROR CONTINUE or ON ERROR BREAK")
		}
		c.count(t.Rows, "OF … ROWS")
		c.count(t.Workers, "IN … CONCURRENT TRANSACTIONS")
	}
	if out := c.query(cl.Query, in, inner); out != nil {
		for n, t := range out.vars.All() {
			c.bind(&ast.Variable{At: cl.At, Name: n}, t, s)
		}
	}
	if t := cl.InTransactions; t != nil && t.Report != nil {
		c.bind(t.Report, of(fn.Map), s)
	}
}
