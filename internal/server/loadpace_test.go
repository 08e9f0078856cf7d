package server

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// While any load runs, garbage may grow further, and afterwards as far as before.
func TestHurry(t *testing.T) {
	before := debug.SetGCPercent(123)
	defer debug.SetGCPercent(before)
	first, second := hurry(), hurry()
	first()
	require.Equal(t, loadGCPercent, debug.SetGCPercent(loadGCPercent))
	second()
	require.Equal(t, 123, debug.SetGCPercent(123))
}
