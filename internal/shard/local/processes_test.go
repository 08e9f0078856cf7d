package local

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestAdoptProcesses begins replicas with more and with fewer processes than a cluster had without: they are refused before anything is
// adopted, also where the only graph is from before the cluster grew.
func TestAdoptProcesses(t *testing.T) {
	fs := vfs.NewMem()
	opts := Options{Dir: "data", FS: fs, Logger: quiet(), Shards: 4}
	open := func() *Parts {
		p, err := OpenParts(opts, 1)
		require.NoError(t, err)
		return p
	}
	p := open()
	require.NoError(t, NoteProcesses(opts, 3))
	require.NoError(t, p.Close())
	p = open()
	require.NoError(t, NoteProcesses(opts, 4)) // it has grown
	require.NoError(t, p.Close())
	begin := func(processes int) error {
		r, err := OpenReplicas(opts, shard.Layout{Processes: processes, Shards: processes, Replicas: 3}, 1, Network{Send: func(uint32, []*replica.Message) {}})
		if err == nil {
			err = r.Close()
		}
		return err
	}
	for _, n := range []int{3, 5} {
		require.ErrorContains(t, begin(n), "data belongs to a cluster of 4 processes without replicas")
		require.NoError(t, open().Close(), "it still starts without replicas")
	}
	require.NoError(t, begin(4))
	require.NoError(t, begin(4))
	_, err := OpenParts(opts, 1)
	require.ErrorContains(t, err, "start it with the --replication")

	f, err := fs.Create("data/PROCESSES", vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = readProcesses(&opts)
	require.ErrorContains(t, err, "PROCESSES")
}
