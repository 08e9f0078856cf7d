package cypher

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/check"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Variable names a column for the expressions of an Embedding.
type Variable struct {
	Name string
	Col  plan.Col
}

// Embedding binds openCypher expressions and projections within other requests, over columns of the plan that they belong to.
// Errors have positions in the given text.
type Embedding struct{ b *binder }

// Embed creates an embedding into a plan.
func Embed(q *plan.Query, opts Options) *Embedding {
	b := newBinder(opts)
	b.q = q
	return &Embedding{b: b}
}

// Mention records a name that the request reads by.
func (e *Embedding) Mention(m plan.Mention) { e.b.mention(m.Kind, m.Name, m.Pos) }

// Condition binds a condition and returns its conjuncts.
func (e *Embedding) Condition(text string, vars ...Variable) ([]plan.Expr, error) {
	x, err := e.Expr(text, vars...)
	if err != nil {
		return nil, err
	}
	return conjuncts(x), nil
}

// Expr binds an expression over the variables: subqueries, patterns and aggregates are errors.
func (e *Embedding) Expr(text string, vars ...Variable) (plan.Expr, error) {
	x, err := parse.Expression(text)
	if err != nil {
		return nil, err
	}
	if err := plain(x); err != nil {
		return nil, err
	}
	ret := &ast.Projection{At: ast.At{Pos: x.Position()}, Items: []*ast.ProjectionItem{{
		At: ast.At{Pos: x.Position()}, Expr: x, Alias: &ast.Variable{At: ast.At{Pos: x.Position()}, Name: "condition"},
	}}}
	if err := checkProjection(ret, vars); err != nil {
		return nil, err
	}
	e.b.scope = bindings(vars)
	out := e.b.expr(x)
	e.b.scope = scope{}
	return out, e.b.err
}

// plain checks that an expression reads only its row.
func plain(x ast.Expr) (err error) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.Subquery, *ast.PatternComprehension, *ast.PatternPredicate, *ast.PathSearch:
			if err == nil {
				err = graph.SyntaxError("UnexpectedSyntax", n.Position(), "a condition on an edge and a vertex cannot hold a pattern or a subquery")
			}
		}
		return err == nil
	})
	return err
}

// Return binds a projection, in the syntax of RETURN's items, on top of the plan and makes its columns the result.
func (e *Embedding) Return(text string, vars ...Variable) error {
	stmt, err := parse.Statement("RETURN " + text)
	if err != nil {
		return err
	}
	q, ok := stmt.Body.(*ast.Query)
	if !ok || stmt.Mode != ast.ModeRun || len(q.Parts) != 1 || len(q.Parts[0].Clauses) != 1 {
		return graph.SyntaxError("UnexpectedSyntax", stmt.Pos, "the result must be a list of expressions, as after RETURN")
	}
	ret, ok := q.Parts[0].Clauses[0].(*ast.Return)
	if !ok {
		return graph.SyntaxError("UnexpectedSyntax", stmt.Pos, "the result must be a list of expressions, as after RETURN")
	}
	if err := checkProjection(ret.Projection, vars); err != nil {
		return err
	}
	b := e.b
	b.scope = bindings(vars)
	f := &flow{node: b.q.Root}
	r := b.returns(f, ret)
	b.q.Root, b.q.Out, b.q.Names = f.node, r.cols, r.names
	for _, c := range b.q.Out {
		b.refs[c]++
	}
	b.prune()
	return b.err
}

func bindings(vars []Variable) scope {
	var s scope
	for _, v := range vars {
		s = s.with(&binding{name: v.Name, col: v.Col})
	}
	return s
}

// checkProjection checks a projection over variables of any type.
func checkProjection(p *ast.Projection, vars []Variable) error {
	with := &ast.Projection{}
	for _, v := range vars {
		with.Items = append(with.Items, &ast.ProjectionItem{Expr: &ast.NullLit{}, Alias: &ast.Variable{Name: v.Name}})
	}
	return check.Statement(&ast.Statement{Body: &ast.Query{Parts: []*ast.SingleQuery{{Clauses: []ast.Clause{
		&ast.With{Projection: with}, &ast.Return{Projection: p},
	}}}}}, check.Options{})
}
