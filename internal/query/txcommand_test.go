package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
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

// apoc.schema.assert in a transaction takes effect at the commit, and not beside changes of data.
func TestTransactionAssert(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		indexes := func() []string {
			return must(t, e, "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name ORDER BY name")
		}
		must(t, e, "CREATE INDEX old FOR (n:A) ON (n.k)")
		tx := begin(t, e, TxOptions{})
		require.Equal(t, []string{"['A', 'k', ['k'], false, 'DROPPED']", "['B', 'k', ['k'], true, 'CREATED']"}, tx.must(t, "CALL apoc.schema.assert({}, {B: ['k']})"))
		require.Equal(t, []string{"['old']"}, indexes(), "nothing has changed before the commit")
		require.NoError(t, tx.Commit(context.Background()))
		require.Equal(t, []string{"['constraint_B_k']"}, indexes())

		for _, statements := range [][]string{
			{"CREATE (:A)", "CALL apoc.schema.assert({}, {})"},
			{"CALL apoc.schema.assert({}, {})", "CREATE (:A)"},
			{"CALL apoc.schema.assert({}, {})", "CALL apoc.merge.node(['A'], {k: 1})"},
			{"CREATE (:A) WITH 1 AS x CALL apoc.schema.assert({}, {}) YIELD action RETURN action"},
		} {
			tx := begin(t, e, TxOptions{})
			for i, s := range statements {
				_, err := rowsOf(tx.Run(context.Background(), Request{Statement: s}))
				if i < len(statements)-1 {
					require.NoError(t, err, s)
				} else {
					require.Equal(t, forbiddenInTx, graph.AsError(err).Code, s)
				}
			}
			tx.Rollback()
		}
		require.Equal(t, []string{"['constraint_B_k']"}, indexes())
		require.Equal(t, []string{"[0]"}, must(t, e, "MATCH (n) RETURN count(n)"))
		_, err := rowsOf(e.Query(context.Background(), Request{Statement: "CALL apoc.schema.assert({}, {})", ReadOnly: true}))
		require.Error(t, err)
	})
}

// TestAssert makes schemas what the arguments of apoc.schema.assert say.
func TestAssert(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		for _, s := range []string{
			"CREATE INDEX gone FOR (n:A) ON (n.x)", "CREATE CONSTRAINT kept FOR (n:A) REQUIRE n.y IS UNIQUE",
			"CREATE CONSTRAINT must FOR (n:C) REQUIRE n.y IS NOT NULL", "CREATE INDEX rel FOR ()-[r:R]-() ON (r.x)",
		} {
			must(t, e, s)
		}
		const rows = " YIELD label, key, keys, unique, action RETURN * ORDER BY label, keys"
		require.Equal(t, []string{
			"['KEPT', 'x', ['x'], 'A', false]", "['CREATED', 'x', ['x', 'y'], 'A', false]", "['KEPT', 'y', ['y'], 'A', true]",
			"['CREATED', 'z', ['z'], 'A', false]", "['KEPT', 'y', ['y'], 'C', false]", "['KEPT', 'x', ['x'], 'R', false]",
		}, must(t, e, "CALL apoc.schema.assert({A: ['z', ['x', 'y'], 'z']}, {A: ['y']}, false)"+rows))
		require.Equal(t, []string{
			"['DROPPED', 'x', ['x'], 'A', false]", "['DROPPED', 'x', ['x', 'y'], 'A', false]", "['KEPT', 'y', ['y'], 'A', true]",
			"['KEPT', 'z', ['z'], 'A', false]", "['CREATED', 'id', ['id'], 'B', true]", "['DROPPED', 'y', ['y'], 'C', false]", "['DROPPED', 'x', ['x'], 'R', false]",
		}, must(t, e, "CALL apoc.schema.assert({A: ['z']}, {A: ['y'], B: ['id']})"+rows))
		require.Equal(t, []string{"['constraint_B_id']", "['index_A_z']", "['kept']"}, must(t, e, "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name ORDER BY name"))
		for _, bad := range []string{"{A: 'z'}, {}", "{}, {A: [1]}", "1, {}", "{A: [[]]}, {}", "{}, {}, null"} {
			_, err := e.rows(Request{Statement: "CALL apoc.schema.assert(" + bad + ")"})
			require.Equal(t, "InvalidArgumentType", graph.AsError(err).Detail, bad)
		}
		_, err := e.rows(Request{Statement: "CREATE (:A {y: 1}) WITH 1 AS one CALL apoc.schema.assert({}, {}) YIELD action RETURN action"})
		require.Equal(t, forbiddenInTx, graph.AsError(err).Code)
		require.Equal(t, []string{"[0]"}, must(t, e, "MATCH (n) RETURN count(n)"))
		require.Len(t, must(t, e, "CALL apoc.schema.assert(null, null)"), 3)
		require.Empty(t, must(t, e, "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name"))
	})
}
