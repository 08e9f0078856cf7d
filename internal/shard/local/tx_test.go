package local

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestReaderSize bounds what each request allocates for its transaction.
func TestReaderSize(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Tx{}), uintptr(240), "a size class of the allocator")
}
