package adjacency

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// Step adds to out, which is empty, the vertices that the hop leads to from a set.
func (h *Reader) Step(ctx context.Context, from, out *graph.VertexSet) error {
	if err := h.Run.CheckCancel(ctx); err != nil {
		return err
	}
	if h.ByEdge() {
		h.ends = from.AppendTo(h.ends[:0])
		return h.StepEdges(ctx, h.ends, out)
	}
	types, ok := h.Types.Resolve()
	if !ok {
		return nil
	}
	if h.Run.Env.Budget.Edges > 0 {
		h.ends = from.AppendTo(h.ends[:0])
		if err := VisitDegrees(ctx, h.Run, h.ends, types, h.Dir); err != nil {
			return err
		}
	}
	if err := h.Run.Tx.Step(ctx, from, types, h.Dir, out); err != nil {
		return err
	}
	return h.keepEnds(ctx, out)
}

// ByEdge reports whether the condition reads the edges. A step of sets, which sees only vertices, cannot test it.
func (h *Reader) ByEdge() bool {
	return h.Filter != nil && (h.Filter.w.Edge || len(h.Filter.w.Keys) > 0 || len(h.Filter.bounds) > 0)
}

// StepEdges is Step from a sorted list, testing each edge.
func (h *Reader) StepEdges(ctx context.Context, from []graph.VertexID, out *graph.VertexSet) error {
	for rest := from; len(rest) > 0; rest = rest[h.Answer.Done:] {
		if err := h.Run.CheckCancel(ctx); err != nil {
			return err
		}
		if err := h.Read(ctx, rest, MaxEdges); err != nil {
			return err
		}
		out.AddAll(h.Answer.Targets)
	}
	return nil
}

// keepEnds removes from a set the vertices that fail the tests of the hop, none of which reads an edge.
func (h *Reader) keepEnds(ctx context.Context, set *graph.VertexSet) error {
	if h.impliesLabels() && h.Filter == nil {
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
			set.Remove(v)
		}
	}
	return nil
}

// testEnds returns the positions of those of ids, which are sorted, that pass. The result is valid until the next call.
func (h *Reader) testEnds(ctx context.Context, ids []graph.VertexID) (runtime.Sel, error) {
	h.Keep = append(h.Keep[:0], runtime.AllRows(len(ids))...)
	if !h.impliesLabels() {
		h.Sets = slices.Grow(h.Sets[:0], len(ids))[:len(ids)]
		if err := h.Run.Tx.LabelSets(ctx, ids, h.Sets); err != nil {
			return nil, err
		}
		h.Keep = h.Keep[:0]
		for i, set := range h.Sets {
			if h.Labels.Holds(set) {
				h.Keep = append(h.Keep, int32(i))
			}
		}
	}
	if h.Filter == nil {
		return h.Keep, nil
	}
	return h.Filter.filterEnds(ctx, ids, h.Keep)
}

// Shrink releases buffers that are too large to keep for another run.
func (h *Reader) Shrink() {
	if cap(h.ends)+cap(h.Sets)+cap(h.Keep) > MaxKeptEdges {
		h.ends, h.Sets, h.Keep = nil, nil, nil
	}
}

// MaxKeptEdges bounds the size, in edges, of answers whose memory is reused.
const MaxKeptEdges = 1 << 20

// VisitDegrees counts the edges that a step from list visits, if a budget limits them.
func VisitDegrees(ctx context.Context, r *runtime.Run, list []graph.VertexID, types []graph.TypeID, dir graph.Direction) error {
	if r.Env.Budget.Edges <= 0 {
		return nil
	}
	degrees := make([]int, len(list))
	if err := r.Tx.Degrees(ctx, list, types, dir, degrees); err != nil {
		return err
	}
	n := 0
	for _, d := range degrees {
		n += d
	}
	return r.Visit(n)
}
