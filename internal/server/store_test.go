package server

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newOracle returns an oracle of two shards with the default graph.
func newOracle(t testing.TB) shard.Store {
	store := oracle.New(2)
	require.NoError(t, store.CreateGraph(context.Background(), query.DefaultGraph))
	return store
}

// newLocal returns a store on disk, of two shards.
func newLocal(t testing.TB) shard.Store {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, LogBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
