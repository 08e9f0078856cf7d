package remote_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/version"
)

// TestClusterVersion starts two of three processes: the version is not raised before the third says what it knows. It survives a restart, after
// which a process with a replica of shard 0 knows it by itself.
func TestClusterVersion(t *testing.T) {
	c := unstarted(t, 3, 3, local.Tuning{PlaceBlock: 16})
	c.layout.Replicas = 1
	first := c.startLogged(0, c.addresses)
	c.start(1)
	first.says(t, "does not answer", "process=2") // the second time that it is asked
	require.EqualValues(t, 1, c.processes[0].Version())
	c.start(2)
	for _, p := range c.processes {
		require.Eventually(t, func() bool { return p.Version() == version.Cluster }, time.Minute, time.Millisecond)
	}
	first.says(t, "the cluster version is raised")
	for i := range c.processes {
		c.kill(i)
	}
	c.start(0)
	require.Eventually(t, func() bool { return c.processes[0].Version() == version.Cluster }, time.Minute, time.Millisecond)
}
