package algo

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The document names every algorithm with its results, and describes each entry of the argument.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../../docs/algorithms.md")
	require.NoError(t, err)
	rows := map[string]string{} // the second cell of a table's row by each name in its first
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			rows[strings.Trim(name, " `")] = cells[2]
		}
	}
	for _, a := range All {
		var results []string
		for result := range strings.SplitSeq(a.Results, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(result), " ")
			if name != "node" {
				results = append(results, "`"+name+"`")
			}
		}
		require.Equal(t, strings.Join(results, ", "), strings.TrimSpace(rows[a.Name]), a.Name)
		for _, key := range a.keys {
			require.NotEmpty(t, rows[key], key)
		}
		for _, key := range a.keys[2:] { // the first two are of all algorithms
			if key == WriteKey {
				continue
			}
			require.Contains(t, rows[key], "`"+strings.TrimPrefix(a.Name, "algo.")+"`", "%s of %s", key, a.Name)
		}
	}
	for key := range keys {
		require.Contains(t, rows, key)
	}
}
