package boltapi

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
)

// A statement that writes has committed before its RUN is answered, whether the client pulls its rows or not.
func TestRunCommits(t *testing.T) {
	s := serve(t, Options{})
	writer, reader := s.connect(t), s.connect(t)
	writer.send(run("CREATE (n:Written) RETURN n"))
	writer.ok()
	reader.send(run("MATCH (n:Written) RETURN n"), pull(-1))
	reader.ok()
	n, _ := reader.rows()
	require.Equal(t, 1, n)
	writer.send(message(bolt.Reset))
	writer.ok()
	reader.send(run("MATCH (n:Written) RETURN n"), pull(-1))
	reader.ok()
	n, _ = reader.rows()
	require.Equal(t, 1, n, "a RESET takes nothing back")
}

// Each commit has another bookmark; a read has the last one's, and a rollback none.
func TestBookmarks(t *testing.T) {
	s := serve(t, Options{})
	c := s.connect(t)
	alone := func(statement string) string {
		c.send(run(statement), pull(-1))
		c.ok()
		_, end := c.rows()
		return end.Get("bookmark").Str()
	}
	first := alone("RETURN 1")
	require.Equal(t, first, alone("RETURN 1"))
	seen := map[string]bool{first: true}
	for _, statement := range []string{"CREATE (n)", "CREATE INDEX FOR (n:L) ON (n.p)", "CREATE DATABASE other", "CREATE (n)"} {
		b := alone(statement)
		require.True(t, strings.HasPrefix(b, "hg1:"), b)
		require.False(t, seen[b], b)
		seen[b] = true
		c.send(message(bolt.Begin, entries("bookmarks", graph.ListValue([]graph.Value{graph.StringValue(b)}))), message(bolt.Rollback))
		c.ok()
		c.ok()
	}
	c.send(message(bolt.Begin, entries()), run("CREATE (n)"), pull(-1), message(bolt.Rollback))
	c.ok()
	c.ok()
	_, end := c.rows()
	require.True(t, end.Get("bookmark").IsNull())
	require.Empty(t, c.ok().Map())
}

// System updates have counters of their own.
func TestSystemUpdates(t *testing.T) {
	c := serve(t, Options{}).connect(t)
	for _, w := range []struct {
		statement string
		updates   int64
	}{
		{"CREATE DATABASE a", 1}, {"CREATE DATABASE a IF NOT EXISTS", 0}, {"CREATE OR REPLACE DATABASE a", 2}, {"DROP DATABASE a", 1},
	} {
		c.send(run(w.statement), pull(-1))
		c.ok()
		_, end := c.rows()
		require.Equal(t, "s", end.Get("type").Str())
		stats := end.Get("stats")
		if w.updates == 0 {
			require.True(t, stats.IsNull(), w.statement)
			continue
		}
		require.Equal(t, w.updates, stats.Get("system-updates").Int(), w.statement)
		require.True(t, stats.Get("contains-system-updates").Bool(), w.statement)
		require.True(t, stats.Get("contains-updates").IsNull(), w.statement)
	}
}

// EXPLAIN has the columns of its statement and no rows.
func TestExplainOverBolt(t *testing.T) {
	c := serve(t, Options{}).connect(t)
	c.send(run("EXPLAIN MATCH (n) RETURN n, n.p AS p"), pull(-1))
	require.Len(t, c.ok().Get("fields").List(), 2)
	n, end := c.rows()
	require.Zero(t, n)
	require.NotEmpty(t, end.Get("plan").Get("operatorType").Str())
	require.NotEmpty(t, end.Get("plan").Get("args").Get("string-representation").Str())
}

// EXPLAIN tells what a statement would do, so that tools that only read can ask, and does not do it.
func TestExplainTellsTypes(t *testing.T) {
	c := serve(t, Options{}).connect(t)
	for statement, kind := range map[string]string{
		"CREATE (:A)": "w", "CREATE (n:A) RETURN n": "rw", "MATCH (n) DETACH DELETE n": "w", "CREATE INDEX i FOR (n:A) ON (n.k)": "s",
		"DROP INDEX nothing": "s", "CREATE DATABASE a": "s", "MATCH (n) RETURN n": "r", "SHOW INDEXES": "r",
	} {
		c.send(run("EXPLAIN "+statement), pull(-1))
		c.ok()
		n, end := c.rows()
		require.Zero(t, n)
		require.Equal(t, kind, end.Get("type").Str(), statement)
		require.True(t, end.Get("stats").IsNull(), statement)
	}
	for _, list := range []string{"SHOW INDEXES", "SHOW GRAPHS YIELD name WHERE name = 'a'", "MATCH (n) RETURN n"} {
		c.send(run(list), pull(-1))
		c.ok()
		n, _ := c.rows()
		require.Zero(t, n, list)
	}
}

// The metadata that a client sends with its transaction is listed with it.
func TestMetadata(t *testing.T) {
	s := serve(t, Options{})
	c, other := s.connect(t), s.connect(t)
	c.send(message(bolt.Begin, entries("tx_metadata", entries("app", graph.StringValue("shop")))), run("CALL tx.getMetaData() YIELD metadata RETURN metadata.app"), pull(-1))
	c.ok()
	c.ok()
	tag, record := c.answer()
	require.Equal(t, byte(0x71), tag)
	require.Equal(t, "shop", record.List()[0].Str())
	c.ok()
	other.send(run("SHOW TRANSACTIONS YIELD metaData, connectionId, clientAddress WHERE metaData.app = 'shop' RETURN connectionId, clientAddress"), pull(-1))
	other.ok()
	tag, record = other.answer()
	require.Equal(t, byte(0x71), tag)
	require.Equal(t, "bolt-1", record.List()[0].Str())
	require.Equal(t, c.c.LocalAddr().String(), record.List()[1].Str())
}

// A result outside a transaction that waits for its client for too long is ended, and the client's next message learns of it.
func TestIdleResult(t *testing.T) {
	inBubble(t, Options{TxIdle: time.Minute}, func(t *testing.T, s *Server, dial func() net.Conn) {
		c := logOn(t, dial())
		c.send(run("UNWIND range(1, 5000) AS n RETURN n"), pull(1))
		c.ok()
		c.rows()
		time.Sleep(time.Minute - time.Second)
		require.Len(t, s.e.Running(t.Context()), 1)
		time.Sleep(2 * time.Second)
		require.Empty(t, s.e.Running(t.Context()))
		c.send(pull(1))
		require.Equal(t, "Neo.ClientError.Transaction.TransactionTimedOut", c.failed())
		require.Zero(t, testutil.ToFloat64(s.metrics.waiting))
	})
}

// The transaction of a failed statement is rolled back at once, before the client resets.
func TestFailureRollsBack(t *testing.T) {
	s := serve(t, Options{})
	c := s.connect(t)
	c.send(message(bolt.Begin, entries()), run("CREATE (:Lost)"), pull(-1), run("RETURN 1 / 0"), pull(-1))
	c.ok()
	c.ok()
	c.rows()
	c.firstFailure()
	require.Eventually(t, func() bool {
		return testutil.ToFloat64(s.metrics.transactions) == 0 && len(s.e.Running(context.Background())) == 0
	}, time.Minute, time.Millisecond)
}

// A WebSocket answers pings while a statement runs, and pages of the origins in the list may open one.
func TestWebSocket(t *testing.T) {
	web, err := access.NewOrigins("bolt-origins", "https://app.example", "")
	require.NoError(t, err)
	s := serve(t, Options{Web: web})
	ws, _, err := websocket.Dial(t.Context(), "ws://"+s.address+"/", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://app.example"}}})
	require.NoError(t, err)
	defer func() { _ = ws.CloseNow() }()
	c := greet(t, websocket.NetConn(t.Context(), ws, websocket.MessageBinary), v54)
	c.send(message(bolt.Hello, entries("user_agent", graph.StringValue("x"))), message(bolt.Logon, entries("scheme", graph.StringValue("none"))))
	c.ok()
	c.ok()
	c.send(run("UNWIND range(1, 1000000000) AS n WITH n WHERE n < 0 RETURN n"), pull(-1))
	c.ok()
	failed := make(chan string, 1)
	go func() { failed <- c.firstFailure() }() // reads, and so takes the answer to the ping
	require.NoError(t, ws.Ping(t.Context()))
	c.send(message(bolt.Reset))
	require.Equal(t, terminated, <-failed)
}

// The rows before one that fails arrive before the failure, at the client's pace.
func TestRowsBeforeFailureOverBolt(t *testing.T) {
	c := serve(t, Options{}).connect(t)
	c.send(run("UNWIND [1, 2, 0, 4] AS x RETURN 4 / x"), pull(1))
	c.ok()
	for _, want := range []int64{4, 2} {
		tag, record := c.answer()
		require.Equal(t, byte(0x71), tag)
		require.Equal(t, want, record.List()[0].Int())
		require.True(t, c.ok().Get("has_more").Bool())
		c.send(pull(1))
	}
	require.Equal(t, "Neo.ClientError.Statement.ArithmeticError", c.failed())
	c.reset()

	c.send(run("UNWIND [1, 0] AS x RETURN 1 / x"), pull(-1))
	c.ok()
	tag, _ := c.answer()
	require.Equal(t, byte(0x71), tag)
	require.Equal(t, "Neo.ClientError.Statement.ArithmeticError", c.failed())
}

// The summary of each result has its cost under a key that drivers pass over.
func TestCostOverBolt(t *testing.T) {
	c := serve(t, Options{}).connect(t)
	c.send(run("UNWIND range(1, 3) AS i CREATE (p:P {i: i})"), pull(-1), run("MATCH (p:P) RETURN p.i"), pull(-1))
	c.ok()
	c.rows()
	c.ok()
	_, end := c.rows()
	for name, want := range map[string]int64{"visits": 3, "rows": 3, "bytes": 24} {
		require.Equal(t, want, end.Get("hopgate_cost").Get(name).Int(), name)
	}
}
