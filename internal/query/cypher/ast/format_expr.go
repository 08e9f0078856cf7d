package ast

import (
	"strconv"
	"strings"
)

// The binding strengths of expressions, weakest first.
const (
	precLowest = iota
	precOr
	precXor
	precAnd
	precNot
	precPattern // a pattern predicate, which would swallow a minus sign after it
	precCompare
	precPredicate // IN, STARTS WITH, IS NULL, …
	precAdd
	precMul
	precPow
	precUnary
	precPostfix
	precAtom
)

// binaryOps maps infix operators to their spelling and precedence.
var binaryOps = [...]struct {
	text string
	prec int
}{
	OpOr: {"OR", precOr}, OpXor: {"XOR", precXor}, OpAnd: {"AND", precAnd},
	OpAdd: {"+", precAdd}, OpSub: {"-", precAdd}, OpConcat: {"||", precAdd},
	OpMul: {"*", precMul}, OpDiv: {"/", precMul}, OpMod: {"%", precMul}, OpPow: {"^", precPow},
	OpIn: {"IN", precPredicate}, OpStartsWith: {"STARTS WITH", precPredicate}, OpEndsWith: {"ENDS WITH", precPredicate},
	OpContains: {"CONTAINS", precPredicate}, OpMatches: {"=~", precPredicate},
}

// String is the operator as written.
func (o BinaryOp) String() string { return binaryOps[o].text }

// String is the operator as written.
func (o CompareOp) String() string { return [...]string{"=", "<>", "<", "<=", ">", ">="}[o] }

// String is the operator as written.
func (o UnaryOp) String() string { return [...]string{"NOT", "-", "+"}[o] }

// strength is how tightly an expression's outermost operator binds.
func strength(e Expr) int {
	switch e := e.(type) {
	case *Binary:
		return binaryOps[e.Op].prec
	case *Unary:
		if e.Op == OpNot {
			return precNot
		}
		return precUnary
	case *Comparison:
		return precCompare
	case *IsNull, *IsType, *IsNormalized:
		return precPredicate
	case *PatternPredicate:
		return precPattern
	case *IntLit:
		if e.Value < 0 {
			return precUnary
		}
	case *FloatLit:
		if e.Value < 0 {
			return precUnary
		}
	case *Property, *Index, *Slice:
		return precPostfix
	case *HasLabels:
		return precUnary + 1
	}
	return precAtom
}

// expr writes an expression with parentheses if it binds weaker than min.
func (p *printer) expr(e Expr, min int) {
	s := strength(e)
	paren := s < min || p.full && precLowest < s && s < precUnary && s != precPattern
	if u, ok := e.(*Unary); ok && p.full {
		paren = paren || u.Op != OpNot
	}
	p.putIf(paren, "(")
	p.bare(e)
	p.putIf(paren, ")")
}

// bare writes an expression without parentheses around it.
func (p *printer) bare(e Expr) {
	switch e := e.(type) {
	case *Unary:
		p.unary(e)
	case *Binary:
		op := binaryOps[e.Op]
		p.expr(e.Left, op.prec)
		p.put(" ", op.text, " ")
		p.expr(e.Right, op.prec+1)
	case *Comparison:
		p.expr(e.First, precCompare+1)
		for _, s := range e.Steps {
			p.put(" ")
			p.compareStep(s)
		}
	case *IsNull:
		p.expr(e.Operand, precPredicate)
		p.is(e.Not)
		p.put("NULL")
	case *IsNormalized:
		p.expr(e.Operand, precPredicate)
		p.is(e.Not)
		p.put(e.Form, " NORMALIZED")
	case *IsType:
		p.expr(e.Operand, precPredicate)
		p.is(e.Not)
		p.put(":: ")
		p.typ(e.Type)
	case *HasLabels:
		p.expr(e.Subject, precPostfix)
		p.put(":")
		if _, ok := e.Labels.(*LabelOr); ok { // a bare | could end a comprehension's condition
			p.label(e.Labels, labelAnd)
		} else {
			p.label(e.Labels, labelLowest)
		}
	case *Property:
		p.expr(e.Subject, precPostfix)
		p.put(".", Quote(e.Key))
	case *Index:
		p.expr(e.Subject, precPostfix)
		p.put("[")
		p.expr(e.Index, precLowest)
		p.put("]")
	case *Slice:
		p.slice(e)
	default:
		p.atom(e)
	}
}

func (p *printer) unary(e *Unary) {
	if e.Op == OpNot {
		p.put("NOT ")
		p.expr(e.Operand, precNot)
		return
	}
	p.put(e.Op.String())
	switch e.Operand.(type) {
	case *IntLit, *FloatLit: // a sign right before digits would be part of the literal
		p.put("(")
		p.bare(e.Operand)
		p.put(")")
	default:
		p.expr(e.Operand, precUnary)
	}
}

func (p *printer) is(not bool) {
	p.put(" IS ")
	p.putIf(not, "NOT ")
}

func (p *printer) compareStep(s *CompareStep) {
	p.put(s.Op.String(), " ")
	p.expr(s.Right, precCompare+1)
}

func (p *printer) slice(e *Slice) {
	p.expr(e.Subject, precPostfix)
	p.put("[")
	if e.From != nil {
		p.expr(e.From, precLowest)
	}
	p.put("..")
	if e.To != nil {
		p.expr(e.To, precLowest)
	}
	p.put("]")
}

// atom writes literals, names, calls and everything in brackets of its own.
func (p *printer) atom(e Expr) {
	switch e := e.(type) {
	case *NullLit:
		p.put("null")
	case *BoolLit:
		p.put(strconv.FormatBool(e.Value))
	case *IntLit:
		p.put(strconv.FormatInt(e.Value, 10))
	case *FloatLit:
		p.put(formatFloat(e.Value))
	case *StringLit:
		p.put(QuoteString(e.Value))
	case *ListLit:
		p.listLit(e)
	case *MapLit:
		p.put("{")
		list(p, e.Entries, p.mapEntry)
		p.put("}")
	case *Variable:
		p.variable(e)
	case *Parameter:
		p.parameter(e)
	case *MapProjection:
		p.mapProjection(e)
	case *ListComprehension:
		p.put("[")
		p.in(e.Variable, e.List, e.Where)
		if e.Projection != nil {
			p.put(" | ")
			p.expr(e.Projection, precLowest)
		}
		p.put("]")
	case *PatternComprehension:
		p.put("[")
		p.path(e.Path)
		p.where(e.Where)
		p.put(" | ")
		p.expr(e.Projection, precLowest)
		p.put("]")
	case *PatternPredicate:
		p.path(e.Path)
	case *PathSearch:
		p.path(e.Path)
	case *Subquery:
		p.subquery(e)
	case *Case:
		p.caseExpr(e)
	case *Quantifier:
		p.put([]string{"all(", "any(", "none(", "single("}[e.Kind])
		p.in(e.Variable, e.List, e.Where)
		p.put(")")
	case *Reduce:
		p.putIf(e.Where == nil, "reduce(")
		p.putIf(e.Where != nil, "allReduce(")
		p.variable(e.Accumulator)
		p.put(" = ")
		p.expr(e.Init, precLowest)
		p.put(", ")
		p.in(e.Variable, e.List, nil)
		p.put(" | ")
		p.expr(e.Body, precLowest)
		if e.Where != nil {
			p.put(", ")
			p.expr(e.Where, precLowest)
		}
		p.put(")")
	case *Call:
		p.call(e)
	case *CountStar:
		p.put("count(*)")
	}
}

// in writes variable IN list WHERE condition.
func (p *printer) in(v *Variable, l, where Expr) {
	p.variable(v)
	p.put(" IN ")
	p.expr(l, precLowest)
	p.where(where)
}

// listLit writes a list; a first item `x IN y` or `x = pattern` would read as a comprehension, so it gets parentheses.
func (p *printer) listLit(e *ListLit) {
	p.put("[")
	for i, it := range e.Items {
		p.putIf(i > 0, ", ")
		min := precLowest
		if i == 0 {
			min = precAdd
		}
		p.expr(it, min)
	}
	p.put("]")
}

func (p *printer) mapEntry(m *MapEntry) {
	p.put(Quote(m.Key), ": ")
	p.expr(m.Value, precLowest)
}

func (p *printer) parameter(e *Parameter) {
	if allDigits(e.Name) {
		p.put("$", e.Name)
		return
	}
	p.put("$", Quote(e.Name))
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (p *printer) mapProjection(e *MapProjection) {
	if v, ok := e.Subject.(*Variable); ok && bracesMeanQuery(v.Name) {
		p.put(quoted(v.Name))
	} else {
		p.expr(e.Subject, precAtom)
	}
	p.put(" {")
	list(p, e.Items, p.mapProjectionItem)
	p.put("}")
}

// bracesMeanQuery reports whether name {…} is a subquery expression.
func bracesMeanQuery(name string) bool {
	return strings.EqualFold(name, "exists") || strings.EqualFold(name, "count") || strings.EqualFold(name, "collect")
}

func (p *printer) mapProjectionItem(i *MapProjectionItem) {
	switch i.Kind {
	case ProjectProperty:
		p.put(".", Quote(i.Name))
	case ProjectAll:
		p.put(".*")
	case ProjectEntry:
		p.put(Quote(i.Name), ": ")
		p.expr(i.Value, precLowest)
	case ProjectVariable:
		p.put(QuoteVariable(i.Name))
	}
}

func (p *printer) subquery(e *Subquery) {
	p.put([]string{"EXISTS ", "COUNT ", "COLLECT "}[e.Kind])
	p.braced(func() {
		if e.Query != nil {
			p.query(e.Query)
			return
		}
		list(p, e.Pattern, p.path)
		p.where(e.Where)
	})
}

func (p *printer) caseExpr(e *Case) {
	p.put("CASE")
	if e.Operand != nil {
		p.put(" ")
		p.expr(e.Operand, precLowest)
	}
	for _, w := range e.Whens {
		p.put(" ")
		p.caseWhen(w)
	}
	if e.Else != nil {
		p.put(" ELSE ")
		p.expr(e.Else, precLowest)
	}
	p.put(" END")
}

func (p *printer) caseWhen(w *CaseWhen) {
	p.put("WHEN ")
	list(p, w.Tests, p.caseTest)
	p.put(" THEN ")
	p.expr(w.Then, precLowest)
}

// caseTest writes a test; that of a predicate leaves the operand out.
func (p *printer) caseTest(t *CaseTest) {
	if !t.Predicate {
		p.expr(t.Expr, precLowest)
		return
	}
	switch e := t.Expr.(type) {
	case *Comparison:
		p.compareStep(e.Steps[0])
	case *Binary:
		p.put(e.Op.String(), " ")
		p.expr(e.Right, precPredicate+1)
	case *IsNull:
		p.put("IS ")
		p.putIf(e.Not, "NOT ")
		p.put("NULL")
	case *IsNormalized:
		p.put("IS ")
		p.putIf(e.Not, "NOT ")
		p.put(e.Form, " NORMALIZED")
	case *IsType:
		p.put("IS ")
		p.putIf(e.Not, "NOT ")
		p.put(":: ")
		p.typ(e.Type)
	}
}

// bracketWords are the function names that have a syntax of their own.
var bracketWords = map[string]bool{
	"all": true, "any": true, "none": true, "single": true, "reduce": true, "shortestpath": true, "allshortestpaths": true,
	"filter": true, "extract": true,
}

func (p *printer) call(e *Call) {
	name := e.Name
	if p.fold {
		name = strings.ToLower(name)
	}
	if bracketWords[strings.ToLower(name)] {
		p.put(quoted(name))
	} else {
		p.put(QuoteDotted(name))
	}
	p.put("(")
	p.putIf(e.Distinct, "DISTINCT ")
	list(p, e.Args, func(a Expr) { p.expr(a, precLowest) })
	p.put(")")
}

// QuoteDotted writes a dotted name, each part in backticks only if it needs them.
func QuoteDotted(name string) string {
	parts := strings.Split(name, ".")
	for i, s := range parts {
		if i == 0 {
			parts[i] = QuoteVariable(s)
		} else {
			parts[i] = Quote(s)
		}
	}
	return strings.Join(parts, ".")
}

// QuoteString writes a string literal.
func QuoteString(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		switch r {
		case '\\', '\'':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if r < 0x20 || 0x7f <= r && r < 0xa0 {
				b.WriteString(`\u` + strconv.FormatInt(0x10000+int64(r), 16)[1:])
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// formatFloat writes a float so that it reads as one.
func formatFloat(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.ContainsAny(s, ".e") {
		return s
	}
	return s + ".0"
}

// typ writes a type, with alternatives in brackets, because a bare | could end a comprehension's condition.
func (p *printer) typ(t *Type) {
	if len(t.Alternatives) > 0 {
		p.put("ANY<")
		for i, a := range t.Alternatives {
			p.putIf(i > 0, " | ")
			p.typ(a)
		}
		p.put(">")
	}
	p.put(t.Name)
	if t.Element != nil {
		p.put("<")
		p.typ(t.Element)
		p.put(">")
	}
	if t.Dimensions > 0 {
		p.put("(" + strconv.Itoa(t.Dimensions) + ")")
	}
	p.putIf(t.NotNull, " NOT NULL")
}
