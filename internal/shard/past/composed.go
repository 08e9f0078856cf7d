package past

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
)

// Records implements shard.Tx.
func (t *tx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	if err := t.r.tx.Records(ctx, ids, out); err != nil {
		return err
	}
	m := t.r.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i, id := range ids {
		if at := m.vertices.get(uint64(id)); at >= 0 {
			v := &m.vs[at]
			out[i] = shard.Record{Labels: v.labels, Props: v.over(out[i].Props)}
		}
	}
	return nil
}

// EdgeRecords implements shard.Composed.
func (t *tx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	if err := t.r.tx.EdgeRecords(ctx, edges, out); err != nil {
		return err
	}
	m := t.r.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i := range edges {
		at := m.edges.get(uint64(edges[i].ID))
		if at < 0 || m.es[at].Edge != edges[i] {
			continue
		}
		if e := &m.es[at]; e.was() {
			out[i] = shard.Record{Labels: graph.NoLabels, Props: e.over(out[i].Props)}
		} else {
			out[i] = shard.Record{}
		}
	}
	return nil
}

// Compare implements shard.Composed.
func (t *tx) Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (int, error) {
	bytes, err := t.r.tx.Compare(ctx, prop, probe, ids, scores)
	if err != nil {
		return bytes, err
	}
	var some []graph.VertexID
	var at []int
	t.r.m.mu.RLock()
	if t.r.m.present || t.r.m.props[prop] {
		for i, id := range ids {
			if t.r.m.vertices.get(uint64(id)) >= 0 {
				some, at = append(some, id), append(at, i)
			}
		}
	}
	t.r.m.mu.RUnlock()
	if len(some) == 0 {
		return bytes, nil
	}
	own := make([]float64, len(some))
	more, err := shard.ReadAndCompare(ctx, &t.r, prop, probe, some, own)
	for k, i := range at {
		scores[i] = own[k]
	}
	return bytes + more, err
}

// CompareEdges implements shard.Composed.
func (t *tx) CompareEdges(ctx context.Context, req *shard.Nearest, sources []graph.VertexID, best *shard.Top) (shard.NearestFound, error) {
	clean, dirty := t.r.split(sources, []graph.TypeID{req.Type}, graph.Out)
	found, err := t.r.tx.CompareEdges(ctx, req, clean, best)
	if err != nil || len(dirty) == 0 {
		return found, err
	}
	more, err := shard.ReadAndCompareEdges(ctx, &t.r, req, dirty, best)
	found.Add(more)
	return found, err
}

// Nearest implements shard.Composed: where a later commit has changed what is searched, the caller compares all.
func (t *tx) Nearest(ctx context.Context, req *shard.Nearest, best *shard.Top) (shard.NearestFound, error) {
	if req.Type != 0 && t.r.changedEdges(req.Type) || req.Type == 0 && t.r.changed(req.Label) {
		return shard.NearestFound{}, nil
	}
	return t.r.tx.Nearest(ctx, req, best)
}
