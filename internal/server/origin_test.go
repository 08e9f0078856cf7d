package server

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// TestOrigins shows that the log knows by which protocol, from where and to where a transaction came.
func TestOrigins(t *testing.T) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 1, LogBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	r := serveOver(t, store, query.Options{}, Options{})
	r.post(t, "/v1/query", `{"statement": "CREATE (:HTTP)"}`)
	_, err = r.query(t.Context(), &pb.QueryRequest{Statement: "CREATE (:GRPC)"})
	require.NoError(t, err)

	s, err := r.engine.Changes(t.Context(), "", changes.Request{From: changes.Earliest})
	require.NoError(t, err)
	defer s.Close()
	es, err := s.Next(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Len(t, es, 2)
	for i, want := range []struct{ protocol, server string }{{"http", r.addrs.HTTP}, {"grpc", r.addrs.GRPC}} {
		o := es[i].Origin()
		require.Equal(t, want.protocol, o.Protocol)
		require.Equal(t, want.server, o.Server)
		require.Contains(t, o.Client, "127.0.0.1:")
		require.LessOrEqual(t, o.Started, es[i].Committed())
	}
}
