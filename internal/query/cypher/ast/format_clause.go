package ast

import "strings"

func (p *printer) clause(c Clause) {
	switch c := c.(type) {
	case *Match:
		p.putIf(c.Optional, "OPTIONAL ")
		p.put("MATCH ", [...]string{"", "DIFFERENT RELATIONSHIPS ", "REPEATABLE ELEMENTS "}[c.Mode])
		list(p, c.Pattern, p.path)
		for _, h := range c.Hints {
			p.put(" ")
			p.hint(h)
		}
		if c.Search != nil {
			p.search(c.Search)
		}
		p.where(c.Where)
	case *Unwind:
		p.put("UNWIND ")
		p.expr(c.List, precLowest)
		p.put(" AS ")
		p.variable(c.Variable)
	case *With:
		p.with(c)
	case *Return:
		p.put("RETURN ")
		p.projection(c.Projection)
	case *Create:
		p.put("CREATE ")
		list(p, c.Pattern, p.path)
	case *Merge:
		p.merge(c)
	case *Set:
		p.set(c.Items)
	case *Remove:
		p.put("REMOVE ")
		list(p, c.Items, p.removeItem)
	case *Delete:
		p.putIf(c.Detach, "DETACH ")
		p.put("DELETE ")
		list(p, c.Exprs, func(e Expr) { p.expr(e, precLowest) })
	case *Foreach:
		p.foreach(c)
	case *CallProcedure:
		p.callProcedure(c)
	case *CallSubquery:
		p.callSubquery(c)
	case *LoadCSV:
		p.loadCSV(c)
	case *Finish:
		p.put("FINISH")
	case *Braces:
		p.braced(func() { p.query(c.Query) })
	case *Conditional:
		for i, b := range c.Branches {
			p.putIf(i > 0, p.separator)
			p.branch(b)
		}
	}
}

func (p *printer) branch(b *ConditionalBranch) {
	if b.When == nil {
		p.put("ELSE ")
	} else {
		p.put("WHEN ")
		p.expr(b.When, precLowest)
		p.put(" THEN ")
	}
	p.braced(func() { p.query(b.Query) })
}

func (p *printer) hint(h *Hint) {
	switch h.Kind {
	case HintJoin:
		p.put("USING JOIN ON ")
		list(p, h.Variables, p.variable)
		return
	case HintScan:
		p.put("USING SCAN ")
	case HintIndex:
		p.put("USING INDEX ")
	}
	p.variable(h.Variables[0])
	p.put(":")
	p.name(h.Label)
	if h.Kind == HintIndex {
		p.put("(")
		list(p, h.Properties, p.name)
		p.put(")")
	}
}

func (p *printer) with(c *With) {
	switch c.Form {
	case WithLet:
		p.put("LET ")
		list(p, c.Projection.Items, func(i *ProjectionItem) {
			p.variable(i.Alias)
			p.put(" = ")
			p.expr(i.Expr, precLowest)
		})
	case WithFilter:
		p.put("FILTER ")
		p.expr(c.Where, precLowest)
	case WithOrder:
		tail := printer{separator: p.separator, full: p.full, fold: p.fold}
		tail.tail(c.Projection)
		p.put(strings.TrimPrefix(tail.b.String(), " "))
	default:
		p.put("WITH ")
		p.projection(c.Projection)
		p.where(c.Where)
	}
}

func (p *printer) projection(n *Projection) {
	p.putIf(n.Distinct, "DISTINCT ")
	if n.Star {
		p.put("*")
		p.putIf(len(n.Items) > 0, ", ")
	}
	list(p, n.Items, p.projectionItem)
	p.tail(n)
}

// tail writes ORDER BY, SKIP and LIMIT.
func (p *printer) tail(n *Projection) {
	if len(n.OrderBy) > 0 {
		p.put(" ORDER BY ")
		list(p, n.OrderBy, p.sortItem)
	}
	if n.Skip != nil {
		p.put(" SKIP ")
		p.expr(n.Skip, precLowest)
	}
	if n.Limit != nil {
		p.put(" LIMIT ")
		p.expr(n.Limit, precLowest)
	}
}

func (p *printer) projectionItem(i *ProjectionItem) {
	p.expr(i.Expr, precLowest)
	if i.Alias != nil {
		p.put(" AS ")
		p.variable(i.Alias)
	}
}

func (p *printer) sortItem(s *SortItem) {
	p.expr(s.Expr, precLowest)
	p.putIf(s.Desc, " DESC")
}

func (p *printer) merge(c *Merge) {
	p.put("MERGE ")
	p.path(c.Path)
	if len(c.OnCreate) > 0 {
		p.put(" ON CREATE ")
		p.set(c.OnCreate)
	}
	if len(c.OnMatch) > 0 {
		p.put(" ON MATCH ")
		p.set(c.OnMatch)
	}
}

func (p *printer) set(items []SetItem) {
	p.put("SET ")
	list(p, items, p.setItem)
}

func (p *printer) setItem(item SetItem) {
	switch i := item.(type) {
	case *SetProperty:
		p.expr(i.Target, precPostfix)
		p.put(" = ")
		p.expr(i.Value, precLowest)
	case *SetProperties:
		p.variable(i.Variable)
		p.putIf(!i.Add, " = ")
		p.putIf(i.Add, " += ")
		p.expr(i.Value, precLowest)
	case *SetLabels:
		p.labelled(i.Variable, i.Labels)
	}
}

func (p *printer) removeItem(item RemoveItem) {
	switch i := item.(type) {
	case *RemoveProperty:
		p.expr(i.Target, precPostfix)
	case *RemoveLabels:
		p.labelled(i.Variable, i.Labels)
	}
}

func (p *printer) labelled(v *Variable, labels []LabelExpr) {
	p.variable(v)
	for _, l := range labels {
		p.put(":")
		p.label(l, labelNot)
	}
}

func (p *printer) foreach(c *Foreach) {
	outer := p.separator
	p.separator = " "
	p.put("FOREACH (")
	p.variable(c.Variable)
	p.put(" IN ")
	p.expr(c.List, precLowest)
	p.put(" | ")
	p.clauses(c.Clauses)
	p.put(")")
	p.separator = outer
}

func (p *printer) callProcedure(c *CallProcedure) {
	p.putIf(c.Optional, "OPTIONAL ")
	p.put("CALL ", QuoteDotted(c.Name))
	if !c.Implicit {
		p.put("(")
		list(p, c.Args, func(e Expr) { p.expr(e, precLowest) })
		p.put(")")
	}
	if c.Yield != nil {
		p.put(" ")
		p.yield(c.Yield)
	}
}

func (p *printer) yield(y *Yield) {
	p.put("YIELD ")
	p.putIf(y.Star, "*")
	p.putIf(!y.Star && len(y.Items) == 0, "-")
	list(p, y.Items, p.yieldItem)
	p.where(y.Where)
}

func (p *printer) yieldItem(i *YieldItem) {
	p.put(QuoteVariable(i.Field))
	if i.Alias != nil {
		p.put(" AS ")
		p.variable(i.Alias)
	}
}

func (p *printer) callSubquery(c *CallSubquery) {
	p.putIf(c.Optional, "OPTIONAL ")
	p.put("CALL ")
	if c.Scoped {
		p.put("(")
		p.putIf(c.ImportAll, "*")
		list(p, c.Imports, p.variable)
		p.put(") ")
	}
	p.braced(func() { p.query(c.Query) })
	if c.InTransactions != nil {
		p.put(" ")
		p.inTransactions(c.InTransactions)
	}
}

func (p *printer) inTransactions(t *InTransactions) {
	p.put("IN ")
	if t.Workers != nil {
		p.expr(t.Workers, precLowest)
		p.put(" ")
	}
	p.putIf(t.Concurrent, "CONCURRENT ")
	p.put("TRANSACTIONS")
	if t.Rows != nil {
		p.put(" OF ")
		p.expr(t.Rows, precLowest)
		p.put(" ROWS")
	}
	p.put([]string{"", " ON ERROR CONTINUE", " ON ERROR BREAK"}[t.OnError])
	if t.Report != nil {
		p.put(" REPORT STATUS AS ")
		p.variable(t.Report)
	}
}

func (p *printer) loadCSV(c *LoadCSV) {
	p.put("LOAD CSV ")
	p.putIf(c.Headers, "WITH HEADERS ")
	p.put("FROM ")
	p.expr(c.URL, precLowest)
	p.put(" AS ")
	p.variable(c.Variable)
	if c.Terminator != nil {
		p.put(" FIELDTERMINATOR ")
		p.expr(c.Terminator, precLowest)
	}
}

func (p *printer) search(s *IndexSearch) {
	p.put(" SEARCH ")
	p.variable(s.Variable)
	p.put(" IN (VECTOR INDEX ")
	p.name(s.Index)
	p.put(" FOR ")
	p.expr(s.For, precLowest)
	p.where(s.Where)
	p.put(" LIMIT ")
	p.expr(s.Limit, precLowest)
	p.put(")")
	if s.Score != nil {
		p.put(" SCORE AS ")
		p.variable(s.Score)
	}
}
