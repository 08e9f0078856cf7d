package fn

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// sortValues puts values into the order of ORDER BY, equal ones in the order in which they stand, unless the run ends.
func sortValues(c *Context, values []graph.Value) error {
	steps := 0
	var ended error
	slices.SortStableFunc(values, func(a, b graph.Value) int {
		if steps++; ended == nil && (steps&0xfff == 0 || Large(a)) {
			ended = c.alive()
		}
		if ended != nil {
			return 0 // the rest is done at once, and discarded
		}
		return Order(a, b)
	})
	return ended
}
