package charttest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentedValues renders the chart with each file of values that the documentation shows.
func TestDocumentedValues(t *testing.T) {
	text, err := os.ReadFile("../../../docs/kubernetes.md")
	require.NoError(t, err)
	blocks := strings.Split(string(text), "```yaml\n# values.yaml\n")[1:]
	require.Len(t, blocks, 6)
	for _, block := range blocks {
		values, _, ok := strings.Cut(block, "```")
		require.True(t, ok)
		_, err := render(t, parse(t, values), nil)
		require.NoError(t, err, values)
	}
}
