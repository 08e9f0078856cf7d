package parse

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// typeNames maps the words of each type to its main spelling, with longer words before their prefixes.
var typeNames = []struct {
	words []string
	name  string
}{
	{[]string{"TIMESTAMP", "WITHOUT", "TIME", "ZONE"}, "LOCAL DATETIME"},
	{[]string{"TIMESTAMP", "WITH", "TIME", "ZONE"}, "ZONED DATETIME"},
	{[]string{"TIME", "WITHOUT", "TIME", "ZONE"}, "LOCAL TIME"},
	{[]string{"TIME", "WITH", "TIME", "ZONE"}, "ZONED TIME"},
	{[]string{"TIMESTAMP", "WITHOUT", "TIMEZONE"}, "LOCAL DATETIME"},
	{[]string{"TIMESTAMP", "WITH", "TIMEZONE"}, "ZONED DATETIME"},
	{[]string{"TIME", "WITHOUT", "TIMEZONE"}, "LOCAL TIME"},
	{[]string{"TIME", "WITH", "TIMEZONE"}, "ZONED TIME"},
	{[]string{"LOCAL", "DATETIME"}, "LOCAL DATETIME"},
	{[]string{"ZONED", "DATETIME"}, "ZONED DATETIME"},
	{[]string{"LOCAL", "TIME"}, "LOCAL TIME"},
	{[]string{"ZONED", "TIME"}, "ZONED TIME"},
	{[]string{"PROPERTY", "VALUE"}, "PROPERTY VALUE"},
	{[]string{"SIGNED", "INTEGER"}, "INTEGER"},
	{[]string{"ANY", "PROPERTY", "VALUE"}, "PROPERTY VALUE"},
	{[]string{"ANY", "NODE"}, "NODE"},
	{[]string{"ANY", "VERTEX"}, "NODE"},
	{[]string{"ANY", "RELATIONSHIP"}, "RELATIONSHIP"},
	{[]string{"ANY", "EDGE"}, "RELATIONSHIP"},
	{[]string{"ANY", "MAP"}, "MAP"},
	{[]string{"ANY", "VALUE"}, "ANY"},
	{[]string{"ANY"}, "ANY"},
	{[]string{"BOOLEAN"}, "BOOLEAN"},
	{[]string{"BOOL"}, "BOOLEAN"},
	{[]string{"STRING"}, "STRING"},
	{[]string{"VARCHAR"}, "STRING"},
	{[]string{"INTEGER"}, "INTEGER"},
	{[]string{"INT"}, "INTEGER"},
	{[]string{"INTEGER64"}, "INTEGER"},
	{[]string{"INT64"}, "INTEGER"},
	{[]string{"FLOAT"}, "FLOAT"},
	{[]string{"FLOAT64"}, "FLOAT"},
	{[]string{"NUMBER"}, "NUMBER"},
	{[]string{"DATE"}, "DATE"},
	{[]string{"DURATION"}, "DURATION"},
	{[]string{"POINT"}, "POINT"},
	{[]string{"NODE"}, "NODE"},
	{[]string{"VERTEX"}, "NODE"},
	{[]string{"RELATIONSHIP"}, "RELATIONSHIP"},
	{[]string{"EDGE"}, "RELATIONSHIP"},
	{[]string{"MAP"}, "MAP"},
	{[]string{"PATHS"}, "PATH"},
	{[]string{"PATH"}, "PATH"},
	{[]string{"LIST"}, "LIST"},
	{[]string{"ARRAY"}, "LIST"},
	{[]string{"VECTOR"}, "VECTOR"},
	{[]string{"NULL"}, "NULL"},
	{[]string{"NOTHING"}, "NOTHING"},
}

// typ reads a type, with alternatives.
func (p *parser) typ() *ast.Type {
	p.enter()
	defer p.leave()
	at := p.here()
	alternatives := []*ast.Type{p.oneType()}
	for !p.noBar && p.takeSign("|") {
		alternatives = append(alternatives, p.oneType())
	}
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return &ast.Type{At: at, Alternatives: alternatives}
}

func (p *parser) oneType() *ast.Type {
	t := &ast.Type{At: p.here(), Name: p.typeName()}
	switch {
	case (t.Name == "LIST" || t.Name == "ANY") && p.takeSign("<"):
		var inner *ast.Type
		p.bars(false, func() { inner = p.typ() })
		p.needSign(">")
		if t.Name == "ANY" { // ANY<A | B> is A | B
			t = inner
		} else {
			t.Element = inner
		}
	case t.Name == "VECTOR":
		p.vectorType(t)
	case t.Name == "LIST":
		t.Element = &ast.Type{At: t.At, Name: "ANY"}
	}
	if t.Alternatives == nil {
		t.NotNull = p.take("NOT", "NULL") || t.NotNull
	}
	for p.oneOf("LIST", "ARRAY") != "" {
		t = &ast.Type{At: t.At, Name: "LIST", Element: t}
		t.NotNull = p.take("NOT", "NULL")
	}
	return t
}

// vectorType reads the coordinate type and the dimensions of a vector, each of which may be missing.
func (p *parser) vectorType(t *ast.Type) {
	if p.takeSign("<") {
		at := p.here()
		t.Element = &ast.Type{At: at, Name: p.coordinateType(), NotNull: true}
		p.needSign(">")
	}
	if p.takeSign("(") {
		n := p.next()
		if n.kind != tokInt || graph.CheckDimensions(int(min(n.num, math.MaxInt32)), true) != nil {
			p.fail(graph.SyntaxError(unexpectedSyntax, n.pos, "a vector has from 1 to %d dimensions, not %s", graph.MaxDimensions, n.describe()))
		}
		t.Dimensions = int(n.num)
		p.needSign(")")
	}
}

// coordinateType reads the name of a coordinate type and returns its main one. Coordinates are never null, so NOT NULL makes no difference.
func (p *parser) coordinateType() string {
	t := p.next()
	name := t.text
	if t.is("SIGNED") && p.take("INTEGER") {
		name = "SIGNED INTEGER"
	}
	c, ok := graph.ParseCoordinateType(name)
	if !ok || t.kind != tokWord {
		p.fail(graph.SyntaxError(unexpectedSyntax, t.pos, "%s is no coordinate type: there are INTEGER64, INTEGER32, INTEGER16, INTEGER8, FLOAT64 and FLOAT32", t.describe()))
	}
	p.take("NOT", "NULL")
	return c.String()
}

func (p *parser) typeName() string {
	for _, n := range typeNames {
		if p.take(n.words...) {
			return n.name
		}
	}
	p.unexpected("a type (INTEGER, STRING, LIST<…>, …)")
	return ""
}
