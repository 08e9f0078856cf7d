package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/version"
)

// Programs of adjacent versions run together, unless one does not know the version in force. A program that names no version is of the first.
func TestCompatible(t *testing.T) {
	for _, c := range []struct {
		theirs, active uint32
		ok             bool
	}{
		{0, 0, version.Cluster <= 2},
		{version.Cluster - 1, version.Cluster - 1, true},
		{version.Cluster, version.Cluster, true},
		{version.Cluster + 1, version.Cluster, true},
		{version.Cluster + 1, version.Cluster + 1, false},
		{version.Cluster + 2, version.Cluster, false},
	} {
		p := &Process{}
		err := p.compatible(&pb.MembersResponse{Version: c.theirs, Active: c.active})
		if !c.ok {
			require.ErrorIs(t, err, errVersion, c)
			require.Zero(t, p.active.Load())
			continue
		}
		require.NoError(t, err, c)
		require.Equal(t, max(c.active, 1), max(p.active.Load(), 1))
	}
}
