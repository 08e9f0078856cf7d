package restricted

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// owners tells which owners of entries of an index the policy lets its caller find: those that are visible, whose indexed properties
// may be read.
func (r *reader) owners(ctx context.Context, index graph.IndexID, owners []graph.IndexOwner) (found []bool, err error) {
	ix := r.index(index)
	if ix == nil {
		return make([]bool, len(owners)), nil
	}
	if ix.Type == "" {
		return r.foundVertices(ctx, ix, vertexOwners(owners))
	}
	t, _ := r.names.Type(ix.Type)
	edges := make([]graph.Edge, len(owners))
	for i, o := range owners {
		edges[i] = graph.Edge{ID: o.Edge, Src: o.Vertex, Dst: o.Dst, Type: t}
	}
	return r.foundEdges(ctx, ix, edges)
}

func vertexOwners(owners []graph.IndexOwner) []graph.VertexID {
	ids := make([]graph.VertexID, len(owners))
	for i, o := range owners {
		ids[i] = o.Vertex
	}
	return ids
}

// indexed returns the properties of an index.
func (r *reader) indexed(ix *graph.Index) (props []graph.PropID) {
	for _, name := range ix.Props {
		if p, ok := r.names.Prop(name); ok {
			props = append(props, p)
		}
	}
	return props
}

func (r *reader) foundVertices(ctx context.Context, ix *graph.Index, ids []graph.VertexID) ([]bool, error) {
	b, props := r.bound.Load(), r.indexed(ix)
	if b.Reads(false, props) {
		return r.visible(ctx, ids)
	}
	v, err := r.look(ctx, ids, reading(props))
	if err != nil {
		return nil, err
	}
	for _, p := range props {
		for i, e := range v.elements {
			v.seen[i] = v.seen[i] && e.Read(p).Permits(v.cols, i)
		}
	}
	return v.seen, nil
}

func (r *reader) foundEdges(ctx context.Context, ix *graph.Index, edges []graph.Edge) ([]bool, error) {
	seen, cols, err := r.edges(ctx, edges, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, p := range r.indexed(ix) {
		for i, e := range edges {
			seen[i] = seen[i] && r.bound.Load().Edges(e.Type).Read(p).Permits(cols, i)
		}
	}
	return seen, nil
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
	out, n := make([]int, len(offsets)), 0
	for k := 1; k < len(offsets); k++ {
		for _, ok := range found[offsets[k-1]:offsets[k]] {
			if ok {
				n++
			}
		}
		out[k] = n
	}
	return out, keep(append([]graph.IndexOwner(nil), owners...), found), nil
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
