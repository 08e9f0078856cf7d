package fn

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// sortValues sorts values stably in the order of ORDER BY, unless the run ends.
func sortValues(c *Context, values []graph.Value) error {
	steps := 0
	var ended error
	slices.SortStableFunc(values, func(a, b graph.Value) int {
		if steps++; ended == nil && (steps&0xfff == 0 || Large(a)) {
			ended = c.Alive()
		}
		if ended != nil {
			return 0 // the rest is sorted immediately and discarded
		}
		return Order(a, b)
	})
	return ended
}
