package boltapi

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// Every status has a description. Drivers retry by the class of the code alone.
func TestFailures(t *testing.T) {
	for code, status := range statuses {
		require.NotEmpty(t, conditions[status], code)
	}
	kinds := 0
	for kind := range graph.Kind(64) {
		if _, _, gql := wire.Classify(&graph.Error{Kind: kind}); gql != "" {
			require.NotEmpty(t, conditions[gql], kind)
			kinds++
		}
	}
	require.GreaterOrEqual(t, kinds, 10)
	for _, c := range []struct {
		err                 error
		code, status, class string
	}{
		{graph.SyntaxError("UndefinedVariable", graph.Pos{Line: 1}, "x"), "Neo.ClientError.Statement.SyntaxError", "42N62", "CLIENT_ERROR"},
		{graph.SyntaxError("Other", graph.Pos{}, "x"), "Neo.ClientError.Statement.SyntaxError", "42001", "CLIENT_ERROR"},
		{graph.RuntimeError("ArithmeticError", "DivisionByZero", "x"), "Neo.ClientError.Statement.ArithmeticError", "22012", "CLIENT_ERROR"},
		{graph.RuntimeError("ArithmeticError", "IntegerOverflow", "x"), "Neo.ClientError.Statement.ArithmeticError", "22003", "CLIENT_ERROR"},
		{graph.TypeError("x", "x"), "Neo.ClientError.Statement.TypeError", "22G03", "CLIENT_ERROR"},
		{graph.ConstraintError("x"), "Neo.ClientError.Schema.ConstraintValidationFailed", "22N79", "CLIENT_ERROR"},
		{graph.RequiredError("x"), "Neo.ClientError.Schema.ConstraintValidationFailed", "22N77", "CLIENT_ERROR"},
		{graph.BudgetError("x"), "Neo.ClientError.General.TransactionOutOfMemoryError", "51N73", "CLIENT_ERROR"},
		{&graph.Error{Kind: graph.KindBudget, Code: outOfMemory}, outOfMemory, "51N66", "TRANSIENT_ERROR"},
		{wire.TooLarge("x"), requestInvalid, "08N06", "CLIENT_ERROR"},
		{graph.Busy(0, "x"), "Neo.TransientError.Request.NoThreadsAvailable", "51N59", "TRANSIENT_ERROR"},
		{graph.ConflictError("x", nil), "Neo.TransientError.Transaction.DeadlockDetected", "50N05", "TRANSIENT_ERROR"},
		{graph.UnknownError("x", nil), "Neo.DatabaseError.Transaction.TransactionCommitFailed", "08007", "DATABASE_ERROR"},
		{graph.DeadlineError(nil), "Neo.ClientError.Transaction.TransactionTimedOut", "25N14", "CLIENT_ERROR"},
		{graph.NoGraph("x"), "Neo.ClientError.Database.DatabaseNotFound", "22N51", "CLIENT_ERROR"},
		{context.Canceled, "Neo.DatabaseError.General.UnknownError", "50N00", "DATABASE_ERROR"},
	} {
		f := failureOf(c.err)
		require.Equal(t, []string{c.code, c.status, c.class}, []string{f.Code, f.Status, f.Class}, "%v", c.err)
		require.NotEmpty(t, f.Description)
	}
	require.Equal(t, "08N10", failureOf(wire.RequestError("x")).Cause.Status)
	require.NotContains(t, failureOf(graph.InternalError("read", context.Canceled)).Message, "canceled", "the cause is for the log")
}
