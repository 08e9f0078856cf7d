//go:build !race

package query

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
)

// TestRequestAllocations counts what a request allocates apart from its reads. Most requests are look-ups by key, and an allocation takes a
// tenth of their time. The race detector keeps pools from reusing all that they hold.
func TestRequestAllocations(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Running{})+unsafe.Sizeof(Result{}), uintptr(1024), "a size class of the allocator")
	e := New(stores["local"](t), Options{})
	req := Request{Statement: "RETURN $x", Params: map[string]graph.Value{"x": graph.IntValue(1)}}
	require.LessOrEqual(t, alloctest.Least(100, func() {
		res, err := e.Query(context.Background(), req)
		require.NoError(t, err)
		for b, err := res.Next(); b != nil; b, err = res.Next() {
			require.NoError(t, err)
		}
		res.Close()
	}), 2.0, "the request and its transaction")
}
