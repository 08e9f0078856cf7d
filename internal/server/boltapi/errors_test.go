package boltapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
)

const v57 = "\x00\x00\x07\x05"

// Statements that fail have the codes and, from 5.7 on, the GQL statuses of the contract.
func TestErrorsOfStatements(t *testing.T) {
	s := serve(t, Options{})
	c := greet(t, s.dial(t), v57)
	c.send(message(bolt.Hello, entries("user_agent", graph.StringValue("x"))), message(bolt.Logon, entries("scheme", graph.StringValue("none"))))
	c.ok()
	c.ok()
	for _, statement := range []string{
		"CREATE CONSTRAINT u FOR (n:U) REQUIRE n.k IS UNIQUE", "CREATE CONSTRAINT r FOR (n:R) REQUIRE n.k IS NOT NULL", "CREATE INDEX i FOR (n:I) ON (n.k)", "CREATE (:U {k: 1})",
	} {
		c.send(run(statement), pull(-1))
		c.ok()
		c.rows()
	}
	with := func(statement string, extra ...any) []byte {
		return message(bolt.Run, graph.StringValue(statement), entries(), entries(extra...))
	}
	begin := message(bolt.Begin, entries())
	stale := func(v graph.Value) graph.Value { return entries("hopgate.maxStaleness", v) }
	for _, v := range []graph.Value{graph.StringValue("1s"), graph.IntValue(500)} {
		c.send(with("RETURN 1", "mode", graph.StringValue("r"), "tx_metadata", stale(v)), pull(-1))
		c.ok()
		c.rows()
	}
	for _, f := range []struct {
		name         string
		code, status string
		send         [][]byte
	}{
		{"syntax", "Neo.ClientError.Statement.SyntaxError", "42001", [][]byte{run("RETURN")}},
		{"variable", "Neo.ClientError.Statement.SyntaxError", "42N62", [][]byte{run("RETURN x")}},
		{"function", "Neo.ClientError.Statement.SyntaxError", "42N48", [][]byte{run("RETURN nothing(1)")}},
		{"procedure", "Neo.ClientError.Procedure.ProcedureNotFound", "42N08", [][]byte{run("CALL no.such()")}},
		{"parameter", "Neo.ClientError.Statement.ParameterMissing", "42N51", [][]byte{run("RETURN $p")}},
		{"type", "Neo.ClientError.Statement.TypeError", "22G03", [][]byte{run("UNWIND [1] AS x RETURN toUpper(x)"), pull(-1)}},
		{"argument", "Neo.ClientError.Statement.ArgumentError", "22N11", [][]byte{run("UNWIND [0] AS x RETURN range(1, 2, x)"), pull(-1)}},
		{"division", "Neo.ClientError.Statement.ArithmeticError", "22012", [][]byte{run("UNWIND [0] AS x RETURN 1 / x"), pull(-1)}},
		{"overflow", "Neo.ClientError.Statement.ArithmeticError", "22003", [][]byte{run("UNWIND [9223372036854775807] AS x RETURN x + 1"), pull(-1)}},
		{"staleness that is no duration", "Neo.ClientError.Request.Invalid", "08N06", [][]byte{with("RETURN 1", "mode", graph.StringValue("r"), "tx_metadata", stale(graph.StringValue("soon")))}},
		{"staleness of another type", "Neo.ClientError.Request.Invalid", "08N06", [][]byte{with("RETURN 1", "mode", graph.StringValue("r"), "tx_metadata", stale(graph.FloatValue(1)))}},
		{"staleness of what may write", "Neo.ClientError.Request.Invalid", "08N06", [][]byte{message(bolt.Begin, entries("tx_metadata", stale(graph.IntValue(500))))}},
		{"access mode", "Neo.ClientError.Statement.AccessMode", "42N02", [][]byte{with("CREATE (n)", "mode", graph.StringValue("r"))}},
		{"unique", "Neo.ClientError.Schema.ConstraintValidationFailed", "22N79", [][]byte{run("CREATE (:U {k: 1})")}},
		{"required", "Neo.ClientError.Schema.ConstraintValidationFailed", "22N77", [][]byte{run("CREATE (:R)")}},
		{"index exists", "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists", "22N70", [][]byte{run("CREATE INDEX i FOR (n:I) ON (n.k)")}},
		{"constraint exists", "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists", "22N65", [][]byte{run("CREATE CONSTRAINT u FOR (n:U) REQUIRE n.k IS UNIQUE")}},
		{"no index", "Neo.DatabaseError.Schema.IndexDropFailed", "22N69", [][]byte{run("DROP INDEX nothing")}},
		{"no graph", "Neo.ClientError.Database.DatabaseNotFound", "22N51", [][]byte{with("RETURN 1", "db", graph.StringValue("nope"))}},
		{"memory", "Neo.ClientError.General.TransactionOutOfMemoryError", "51N73", [][]byte{run("UNWIND range(1, 1000000) AS x RETURN collect(x)"), pull(-1)}},
		{"bookmark", "Neo.ClientError.Transaction.InvalidBookmark", "08N12", [][]byte{with("RETURN 1", "bookmarks", graph.ListValue([]graph.Value{graph.StringValue("x")}))}},
		{"data and commands", "Neo.ClientError.Transaction.ForbiddenDueToTransactionType", "25N01", [][]byte{begin, run("CREATE (n)"), pull(-1), run("CREATE INDEX FOR (n:J) ON (n.k)")}},
		{"implicit", "Neo.DatabaseError.Transaction.TransactionStartFailed", "25N17", [][]byte{begin, run("CALL { CREATE (n) } IN TRANSACTIONS")}},
		{"impersonation", "Neo.ClientError.Security.Forbidden", "42NFF", [][]byte{with("RETURN 1", "imp_user", graph.StringValue("bob"))}},
		{"value", "Neo.ClientError.Statement.TypeError", "22G03", [][]byte{append([]byte("\xB3\x10\x88RETURN 1\xA1\x81p"), "\xB3V\x01\x02\x03\xA0"...)}},
	} {
		c.send(f.send...)
		for {
			tag, v := c.answer()
			if tag != 0x7F {
				require.NotEqual(t, byte(0x7E), tag, f.name)
				continue
			}
			require.Equal(t, f.code, v.Get("neo4j_code").Str(), "%s: %s", f.name, v.Get("message").Str())
			require.Equal(t, f.status, v.Get("gql_status").Str(), f.name)
			require.NotEmpty(t, v.Get("description").Str(), f.name)
			class := "CLIENT_ERROR"
			if strings.HasPrefix(f.code, "Neo.DatabaseError.") {
				class = "DATABASE_ERROR"
			}
			require.Equal(t, class, v.Get("diagnostic_record").Get("_classification").Str(), f.name)
			break
		}
		c.send(message(bolt.Reset))
		c.untilReset()
	}
	c.send(pull(-1)) // which READY does not take
	_, v := c.answer()
	require.Equal(t, "Neo.ClientError.Request.Invalid", v.Get("neo4j_code").Str())
	require.Equal(t, "08N06", v.Get("gql_status").Str())
	require.Equal(t, "08N10", v.Get("cause").Get("gql_status").Str())
	c.closed()
}
