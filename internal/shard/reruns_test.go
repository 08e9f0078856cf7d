package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Reruns end some time after the first one.
func TestReruns(t *testing.T) {
	var none *Reruns
	require.False(t, none.Over())
	r := &Reruns{}
	require.False(t, r.Over())
	for range freeReruns + 2 {
		require.True(t, r.Next(t.Context()))
	}
	require.False(t, r.Over())
	r.first = time.Now().Add(-rerunTime)
	require.True(t, r.Over())
	require.False(t, r.Next(t.Context()))
}
