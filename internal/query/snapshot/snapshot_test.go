package snapshot_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/query/snapshot"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// A token of a graph is accepted once the graph has its commit. One whose commit the graph does not have, or has at another time, is of another
// history, as after a restore; who has not seen the commit asks the log.
func TestReached(t *testing.T) {
	ctx := t.Context()
	store, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), LogBytes: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	g, err := store.Graph(local.DefaultGraph)
	require.NoError(t, err)
	commit := func() snapshot.At {
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		defer tx.Rollback()
		before := snapshot.Of(tx)
		set, err := tx.LabelSet(nil)
		require.NoError(t, err)
		require.NoError(t, tx.Apply(ctx, []shard.Mutation{{Op: shard.CreateVertex, Labels: set}}))
		require.NoError(t, tx.Commit(ctx))
		at := snapshot.After(tx)
		require.Equal(t, before.Commit+1, at.Commit)
		require.Greater(t, at.Time, before.Time)
		return at
	}
	var all []snapshot.At
	for range 4 {
		all = append(all, commit())
	}
	var told snapshot.Tokens
	last, err := told.Text(ctx, g, local.DefaultGraph, snapshot.At{})
	require.NoError(t, err)
	fourth, err := told.Text(ctx, g, local.DefaultGraph, all[3])
	require.NoError(t, err)
	require.Equal(t, last, fourth)

	st, err := g.ChangeLog().LogState(ctx)
	require.NoError(t, err)
	signer := token.NewSigner(st.Key)
	reached := func(tok token.Token) string {
		var fresh snapshot.Tokens // which has seen nothing
		err := fresh.Reached(ctx, g, local.DefaultGraph, signer.Text(tok))
		if err == nil {
			return ""
		}
		return graph.AsError(err).Detail
	}
	for _, at := range all {
		require.Empty(t, reached(token.Token{Commit: at.Commit, Time: at.Time}))
		require.Equal(t, changes.OtherHistory, reached(token.Token{Commit: at.Commit, Time: at.Time + 1}))
	}
	require.Equal(t, changes.OtherHistory, reached(token.Token{Commit: all[3].Commit + 1, Time: all[3].Time + 1}))
	require.Equal(t, changes.Expired, reached(token.Token{Commit: all[0].Commit, Time: all[0].Time, Expires: 1}))
	require.Equal(t, changes.Malformed, graph.AsError(told.Reached(ctx, g, local.DefaultGraph, last+"A")).Detail)
}
