package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
)

// A process whose disk completes no write answers no pings.
func TestStalledDisk(t *testing.T) {
	p := &Process{peers: peers.NewList(peers.Options{})}
	for stalled, want := range map[time.Duration]codes.Code{0: codes.OK, rpc.HeartbeatTimeout - 1: codes.OK, rpc.HeartbeatTimeout: codes.DeadlineExceeded} {
		_, err := (&placeService{p: p, stalled: func() time.Duration { return stalled }}).Place(t.Context(), nil)
		require.Equal(t, want, status.Code(err), "%v", stalled)
	}
}
