package search

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// distances holds the distances of vertices from an end, computed as far as requested.
type distances struct {
	s        *searchSide // from the end, against the direction of the path
	complete bool        // no vertex lies further out
}

// within computes all distances up to a bound.
func (d *distances) within(ctx context.Context, depth int) error {
	for !d.complete && d.s.depth() < depth {
		if err := d.s.advance(ctx, nil); err != nil {
			return err
		}
		d.complete = d.s.width() == 0
	}
	return nil
}

// of returns the distance of a vertex; ok is false if it is not known or infinite.
func (d *distances) of(v graph.VertexID) (depth int, ok bool) { return d.s.distance(v) }

// reaches reports whether a trail at v with depth edges can reach the end within max, by the distances computed so far.
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
