package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

const forbiddenInTx = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType"

// Commands of a transaction are checked against those before them, count what they will change, and take effect at the commit.
func TestTransactionCommands(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		indexes := func() []string { return must(t, e, "SHOW INDEXES YIELD name RETURN name ORDER BY name") }
		tx := begin(t, e, TxOptions{})
		run := func(statement string) SchemaCounters {
			res, err := tx.Run(context.Background(), Request{Statement: statement})
			require.NoError(t, err, statement)
			_, err = rowsOf(res, nil)
			require.NoError(t, err, statement)
			return res.Summary().Schema
		}
		require.Equal(t, SchemaCounters{IndexesAdded: 1}, run("CREATE INDEX a FOR (n:A) ON (n.k)"))
		require.Equal(t, SchemaCounters{}, run("CREATE INDEX a IF NOT EXISTS FOR (n:A) ON (n.k)"))
		require.Equal(t, SchemaCounters{ConstraintsAdded: 1}, run("CREATE CONSTRAINT u FOR (n:B) REQUIRE n.k IS UNIQUE"))
		require.Equal(t, SchemaCounters{IndexesAdded: 1}, run("CREATE INDEX c FOR (n:C) ON (n.k)"))
		require.Equal(t, SchemaCounters{IndexesRemoved: 1}, run("DROP INDEX c"))
		require.Equal(t, SchemaCounters{}, run("DROP INDEX c IF EXISTS"))
		require.Equal(t, []string{"[0]"}, tx.must(t, "MATCH (n:A) RETURN count(n)"), "reading goes on")
		require.Empty(t, tx.must(t, "SHOW INDEXES"))
		require.Empty(t, indexes(), "nothing has changed before the commit")
		require.NoError(t, tx.Commit(context.Background()))
		require.Equal(t, []string{"['a']", "['u']"}, indexes())
		require.Empty(t, e.Running(context.Background()))

		tx = begin(t, e, TxOptions{})
		require.Equal(t, SchemaCounters{IndexesRemoved: 1}, run("DROP INDEX a"))
		require.Equal(t, SchemaCounters{IndexesAdded: 1}, run("CREATE INDEX a FOR (n:A) ON (n.j)"))
		tx.Rollback()
		require.Equal(t, []string{"['k']"}, must(t, e, "SHOW INDEXES YIELD name, properties WHERE name = 'a' RETURN properties[0]"))
	})
}

// A command that cannot be carried out is refused when it is run, and takes its transaction with it.
func TestTransactionCommandErrors(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE INDEX there FOR (n:T) ON (n.k)")
		must(t, e, "CREATE GRAPH old")
		for _, c := range []struct {
			statements []string
			code       string
		}{
			{[]string{"CREATE INDEX there FOR (n:A) ON (n.k)"}, "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"},
			{[]string{"CREATE INDEX a FOR (n:A) ON (n.k)", "CREATE INDEX b FOR (n:A) ON (n.k)"}, "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"},
			{[]string{"DROP INDEX nothing"}, "Neo.DatabaseError.Schema.IndexDropFailed"},
			{[]string{"DROP INDEX there", "DROP INDEX there"}, "Neo.DatabaseError.Schema.IndexDropFailed"},
			{[]string{"DROP CONSTRAINT there"}, "Neo.DatabaseError.Schema.ConstraintDropFailed"},
			{[]string{"CREATE GRAPH old"}, "Neo.ClientError.Database.ExistingDatabaseFound"},
			{[]string{"CREATE GRAPH g", "CREATE GRAPH g"}, "Neo.ClientError.Database.ExistingDatabaseFound"},
			{[]string{"DROP GRAPH old", "DROP GRAPH old"}, "Neo.ClientError.Database.DatabaseNotFound"},
			{[]string{"DROP GRAPH nothing"}, "Neo.ClientError.Database.DatabaseNotFound"},
			{[]string{"CREATE (:A)", "CREATE INDEX a FOR (n:A) ON (n.k)"}, forbiddenInTx},
			{[]string{"CREATE INDEX a FOR (n:A) ON (n.k)", "CREATE (:A)"}, forbiddenInTx},
			{[]string{"CALL { CREATE (:A) } IN TRANSACTIONS"}, "Neo.DatabaseError.Transaction.TransactionStartFailed"},
		} {
			tx := begin(t, e, TxOptions{})
			last := len(c.statements) - 1
			for _, s := range c.statements[:last] {
				tx.must(t, s)
			}
			_, err := tx.rows(Request{Statement: c.statements[last]})
			require.Equal(t, c.code, code(err), "%v: %v", c.statements, err)
			require.Equal(t, notFound, code(tx.Commit(context.Background())), c.statements)
			require.Equal(t, []string{"['there']"}, must(t, e, "SHOW INDEXES YIELD name"), c.statements)
		}
		_, err := begin(t, e, TxOptions{ReadOnly: true}).rows(Request{Statement: "CREATE INDEX FOR (n:A) ON (n.k)"})
		require.Equal(t, "Neo.ClientError.Statement.AccessMode", code(err))
	})
}

// A transaction may make and drop graphs, its own included.
func TestTransactionGraphCommands(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE GRAPH own")
		tx := begin(t, e, TxOptions{Graph: "own"})
		for _, c := range []struct {
			statement string
			updates   int64
		}{
			{"CREATE GRAPH other", 1},
			{"CREATE GRAPH other IF NOT EXISTS", 0},
			{"CREATE OR REPLACE GRAPH other", 2},
			{"DROP GRAPH own", 1},
			{"DROP GRAPH own IF EXISTS", 0},
		} {
			res, err := tx.Run(context.Background(), Request{Statement: c.statement})
			require.NoError(t, err, c.statement)
			require.Equal(t, c.updates, res.Summary().SystemUpdates, c.statement)
			res.Close()
		}
		require.NoError(t, tx.Commit(context.Background()))
		require.Equal(t, []string{"['default']", "['other']"}, must(t, e, "SHOW GRAPHS YIELD name RETURN name ORDER BY name"))
	})
}

// Commands outside a transaction count the graphs that they have made and dropped.
func TestSystemUpdates(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		for _, c := range []struct {
			statement string
			updates   int64
		}{
			{"CREATE GRAPH g", 1},
			{"CREATE GRAPH g IF NOT EXISTS", 0},
			{"CREATE OR REPLACE GRAPH g", 2},
			{"CREATE OR REPLACE GRAPH h", 1},
			{"DROP GRAPH g", 1},
			{"DROP GRAPH g IF EXISTS", 0},
			{"CREATE INDEX FOR (n:A) ON (n.k)", 0},
		} {
			res, err := e.Query(context.Background(), Request{Statement: c.statement})
			require.NoError(t, err, c.statement)
			require.Equal(t, c.updates, res.Summary().SystemUpdates, c.statement)
			res.Close()
		}
	})
}
