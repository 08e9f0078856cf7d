//go:build invariants || race

package expr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// A selection that is chosen from itself, changed while another is chosen from it, or out of order is found at once.
func TestSelectionsAreChecked(t *testing.T) {
	b := &runtime.Batch{Batch: graph.Batch{N: 4}}
	var k selection
	rows := k.end(b, append(k.begin(runtime.AllRows(4)), 1, 3))
	require.Equal(t, runtime.Sel{1, 3}, rows)
	require.Panics(t, func() { k.begin(rows[:1]) })
	require.Panics(t, func() { k.end(b, append(k.begin(runtime.AllRows(4)), 3, 1)) })
	require.Panics(t, func() { k.end(b, append(k.begin(runtime.AllRows(8)), 5)) })
	require.Panics(t, func() { k.end(b, append(k.begin(runtime.Sel{0, 2}), 1)) })
	require.NotEqual(t, runtime.Sel{1, 3}, rows, "an ended selection is overwritten")

	from := runtime.Sel{0, 1, 2}
	out := k.begin(from)
	from[0] = 1
	require.Panics(t, func() { k.end(b, append(out, 1)) })

	var es Evaluators
	es.Begin(from)
	from[2] = 3
	require.Panics(t, func() { es.sel.get() })
}
