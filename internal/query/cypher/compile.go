package cypher

import (
	"strings"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/check"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// Compile turns the text of a statement into a plan or into a command; the other is nil. Every error is a *graph.Error
// with a position.
func Compile(text string, opts Options) (q *plan.Query, c Command, err error) {
	defer steps.Catch(&err)
	stmt, err := parse.CountedStatement(text, opts.Steps)
	if err != nil {
		return nil, nil, err
	}
	if err := searches(stmt); err != nil {
		return nil, nil, err
	}
	procs, err := opts.called(stmt)
	if err != nil {
		return nil, nil, err
	}
	if err := check.Statement(stmt, check.Options{Procedures: procs, ProcedureNames: opts.ProcedureNames, Steps: opts.Steps, Results: opts.Results}); err != nil {
		return nil, nil, err
	}
	switch stmt.Body.(type) {
	case *ast.Query, *ast.Show:
		if _, ok := stmt.Body.(*ast.Query); ok {
			lift(stmt, opts.Literals)
		}
		q, err := bind(stmt, opts)
		return q, nil, err
	}
	b := newBinder(opts)
	c = (&commands{b}).command(stmt)
	if b.err != nil {
		return nil, nil, b.err
	}
	return nil, c, nil
}

// called returns the signatures of the procedures that a statement calls.
func (o *Options) called(stmt *ast.Statement) (procs map[string]check.Procedure, err error) {
	procs = map[string]check.Procedure{}
	ast.Inspect(stmt, func(n ast.Node) bool {
		o.Steps.Add(1)
		c, ok := n.(*ast.CallProcedure)
		if !ok {
			return err == nil
		}
		if sig, ok := o.procedure(c.Name); ok {
			procs[strings.ToLower(c.Name)], err = check.ParseProcedure(sig.String())
		}
		return err == nil
	})
	return procs, err
}
