package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// The writes of a procedure are counted, belong to its transaction, and require the right to write.
func TestWritingProcedures(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		const merge = "CALL apoc.merge.node(['A'], {k: 1}, {v: 2}) YIELD node RETURN node.v"
		_, err := e.rows(Request{Statement: merge, ReadOnly: true})
		require.Equal(t, "Neo.ClientError.Statement.AccessMode", code(err))
		res, err := e.Query(context.Background(), Request{Statement: merge})
		require.NoError(t, err)
		rows, err := rowsOf(res, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"[2]"}, rows)
		require.EqualValues(t, 1, res.Summary().NodesCreated)
		require.EqualValues(t, 2, res.Summary().PropertiesSet)

		tx := begin(t, e, TxOptions{})
		tx.must(t, "CALL apoc.merge.node(['A'], {k: 2}) YIELD node RETURN node")
		require.Equal(t, []string{"[2]"}, tx.must(t, "MATCH (n:A) RETURN count(n)"))
		tx.Rollback()
		require.Equal(t, []string{"[1]"}, must(t, e, "MATCH (n:A) RETURN count(n)"))
	})
}

// A transaction shows its client's metadata and connection.
func TestTransactionMetadata(t *testing.T) {
	e := New(stores["oracle"](t), Options{})
	meta := graph.MapValue([]graph.MapEntry{{Key: "app", Value: graph.StringValue("x")}})
	ctx := WithSession(context.Background(), &Session{ID: "bolt-7", Address: "127.0.0.1:5", Agent: "driver/1", Protocol: "bolt"})
	rows, err := rowsOf(e.Query(ctx, Request{Metadata: meta, Statement: "SHOW TRANSACTIONS YIELD connectionId, clientAddress, metaData, protocol"}))
	require.NoError(t, err)
	require.Equal(t, []string{"['bolt-7', '127.0.0.1:5', {app: 'x'}, 'bolt']"}, rows)
	rows, err = e.rows(Request{Metadata: meta, Statement: "CALL tx.getMetaData() YIELD metadata RETURN metadata.app"})
	require.NoError(t, err)
	require.Equal(t, []string{"['x']"}, rows)
	tx := begin(t, e, TxOptions{Metadata: meta})
	require.Equal(t, []string{"[{app: 'x'}]"}, tx.must(t, "CALL tx.getMetaData()"))
	tx.must(t, "CALL tx.setMetaData({step: 2})")
	require.Equal(t, []string{"[{step: 2}]"}, tx.must(t, "CALL tx.getMetaData()"))
	require.Equal(t, []string{"[{step: 2}]"}, must(t, e, "SHOW TRANSACTIONS YIELD metaData, currentQuery WHERE currentQuery = '' RETURN metaData"))
}

func TestListConnections(t *testing.T) {
	e := New(stores["oracle"](t), Options{})
	done := e.Connect(&Session{ID: "bolt-1", Address: "127.0.0.1:9", Agent: "driver/2", Server: "127.0.0.1:7687", Protocol: "bolt"}, access.Subject{Name: "ann"})
	require.Equal(t, []string{"['bolt-1', 'bolt', 'ann', 'driver/2', '127.0.0.1:7687', '127.0.0.1:9']"},
		must(t, e, "CALL dbms.listConnections() YIELD connectionId AS id, connector AS c, username AS u, userAgent AS a, serverAddress AS s, clientAddress AS k RETURN id, c, u, a, s, k"))
	done()
	require.Empty(t, must(t, e, "CALL dbms.listConnections()"))
}

// A caller who may only read runs no statement that writes, by whatever procedure; changes of inner statements are counted, and batches
// stay committed.
func TestStatementsOfProcedures(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		reader := access.WithIdentity(context.Background(), &access.Identity{Name: "r", Every: access.Reader})
		for statement, created := range map[string]int64{
			"CALL apoc.cypher.doIt('CREATE (:A)', {})":                                                    1,
			"CALL apoc.do.when(true, 'CREATE (:A)', '', {})":                                              1,
			"CALL apoc.create.nodes(['A'], [{}, {}])":                                                     2,
			"CALL apoc.periodic.iterate('UNWIND [1, 2, 3] AS x RETURN x', 'CREATE (:A)', {batchSize: 2})": 3,
		} {
			for _, req := range []Request{{Statement: statement, ReadOnly: true}, {Statement: statement}} {
				_, err := rowsOf(e.Query(reader, req))
				require.Contains(t, []string{"Neo.ClientError.Statement.AccessMode", "Neo.ClientError.Security.Forbidden"}, code(err), statement)
			}
			_, err := rowsOf(e.Query(reader, Request{Statement: "EXPLAIN " + statement}))
			require.NoError(t, err, statement)
			require.Equal(t, []string{"[0]"}, must(t, e, "MATCH (n:A) RETURN count(n)"), statement)

			res, err := e.Query(context.Background(), Request{Statement: statement})
			require.NoError(t, err, statement)
			_, err = rowsOf(res, nil)
			require.NoError(t, err, statement)
			require.Equal(t, created, res.Summary().NodesCreated, statement)
			require.True(t, res.Writes())
			must(t, e, "MATCH (n:A) DELETE n")
		}
		_, err := rowsOf(e.Query(reader, Request{Statement: "CALL apoc.cypher.run('CREATE (:A)', {})"}))
		require.Equal(t, "Neo.ClientError.Statement.AccessMode", code(err))

		tx := begin(t, e, TxOptions{})
		_, err = tx.Run(context.Background(), Request{Statement: "CALL apoc.periodic.iterate('RETURN 1 AS x', 'CREATE (:A)', {})"})
		require.Equal(t, "Neo.DatabaseError.Transaction.TransactionStartFailed", code(err))
		tx.Rollback()
	})
}

// The searches and the merges of APOC see what the access rules let their caller see, and change what they let him change.
func TestRulesOfProcedures(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		e = New(restricted.NewStore(e.store), Options{})
		must(t, e, "CREATE (a:A {i: 1})-[:T]->(:Secret {i: 2})-[:T]->(c:A {i: 3}), (a)-[:T]->(:A {i: 4})-[:Hidden]->(c)")
		for _, s := range []string{
			"GRANT TRAVERSE ON HOME GRAPH TO app", "GRANT READ {*} ON HOME GRAPH TO app", "DENY TRAVERSE ON HOME GRAPH NODES Secret TO app",
			"DENY TRAVERSE ON HOME GRAPH RELATIONSHIPS Hidden TO app",
		} {
			must(t, e, s)
		}
		ctx := access.WithIdentity(context.Background(), &access.Identity{Name: "ann", Roles: []string{"app"}})
		run := func(statement string) ([]string, error) { return rowsOf(e.Query(ctx, Request{Statement: statement})) }
		rows, err := run("MATCH (a:A {i: 1}) CALL apoc.path.subgraphNodes(a, {}) YIELD node RETURN node.i ORDER BY node.i")
		require.NoError(t, err)
		require.Equal(t, []string{"[1]", "[4]"}, rows)
		rows, err = run("MATCH (a:A {i: 1}) CALL apoc.path.expandConfig(a, {labelFilter: '>Secret|>A', bfs: false}) YIELD path RETURN [n IN nodes(path) | n.i]")
		require.NoError(t, err)
		require.Equal(t, []string{"[[1, 4]]"}, rows)
		_, err = run("MATCH (a:A) WITH collect(a) AS l CALL apoc.refactor.mergeNodes(l, {mergeRels: true}) YIELD node RETURN node")
		require.Equal(t, "Neo.ClientError.Security.Forbidden", code(err))
		require.Equal(t, []string{"[4]"}, must(t, e, "MATCH (n) RETURN count(n)"))
	})
}
