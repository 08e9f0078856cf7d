package vector

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLevels runs the tests of the kernels for each level that the processor has.
func TestLevels(t *testing.T) {
	all := best
	defer func() { best = all }()
	require.Equal(t, detect(), all)
	for best = portable; best <= all; best++ {
		t.Run(Kernel(), TestKernelsAgree)
		t.Run(Kernel()+"/near", TestNear)
		t.Run(Kernel()+"/codes", TestDotCodes)
	}
}
