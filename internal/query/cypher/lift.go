package cypher

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
)

// literalPrefix begins the names of parameters that replace literals.
const literalPrefix = "literal "

// literalNames are the names of the first literals, which each run of a cached plan looks up.
var literalNames = func() (names [64]string) {
	for i := range names {
		names[i] = literalPrefix + strconv.Itoa(i)
	}
	return names
}()

// LiteralName returns the name of the parameter that replaces literal i.
func LiteralName(i int) string {
	if i < len(literalNames) {
		return literalNames[i]
	}
	return literalPrefix + strconv.Itoa(i)
}

// IsLiteralName reports whether a parameter's name is a LiteralName.
func IsLiteralName(name string) bool { return strings.HasPrefix(name, literalPrefix) }

// lifter replaces literals whose value does not affect the plan by parameters: values that properties are compared with, looked up
// by or set to and, in statements that do not write, SKIP and LIMIT. Other literals stay: in the items of WITH and RETURN they are
// part of a column's name, and one expression finds another by its text; the plan depends on those in lengths of paths, arguments of
// functions and unwound lists.
type lifter struct {
	literals []parse.Literal
	at       map[int]int // their numbers by their offset
	writes   bool
}

func lift(stmt *ast.Statement, literals []parse.Literal) {
	if stmt.Mode != ast.ModeRun || len(literals) == 0 {
		return // EXPLAIN and PROFILE show the original literals
	}
	l := &lifter{literals: literals, at: make(map[int]int, len(literals))}
	for i := range literals {
		l.at[literals[i].Offset] = i
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.Create, *ast.Merge, *ast.Set, *ast.Remove, *ast.Delete, *ast.Foreach, *ast.CallProcedure:
			l.writes = true
		}
		return !l.writes
	})
	ast.Inspect(stmt, l.visit)
}

func (l *lifter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Call, *ast.CallProcedure, *ast.Unwind, *ast.LoadCSV:
		return false
	case *ast.Return:
		l.bounds(n.Projection)
		return false
	case *ast.With:
		l.bounds(n.Projection)
		if n.Where != nil && !hasLiteral(n.Projection) {
			ast.Inspect(n.Where, l.visit)
		}
		return false
	case *ast.NodePattern:
		l.entries(n.Properties)
	case *ast.RelationshipPattern:
		l.entries(n.Properties)
	case *ast.SetProperty:
		l.one(&n.Value)
	case *ast.Comparison:
		l.one(&n.First)
		for _, s := range n.Steps {
			l.one(&s.Right)
		}
	case *ast.Binary:
		l.binary(n)
	}
	return true
}

func (l *lifter) binary(n *ast.Binary) {
	switch n.Op {
	case ast.OpStartsWith, ast.OpEndsWith, ast.OpContains:
		l.one(&n.Right)
	case ast.OpIn:
		if list, ok := n.Right.(*ast.ListLit); ok {
			for i := range list.Items {
				l.one(&list.Items[i])
			}
		}
	}
}

// entries lifts the values of a pattern's map.
func (l *lifter) entries(e ast.Expr) {
	if m, ok := e.(*ast.MapLit); ok {
		for _, entry := range m.Entries {
			l.one(&entry.Value)
		}
	}
}

// bounds lifts SKIP and LIMIT. A statement that writes may need no barrier above LIMIT 1.
func (l *lifter) bounds(p *ast.Projection) {
	if l.writes {
		return
	}
	for _, e := range []*ast.Expr{&p.Skip, &p.Limit} {
		if _, ok := (*e).(*ast.IntLit); ok {
			l.one(e)
		}
	}
}

// one replaces a literal by a parameter. A literal after a sign begins elsewhere in the text, and stays.
func (l *lifter) one(e *ast.Expr) {
	switch (*e).(type) {
	case *ast.IntLit, *ast.FloatLit, *ast.StringLit:
	default:
		return
	}
	pos := (*e).Position()
	if i, ok := l.at[pos.Offset]; ok {
		l.literals[i].Lifted = true
		*e = &ast.Parameter{At: ast.At{Pos: pos}, Name: LiteralName(i)}
	}
}

// hasLiteral reports whether an item of a projection, or its order, holds a literal.
func hasLiteral(p *ast.Projection) bool {
	found := false
	see := func(n ast.Node) bool {
		switch n.(type) {
		case *ast.IntLit, *ast.FloatLit, *ast.StringLit:
			found = true
		}
		return !found
	}
	for _, it := range p.Items {
		ast.Inspect(it, see)
	}
	for _, s := range p.OrderBy {
		ast.Inspect(s, see)
	}
	return found
}
