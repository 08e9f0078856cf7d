package remote_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// lose ends a process and takes its disk.
func (c *replicated) lose(i int) {
	c.kill(i)
	c.fs[i] = vfs.NewCrashableMem()
}

// TestLostDisk has processes lose their disks, one after another. Each waits until it is replaced, and then takes its part: the one that
// has its disk still may die. Nothing that was acknowledged is lost.
func TestLostDisk(t *testing.T) {
	c := newReplicated(t, 3, 2)
	gateway := c.gateway()
	p := newPairs(t, gateway)
	roles := func(i int, want ...string) { // the gateway's connection may not be back yet
		require.Eventually(t, func() bool {
			all, err := gateway.Members(t.Context())
			require.NoError(t, err)
			var got []string
			for _, m := range all {
				if m.Process == i {
					got = append(got, m.Role)
				}
			}
			return slices.Equal(want, got)
		}, time.Minute, time.Millisecond)
	}
	for range 10 {
		p.write()
	}
	last := map[int]uint64{0: c.layout.First(0), 2: c.layout.First(2)} // the first ids, and then the greatest of a process
	for _, lost := range []int{2, 0, 2} {
		c.lose(lost)
		p.write()
		c.start(lost)
		require.Eventually(t, func() bool {
			err := c.processes[lost].Ready()
			return err != nil && strings.Contains(err.Error(), "member replace")
		}, time.Minute, time.Millisecond)
		roles(lost, "waiting", "waiting")
		p.write()
		n, err := gateway.ReplaceMember(t.Context(), lost)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Eventually(t, func() bool { return c.processes[lost].Ready() == nil }, time.Minute, time.Millisecond)
		for no, s := range c.processes[lost].Local().Replicas() {
			require.Equal(t, lost, c.layout.Process(s.Replica))
			require.Greater(t, s.Replica, last[lost], "shard %d", no)
			require.Contains(t, s.Members.Voters(), s.Replica, "a learner is not ready")
		}
		n, err = gateway.ReplaceMember(t.Context(), lost)
		require.NoError(t, err)
		require.Zero(t, n)
		p.write()
	}
	require.NoError(t, gateway.TransferLead(t.Context(), 0, 2))
	require.Eventually(t, func() bool { return c.leader(0) == 2 }, time.Minute, time.Millisecond)
	c.kill(1) // the only one that has its first disk
	for range 10 {
		p.write()
	}
	p.read()
	roles(1, "unreachable")
	c.kill(2)
	c.start(2)
	p.write()
	p.verify(gateway)

	_, err := gateway.ReplaceMember(t.Context(), 3)
	require.Equal(t, graph.KindInvalid, graph.AsError(err).Kind, err)
	require.ErrorContains(t, gateway.TransferLead(t.Context(), 2, 1), "there is no shard 2")
}
