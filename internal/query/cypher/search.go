package cypher

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// searches replaces each MATCH with a SEARCH by the subquery that it stands for: a search of the index, whose rows come with the most
// similar first, so that those which meet the conditions of the SEARCH are its best ones, and then the MATCH from what it found.
//
//	MATCH (n:L) SEARCH n IN (VECTOR INDEX i FOR q WHERE p LIMIT k) SCORE AS s WHERE w
//
//	CALL (*) {
//	  CALL db.index.vector.queryNodes('i', …, q) YIELD node AS n, score AS s WHERE p
//	  WITH * LIMIT k
//	  MATCH (n:L) WHERE w
//	  RETURN n, s
//	}
func searches(stmt *ast.Statement) (err error) {
	ast.Inspect(stmt, func(n ast.Node) bool {
		q, ok := n.(*ast.SingleQuery)
		if !ok {
			return err == nil
		}
		for i, c := range q.Clauses {
			if m, ok := c.(*ast.Match); ok && m.Search != nil && err == nil {
				q.Clauses[i], err = searched(m)
			}
		}
		return err == nil
	})
	return err
}

func searched(m *ast.Match) (ast.Clause, error) {
	s := m.Search
	field, err := searchedField(m)
	if err != nil {
		return nil, err
	}
	for _, e := range []ast.Expr{s.For, s.Limit} {
		if names(e, s.Variable.Name) {
			return nil, graph.SyntaxError("InvalidArgumentValue", e.Position(), "SEARCH looks for %s, so its vector and its LIMIT may not depend on it", s.Variable.Name)
		}
	}
	call := &ast.CallProcedure{At: s.At, Name: "db.index.vector.query" + map[string]string{"node": "Nodes", "relationship": "Relationships"}[field]}
	call.Yield = &ast.Yield{At: s.At, Items: []*ast.YieldItem{{At: s.At, Field: field, Alias: s.Variable}}, Where: s.Where}
	out := []*ast.ProjectionItem{{At: s.At, Expr: s.Variable, Text: s.Variable.Name}}
	if s.Score != nil {
		call.Yield.Items = append(call.Yield.Items, &ast.YieldItem{At: s.At, Field: "score", Alias: s.Score})
		out = append(out, &ast.ProjectionItem{At: s.At, Expr: s.Score, Text: s.Score.Name})
	}
	clauses, most := []ast.Clause{call}, s.Limit
	if s.Where != nil {
		most = &ast.IntLit{At: s.At, Value: math.MaxInt32}
		clauses = append(clauses, &ast.With{At: s.At, Projection: &ast.Projection{At: s.At, Star: true, Limit: s.Limit}})
	}
	call.Args = []ast.Expr{&ast.StringLit{At: s.At, Value: s.Index}, most, s.For}
	rest := *m
	rest.Optional, rest.Search = false, nil
	clauses = append(clauses, &rest, &ast.Return{At: s.At, Projection: &ast.Projection{At: s.At, Items: out}})
	return &ast.CallSubquery{
		At: m.At, Optional: m.Optional, Scoped: true, ImportAll: true,
		Query: &ast.Query{At: s.At, Parts: []*ast.SingleQuery{{At: s.At, Clauses: clauses}}},
	}, nil
}

// searchedField returns what the index of a SEARCH yields: a node or a relationship, as the pattern has it. The pattern is one node or one
// relationship, and has no other variable.
func searchedField(m *ast.Match) (field string, err error) {
	s := m.Search
	tooComplex := func() error {
		return graph.SyntaxError("UnexpectedSyntax", m.Pattern[0].Position(), "a MATCH with a SEARCH has one node or one relationship; use a second MATCH for the rest of the pattern")
	}
	if len(m.Pattern) != 1 || len(m.Pattern[0].Elements) > 3 || m.Pattern[0].Search != 0 {
		return "", tooComplex()
	}
	other := func(v *ast.Variable) error {
		if v == nil || v.Name == s.Variable.Name {
			return nil
		}
		return graph.SyntaxError("UnexpectedSyntax", v.Position(), "a MATCH with a SEARCH has one variable, and %s is another one than %s", v.Name, s.Variable.Name)
	}
	if err := other(m.Pattern[0].Variable); err != nil {
		return "", err
	}
	for _, e := range m.Pattern[0].Elements {
		var v *ast.Variable
		kind := "node"
		switch e := e.(type) {
		case *ast.NodePattern:
			v = e.Variable
		case *ast.RelationshipPattern:
			if e.Length != nil || e.Quantifier != nil {
				return "", tooComplex()
			}
			v, kind = e.Variable, "relationship"
		default:
			return "", tooComplex()
		}
		if err := other(v); err != nil {
			return "", err
		}
		if v != nil {
			field = kind
		}
	}
	if field == "" {
		return "", graph.SyntaxError("UndefinedVariable", s.Variable.Position(), "SEARCH looks for %s, which is not in the pattern", s.Variable.Name)
	}
	return field, nil
}

// names reports whether an expression has a variable.
func names(e ast.Expr, variable string) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if v, ok := n.(*ast.Variable); ok && v.Name == variable {
			found = true
		}
		return !found
	})
	return found
}
