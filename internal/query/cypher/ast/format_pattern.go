package ast

func (p *printer) path(n *PathPattern) {
	if n.Variable != nil {
		p.variable(n.Variable)
		p.put(" = ")
	}
	switch n.Search {
	case SearchShortestPath:
		p.put("shortestPath(")
	case SearchAllShortestPaths:
		p.put("allShortestPaths(")
	case SearchShortest, SearchShortestGroups:
		p.put("SHORTEST ")
		p.count(n.Count)
		p.putIf(n.Search == SearchShortestGroups, "GROUPS ")
	case SearchAllShortest:
		p.put("ALL SHORTEST ")
	case SearchAny:
		p.put("ANY ")
		p.count(n.Count)
	case SearchNone:
	}
	for _, e := range n.Elements {
		p.element(e)
	}
	p.putIf(n.Search == SearchShortestPath || n.Search == SearchAllShortestPaths, ")")
}

func (p *printer) count(e Expr) {
	if e != nil {
		p.expr(e, precPostfix)
		p.put(" ")
	}
}

func (p *printer) element(e PathElement) {
	switch e := e.(type) {
	case *NodePattern:
		p.put("(")
		p.inside(e.Variable, e.Labels, nil, e.Properties, e.Where)
		p.put(")")
	case *RelationshipPattern:
		p.relationship(e)
	case *SubpathPattern:
		p.put("(")
		p.path(e.Path)
		p.where(e.Where)
		p.put(")")
		p.quantifier(e.Quantifier)
	}
}

func (p *printer) relationship(e *RelationshipPattern) {
	p.putIf(e.Direction == DirectionIn, "<")
	p.put("-")
	if e.Variable != nil || e.Types != nil || e.Length != nil || e.Properties != nil || e.Where != nil {
		p.put("[")
		p.inside(e.Variable, e.Types, e.Length, e.Properties, e.Where)
		p.put("]")
	}
	p.put("-")
	p.putIf(e.Direction == DirectionOut, ">")
	p.quantifier(e.Quantifier)
}

// inside writes the text between the brackets of a node or relationship pattern.
func (p *printer) inside(v *Variable, labels LabelExpr, length *Range, properties, where Expr) {
	space := ""
	if v != nil {
		p.variable(v)
		space = " "
	}
	if labels != nil {
		p.put(":")
		p.label(labels, labelLowest)
		space = " "
	}
	if length != nil {
		p.length(length)
		space = " "
	}
	if properties != nil {
		p.put(space)
		p.expr(properties, precLowest)
		space = " "
	}
	if where != nil {
		p.put(space, "WHERE ")
		p.expr(where, precLowest)
	}
}

// length writes the length of a relationship pattern.
func (p *printer) length(r *Range) {
	p.put("*")
	if r.Min != nil {
		p.expr(r.Min, precLowest)
	}
	if r.Min != nil && r.Max != nil && Equal(r.Min, r.Max) {
		return
	}
	p.putIf(r.Min != nil || r.Max != nil, "..")
	if r.Max != nil {
		p.expr(r.Max, precLowest)
	}
}

func (p *printer) quantifier(r *Range) {
	if r == nil {
		return
	}
	minimum, isInt := r.Min.(*IntLit)
	switch {
	case r.Max == nil && isInt && minimum.Value == 0:
		p.put("*")
	case r.Max == nil && isInt && minimum.Value == 1:
		p.put("+")
	default:
		p.put("{")
		p.expr(r.Min, precLowest)
		if r.Max == nil || !Equal(r.Min, r.Max) {
			p.put(",")
		}
		if r.Max != nil && !Equal(r.Min, r.Max) {
			p.expr(r.Max, precLowest)
		}
		p.put("}")
	}
}

// The binding strengths of label operators.
const (
	labelLowest = iota
	labelOr
	labelAnd
	labelNot
)

// label writes a label expression with parentheses if it binds weaker than min.
func (p *printer) label(l LabelExpr, min int) {
	switch l := l.(type) {
	case *LabelName:
		p.name(l.Name)
	case *LabelOf:
		p.put("$")
		p.putIf(l.Any, "any")
		p.put("(")
		p.expr(l.Expr, precLowest)
		p.put(")")
	case *LabelAny:
		p.put("%")
	case *LabelNot:
		p.put("!")
		p.label(l.Operand, labelNot)
	case *LabelAnd:
		sign := "&"
		if _, _, ok := Named(l); ok && min == labelLowest && !p.full {
			sign = ":"
		}
		p.labels(l.Operands, sign, labelAnd, min)
	case *LabelOr:
		p.labels(l.Operands, "|", labelOr, min)
	}
}

func (p *printer) labels(operands []LabelExpr, sign string, strength, min int) {
	paren := strength < min || p.full && min > labelLowest
	p.putIf(paren, "(")
	for i, o := range operands {
		p.putIf(i > 0, sign)
		p.label(o, strength+1)
	}
	p.putIf(paren, ")")
}
