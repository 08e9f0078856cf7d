package remote_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard/local"
)

// TestMoveOnly moves the only replica of shard 0 to the other process. The first one, which keeps none any more, does not begin the shard anew
// when it comes back with an empty directory.
func TestMoveOnly(t *testing.T) {
	c := unstarted(t, 2, 2, local.Tuning{PlaceBlock: 16})
	c.layout.Replicas = 1
	for i := range c.processes {
		c.start(i)
	}
	g := c.gateway()
	p := newPairs(t, g)
	for range 10 {
		p.write()
	}
	for _, no := range []int{1, 0} { // the processes exchange their shards
		_, err := g.MoveReplica(t.Context(), no, no, 1-no)
		require.NoError(t, err)
		p.write()
	}
	_, err := g.MoveReplica(t.Context(), 1, 0, 1)
	require.NoError(t, err)
	gone := func() bool { return len(c.processes[0].Local().Replicas()) == 0 }
	require.Eventually(t, gone, time.Minute, time.Millisecond)
	c.kill(0)
	c.fs[0] = vfs.NewCrashableMem()
	c.start(0)
	p.write()
	require.Eventually(t, gone, time.Minute, time.Millisecond)
	p.verify(g)
}
