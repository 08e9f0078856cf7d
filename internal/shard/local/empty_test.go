//go:build !race

// The race detector takes more memory than the graphs.

package local

import (
	"context"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// resident is the process's resident memory in bytes.
func resident(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

// TestEmptyGraph makes many graphs, each of which must take less than 2 MiB of memory, on the Go heap and beside it, and
// as little again when the store is opened with them.
func TestEmptyGraph(t *testing.T) {
	const graphs, most = 50, 2 << 20
	opts := Options{Dir: t.TempDir(), MemtableBytes: 64 << 20}
	st, err := Open(opts)
	require.NoError(t, err)
	debug.FreeOSMemory()
	before := resident(t)
	for i := range graphs {
		require.NoError(t, st.CreateGraph(context.Background(), "g"+strconv.Itoa(i)))
	}
	debug.FreeOSMemory()
	t.Log((resident(t)-before)/graphs>>10, "KiB a graph")
	require.Less(t, (resident(t)-before)/graphs, most)
	require.NoError(t, st.Close())
	debug.FreeOSMemory()
	before = resident(t)
	st, err = Open(opts)
	require.NoError(t, err)
	debug.FreeOSMemory()
	t.Log((resident(t)-before)/graphs>>10, "KiB a graph")
	require.Less(t, (resident(t)-before)/graphs, most)
	require.NoError(t, st.Close())
}
