package server

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// The end of a request's time is told as such, so that callers take it for what it is and not for an internal error.
func TestStatusDeadline(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, context.Canceled, fmt.Errorf("wait: %w", context.DeadlineExceeded)} {
		f := wire.Fault(Status(err))
		require.NotNil(t, f)
		require.Equal(t, graph.KindDeadline, f.Kind)
		require.Contains(t, f.Msg, err.Error())
	}
	own := graph.InternalError("read a block", context.DeadlineExceeded)
	require.Equal(t, graph.KindInternal, wire.Fault(Status(own)).Kind)
}
