package check

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// The error details of openCypher that this package returns.
const (
	ambiguousAggregation         = "AmbiguousAggregationExpression"
	columnNameConflict           = "ColumnNameConflict"
	creatingVarLength            = "CreatingVarLength"
	differentColumnsInUnion      = "DifferentColumnsInUnion"
	invalidAggregation           = "InvalidAggregation"
	invalidArgumentPassingMode   = "InvalidArgumentPassingMode"
	invalidArgumentType          = "InvalidArgumentType"
	invalidClauseComposition     = "InvalidClauseComposition"
	invalidDelete                = "InvalidDelete"
	invalidNumberOfArguments     = "InvalidNumberOfArguments"
	invalidParameterUse          = "InvalidParameterUse"
	negativeIntegerArgument      = "NegativeIntegerArgument"
	nestedAggregation            = "NestedAggregation"
	noExpressionAlias            = "NoExpressionAlias"
	noSingleRelationshipType     = "NoSingleRelationshipType"
	noVariablesInScope           = "NoVariablesInScope"
	nonConstantExpression        = "NonConstantExpression"
	relationshipUniqueness       = "RelationshipUniquenessViolation"
	requiresDirectedRelationship = "RequiresDirectedRelationship"
	undefinedVariable            = "UndefinedVariable"
	unexpectedSyntax             = "UnexpectedSyntax"
	unknownFunction              = "UnknownFunction"
	variableAlreadyBound         = "VariableAlreadyBound"
	variableTypeConflict         = "VariableTypeConflict"
)

// Options is what a statement may refer to besides itself.
type Options struct {
	Procedures map[string]Procedure // by name in lower case
	// ProcedureNames returns the names of all procedures, for suggestions; nil: there are none.
	ProcedureNames func() []string
	// Steps counts the work, and may end it; nil: nobody does.
	Steps *steps.Counter
	// Results, if not nil, is filled with the kinds that the columns of the result may have, by name.
	Results map[string]fn.Kinds
}

// Statement checks a statement. An error is a *graph.Error of phase compile with a position.
func Statement(s *ast.Statement, o Options) (err error) {
	q, ok := s.Body.(*ast.Query)
	if !ok {
		return nil // the parser has matched the variables of a command
	}
	defer steps.Catch(&err)
	c := &checker{Options: o}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = f.err
		}
	}()
	if out := c.query(q, newScope(nil), block{}); out != nil && o.Results != nil {
		for _, name := range out.names() {
			o.Results[name] = out.typeOf(name).kinds
		}
	}
	if c.unnamed != nil {
		c.unnamed()
	}
	return nil
}

type checker struct {
	Options
	// unnamed reports the first call whose results have no names. It runs last, because an error about the use of such a result is
	// clearer.
	unnamed func()
}

// failure carries an error up to Statement.
type failure struct{ err *graph.Error }

// fail ends the check with a SyntaxError at a node.
func fail(detail string, n ast.Node, format string, args ...any) {
	panic(failure{graph.SyntaxError(detail, n.Position(), format, args...)})
}

// failType ends the check with a TypeError at a node.
func failType(n ast.Node, format string, args ...any) {
	e := graph.TypeError(invalidArgumentType, format, args...)
	e.Phase, e.Pos = graph.PhaseCompile, n.Position()
	panic(failure{e})
}

// isAggregate reports whether an expression is a call of an aggregating function.
func (c *checker) isAggregate(e ast.Node) bool {
	switch e := e.(type) {
	case *ast.CountStar:
		return true
	case *ast.Call:
		_, ok := fn.LookupAggregate(e.Name)
		return ok
	}
	return false
}

// hasAggregate reports whether an expression aggregates; a subquery's aggregates are its own.
func (c *checker) hasAggregate(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		c.Steps.Add(1)
		if _, ok := n.(*ast.Subquery); ok {
			return false
		}
		found = found || c.isAggregate(n)
		return !found
	})
	return found
}
