package boltapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// Settings that mean nothing are refused, not ignored: negative timeouts, filters that Neo4j does not know, and addresses that would break
// the lines of what other clients get.
func TestBadSettings(t *testing.T) {
	s := serve(t, Options{})
	text := graph.StringValue
	set := func(pairs ...any) []byte {
		return message(bolt.Run, text("RETURN 1"), entries(), entries(pairs...))
	}
	route := func(address string) []byte {
		return message(bolt.Route, entries("address", text(address)), graph.ListValue(nil), entries())
	}
	for name, m := range map[string][]byte{
		"timeout": set("tx_timeout", graph.IntValue(-1)), "severity": set("notifications_minimum_severity", text("LOUD")),
		"category":       set("notifications_disabled_categories", graph.ListValue([]graph.Value{text("HINT"), text("NOISE")})),
		"classification": set("notifications_disabled_classifications", graph.ListValue([]graph.Value{text("NOISE")})),
		"line feed":      route("host:7687\nother:1"), "carriage return": route("host:7687\r"), "space": route("ho st:7687"), "zero": route("host\x00:1"),
	} {
		c := s.connect(t)
		c.send(m)
		require.Equal(t, "Neo.ClientError.Request.Invalid", c.failed(), name)
	}
	c := s.connect(t)
	c.send(set("notifications_minimum_severity", text("off"), "notifications_disabled_categories", graph.ListValue([]graph.Value{text("hint")})), pull(-1))
	c.ok()
	c.rows()
}

// The plan has the shape that Neo4j's tools read: ProduceResults at the root, and the variables of each operator.
func TestPlanOverBolt(t *testing.T) {
	c := serve(t, Options{}).connect(t)
	for _, prefix := range []string{"EXPLAIN", "PROFILE"} {
		c.send(run(prefix+" MATCH (n)-[r:R]->(m) RETURN n.p AS p, m"), pull(-1))
		c.ok()
		_, end := c.rows()
		root := end.Get(map[string]string{"EXPLAIN": "plan", "PROFILE": "profile"}[prefix])
		require.Equal(t, "ProduceResults", root.Get("operatorType").Str())
		require.Equal(t, "p, m", root.Get("args").Get("Details").Str())
		require.Equal(t, "['p', 'm']", string(notation.Append(nil, root.Get("identifiers"))))
		require.Len(t, root.Get("children").List(), 1)
		below := root.Get("children").List()[0]
		require.Contains(t, string(notation.Append(nil, below.Get("identifiers"))), "'m'")
		require.Contains(t, root.Get("args").Get("string-representation").Str(), "+ProduceResults p, m")
	}
}
