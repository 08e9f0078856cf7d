package query

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
)

// explained are statements with the types that EXPLAIN tells.
var explained = []struct{ statement, kind, operator string }{
	{"CREATE INDEX i FOR (n:A) ON (n.k)", "s", "CreateIndex"},
	{"CREATE INDEX $name FOR (n:A) ON (n.k)", "s", "CreateIndex"},
	{"CREATE POINT INDEX p FOR (n:A) ON (n.at)", "s", "CreateIndex"},
	{"CREATE VECTOR INDEX v FOR (n:A) ON (n.e) OPTIONS {indexConfig: {`vector.dimensions`: 3}}", "s", "CreateIndex"},
	{"CREATE FULLTEXT INDEX f FOR (n:A) ON EACH [n.t]", "s", "CreateIndex"},
	{"CREATE CONSTRAINT u FOR (n:A) REQUIRE n.k IS UNIQUE", "s", "CreateConstraint"},
	{"CREATE CONSTRAINT FOR (n:A) REQUIRE n.k IS NOT NULL", "s", "CreateConstraint"},
	{"DROP INDEX there", "s", "DropIndex"},
	{"DROP CONSTRAINT kept", "s", "DropConstraint"},
	{"USE other CREATE INDEX i FOR (n:A) ON (n.k)", "s", "CreateIndex"},
	{"CREATE LABEL L OPTIONS {ttl: 60}", "s", "AlterTTL"},
	{"ALTER LABEL T REMOVE TTL", "s", "AlterTTL"},
	{"CREATE GRAPH g", "s", "CreateGraph"},
	{"CREATE OR REPLACE DATABASE other", "s", "CreateGraph"},
	{"DROP GRAPH other", "s", "DropGraph"},
	{"DROP DATABASE other IF EXISTS", "s", "DropGraph"},
	{"CREATE (:A)", "w", ""},
	{"MATCH (n) DETACH DELETE n", "w", ""},
	{"MATCH (n) SET n.x = 1 FINISH", "w", ""},
	{"CREATE (n:A) RETURN n", "rw", ""},
	{"MATCH (n) SET n.x = 1 RETURN n.x", "rw", ""},
	{"MERGE (n:A) RETURN count(*) AS n", "rw", ""},
	{"UNWIND [1] AS i CALL (i) { CREATE (:A {i: i}) } IN TRANSACTIONS", "w", ""},
	{"MATCH (n) RETURN n", "r", ""},
	{"SHOW INDEXES", "r", ""},
}

// EXPLAIN of a statement, also of a command, tells its plan and its type, and changes nothing: for a reader too, in READ mode, and in a
// transaction.
func TestExplainChangesNothing(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		must(t, e, "CREATE INDEX there FOR (n:T) ON (n.k)")
		must(t, e, "CREATE CONSTRAINT kept FOR (n:T) REQUIRE n.u IS UNIQUE")
		must(t, e, "CREATE GRAPH other")
		must(t, e, "CREATE (:T {k: 1})")
		must(t, e, "USE other CREATE (:T)")
		state := func() (all []string) {
			for _, s := range []string{
				"SHOW INDEXES YIELD name RETURN name", "SHOW CONSTRAINTS YIELD name RETURN name", "SHOW GRAPHS YIELD name RETURN name",
				"MATCH (n) RETURN properties(n)", "USE other MATCH (n) RETURN count(n)", "USE other SHOW INDEXES YIELD name RETURN name",
			} {
				all = append(all, slices.Sorted(slices.Values(must(t, e, s)))...)
			}
			return all
		}
		before := state()
		reader := access.WithIdentity(context.Background(), &access.Identity{Name: "r", Every: access.Reader})
		check := func(res *Result, err error, kind, operator string) {
			require.NoError(t, err)
			rows, err := rowsOf(res, nil)
			require.NoError(t, err)
			require.Empty(t, rows)
			s := res.Summary()
			require.Equal(t, kind, s.Type)
			require.NotNil(t, s.Plan)
			if operator != "" {
				require.Equal(t, operator, s.Plan.Operator)
			}
			require.Zero(t, s.Schema)
			require.Zero(t, s.SystemUpdates)
			require.False(t, res.Writes())
		}
		for _, c := range explained {
			req := Request{Statement: "EXPLAIN " + c.statement}
			res, err := e.Query(context.Background(), req)
			check(res, err, c.kind, c.operator)
			req.ReadOnly, req.Unsafe = true, graph.WriteInReadMode()
			res, err = e.Query(reader, req)
			check(res, err, c.kind, c.operator)
			if strings.HasPrefix(c.statement, "USE ") {
				continue
			}
			tx := begin(t, e, TxOptions{ReadOnly: true})
			res, err = tx.Run(reader, Request{Statement: req.Statement})
			check(res, err, c.kind, c.operator)
			require.False(t, tx.Changed(), c.statement)
			require.NoError(t, tx.Commit(context.Background()), c.statement)
		}
		require.Equal(t, before, state())
		_, err := e.Query(reader, Request{Statement: "CREATE INDEX i FOR (n:A) ON (n.k)"})
		require.Equal(t, "Neo.ClientError.Security.Forbidden", code(err), "a reader may only explain it")
	})
}

// The summary of a statement that runs tells the same type as its EXPLAIN.
func TestStatementTypes(t *testing.T) {
	for _, c := range explained {
		e := New(stores["local"](t), Options{})
		must(t, e, "CREATE INDEX there FOR (n:T) ON (n.k)")
		must(t, e, "CREATE CONSTRAINT kept FOR (n:T) REQUIRE n.u IS UNIQUE")
		must(t, e, "CREATE GRAPH other")
		must(t, e, "CREATE LABEL T OPTIONS {ttl: 3600}")
		res, err := e.Query(context.Background(), Request{Statement: c.statement, Params: map[string]graph.Value{"name": graph.StringValue("n")}})
		require.NoError(t, err, c.statement)
		_, err = rowsOf(res, nil)
		require.NoError(t, err, c.statement)
		require.Equal(t, c.kind, res.Summary().Type, c.statement)
		require.Equal(t, c.kind != "r", res.Writes(), c.statement)
	}
}
