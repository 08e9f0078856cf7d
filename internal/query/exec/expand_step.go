package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// step adds to out, which is empty, the vertices that the hop leads to from a set.
func (h *hop) step(ctx context.Context, from, out *graph.VertexSet) error {
	if err := h.r.alive(ctx); err != nil {
		return err
	}
	if h.byEdge() {
		h.ends = from.AppendTo(h.ends[:0])
		return h.stepEdges(ctx, h.ends, out)
	}
	types, ok := h.types.resolve()
	if !ok {
		return nil
	}
	if h.r.env.Budget.Edges > 0 {
		h.ends = from.AppendTo(h.ends[:0])
		if err := h.r.visitDegrees(ctx, h.ends, types, h.dir); err != nil {
			return err
		}
	}
	if err := h.r.tx.Step(ctx, from, types, h.dir, out); err != nil {
		return err
	}
	return h.keepEnds(ctx, out)
}

// byEdge reports whether the condition reads the edges, so that a step of sets, which knows vertices alone, cannot test it.
func (h *hop) byEdge() bool {
	return h.where != nil && (h.where.w.edge || len(h.where.w.keys) > 0 || len(h.where.bounds) > 0)
}

// stepEdges is step from a sorted list, where each edge is tested.
func (h *hop) stepEdges(ctx context.Context, from []graph.VertexID, out *graph.VertexSet) error {
	for rest := from; len(rest) > 0; rest = rest[h.res.Done:] {
		if err := h.r.alive(ctx); err != nil {
			return err
		}
		if err := h.read(ctx, rest, mostEdges); err != nil {
			return err
		}
		out.AddAll(h.res.Targets)
	}
	return nil
}

// keepEnds takes out of a set the vertices that fail the tests of the hop, none of which reads an edge.
func (h *hop) keepEnds(ctx context.Context, set *graph.VertexSet) error {
	if h.sure() && h.where == nil {
		return nil
	}
	const part = 4 * graph.BatchSize
	h.ends = set.AppendTo(h.ends[:0])
	for rest := h.ends; len(rest) > 0; rest = rest[min(part, len(rest)):] {
		ids := rest[:min(part, len(rest))]
		passed, err := h.testEnds(ctx, ids)
		if err != nil {
			return err
		}
		for i, v := range ids {
			if len(passed) > 0 && int(passed[0]) == i {
				passed = passed[1:]
				continue
			}
			set.Bitmap(v.Shard())[v.Local()>>6] &^= 1 << (v.Local() & 63)
		}
	}
	return nil
}

// testEnds gives the places of those of ids, which are sorted, that pass. It is valid until the next call.
func (h *hop) testEnds(ctx context.Context, ids []graph.VertexID) (sel, error) {
	h.keep = append(h.keep[:0], allRows(len(ids))...)
	if !h.sure() {
		h.sets = slices.Grow(h.sets[:0], len(ids))[:len(ids)]
		if err := h.r.tx.LabelSets(ctx, ids, h.sets); err != nil {
			return nil, err
		}
		h.keep = h.keep[:0]
		for i, set := range h.sets {
			if h.labels.holds(set) {
				h.keep = append(h.keep, int32(i))
			}
		}
	}
	if h.where == nil {
		return h.keep, nil
	}
	return h.where.filterEnds(ctx, ids, h.keep)
}

// shrink lets go of buffers that are too large to be kept for another run.
func (h *hop) shrink() {
	if cap(h.ends)+cap(h.sets)+cap(h.keep) > maxKept {
		h.ends, h.sets, h.keep = nil, nil, nil
	}
}

// maxKept bounds the answers, in edges, whose memory is kept for other statements.
const maxKept = 1 << 20

// visitDegrees counts the edges that a step from list visits, if there is a budget for them.
func (r *run) visitDegrees(ctx context.Context, list []graph.VertexID, types []graph.TypeID, dir graph.Direction) error {
	if r.env.Budget.Edges <= 0 {
		return nil
	}
	degrees := make([]int, len(list))
	if err := r.tx.Degrees(ctx, list, types, dir, degrees); err != nil {
		return err
	}
	n := 0
	for _, d := range degrees {
		n += d
	}
	return r.visit(n)
}
