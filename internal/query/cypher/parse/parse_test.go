package parse

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// TestColumnText keeps the exact text of a column, without its alias and the space around it.
func TestColumnText(t *testing.T) {
	s, err := Statement("RETURN  n . x+1 /* c */ , (a) AS b,`q r`, count( * )")
	require.NoError(t, err)
	var texts, names []string
	ast.Inspect(s, func(n ast.Node) bool {
		if i, ok := n.(*ast.ProjectionItem); ok {
			texts, names = append(texts, i.Text), append(names, i.Name())
		}
		return true
	})
	require.Equal(t, []string{"n . x+1", "(a)", "`q r`", "count( * )"}, texts)
	require.Equal(t, []string{"n . x+1", "b", "q r", "count( * )"}, names)
}

// TestPlaces counts lines, columns and offsets in characters.
func TestPlaces(t *testing.T) {
	s, err := Statement("MATCH (ä)\n  RETURN ä.ö < 2")
	require.NoError(t, err)
	places := map[string]graph.Pos{}
	ast.Inspect(s, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			places[ast.Format(e)] = e.Position()
		}
		return true
	})
	require.Equal(t, graph.Pos{Line: 2, Column: 10, Offset: 19}, places["ä"])
	require.Equal(t, graph.Pos{Line: 2, Column: 11, Offset: 20}, places["ä.ö"])
	require.Equal(t, graph.Pos{Line: 2, Column: 16, Offset: 25}, places["2"])
}

// TestStandalone distinguishes a call that is the whole statement from one within a query.
func TestStandalone(t *testing.T) {
	for text, want := range map[string]bool{"CALL p": true, "CALL p() YIELD x": true, "CALL p() YIELD x RETURN x": false} {
		s, err := Statement(text)
		require.NoError(t, err)
		q, _ := s.Body.(*ast.Query)
		c, _ := q.Parts[0].Clauses[0].(*ast.CallProcedure)
		require.Equal(t, want, c.Standalone, text)
	}
}

// TestDeep takes texts that nest without end: each must fail in an orderly way.
func TestDeep(t *testing.T) {
	const n = 20_000
	for _, open := range []string{"(", "[", "{a:", "NOT ", "-", "f(", "CASE WHEN ", "EXISTS {", "[x IN ", "(a {x:", "all(x IN ", "COUNT { (", "x[", "n:(", "n:!"} {
		_, err := Statement("RETURN " + strings.Repeat(open, n))
		require.Error(t, err, open)
		require.Equal(t, "SyntaxError", graph.AsError(err).Type)
	}
}

// TestLong takes operators in a row: many are fine, and at most the limit.
func TestLong(t *testing.T) {
	for _, op := range []string{" OR 1", " + 1", ".x", "[0]", " < 1", " IS NULL"} {
		s, err := Statement("RETURN 1" + strings.Repeat(op, maxChain-1))
		require.NoError(t, err)
		require.NotEmpty(t, ast.Format(s))
		_, err = Statement("RETURN 1" + strings.Repeat(op, maxChain+2))
		require.ErrorContains(t, err, "in a row")
	}
}

// A statement of too many words fails before they take all memory.
func TestTooLong(t *testing.T) {
	_, err := Statement("RETURN [" + strings.Repeat("1,", maxTokens/2) + "1]")
	require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
}

// TestNoBacktracking reads nested readings that are alike up to their ends, which a parser that goes back would take 2ⁿ steps for.
func TestNoBacktracking(t *testing.T) {
	const n = 100
	_, err := Statement("RETURN " + strings.Repeat("(a {x: ", n) + "1" + strings.Repeat("}) - y", n))
	require.NoError(t, err)
	_, err = Statement("RETURN " + strings.Repeat("[(a {x: ", n) + "1" + strings.Repeat("})--(b)]", n))
	require.NoError(t, err)
}

// TestExpression parses single expressions.
func TestExpression(t *testing.T) {
	e, err := Expression(" p.age >= 18 AND p:Person ")
	require.NoError(t, err)
	require.Equal(t, "p.age >= 18 AND p:Person", ast.Format(e))
	_, err = Expression("1 2")
	require.ErrorContains(t, err, "Invalid input '2'")
	require.True(t, ast.Equal(e, e))
}

// TestCaret points below the place.
func TestCaret(t *testing.T) {
	text := "RETURN\r\n\té x\r\nend"
	require.Equal(t, "\té x\n\t  ^\n", Caret(text, graph.Pos{Line: 2, Column: 4}))
	require.Equal(t, "end\n   ^\n", Caret(text, graph.Pos{Line: 3, Column: 4}))
	require.Empty(t, Caret(text, graph.Pos{}))
	require.Empty(t, Caret(text, graph.Pos{Line: 9, Column: 1}))
}
