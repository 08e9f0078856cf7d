package local

import (
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestPeersTogether commits over three shards in three processes: each step reaches the others, beside the intents of the
// first, before either has answered.
func TestPeersTogether(t *testing.T) {
	ctx := t.Context()
	opts := Options{Dir: "data", FS: vfs.NewMem(), Shards: 3, ValueThreshold: 64, Tuning: Tuning{PlaceBlock: 1, CompactRecords: -1}}
	n := newNeighbours(t, opts)
	defer n.close()
	opts.Peers = n.writer()
	s, err := n.lead(opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	g, err := s.Graph(DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	text, err := tx.Prop("text")
	require.NoError(t, err)
	ms := make([]shard.Mutation, 3)
	for i := range ms {
		ms[i].Props = []graph.Property{{ID: text, Value: graph.StringValue(strings.Repeat("x", 100))}} // a large value
	}
	require.NoError(t, tx.Apply(ctx, ms))

	var mu sync.Mutex
	met := 0
	all := make(chan struct{})
	n.before = func(no int) error {
		if no == 0 {
			return nil
		}
		mu.Lock()
		here := all
		if met++; met%2 == 0 {
			close(all)
			all = make(chan struct{})
		}
		mu.Unlock()
		<-here
		return nil
	}
	require.NoError(t, tx.Commit(ctx))
	n.before = nil
	require.Equal(t, 4, met, "the large values, and what refers to them")
}
