package boltapi

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// Transactions and statements read the moment that their metadata name, which may be a bookmark.
func TestAsOf(t *testing.T) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, LogBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	c := serveEngine(t, query.New(past.NewStore(store, past.DefaultBytes), query.Options{}), Options{}).connect(t)
	text := graph.StringValue
	result := func() (rows []string, end graph.Value) {
		c.ok()
		for {
			tag, v := c.answer()
			if tag != 0x71 {
				require.EqualValues(t, 0x70, tag, v)
				return rows, v
			}
			rows = append(rows, v.List()[0].Str())
		}
	}
	alone := func(statement string, extra ...any) (rows []string, end graph.Value) {
		c.send(message(bolt.Run, text(statement), entries(), entries(extra...)), pull(-1))
		return result()
	}
	_, end := alone("CREATE (:User {name: 'Ann'})")
	bookmark := end.Get("bookmark").Str()
	token, ok := query.BookmarkToken(bookmark)
	require.True(t, ok)
	rows, _ := alone("CALL db.cdc.current() YIELD id RETURN id")
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	st, err := g.ChangeLog().LogState(t.Context())
	require.NoError(t, err)
	clock := time.Unix(0, st.LastTime).UTC()
	dateTime, err := temporal.ParseDateTime(clock.Format(time.RFC3339Nano), temporal.Zone{})
	require.NoError(t, err)
	alone("CREATE SNAPSHOT then")
	alone("MATCH (n:User) SET n.name = 'Eve' CREATE (:User {name: 'Bob'})")

	const read = "MATCH (n:User) RETURN n.name"
	was := []string{"Ann"}
	for _, at := range []graph.Value{
		text(bookmark), text(token), text(rows[0]), text(clock.Format(time.RFC3339Nano)), graph.DateTimeValue(dateTime), text("snapshot:then"),
	} {
		extra := []any{"mode", text("r"), "tx_metadata", entries("hopgate.at", at)}
		got, _ := alone(read, extra...)
		require.Equal(t, was, got, at)
		c.send(message(bolt.Begin, entries(extra...)))
		c.ok()
		for range 2 { // each statement reads the moment
			c.send(run(read), pull(-1))
			got, _ := result()
			require.Equal(t, was, got, at)
		}
		c.send(message(bolt.Commit))
		c.ok()
	}
	got, _ := alone(read, "tx_metadata", entries("hopgate.at", graph.Value{}))
	require.ElementsMatch(t, []string{"Eve", "Bob"}, got)

	begin := func(mode string, at graph.Value) [][]byte {
		return [][]byte{message(bolt.Begin, entries("mode", text(mode), "tx_metadata", entries("hopgate.at", at)))}
	}
	for _, f := range []struct {
		name, code, says string
		send             [][]byte
	}{
		{"a transaction that may write", "Neo.ClientError.Statement.AccessMode", "cannot change it", begin("w", text(token))},
		{
			"a statement that writes", "Neo.ClientError.Statement.AccessMode", "cannot change it",
			[][]byte{message(bolt.Run, text("CREATE (n)"), entries(), entries("tx_metadata", entries("hopgate.at", text(token))))},
		},
		{"another type", "Neo.ClientError.Statement.ArgumentError", "tx_metadata.hopgate.at: takes a token or a date and time, and no Integer", begin("r", graph.IntValue(1))},
		{"no text", "Neo.ClientError.Statement.ArgumentError", "tx_metadata.hopgate.at: is empty", begin("r", text(""))},
		{"no moment", "Neo.ClientError.Statement.ArgumentError", "tx_metadata.hopgate.at: is neither", begin("r", text("2026-13-01"))},
		{"a bookmark without a token", "Neo.ClientError.Statement.ArgumentError", "nor a token", begin("r", text("hg1:default:17"))},
		{"no such snapshot", "Neo.ClientError.Statement.ArgumentError", `no snapshot "x"`, begin("r", text("snapshot:x"))},
		{"a moment within a transaction", "Neo.ClientError.Statement.ArgumentError", "begin a transaction as of the moment", append(begin("r", text(token)), run("USE default AS OF '"+token+"' "+read))},
	} {
		c.send(f.send...)
		tag, v := c.answer()
		for ; tag != 0x7F; tag, v = c.answer() {
			require.EqualValues(t, 0x70, tag, f.name)
		}
		require.Equal(t, f.code, v.Get("code").Str(), f.name)
		require.Contains(t, v.Get("message").Str(), f.says, f.name)
		c.send(message(bolt.Reset))
		c.untilReset()
	}
}
