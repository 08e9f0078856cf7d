package restricted

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// owners tells which owners of entries of an index the policy lets its caller find: those that are visible, whose indexed properties
// may be read.
func (r *reader) owners(ctx context.Context, index graph.IndexID, owners []graph.IndexOwner) (found []bool, err error) {
	ix := r.index(index)
	if ix == nil || ix.Type == "" {
		return r.foundVertices(ctx, index, vertexOwners(owners))
	}
	t, _ := r.names.Type(ix.Type)
	edges := make([]graph.Edge, len(owners))
	for i, o := range owners {
		edges[i] = graph.Edge{ID: o.Edge, Src: o.Vertex, Dst: o.Dst, Type: t}
	}
	return r.foundEdges(ctx, index, edges)
}

func vertexOwners(owners []graph.IndexOwner) []graph.VertexID {
	ids := make([]graph.VertexID, len(owners))
	for i, o := range owners {
		ids[i] = o.Vertex
	}
	return ids
}

func (r *reader) index(id graph.IndexID) *graph.Index {
	all := r.names.Indexes()
	for i := range all {
		if all[i].ID == id {
			return &all[i]
		}
	}
	return nil
}

// indexed returns the properties of an index that may not be read of all visible vertices, or edges; ok is false without the index.
func (r *reader) indexed(id graph.IndexID) (masked []graph.PropID, ok bool) {
	ix, b := r.index(id), r.bound.Load()
	if ix == nil {
		return nil, false
	}
	for _, name := range ix.Props {
		if p, known := r.names.Prop(name); known && !b.Read(ix.Type != "", p) {
			masked = append(masked, p)
		}
	}
	return masked, true
}

// foundVertices is owners for vertices.
func (r *reader) foundVertices(ctx context.Context, index graph.IndexID, ids []graph.VertexID) ([]bool, error) {
	found := make([]bool, len(ids))
	return found, r.findVertices(ctx, index, ids, found)
}

// findVertices sets which owners of entries of an index may be found.
func (r *reader) findVertices(ctx context.Context, index graph.IndexID, ids []graph.VertexID, found []bool) error {
	masked, ok := r.indexed(index)
	switch {
	case !ok:
		clear(found)
		return nil
	case len(masked) == 0:
		return r.see(ctx, ids, found)
	}
	v, err := r.look(ctx, ids, reading(masked))
	if err != nil {
		return err
	}
	for _, p := range masked {
		for i, e := range v.elements {
			v.seen[i] = v.seen[i] && e.Read(p).Permits(v.cols, i)
		}
	}
	copy(found, v.seen)
	return nil
}

// foundEdges is owners for edges.
func (r *reader) foundEdges(ctx context.Context, index graph.IndexID, edges []graph.Edge) ([]bool, error) {
	masked, ok := r.indexed(index)
	if !ok {
		return make([]bool, len(edges)), nil
	}
	seen, cols, err := r.edges(ctx, edges, nil, nil)
	if err != nil {
		return nil, err
	}
	b := r.bound.Load()
	for _, p := range masked {
		for i, e := range edges {
			seen[i] = seen[i] && b.Edges(e.Type).Read(p).Permits(cols, i)
		}
	}
	return seen, nil
}

// Lookup implements shard.Indexes.
func (r *reader) Lookup(ctx context.Context, index shard.IndexRef, vals []graph.Value) ([]int, []graph.IndexOwner, error) {
	offsets, owners, err := r.tx.Lookup(ctx, index, vals)
	if err != nil {
		return nil, nil, err
	}
	found, err := r.owners(ctx, index.ID, owners)
	if err != nil {
		return nil, nil, err
	}
	offsets = slices.Clone(offsets)
	narrow(offsets, found)
	return offsets, keep(slices.Clone(owners), found), nil
}

// Range implements shard.Indexes.
func (r *reader) Range(ctx context.Context, index shard.IndexRef, rg shard.Range, cursor []byte, room int) ([]shard.Entry, bool, error) {
	for {
		entries, more, err := r.tx.Range(ctx, index, rg, cursor, room)
		if err != nil {
			return nil, false, err
		}
		owners := make([]graph.IndexOwner, len(entries))
		for i := range entries {
			owners[i] = entries[i].Owner
		}
		found, err := r.owners(ctx, index.ID, owners)
		if err != nil {
			return nil, false, err
		}
		if more {
			cursor = entries[len(entries)-1].Cursor()
		}
		if entries = keep(entries, found); len(entries) > 0 || !more {
			return entries, more, nil
		}
	}
}
