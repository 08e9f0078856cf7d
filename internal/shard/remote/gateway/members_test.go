package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
)

// TestRoleOf names the roles of replicas. One that a fault has stopped neither leads nor follows.
func TestRoleOf(t *testing.T) {
	for want, m := range map[string]*pb.MemberState{
		"follower": {Replica: 3, Voters: []uint64{3}},
		"leader":   {Replica: 3, Leads: true},
		"learner":  {Replica: 3, Learners: []uint64{3}},
		"waiting":  {Replica: 3, Waiting: "why"},
		"stopped":  {Replica: 3, Leads: true, Stopped: "why"},
	} {
		require.Equal(t, want, roleOf(m))
	}
}
