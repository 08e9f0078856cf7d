package cypher

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

var reactions = map[ast.OnError]plan.OnError{
	ast.OnErrorFail: plan.OnErrorFail, ast.OnErrorContinue: plan.OnErrorContinue, ast.OnErrorBreak: plan.OnErrorBreak,
}

// ownTransactions checks that CALL {…} IN TRANSACTIONS is allowed: reading clauses produce its input rows, and the statement has one
// part.
func (b *binder) ownTransactions(c *ast.CallSubquery) {
	if c.Optional {
		b.unsupported(c, "OPTIONAL CALL {…} IN TRANSACTIONS is")
	}
	if b.wrote {
		b.fail(graph.SyntaxError("InvalidClauseComposition", c.InTransactions.Pos, "CALL {…} IN TRANSACTIONS cannot stand behind a clause that writes"))
	}
	if !b.alone {
		b.fail(graph.SyntaxError("InvalidClauseComposition", c.InTransactions.Pos, "CALL {…} IN TRANSACTIONS cannot stand in a UNION or beside NEXT"))
	}
}

// writing notes that a clause of the statement itself writes. Behind CALL {…} IN TRANSACTIONS none may: the statement has no
// transaction of its own that it could write in.
func (b *binder) writing(c ast.Clause) {
	if len(b.frames) > 0 || !b.fx.writes() || b.commits(c) {
		return
	}
	b.wrote = true
	if b.committed {
		b.fail(graph.SyntaxError("InvalidClauseComposition", c.Position(), "a clause that writes cannot stand behind CALL {…} IN TRANSACTIONS"))
	}
}

// commits reports whether a clause commits by itself.
func (b *binder) commits(c ast.Clause) bool {
	switch c := c.(type) {
	case *ast.CallSubquery:
		return c.InTransactions != nil
	case *ast.CallProcedure:
		sig, _ := b.opts.procedure(c.Name)
		return sig.Own
	}
	return false
}

// ownProcedure checks that a procedure that commits by itself may be called: like CALL {…} IN TRANSACTIONS, by the statement itself.
func (b *binder) ownProcedure(c *ast.CallProcedure) {
	where := ""
	switch {
	case len(b.frames) > 0:
		where = "within another query"
	case b.wrote:
		where = "behind a clause that writes"
	case !b.alone:
		where = "in a UNION or beside NEXT"
	}
	if where != "" {
		b.fail(graph.SyntaxError("InvalidClauseComposition", c.Pos, "%s commits by itself: it cannot stand %s", c.Name, where))
	}
	b.committed = true
}

// inTransactions adds CALL {…} IN TRANSACTIONS on top of f; r is the bound subquery, and together reports whether it may run for
// many rows at once. Its input rows come from one snapshot, so nothing has to wait for them.
func (b *binder) inTransactions(f *flow, c *ast.CallSubquery, r result, together bool) {
	t := c.InTransactions
	n := &plan.Transactions{
		Input: f.node, Sub: r.node, Rows: b.opt(t.Rows), OnError: reactions[t.OnError], Cols: r.cols, Unit: !r.returns, Batched: together,
	}
	if !r.returns {
		n.Sub = &plan.Drain{Input: r.node}
	}
	f.node, f.one = n, false
	f.finish()
	b.committed = true
	for i, name := range r.names {
		b.declare(name, r.cols[i])
	}
	if t.Report != nil {
		n.Report = b.newCol(t.Report.Name, graph.Null)
		b.scalar[n.Report] = true
		b.declare(t.Report.Name, n.Report)
	}
}
