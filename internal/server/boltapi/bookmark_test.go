package boltapi

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// A bookmark whose token was changed is invalid. Those of graphs that were dropped, or made again under their names, say nothing any more.
func TestBookmarkTokens(t *testing.T) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), LogBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	c := serveEngine(t, query.New(store, query.Options{}), Options{}).connect(t)
	alone := func(statement string, extra ...any) string {
		c.send(message(bolt.Run, graph.StringValue(statement), entries(), entries(extra...)), pull(-1))
		c.ok()
		_, end := c.rows()
		return end.Get("bookmark").Str()
	}
	begins := func(b string) {
		c.send(message(bolt.Begin, entries("bookmarks", graph.ListValue([]graph.Value{graph.StringValue(b)}))), message(bolt.Rollback))
		c.ok()
		c.ok()
	}
	b := alone("CREATE (n)")
	require.Regexp(t, `^hg1:default:\d+-[\w-]{40,}$`, b)
	begins(b)
	alone("CREATE DATABASE other")
	other := alone("CREATE (n)", "db", graph.StringValue("other"))
	begins(other)
	alone("DROP DATABASE other")
	begins(other)
	alone("CREATE DATABASE other")
	begins(other)
	c.send(message(bolt.Begin, entries("bookmarks", graph.ListValue([]graph.Value{graph.StringValue(b[:len(b)-2] + "xx")}))))
	require.Equal(t, "Neo.ClientError.Transaction.InvalidBookmark", c.failed())
}
