package search

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// distances are how far vertices are from an end, found as far out as somebody has asked.
type distances struct {
	s        *searchSide // from the end, against the direction of the path
	complete bool        // no vertex lies further out
}

// within finds all vertices up to a distance.
func (d *distances) within(ctx context.Context, depth int) error {
	for !d.complete && d.s.depth() < depth {
		if err := d.s.advance(ctx, nil); err != nil {
			return err
		}
		d.complete = d.s.width() == 0
	}
	return nil
}

// of returns the distance of a vertex; ok is false if it is further than was looked for, or not connected at all.
func (d *distances) of(v graph.VertexID) (depth int, ok bool) { return d.s.distance(v) }

// reaches reports whether a trail that has come to v with depth edges can reach the end within max, as far as is known.
func (t *trails) reaches(v graph.VertexID, depth int) bool {
	d, ok := t.near.of(v)
	if !ok {
		if t.near.complete {
			return false
		}
		d = t.near.s.depth() + 1 // or more
	}
	if d <= t.max-depth {
		return true
	}
	t.truncated = true
	return false
}
