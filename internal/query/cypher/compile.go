package cypher

import (
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Compile turns the text of a statement into a plan or into a command; the other is nil. Every error is a *graph.Error
// with a position.
func Compile(text string, opts Options) (*plan.Query, Command, error) {
	stmt, err := parse.Statement(text)
	if err != nil {
		return nil, nil, err
	}
	switch stmt.Body.(type) {
	case *ast.Query, *ast.Show:
		q, err := Bind(stmt, opts)
		return q, nil, err
	}
	b := newBinder(opts)
	c := b.commandOf(stmt.Body)
	if b.err != nil {
		return nil, nil, b.err
	}
	return nil, c, nil
}
