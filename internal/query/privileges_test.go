package query

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
)

// Rules are changed by an admin of their graph, wherever the request is sent, and the audit log has it.
func TestRulesOfGraphs(t *testing.T) {
	var log bytes.Buffer
	e := inGraphs(t, Options{Audit: access.NewAudit(&log)})
	id := &access.Identity{Name: "ann", Every: access.Writer, Graph: map[string]access.Role{"other": access.Admin}, Roles: []string{"app"}}
	ctx := access.WithIdentity(context.Background(), id)
	run := func(graphName, statement string) ([]string, error) {
		return rowsOf(e.Query(ctx, Request{Statement: statement, Graph: graphName}))
	}
	const grant = "GRANT TRAVERSE ON GRAPH other TO app"
	for _, graphName := range []string{"", "other", "system"} {
		_, err := run(graphName, grant)
		require.NoError(t, err)
	}
	require.Contains(t, log.String(), `"action":"rules","graph":"other","what":"`+grant+`","outcome":"ok"`)
	rows, err := run("other", "SHOW PRIVILEGES AS COMMANDS")
	require.NoError(t, err)
	require.Equal(t, []string{"['GRANT TRAVERSE ON GRAPH other NODES * TO app']", "['GRANT TRAVERSE ON GRAPH other RELATIONSHIPS * TO app']"}, rows)
	for statement, graphName := range map[string]string{
		"GRANT TRAVERSE ON GRAPH hidden TO app": "other", "REVOKE TRAVERSE ON HOME GRAPH FROM app": "", "SHOW PRIVILEGES": "", "SHOW ROLE app PRIVILEGES AS COMMANDS": "",
		"SHOW USER bob PRIVILEGES": "other",
	} {
		_, err := run(graphName, statement)
		require.Equal(t, graph.KindDenied, graph.AsError(err).Kind, statement)
	}
	require.Contains(t, log.String(), `"action":"rules","graph":"default","what":"REVOKE TRAVERSE ON HOME GRAPH FROM app","outcome":"Neo.ClientError.Security.Forbidden"`)
	_, err = run("other", "GRANT TRAVERSE ON GRAPH other TO PUBLIC")
	require.NoError(t, err)
	rows, err = run("other", "SHOW USER ann PRIVILEGES YIELD role, graph, action, user RETURN *")
	require.NoError(t, err)
	require.Equal(t, []string{
		"['match', '*', 'writer', 'ann']", "['write', '*', 'writer', 'ann']", "['match', 'other', 'admin', 'ann']", "['write', 'other', 'admin', 'ann']",
		"['database_actions', 'other', 'admin', 'ann']", "['traverse', 'other', 'PUBLIC', 'ann']", "['traverse', 'other', 'app', 'ann']",
		"['traverse', 'other', 'PUBLIC', 'ann']", "['traverse', 'other', 'app', 'ann']",
	}, rows)
	id.GraphRoles = map[string][]string{"other": {"nurse"}}
	rows, err = run("other", "SHOW ROLES")
	require.NoError(t, err)
	require.Equal(t, []string{"['writer']", "['app']", "['other:admin']", "['other:nurse']"}, rows)
	res, err := e.Query(ctx, Request{Statement: "EXPLAIN " + grant})
	require.NoError(t, err)
	require.Equal(t, "ChangeRules", res.Summary().Plan.Operator)
	res.Close()
}

// A transaction checks commands for rules as they come, and changes the rules when it commits.
func TestRulesInTransaction(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE (:A {x: 1})")
		tx, err := e.Begin(t.Context(), TxOptions{})
		require.NoError(t, err)
		for _, updates := range []int64{1, 0} { // the second has nothing left to do
			res, err := tx.Run(t.Context(), Request{Statement: "GRANT READ {x} ON HOME GRAPH NODES A TO app"})
			require.NoError(t, err)
			require.Equal(t, updates, res.Summary().SystemUpdates)
			res.Close()
		}
		require.Empty(t, must(t, e, "SHOW PRIVILEGES AS COMMANDS"))
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, []string{"['GRANT READ {x} ON GRAPH default NODES A TO app']"}, must(t, e, "SHOW PRIVILEGES AS COMMANDS"))
		tx, err = e.Begin(t.Context(), TxOptions{})
		require.NoError(t, err)
		for _, statement := range []string{
			"GRANT TRAVERSE ON HOME GRAPH NODES A TO app", "REVOKE READ {x} ON HOME GRAPH NODES A FROM app", "DENY READ {x} ON HOME GRAPH NODES A TO app",
			"REVOKE TRAVERSE ON HOME GRAPH NODES A FROM app", "GRANT READ {x} ON HOME GRAPH NODES A TO app",
		} {
			res, err := tx.Run(t.Context(), Request{Statement: statement})
			require.NoError(t, err)
			require.Equal(t, int64(1), res.Summary().SystemUpdates, statement)
			res.Close()
		}
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, []string{"['DENY READ {x} ON GRAPH default NODES A TO app']", "['GRANT READ {x} ON GRAPH default NODES A TO app']"},
			must(t, e, "SHOW PRIVILEGES AS COMMANDS"))
		tx, err = e.Begin(t.Context(), TxOptions{})
		require.NoError(t, err)
		_, err = tx.Run(t.Context(), Request{Statement: "GRANT READ {y} ON HOME GRAPH NODES A TO app"})
		require.Equal(t, "UnknownName", graph.AsError(err).Detail)
		res, err := e.Query(t.Context(), Request{Statement: "REVOKE READ {x} ON HOME GRAPH NODES A FROM app"})
		require.NoError(t, err)
		require.Equal(t, int64(2), res.Summary().SystemUpdates, "GRANT and DENY")
		res.Close()
	})
}
