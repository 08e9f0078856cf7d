package oracle

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// half is an edge as seen from one of its ends.
type half struct {
	*edge
	far     graph.VertexID
	reverse bool
}

// halves returns the edges of a vertex grouped by type and direction, and by far end and edge id within a group.
func (t *Tx) halves(id graph.VertexID, types []graph.TypeID, dir graph.Direction) []half {
	var hs []half
	wanted := func(e *edge) bool { return len(types) == 0 || slices.Contains(types, e.Type) }
	if dir != graph.In {
		for _, eid := range t.state.incident(id, false) {
			if e := t.state.edge(eid); wanted(e) {
				hs = append(hs, half{edge: e, far: e.Dst})
			}
		}
	}
	if dir != graph.Out {
		for _, eid := range t.state.incident(id, true) {
			e := t.state.edge(eid)
			if dir == graph.Both && e.Src == e.Dst {
				continue // A self-loop occurs once in Both.
			}
			if wanted(e) {
				hs = append(hs, half{edge: e, far: e.Src, reverse: true})
			}
		}
	}
	slices.SortFunc(hs, func(a, b half) int {
		return cmp.Or(
			cmp.Compare(a.Type, b.Type), compareBools(a.reverse, b.reverse), cmp.Compare(a.far, b.far),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return hs
}

// Expand returns the edges of a frontier.
func (t *Tx) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for i := 1; i < len(req.Sources); i++ {
		if req.Sources[i-1] >= req.Sources[i] {
			return misuse("a frontier must be sorted and without repeats")
		}
	}
	res.Reset(len(req.Props))
	for _, src := range req.Sources {
		for _, h := range t.halves(src, req.Types, req.Dir) {
			res.Seen++
			if slices.ContainsFunc(req.Where, func(r shard.EdgeRange) bool { return !r.In.Holds(property(h.props, r.Prop)) }) {
				continue
			}
			res.Targets = append(res.Targets, h.far)
			if req.Edges {
				res.Edges = append(res.Edges, h.ID)
				res.Types = append(res.Types, h.Type)
				if req.Dir != graph.Out {
					res.Reverse = append(res.Reverse, h.reverse)
				}
			}
			for p, prop := range req.Props {
				res.Props[p] = append(res.Props[p], property(h.props, prop))
			}
		}
		res.Offsets = append(res.Offsets, len(res.Targets))
		res.Done++
		if req.MaxEdges > 0 && res.Seen >= req.MaxEdges {
			break
		}
	}
	if req.Into != nil {
		res.Put(req.Into)
	}
	return nil
}

// Step adds the neighbours of a set of vertices to out.
func (t *Tx) Step(
	ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet,
) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for _, src := range from.AppendTo(nil) {
		for _, h := range t.halves(src, types, dir) {
			out.Add(h.far)
		}
	}
	return nil
}

// Degrees counts the edges of vertices.
func (t *Tx) Degrees(
	ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int,
) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for i, id := range ids {
		out[i] = len(t.halves(id, types, dir))
	}
	return nil
}
