//go:build linux && !race

package cache

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// mapping returns the resident memory, in KiB, and the last flags of the kernel's mappings that hold b.
func mapping(t *testing.T, b []byte) (resident int, flags string) {
	t.Helper()
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	f, err := os.Open("/proc/self/smaps")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var lo, hi uintptr
		var kb int
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &lo, &hi); n == 2 {
			inside = lo < from+uintptr(len(b)) && hi > from
		} else if n, _ := fmt.Sscanf(lines.Text(), "Rss: %d kB", &kb); n == 1 && inside {
			resident += kb
		} else if rest, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && inside {
			flags = rest
		}
	}
	return resident, flags
}

// A key among few takes a page of memory, not one of 2 MiB, which would have to be cleared first.
func TestFewKeysTakeFewPages(t *testing.T) {
	c := New(Options{Budget: 1 << 30})
	defer c.Close()
	k := c.NewKeys()
	const n = 20
	for i := range n {
		k.Put(1, 1, someKey(i), graph.VertexID(i+1))
	}
	resident, _ := mapping(t, c.keys.mem)
	require.LessOrEqual(t, resident, n*os.Getpagesize()>>10)
	owner, ok := k.Get(1, 1, someKey(n-1))
	require.True(t, ok)
	require.Equal(t, graph.VertexID(n), owner)
}

// Many keys have their memory in huge pages again, as far as the kernel has any.
func TestManyKeysAskForHugePages(t *testing.T) {
	c := New(Options{Budget: leastKeyBudget})
	defer c.Close()
	k := c.NewKeys()
	small := func() bool {
		_, flags := mapping(t, c.keys.mem)
		return strings.Contains(flags, " nh") // no huge pages
	}
	k.Put(1, 1, someKey(0), 1)
	if !small() {
		t.Skip("the kernel has no huge pages")
	}
	for i := range len(c.keys.slots) / crowdedKeys {
		k.Put(1, 1, someKey(i), graph.VertexID(i+1))
	}
	require.False(t, small())
}
