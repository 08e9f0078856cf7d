package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard"
)

// faulty returns the status of an answer that brings an error.
func faulty(t *testing.T) error {
	st, err := status.New(codes.Aborted, "x").WithDetails(&pb.Fault{Detail: shard.SnapshotGone})
	require.NoError(t, err)
	return st.Err()
}

// Calls without an answer are counted by their reasons, and those with one are not.
func TestLostCalls(t *testing.T) {
	before := LostCalls()
	for _, err := range []error{
		status.Error(codes.Unavailable, "x"), status.Error(codes.Unavailable, "x"), status.Error(codes.DeadlineExceeded, "x"),
		status.Error(codes.Unimplemented, "x"), faulty(t), status.Error(codes.Internal, "x"),
	} {
		_, _ = FromStatus(t.Context(), "the shard", err)
	}
	after := LostCalls()
	for reason, n := range map[string]uint64{"failed": 2, "timeout": 1, "moved": 1} {
		require.Equal(t, n, after[reason]-before[reason], reason)
	}
}

// Each call declares whether it is idempotent, so that a new one fails here and not by a change that is applied twice.
func TestCallsDeclareIdempotence(t *testing.T) {
	var once []string
	services := pb.File_hopgate_shard_v1_shard_proto.Services()
	for _, name := range []protoreflect.Name{"ReadService", "KeepService", "LeadService"} {
		methods := services.ByName(name).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			if m.IsStreamingServer() {
				continue
			}
			level := m.Options().(*descriptorpb.MethodOptions).IdempotencyLevel
			require.NotNil(t, level, "%s has no option idempotency_level", m.FullName())
			if *level == descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN {
				once = append(once, string(m.Name()))
			}
		}
	}
	require.ElementsMatch(t, []string{
		"Commit", "CreateGraph", "CreateIndex", "DropGraph", "DropIndex", "DropTTL", "Load", "Mutate", "SetTTL",
	}, once)
}
