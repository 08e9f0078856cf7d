package fn

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// sortValues puts values into the order of ORDER BY, equal ones in the order in which they stand, unless the run ends.
func sortValues(c *Context, values []graph.Value) error {
	steps, ended := 0, false
	slices.SortStableFunc(values, func(a, b graph.Value) int {
		if steps++; !ended && (steps&0xfff == 0 || Large(a)) {
			ended = c.Run != nil && c.Run.Err() != nil
		}
		if ended {
			return 0 // the rest is done at once, and thrown away
		}
		return Order(a, b)
	})
	if ended {
		return graph.DeadlineError(context.Cause(c.Run))
	}
	return nil
}
