package parse

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// query reads queries with NEXT between them.
func (p *parser) query() *ast.Query {
	p.enter()
	defer p.leave()
	q := p.segment()
	for last, n := q, 1; p.take("NEXT"); last, n = last.Next, n+1 {
		p.chain(n)
		last.Next = p.segment()
	}
	return q
}

// segment reads single queries joined by UNION, or WHEN.
func (p *parser) segment() *ast.Query {
	q := &ast.Query{At: p.here()}
	if p.is("WHEN") {
		q.Parts = []*ast.SingleQuery{{At: q.At, Clauses: []ast.Clause{p.conditional()}}}
		return q
	}
	q.Parts = []*ast.SingleQuery{p.singleQuery()}
	for p.is("UNION") {
		at := p.here()
		p.next()
		all := p.take("ALL")
		if !all {
			p.take("DISTINCT")
		}
		if len(q.Parts) > 1 && all != q.All {
			p.fail(graph.SyntaxError("InvalidClauseComposition", at.Pos, "UNION and UNION ALL cannot be mixed"))
		}
		q.All = all
		q.Parts = append(q.Parts, p.singleQuery())
	}
	return q
}

// conditional reads WHEN … THEN … and ELSE ….
func (p *parser) conditional() *ast.Conditional {
	c := &ast.Conditional{At: p.here()}
	for p.is("WHEN") {
		b := &ast.ConditionalBranch{At: p.here()}
		p.next()
		b.When = p.expr()
		p.need("THEN")
		b.Query = p.branch()
		c.Branches = append(c.Branches, b)
	}
	if at := p.here(); p.take("ELSE") {
		c.Branches = append(c.Branches, &ast.ConditionalBranch{At: at, Query: p.branch()})
	}
	return c
}

// branch reads { query } or a single query.
func (p *parser) branch() *ast.Query {
	q := &ast.Query{At: p.here(), Parts: []*ast.SingleQuery{p.singleQuery()}}
	if b, ok := q.Parts[0].Clauses[0].(*ast.Braces); ok {
		return b.Query
	}
	return q
}

// singleQuery reads clauses, or a query in braces.
func (p *parser) singleQuery() *ast.SingleQuery {
	q := &ast.SingleQuery{At: p.here()}
	if p.takeSign("{") {
		b := &ast.Braces{At: q.At}
		p.bars(false, func() { b.Query = p.query() })
		p.needSign("}")
		q.Clauses = []ast.Clause{b}
		return q
	}
	for {
		c := p.clause()
		if c == nil {
			break
		}
		q.Clauses = append(q.Clauses, c)
		if p.clauses++; p.clauses > maxClauses {
			p.tooLarge("the statement has more than %d clauses; UNWIND repeats clauses for the values of a list", maxClauses)
		}
	}
	if len(q.Clauses) == 0 {
		p.unexpected("a clause (MATCH, CREATE, RETURN, …)")
	}
	return q
}

// startsQuery reports whether a query, not a pattern, follows within EXISTS {…} and similar braces.
func (p *parser) startsQuery() bool {
	if p.isSign("{") || p.is("WHEN") {
		return true
	}
	for _, w := range []string{"MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN", "CALL", "CREATE", "INSERT", "MERGE", "SET", "REMOVE", "DELETE", "DETACH", "FOREACH", "LOAD", "LET"} {
		if p.is(w) && !p.peekAt(1).sign("=") {
			return true
		}
	}
	return false
}

// clause parses a clause; nil if none follows.
func (p *parser) clause() ast.Clause {
	at := p.here()
	switch {
	case p.take("MATCH"):
		return p.match(at, false)
	case p.take("OPTIONAL", "MATCH"):
		return p.match(at, true)
	case p.take("UNWIND"):
		c := &ast.Unwind{At: at, List: p.expr()}
		p.need("AS")
		c.Variable = p.variable()
		return c
	case p.take("WITH"):
		return &ast.With{At: at, Projection: p.projection(), Where: p.where()}
	case p.is("LET") && p.peekAt(1).name() && p.peekAt(2).sign("="):
		p.next()
		return &ast.With{At: at, Form: ast.WithLet, Projection: &ast.Projection{At: at, Star: true, Items: commas(p, p.letItem)}}
	case p.take("FILTER"):
		p.take("WHERE")
		return &ast.With{At: at, Form: ast.WithFilter, Projection: &ast.Projection{At: at, Star: true}, Where: p.expr()}
	case p.is("ORDER", "BY"), p.is("SKIP"), p.is("OFFSET"), p.is("LIMIT"):
		w := &ast.With{At: at, Form: ast.WithOrder, Projection: &ast.Projection{At: at, Star: true}}
		p.tail(w.Projection)
		return w
	case p.take("RETURN"):
		return &ast.Return{At: at, Projection: p.projection()}
	case p.take("CREATE"), p.is("INSERT") && p.peekAt(1).sign("(") && p.take("INSERT"):
		c := &ast.Create{At: at, Pattern: p.pattern()}
		for _, path := range c.Pattern {
			unwrap(path)
		}
		return c
	case p.take("MERGE"):
		return p.merge(at)
	case p.take("SET"):
		return &ast.Set{At: at, Items: commas(p, p.setItem)}
	case p.take("REMOVE"):
		return &ast.Remove{At: at, Items: commas(p, p.removeItem)}
	case p.take("DETACH", "DELETE"):
		return &ast.Delete{At: at, Detach: true, Exprs: commas(p, p.expr)}
	case p.take("NODETACH", "DELETE"), p.take("DELETE"):
		return &ast.Delete{At: at, Exprs: commas(p, p.expr)}
	case p.take("FOREACH"):
		return p.foreach(at)
	case p.take("OPTIONAL", "CALL"):
		return p.call(at, true)
	case p.take("CALL"):
		return p.call(at, false)
	case p.take("LOAD", "CSV"):
		return p.loadCSV(at)
	case p.take("FINISH"):
		return &ast.Finish{At: at}
	}
	return nil
}

// letItem reads variable = value.
func (p *parser) letItem() *ast.ProjectionItem {
	item := &ast.ProjectionItem{At: p.here(), Alias: p.variable()}
	p.needSign("=")
	start := p.i
	item.Expr = p.expr()
	item.Text = p.text[p.tokens[start].start:p.tokens[p.i-1].end]
	return item
}

func (p *parser) where() ast.Expr {
	if p.take("WHERE") {
		return p.expr()
	}
	return nil
}

func (p *parser) match(at ast.At, optional bool) ast.Clause {
	m := &ast.Match{At: at, Optional: optional}
	switch {
	case p.take("REPEATABLE", "ELEMENTS"), p.take("REPEATABLE", "ELEMENT"):
		m.Mode = ast.MatchRepeatable
	case p.take("DIFFERENT", "RELATIONSHIPS"), p.take("DIFFERENT", "RELATIONSHIP"):
		m.Mode = ast.MatchDifferent
	}
	before := p.patternElements
	m.Pattern = p.pattern()
	if p.patternElements-before > maxMatch {
		p.tooLarge("a MATCH has more than %d nodes and relationships", maxMatch)
	}
	for p.is("USING") {
		m.Hints = append(m.Hints, p.hint())
	}
	if p.is("SEARCH") {
		m.Search = p.indexSearch()
	}
	m.Where = p.where()
	return m
}

func (p *parser) indexSearch() *ast.IndexSearch {
	s := &ast.IndexSearch{At: p.here()}
	p.need("SEARCH")
	s.Variable = p.variable()
	p.need("IN")
	p.needSign("(")
	p.need("VECTOR")
	p.need("INDEX")
	s.Index = p.name("an index")
	p.need("FOR")
	s.For = p.expr()
	s.Where = p.where()
	p.need("LIMIT")
	s.Limit = p.expr()
	p.needSign(")")
	if p.take("SCORE") {
		p.need("AS")
		s.Score = p.variable()
	}
	return s
}

func (p *parser) hint() *ast.Hint {
	h := &ast.Hint{At: p.here()}
	p.need("USING")
	switch {
	case p.take("JOIN"):
		p.need("ON")
		h.Kind, h.Variables = ast.HintJoin, commas(p, p.variable)
		return h
	case p.take("SCAN"):
		h.Kind = ast.HintScan
	default:
		if p.oneOf("RANGE", "TEXT", "POINT") == "" || !p.is("INDEX") {
			p.need("INDEX")
		} else {
			p.next()
		}
		p.take("SEEK")
		h.Kind = ast.HintIndex
	}
	h.Variables = []*ast.Variable{p.variable()}
	p.needSign(":")
	h.Label = p.name("a label")
	if h.Kind == ast.HintIndex {
		p.needSign("(")
		h.Properties = commas(p, p.key)
		p.needSign(")")
	}
	return h
}

func (p *parser) key() string { return p.name("a property key") }

func (p *parser) projection() *ast.Projection {
	n := &ast.Projection{At: p.here(), Distinct: p.take("DISTINCT")}
	if !n.Distinct && p.is("ALL") && !p.peekAt(1).sign("(") && (p.peekAt(1).kind != tokPunct || p.peekAt(1).sign("*")) && p.peekAt(1).kind != tokEOF && !p.peekAt(1).is("AS") {
		p.next()
	}
	n.Star = p.takeSign("*")
	if !n.Star || p.takeSign(",") {
		n.Items = commas(p, p.projectionItem)
	}
	p.tail(n)
	return n
}

func (p *parser) projectionItem() *ast.ProjectionItem {
	start := p.i
	item := &ast.ProjectionItem{At: p.here(), Expr: p.expr()}
	item.Text = p.text[p.tokens[start].start:p.tokens[p.i-1].end]
	if p.take("AS") {
		item.Alias = p.variable()
	}
	return item
}

// tail reads ORDER BY, SKIP and LIMIT.
func (p *parser) tail(n *ast.Projection) {
	if p.take("ORDER", "BY") {
		n.OrderBy = commas(p, p.sortItem)
	}
	if p.take("SKIP") || p.take("OFFSET") {
		n.Skip = p.expr()
	}
	if p.take("LIMIT") {
		n.Limit = p.expr()
	}
}

func (p *parser) sortItem() *ast.SortItem {
	s := &ast.SortItem{At: p.here(), Expr: p.expr()}
	switch p.oneOf("ASCENDING", "ASC", "DESCENDING", "DESC") {
	case "DESC", "DESCENDING":
		s.Desc = true
	}
	return s
}

func (p *parser) merge(at ast.At) ast.Clause {
	m := &ast.Merge{At: at, Path: p.path()}
	unwrap(m.Path)
	for p.is("ON") {
		p.next()
		switch p.oneOf("CREATE", "MATCH") {
		case "CREATE":
			p.need("SET")
			m.OnCreate = append(m.OnCreate, commas(p, p.setItem)...)
		case "MATCH":
			p.need("SET")
			m.OnMatch = append(m.OnMatch, commas(p, p.setItem)...)
		default:
			p.unexpected("CREATE or MATCH")
		}
	}
	return m
}

func (p *parser) setItem() ast.SetItem {
	at := p.here()
	if p.peek().name() {
		switch t := p.peekAt(1); {
		case t.sign(":"), t.is("IS"):
			return &ast.SetLabels{At: at, Variable: p.variable(), Labels: p.labelNames()}
		case t.sign("="), t.sign("+="):
			v := p.variable()
			p.next()
			return &ast.SetProperties{At: at, Variable: v, Value: p.expr(), Add: t.sign("+=")}
		}
	}
	target := p.target()
	p.needSign("=")
	return &ast.SetProperty{At: at, Target: target, Value: p.expr()}
}

func (p *parser) removeItem() ast.RemoveItem {
	at := p.here()
	if p.peek().name() && (p.peekAt(1).sign(":") || p.peekAt(1).is("IS")) {
		return &ast.RemoveLabels{At: at, Variable: p.variable(), Labels: p.labelNames()}
	}
	return &ast.RemoveProperty{At: at, Target: p.target()}
}

// target reads the property that SET or REMOVE changes.
func (p *parser) target() ast.Expr {
	at := p.here()
	e := p.postfix(false)
	switch e.(type) {
	case *ast.Property, *ast.Index:
	default:
		p.fail(graph.SyntaxError(unexpectedSyntax, at.Pos, "expected a property (variable.key), a map to set or labels"))
	}
	return e
}

// labelNames reads :A:$(b), or the same with IS.
func (p *parser) labelNames() []ast.LabelExpr {
	var labels []ast.LabelExpr
	for p.takeSign(":") || len(labels) == 0 && p.take("IS") || len(labels) > 0 && p.takeSign("&") {
		labels = append(labels, p.labelName("a label"))
	}
	return labels
}

func (p *parser) foreach(at ast.At) ast.Clause {
	p.enter()
	defer p.leave()
	c := &ast.Foreach{At: at}
	p.needSign("(")
	c.Variable = p.variable()
	p.need("IN")
	p.bars(true, func() { c.List = p.expr() })
	p.needSign("|")
	p.bars(false, func() { c.Clauses = p.singleQuery().Clauses })
	p.needSign(")")
	return c
}

func (p *parser) call(at ast.At, optional bool) ast.Clause {
	if p.isSign("{") || p.isSign("(") {
		return p.callSubquery(at, optional)
	}
	c := &ast.CallProcedure{At: at, Optional: optional, Name: p.dotted("a procedure's name")}
	if p.takeSign("(") {
		if !p.isSign(")") {
			c.Args = commas(p, p.expr)
		}
		p.needSign(")")
	} else {
		c.Implicit = true
	}
	if p.is("YIELD") {
		c.Yield = p.yield()
	}
	return c
}

func (p *parser) yield() *ast.Yield {
	y := &ast.Yield{At: p.here()}
	p.need("YIELD")
	switch {
	case p.takeSign("*"):
		y.Star = true
	case p.takeSign("-"):
	default:
		y.Items = commas(p, p.yieldItem)
	}
	y.Where = p.where()
	return y
}

func (p *parser) yieldItem() *ast.YieldItem {
	i := &ast.YieldItem{At: p.here(), Field: p.variable().Name}
	if p.take("AS") {
		i.Alias = p.variable()
	}
	return i
}

func (p *parser) callSubquery(at ast.At, optional bool) ast.Clause {
	c := &ast.CallSubquery{At: at, Optional: optional}
	if p.takeSign("(") {
		c.Scoped = true
		if c.ImportAll = p.takeSign("*"); !c.ImportAll && !p.isSign(")") {
			c.Imports = commas(p, p.variable)
		}
		p.needSign(")")
	}
	p.needSign("{")
	p.bars(false, func() { c.Query = p.query() })
	p.needSign("}")
	if p.is("IN") {
		c.InTransactions = p.inTransactions()
	}
	return c
}

func (p *parser) inTransactions() *ast.InTransactions {
	t := &ast.InTransactions{At: p.here()}
	p.need("IN")
	if !p.is("TRANSACTIONS") && !p.is("TRANSACTION") && !p.is("CONCURRENT") {
		t.Workers = p.expr()
		p.need("CONCURRENT")
		t.Concurrent = true
	} else {
		t.Concurrent = p.take("CONCURRENT")
	}
	if p.oneOf("TRANSACTIONS", "TRANSACTION") == "" {
		p.unexpected("TRANSACTIONS")
	}
	for {
		switch {
		case t.Rows == nil && p.take("OF"):
			t.Rows = p.expr()
			if p.oneOf("ROWS", "ROW") == "" {
				p.unexpected("ROWS")
			}
		case p.take("ON", "ERROR"):
			switch p.oneOf("CONTINUE", "BREAK", "FAIL") {
			case "CONTINUE":
				t.OnError = ast.OnErrorContinue
			case "BREAK":
				t.OnError = ast.OnErrorBreak
			case "FAIL":
				t.OnError = ast.OnErrorFail
			default:
				p.unexpected("CONTINUE, BREAK or FAIL")
			}
		case t.Report == nil && p.take("REPORT", "STATUS", "AS"):
			t.Report = p.variable()
		default:
			return t
		}
	}
}

func (p *parser) loadCSV(at ast.At) ast.Clause {
	c := &ast.LoadCSV{At: at, Headers: p.take("WITH", "HEADERS")}
	p.need("FROM")
	c.URL = p.expr()
	p.need("AS")
	c.Variable = p.variable()
	if p.take("FIELDTERMINATOR") {
		at := p.here()
		if p.peek().kind != tokString {
			p.unexpected("a string")
		}
		c.Terminator = &ast.StringLit{At: at, Value: p.next().text}
	}
	return c
}
