package query

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

const notFound = "Neo.ClientError.Transaction.TransactionNotFound"

func begin(t testing.TB, e *Engine, opt TxOptions) *Transaction {
	tx, err := e.Begin(context.Background(), opt)
	require.NoError(t, err)
	t.Cleanup(tx.Rollback)
	return tx
}

func (t *Transaction) rows(req Request) ([]string, error) {
	return rowsOf(t.Run(context.Background(), req))
}

// run runs a statement in a transaction, which must succeed.
func (t *Transaction) must(tb testing.TB, statement string) []string {
	rows, err := t.rows(Request{Statement: statement})
	require.NoError(tb, err, statement)
	return rows
}

// Statements see the writes before them, others see them after the commit, and all of them.
func TestTransactionCommit(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		tx := begin(t, e, TxOptions{})
		tx.must(t, "CREATE (:New {k: 1})-[:R]->(:New {k: 2})")
		require.Equal(t, []string{"[1, 2]"}, tx.must(t, "MATCH (a:New)-[:R]->(b:New) RETURN a.k, b.k"))
		require.Equal(t, []string{"[7]"}, tx.must(t, "MATCH (a:New {k: 1}) SET a.k = 7, a:Other RETURN a.k"))
		require.Equal(t, []string{"[7]"}, tx.must(t, "MATCH (a:Other) RETURN a.k"))
		require.Equal(t, []string{"[0]"}, must(t, e, "MATCH (n) RETURN count(n)"), "nobody else sees it yet")
		require.EqualValues(t, 2, tx.Counters().NodesCreated)
		require.EqualValues(t, 1, tx.Counters().RelationshipsCreated)
		require.NoError(t, tx.Commit(context.Background()))
		require.Equal(t, []string{"[2]", "[7]"}, must(t, e, "MATCH (n:New) RETURN n.k ORDER BY n.k"))
		_, err := tx.rows(Request{Statement: "RETURN 1"})
		require.Equal(t, notFound, code(err))
		require.ErrorContains(t, err, "committed")
		require.Equal(t, notFound, code(tx.Commit(context.Background())))
		require.Empty(t, e.Running(context.Background()))
	})
}

func TestTransactionRollback(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		ended := 0
		tx := begin(t, e, TxOptions{Ended: func() { ended++ }})
		tx.must(t, "CREATE (:A)")
		tx.Rollback()
		tx.Rollback()
		require.Equal(t, 1, ended)
		require.Equal(t, notFound, code(tx.Commit(context.Background())))
		require.Equal(t, []string{"[0]"}, must(t, e, "MATCH (n) RETURN count(n)"))
		require.EqualValues(t, 1, e.Metrics().TxEnded.Load())
		require.EqualValues(t, 0, e.Metrics().TxCommitted.Load())
	})
}

// A statement that fails takes its transaction with it, whatever it failed of.
func TestTransactionFailure(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		for _, c := range []struct {
			req  Request
			code string
		}{
			{Request{Statement: "RETURN"}, "Neo.ClientError.Statement.SyntaxError"},
			{Request{Statement: "RETURN $x"}, "Neo.ClientError.Statement.ParameterMissing"},
			{Request{Statement: "UNWIND [1, 0] AS x RETURN 1 / x"}, "Neo.ClientError.Statement.ArithmeticError"},
			{Request{Statement: "CREATE (:A {k: 1 / 0})"}, "Neo.ClientError.Statement.ArithmeticError"},
			{Request{Statement: "CREATE (:A)", ReadOnly: true}, "Neo.ClientError.Statement.AccessMode"},
			{Request{Statement: "CREATE INDEX FOR (n:A) ON (n.k)"}, "Neo.ClientError.Transaction.ForbiddenDueToTransactionType"},
			{Request{Statement: "CREATE CONSTRAINT FOR (n:A) REQUIRE n.k IS UNIQUE"}, "Neo.ClientError.Transaction.ForbiddenDueToTransactionType"},
			{Request{Statement: "CREATE GRAPH g"}, "Neo.ClientError.Transaction.ForbiddenDueToTransactionType"},
			{Request{Statement: slow, Timeout: 10 * time.Millisecond}, "Neo.ClientError.Transaction.TransactionTimedOut"},
		} {
			tx := begin(t, e, TxOptions{})
			tx.must(t, "CREATE (:A)")
			_, err := tx.rows(c.req)
			require.Equal(t, c.code, code(err), c.req.Statement)
			_, err = tx.rows(Request{Statement: "RETURN 1"})
			require.Equal(t, notFound, code(err), c.req.Statement)
			require.Equal(t, notFound, code(tx.Commit(context.Background())), c.req.Statement)
			require.Equal(t, []string{"[0]"}, must(t, e, "MATCH (n) RETURN count(n)"), c.req.Statement)
		}
	})
}

// A statement that breaks a unique constraint fails at its end, not at the commit. Violations that it repairs itself do not count.
func TestTransactionUnique(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE CONSTRAINT FOR (n:P) REQUIRE n.k IS UNIQUE")
		must(t, e, "CREATE CONSTRAINT FOR ()-[r:R]-() REQUIRE r.k IS UNIQUE")
		must(t, e, "CREATE (a:P {k: 1})-[:R {k: 1}]->(b:P {k: 2})-[:R {k: 2}]->(a)")
		for _, statement := range []string{
			"CREATE (:P {k: 1})",
			"CREATE (:P {k: 9}), (:P {k: 9})",
			"MATCH (n:P {k: 1}) SET n.k = 2",
			"CREATE (:Q {k: 2}) WITH 1 AS x MATCH (n:Q) SET n:P",
			"MATCH (a:P {k: 1}) CREATE (a)-[:R {k: 2}]->(a)",
			"MATCH ()-[r:R {k: 1}]->() SET r += {k: 2}",
		} {
			tx := begin(t, e, TxOptions{})
			tx.must(t, "CREATE (:P {k: 3})")
			_, err := tx.rows(Request{Statement: statement})
			require.Equal(t, "Neo.ClientError.Schema.ConstraintValidationFailed", code(err), statement)
			require.Equal(t, notFound, code(tx.Commit(context.Background())), statement)
			require.Equal(t, []string{"[2]"}, must(t, e, "MATCH (n) RETURN count(n)"), statement)
		}
		tx := begin(t, e, TxOptions{})
		tx.must(t, "MATCH (a:P {k: 1}), (b:P {k: 2}) SET a.k = 2, b.k = 1")
		tx.must(t, "MATCH (a:P {k: 1}) DETACH DELETE a CREATE (:P {k: 1})")
		tx.must(t, "CREATE (a:P {k: 2}) WITH a DELETE a")
		require.NoError(t, tx.Commit(context.Background()))
		require.Equal(t, []string{"[1]", "[2]"}, must(t, e, "MATCH (n:P) RETURN n.k ORDER BY n.k"))
	})
}

func TestTransactionReadOnly(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE (:A {k: 1})")
		tx := begin(t, e, TxOptions{ReadOnly: true})
		require.Equal(t, []string{"[1]"}, tx.must(t, "MATCH (n:A) RETURN n.k"))
		must(t, e, "MATCH (n:A) SET n.k = 2")
		must(t, e, "CREATE INDEX FOR (n:A) ON (n.k)")
		must(t, e, "CREATE (:A {k: 1})")
		require.Equal(t, []string{"[1]"}, tx.must(t, "MATCH (n:A) RETURN n.k"), "it reads one cut")
		require.Equal(t, []string{"[1]"}, tx.must(t, "MATCH (n:A {k: 1}) RETURN count(n)"), "which the index does not know")
		_, err := tx.rows(Request{Statement: "CREATE (:A)"})
		require.Equal(t, "Neo.ClientError.Statement.AccessMode", code(err))
	})
}

// A transaction runs one statement at a time: the rows of a result are read or discarded before the next statement.
func TestTransactionConcurrentUse(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		const busy = "Neo.ClientError.Transaction.TransactionAccessedConcurrently"
		tx := begin(t, e, TxOptions{})
		res, err := tx.Run(context.Background(), Request{Statement: "UNWIND range(1, 5000) AS i RETURN i"})
		require.NoError(t, err)
		_, err = tx.rows(Request{Statement: "RETURN 1"})
		require.Equal(t, busy, code(err))
		require.Equal(t, busy, code(tx.Commit(context.Background())))
		n := 0
		for b, err := res.Next(); b != nil; b, err = res.Next() {
			require.NoError(t, err)
			n += b.N
		}
		require.Equal(t, 5000, n)
		tx.must(t, "RETURN 1") // the result is at its end, but not closed
		res.Close()
		res, err = tx.Run(context.Background(), Request{Statement: "UNWIND range(1, 5000) AS i RETURN i"})
		require.NoError(t, err)
		res.Close()
		tx.must(t, "RETURN 1")
		res, err = tx.Run(context.Background(), Request{Statement: "UNWIND range(1, 5000) AS i RETURN i", Buffer: true})
		require.NoError(t, err)
		require.NoError(t, tx.Commit(context.Background()))
		rows, err := rowsOf(res, nil)
		require.NoError(t, err)
		require.Len(t, rows, 5000)
	})
}

// A transaction ends by itself: after its time, when it is idle, and when it is killed, idle or not.
func TestTransactionEnds(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		gone := func(opt TxOptions, why string, then func(tx *Transaction)) {
			var over chan struct{}
			var tx *Transaction
			for { // until a statement is quicker than the limits
				ended := make(chan struct{})
				opt.Ended = func() { close(ended) }
				tx, over = begin(t, e, opt), ended
				_, err := tx.rows(Request{Statement: "CREATE (:A)"})
				if err == nil {
					break
				}
				require.Positive(t, opt.Idle+opt.Timeout, err)
				opt.Idle, opt.Timeout = 2*opt.Idle, 2*opt.Timeout
			}
			then(tx)
			select {
			case <-over:
			case <-time.After(patience):
				t.Fatal("the transaction is still open: " + why)
			}
			_, err := tx.rows(Request{Statement: "RETURN 1"})
			require.Equal(t, notFound, code(err))
			require.ErrorContains(t, err, why)
			require.Empty(t, e.Running(context.Background()))
			require.Equal(t, []string{"[0]"}, must(t, e, "MATCH (n) RETURN count(n)"))
		}
		kill := func(tx *Transaction) {
			q := e.Running(context.Background())
			require.Len(t, q, 1)
			require.True(t, e.Kill(context.Background(), q[0].ID))
		}
		nothing := func(*Transaction) {}
		gone(TxOptions{Idle: 20 * time.Millisecond}, errIdle.Error(), nothing)
		gone(TxOptions{Timeout: 20 * time.Millisecond}, ErrTxTime.Error(), nothing)
		gone(TxOptions{}, "killed", kill)
		gone(TxOptions{}, "killed", func(tx *Transaction) {
			ended := make(chan error, 1)
			go func() {
				_, err := tx.rows(Request{Statement: slow})
				ended <- err
			}()
			require.Eventually(t, func() bool { return e.ActiveQueries() == 1 }, patience, time.Millisecond)
			kill(tx)
			require.Equal(t, "Neo.ClientError.Transaction.Terminated", code(<-ended))
		})
		gone(TxOptions{Timeout: 100 * time.Millisecond}, "its time is over", func(tx *Transaction) {
			_, err := tx.rows(Request{Statement: slow})
			require.Contains(t, []string{"Neo.ClientError.Transaction.TransactionTimedOut", notFound}, code(err)) // notFound if it was over already
		})
	})
}

// Each use extends the life of an idle transaction, and a running statement is not idle.
func TestTransactionExpires(t *testing.T) {
	e := New(stores["oracle"](t), Options{})
	tx := begin(t, e, TxOptions{Idle: time.Hour})
	first := tx.Expires()
	require.WithinDuration(t, time.Now().Add(time.Hour), first, time.Minute)
	tx.must(t, "RETURN 1")
	require.True(t, tx.Expires().After(first))
	tx = begin(t, e, TxOptions{ReadOnly: true, Idle: time.Nanosecond, Timeout: time.Hour})
	require.Eventually(t, func() bool { return len(e.Running(context.Background())) == 1 }, patience, time.Millisecond)
	require.False(t, tx.Expires().After(time.Now()))
}

// An open transaction is listed with the statement that it runs, and TERMINATE TRANSACTION ends it.
func TestTransactionListed(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		tx := begin(t, e, TxOptions{})
		require.Equal(t, []string{`['default-transaction-1', '']`},
			must(t, e, "SHOW TRANSACTIONS YIELD transactionId, currentQuery WHERE currentQuery = '' RETURN transactionId, currentQuery"))
		require.Zero(t, e.ActiveQueries())
		res, err := tx.Run(context.Background(), Request{Statement: "UNWIND range(1, 5000) AS i RETURN i"})
		require.NoError(t, err)
		require.Equal(t, 1, e.ActiveQueries())
		require.Equal(t, "UNWIND range(1, 5000) AS i RETURN i", e.Running(context.Background())[0].Statement)
		res.Close()
		require.Zero(t, e.ActiveQueries())
		require.Len(t, e.Running(context.Background()), 1)
		rows, err := e.rows(Request{Statement: "TERMINATE TRANSACTION $id", Params: map[string]graph.Value{"id": graph.StringValue("default-transaction-1")}})
		require.NoError(t, err)
		require.Contains(t, rows[0], "Transaction terminated.")
		require.Eventually(t, func() bool { return len(e.Running(context.Background())) == 0 }, patience, time.Millisecond)
	})
}

// EXPLAIN and PROFILE work in a transaction.
func TestTransactionPlans(t *testing.T) {
	e := New(stores["oracle"](t), Options{})
	tx := begin(t, e, TxOptions{})
	res, err := tx.Run(context.Background(), Request{Statement: "EXPLAIN MATCH (n) RETURN n.k AS k, n"})
	require.NoError(t, err)
	require.Equal(t, []string{"k", "n"}, res.Columns, "EXPLAIN has the columns of its statement")
	rows, err := rowsOf(res, nil)
	require.NoError(t, err)
	require.Empty(t, rows)
	for _, s := range []string{"EXPLAIN CREATE (:A)", "PROFILE MATCH (n) RETURN n", "PROFILE CREATE (:A)"} {
		res, err := tx.Run(context.Background(), Request{Statement: s})
		require.NoError(t, err)
		_, err = rowsOf(res, nil)
		require.NoError(t, err)
		require.NotNil(t, res.Summary().Plan, s)
	}
	require.Equal(t, []string{"[1]"}, tx.must(t, "MATCH (n) RETURN count(n)"))
}

// Closing an engine's graph is not held up forever: dropping waits for transactions, within its time.
func TestTransactionUnknownGraph(t *testing.T) {
	e := New(stores["oracle"](t), Options{})
	_, err := e.Begin(context.Background(), TxOptions{Graph: "nowhere"})
	require.Equal(t, "Neo.ClientError.Database.DatabaseNotFound", code(err))
	require.Empty(t, e.Running(context.Background()))
}
