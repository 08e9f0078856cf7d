package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A hint is of one key of one index, and the last one counts.
func TestHints(t *testing.T) {
	h := newHints()
	a, b, c := h.of(1, []byte("a")), h.of(1, []byte("b")), h.of(2, []byte("a"))
	_, ok := a.get()
	require.False(t, ok)
	a.set(0)
	no, ok := a.get()
	require.True(t, ok)
	require.Zero(t, no)
	a.set(1023)
	no, ok = h.of(1, []byte("a")).get()
	require.True(t, ok)
	require.Equal(t, 1023, no)
	for _, other := range []hint{b, c} {
		_, ok := other.get()
		require.False(t, ok && other.tag != a.tag)
	}
}
