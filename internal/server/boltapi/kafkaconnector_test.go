package boltapi

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// connector sends what Neo4j's connector for Kafka 5.5 sends as a source of changes, by the driver for Java 4.4: reads of a change stream are
// transactions of two statements, whose results are pulled in parts.
type connector struct {
	*client
	out    strings.Builder
	tokens map[string]string // the names that the output gives to tokens, by token
	byName map[string]string
}

// TestKafkaConnector runs the exchanges of the connector; the output has each answer, with names for tokens and without times.
//
//	write              runs a statement by another client
//	connect            logs on
//	start at=CURRENT   what the task does first: earliest or current
//	poll from=TOKEN    one poll, with selectors, one a line as Cypher
//	transaction        what the gauge of the last transaction asks for
func TestKafkaConnector(t *testing.T) {
	datadriven.Walk(t, "testdata/kafkaconnector", func(t *testing.T, path string) {
		store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, LogBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		s := serveEngine(t, query.New(restricted.NewStore(store), query.Options{}), Options{})
		c := &connector{client: greet(t, s.dial(t), v44), tokens: map[string]string{}, byName: map[string]string{}}
		writer := s.connect(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c.out.Reset()
			switch d.Cmd {
			case "write":
				writer.send(run(d.Input), pull(-1))
				writer.ok()
				writer.rows()
			case "connect":
				c.send(message(bolt.Hello, entries(
					"user_agent", graph.StringValue("neo4j-kafka-connector-source/5.5.2 (cdc) neo4j-java/4.4.27"), "scheme", graph.StringValue("none"),
					"routing", entries("address", graph.StringValue("127.0.0.1:7687")))))
				c.until(1)
			case "start":
				var at string
				d.ScanArgs(t, "at", &at)
				c.transaction("r", []statement{{"call db.cdc." + at + "()", entries()}})
			case "poll":
				var from string
				d.ScanArgs(t, "from", &from)
				selectors := graph.ListValue(nil)
				if d.Input != "" {
					selectors = c.literal(writer, "["+strings.ReplaceAll(d.Input, "\n", ", ")+"]")
				}
				mode := "r"
				if d.HasArg("leader") {
					mode = "w"
				}
				token, ok := c.byName[from]
				require.True(t, ok, from)
				c.transaction(mode, []statement{
					{"CALL db.cdc.current()", entries()},
					{"call db.cdc.query($from, $selectors)", entries("from", graph.StringValue(token), "selectors", selectors)},
				})
			case "transaction":
				c.transaction("w", []statement{
					{"SHOW DATABASE $dbName YIELD lastCommittedTxn RETURN lastCommittedTxn as txId", entries("dbName", graph.StringValue("neo4j"))},
				})
			default:
				t.Fatalf("unknown command %s", d.Cmd)
			}
			return c.out.String()
		})
	})
}

type statement struct {
	text   string
	params graph.Value
}

// literal has a server evaluate an expression.
func (c *connector) literal(by *client, text string) graph.Value {
	by.send(run("RETURN "+text), pull(-1))
	by.ok()
	tag, row := by.answer()
	require.Equal(c.t, byte(0x71), tag)
	by.ok()
	return row.List()[0]
}

// transaction runs statements as the driver's managed transactions do: each one is run and then pulled, before the next one's records are.
func (c *connector) transaction(mode string, statements []statement) {
	fields := []any{
		"db", graph.StringValue("neo4j"), "tx_timeout", graph.IntValue(60_000),
		"tx_metadata", entries("app", graph.StringValue("neo4j-kafka-connector-source/5.5.2"), "metadata", entries("strategy", graph.StringValue("cdc"))),
	}
	if mode == "r" { // which is w by default
		fields = append(fields, "mode", graph.StringValue("r"))
	}
	c.send(message(bolt.Begin, entries(fields...)))
	if !c.until(1) {
		c.reset()
		return
	}
	for _, s := range statements {
		c.send(message(bolt.Run, graph.StringValue(s.text), s.params, entries()))
		ok := c.until(1)
		for more := ok; more; {
			c.send(pull(2))
			var end graph.Value
			if ok, end = c.records(); !ok {
				break
			}
			more = end.Get("has_more").Kind() == graph.Bool && end.Get("has_more").Bool()
		}
		if !ok {
			c.reset()
			return
		}
	}
	c.send(message(bolt.Commit))
	c.until(1)
}

// until prints n answers that are no records.
func (c *connector) until(n int) bool {
	for range n {
		if ok, _ := c.records(); !ok {
			return false
		}
	}
	return true
}

// records prints answers up to one that is no record, and reports whether that is a success.
func (c *connector) records() (bool, graph.Value) {
	for {
		msg, err := c.in.Next(bolt.AtMost(1 << 20))
		require.NoError(c.t, err)
		d := packstream.NewDecoder(packstream.Form{}, msg)
		tag, _, err := d.Struct()
		require.NoError(c.t, err)
		v, err := d.Value()
		require.NoError(c.t, err)
		name := map[byte]string{0x70: "SUCCESS", 0x71: "RECORD", 0x7F: "FAILURE"}[tag]
		fmt.Fprintf(&c.out, "%s %s\n", name, c.normal(v))
		if tag != 0x71 {
			return tag == 0x70, v
		}
	}
}

var (
	tokens  = regexp.MustCompile(`["'][\w-]{20,}["']`)
	varying = regexp.MustCompile(`(t_first|t_last|connection_id|bookmark|server|connectionClient|connectionServer): ('[^']*'|"[^"]*"|\d+)`)
	cost    = regexp.MustCompile(`hopgate_cost: {[^}]*}`)
	times   = regexp.MustCompile(`(tx\w+Time): [^,}]*`)
)

// normal prints a value, and replaces what differs from run to run.
func (c *connector) normal(v graph.Value) string {
	text := string(notation.Append(nil, v))
	text = tokens.ReplaceAllStringFunc(text, func(token string) string {
		token = token[1 : len(token)-1]
		if c.tokens[token] == "" {
			name := fmt.Sprintf("T%d", len(c.tokens)+1)
			c.tokens[token], c.byName[name] = name, token
		}
		return c.tokens[token]
	})
	text = cost.ReplaceAllString(text, "hopgate_cost: …")
	text = varying.ReplaceAllString(text, "$1: …")
	return times.ReplaceAllString(text, "$1: …")
}
