package remote

import (
	"context"
	"net"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/storage"
)

// TestEpochs attaches one leader after another. A leader that comes back from a pause can neither write nor attach itself again.
func TestEpochs(t *testing.T) {
	disk := vfs.NewMem()
	parts, err := local.OpenParts(local.Options{Dir: "data", FS: disk, Shards: 2}, 1)
	require.NoError(t, err)
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer(ServerOptions(nil)...)
	ServeParts(s, parts)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		require.NoError(t, parts.Close())
	})
	leader := func() *Peers {
		p, err := NewPeers([]string{"", "passthrough:1"}, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		return p
	}
	one, other := storage.PartOf{Name: "one", ID: 1, Shards: 2}, storage.PartOf{Name: "other", ID: 2, Shards: 2}
	ctx := t.Context()
	first, second := leader(), leader()
	p, version, err := first.Open(ctx, one, 1, true)
	require.NoError(t, err)
	q, _, err := second.Open(ctx, one, 1, false)
	require.NoError(t, err)
	require.Greater(t, second.epoch.Load()>>16, first.epoch.Load()>>16)

	fenced := func(err error) {
		require.Equal(t, "Fenced", graph.AsError(err).Detail, err)
	}
	_, _, err = first.Open(ctx, one, 1, false)
	fenced(err)
	_, _, err = first.Open(ctx, other, 1, true)
	fenced(err)
	_, _, err = p.Get(storage.GraphStore, 0, []byte("key"))
	fenced(err)
	require.Equal(t, graph.KindUnknown, graph.AsError(p.Apply(&storage.Changed{Version: version + 1})).Kind)
	_, ok, err := q.Get(storage.GraphStore, 0, []byte("key"))
	require.NoError(t, err)
	require.False(t, ok)
}
