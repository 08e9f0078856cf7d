package httpapi

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// TestTTL lets vertices and edges expire under a running server.
func TestTTL(t *testing.T) {
	h := newHTTP(newLocal(t), query.Options{}, Options{})
	ask := func(statement string) string {
		t.Helper()
		body, err := json.Marshal(map[string]any{"statement": statement, "parameters": map[string]any{"ttl": "PT2H"}})
		require.NoError(t, err)
		r := do(t, h, "POST /db/default/query/v2\nContent-Type: application/json\n\n"+string(body))
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		var out struct {
			Data struct {
				Values json.RawMessage `json:"values"`
			} `json:"data"`
			Errors []struct{ Code string } `json:"errors"`
		}
		require.NoError(t, json.Unmarshal(b, &out), "%s", b)
		if len(out.Errors) > 0 {
			return out.Errors[0].Code
		}
		return strings.TrimSpace(string(out.Data.Values))
	}
	gone := func(statement string) {
		t.Helper()
		require.Eventually(t, func() bool { return ask(statement) == "[[0]]" }, time.Minute, 20*time.Millisecond, statement)
	}
	ask("CREATE (:Old {n: 1})")
	require.Equal(t, "[]", ask("CREATE LABEL Session OPTIONS {ttl: duration('PT1S')}"))
	require.Equal(t, "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists", ask("CREATE LABEL Session OPTIONS {ttl: 5}"))
	require.Equal(t, "[]", ask("CREATE LABEL Session IF NOT EXISTS OPTIONS {ttl: 5}"))
	require.Equal(t, "[]", ask("CREATE RELATIONSHIP TYPE SAW OPTIONS {ttl: $ttl, property: 'at'}"))
	for _, bad := range []string{"{ttl: 'soon'}", "{ttl: 'P1M'}", "{ttl: 0}", "{ttl: 1, proprety: 'x'}", "{property: 'x'}"} { //nolint:misspell // one of them is no name
		require.Equal(t, "Neo.ClientError.Schema.SchemaRuleCreationFailed", ask("CREATE LABEL Other OPTIONS "+bad), bad)
	}
	require.Equal(t, `[["Old",1,null,null],["Session",0,"PT1S",null]]`, ask("SHOW LABELS"))
	require.Equal(t, `[["SAW",0,"PT2H","at"]]`, ask("SHOW RELATIONSHIP TYPES"))

	ask("MATCH (o:Old) UNWIND range(1, 100) AS i CREATE (:Session {i: i})-[:OF]->(o)")
	gone("MATCH (s:Session) RETURN count(s)")
	require.Equal(t, "[[1,0]]", ask("MATCH (o:Old) RETURN count(o), COUNT { (o)--() }"))

	ask("MATCH (o:Old) CREATE (o)-[:SAW {at: datetime() - duration('PT3H')}]->(o), (o)-[:SAW {at: datetime()}]->(o), (o)-[:SAW]->(o)")
	require.Equal(t, "[[2]]", ask("MATCH ()-[r:SAW]->() RETURN count(r)"))
	require.Equal(t, "[]", ask("ALTER RELATIONSHIP TYPE SAW SET OPTIONS {ttl: duration({hours: 1.5})}"))
	require.Equal(t, `[["PT1H30M"]]`, ask("SHOW RELATIONSHIP TYPES YIELD ttl"))
	require.Equal(t, "[]", ask("ALTER RELATIONSHIP TYPE SAW SET OPTIONS {ttl: 'PT0.001S'}"))
	gone("MATCH ()-[r:SAW]->() WHERE r.at IS NOT NULL RETURN count(r)")
	require.Equal(t, "[[1]]", ask("MATCH ()-[r:SAW]->() RETURN count(r)"))

	require.Equal(t, "[]", ask("ALTER LABEL Session REMOVE TTL"))
	require.Equal(t, "Neo.ClientError.Schema.ConstraintNotFound", ask("ALTER LABEL Session REMOVE TTL"))
	require.Equal(t, `[["Old",1,null,null]]`, ask("SHOW LABELS"))
	require.Equal(t, "[]", ask("ALTER LABEL Old SET OPTIONS {ttl: 'P1D'}"))
	require.Equal(t, "[]", ask("ALTER LABEL Old SET OPTIONS {property: 'n'}")) // a second of 1970
	gone("MATCH (o) RETURN count(o)")
	require.Equal(t, "[[0]]", ask("MATCH ()-[r]->() RETURN count(r)"))
}
