package ast

import "strings"

// Format writes any part of the tree in normal form: keywords in capitals, one clause a line, no needless parentheses, names in
// backticks only if they need them. Parsing the normal form of a statement returns the same tree, except for positions.
func Format(n Node) string {
	p := printer{separator: "\n"}
	p.node(n)
	return p.b.String()
}

// FormatFull writes any part of the tree with parentheses around every operator expression.
func FormatFull(n Node) string {
	p := printer{separator: "\n", full: true}
	p.node(n)
	return p.b.String()
}

// Key returns the text of an expression. Expressions that differ only in positions and in the case of function names have equal
// keys.
func Key(e Expr) string {
	p := printer{separator: " ", fold: true}
	p.node(e)
	return p.b.String()
}

// Equal reports whether two expressions have the same key.
func Equal(a, b Expr) bool { return Key(a) == Key(b) }

// printer writes nodes to b. separator separates clauses: a line break, or a space within braces.
type printer struct {
	b         strings.Builder
	separator string
	full      bool // parentheses around every operator
	fold      bool // function names in small letters
}

func (p *printer) put(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// putIf writes s if the condition holds.
func (p *printer) putIf(cond bool, s string) {
	if cond {
		p.b.WriteString(s)
	}
}

// list writes items with ", " between them.
func list[T any](p *printer, items []T, one func(T)) {
	for i, it := range items {
		p.putIf(i > 0, ", ")
		one(it)
	}
}

func (p *printer) node(n Node) {
	switch n := n.(type) {
	case *Statement:
		p.put([]string{"", "EXPLAIN ", "PROFILE "}[n.Mode])
		if n.Graph != "" {
			p.put("USE ", Quote(n.Graph), " ")
		}
		if n.AsOf != nil {
			p.asOf(n)
		}
		p.node(n.Body)
	case *Query:
		p.query(n)
	case *SingleQuery:
		p.clauses(n.Clauses)
	case Clause:
		p.clause(n)
	case Expr:
		p.expr(n, precLowest)
	case LabelExpr:
		p.label(n, labelLowest)
	case PathElement:
		p.element(n)
	case *PathPattern:
		p.path(n)
	case SetItem:
		p.setItem(n)
	case RemoveItem:
		p.removeItem(n)
	case Body:
		p.command(n)
	default:
		p.part(n)
	}
}

// part writes the nodes that belong to no sum.
func (p *printer) part(n Node) {
	switch n := n.(type) {
	case *Projection:
		p.projection(n)
	case *ProjectionItem:
		p.projectionItem(n)
	case *SortItem:
		p.sortItem(n)
	case *Hint:
		p.hint(n)
	case *ConditionalBranch:
		p.branch(n)
	case *Yield:
		p.yield(n)
	case *YieldItem:
		p.yieldItem(n)
	case *InTransactions:
		p.inTransactions(n)
	case *Range:
		p.length(n)
	case *MapEntry:
		p.mapEntry(n)
	case *MapProjectionItem:
		p.mapProjectionItem(n)
	case *CaseWhen:
		p.caseWhen(n)
	case *CaseTest:
		p.caseTest(n)
	case *CompareStep:
		p.compareStep(n)
	case *Type:
		p.typ(n)
	case *Schema:
		p.schemaPattern(n)
	case *Name:
		p.name(n.Name)
	}
}

func (p *printer) query(q *Query) {
	for i, part := range q.Parts {
		if i > 0 {
			p.put(p.separator, "UNION")
			p.putIf(q.All, " ALL")
			p.put(p.separator)
		}
		p.clauses(part.Clauses)
	}
	if q.Next != nil {
		p.put(p.separator, "NEXT", p.separator)
		p.query(q.Next)
	}
}

func (p *printer) clauses(cs []Clause) {
	for i, c := range cs {
		p.putIf(i > 0, p.separator)
		p.clause(c)
	}
}

// braced writes { … } with everything on one line.
func (p *printer) braced(inside func()) {
	outer := p.separator
	p.separator = " "
	p.put("{ ")
	inside()
	p.put(" }")
	p.separator = outer
}

func (p *printer) name(s string)        { p.put(Quote(s)) }
func (p *printer) variable(v *Variable) { p.put(QuoteVariable(v.Name)) }

func (p *printer) where(e Expr) {
	if e != nil {
		p.put(" WHERE ")
		p.expr(e, precLowest)
	}
}
