package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
)

// A batch carries no other batch, and no call that does not exist.
func TestBatchRefuses(t *testing.T) {
	for _, method := range []string{"Batch", "X"} {
		_, err := (&readService{}).Batch(t.Context(), &pb.BatchRequest{Method: method})
		require.Equal(t, codes.Unimplemented, status.Code(err))
	}
}
