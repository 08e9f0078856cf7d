package remote_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard/local"
)

// lag reports whether a process is behind what the others have cut off their logs, for each shard.
func (c *replicated) lag(last map[uint32]uint64) bool {
	for no, index := range last {
		leader := c.processes[c.leader(int(no))].Local().Replicas()[no]
		if leader.FirstIndex <= index+1 {
			return false
		}
	}
	return true
}

// caughtUp reports whether a process has all that was committed in its shards.
func (c *replicated) caughtUp(i int) bool {
	for no, s := range c.processes[i].Local().Replicas() {
		if s.Leader == 0 || s.Applied < c.processes[c.leader(int(no))].Local().Replicas()[no].Commit {
			return false
		}
	}
	return true
}

// TestSeeding has a process stay away until no log has its next entries any more. It is seeded, is killed while that goes on, and then
// replaces another one that dies. Nothing that was acknowledged is lost.
func TestSeeding(t *testing.T) {
	c := newReplicatedTuned(t, 3, 2, local.Tuning{PlaceBlock: 16, LogBytes: 4 << 10})
	gateway := c.gateway()
	p := newPairs(t, gateway)
	const away = 2
	p.write()
	last := map[uint32]uint64{}
	for no, s := range c.processes[away].Local().Replicas() {
		last[no] = s.LastIndex
	}
	c.kill(away)
	for !c.lag(last) {
		p.write()
	}
	for range 4 {
		c.start(away)
		require.Eventually(t, func() bool {
			for _, s := range c.processes[away].Local().Replicas() {
				if s.SeedBytes > 0 || s.Seeds > 0 {
					return true
				}
			}
			return c.caughtUp(away)
		}, time.Minute, time.Millisecond)
		p.write()
		c.kill(away)
	}
	c.start(away)
	// No log has the entry after its last one, so it catches up by a seed alone; a restart may have completed the installation.
	require.Eventually(t, func() bool { return c.caughtUp(away) }, time.Minute, time.Millisecond)
	p.read()

	c.kill(0)
	for range 20 {
		p.write()
	}
	p.verify(gateway)
}

// TestLeftSeed starts a process that has part of a seed, from before the others' logs had what it needs. It catches up, and the seed goes.
func TestLeftSeed(t *testing.T) {
	c := newReplicated(t, 3, 1)
	p := newPairs(t, c.gateway())
	p.write()
	c.kill(2)
	const dir = "data/replicas/0000.seed"
	require.NoError(t, c.fs[2].MkdirAll(dir+"/graphs/default", 0o755))
	p.write()
	c.start(2)
	require.Eventually(t, func() bool {
		_, err := c.fs[2].Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	}, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return c.caughtUp(2) }, time.Minute, time.Millisecond)
}
