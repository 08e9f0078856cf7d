package write

import (
	"context"
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Verify checks what must hold of the graph after the changes.
func (tx *Mutator) Verify(ctx context.Context) error {
	if err := kv.Alive(ctx); err != nil {
		return err
	}
	if err := tx.verifyDeleted(ctx); err != nil {
		return err
	}
	if err := tx.CheckUnique(ctx); err != nil {
		return err
	}
	if err := tx.verifyVertices(ctx); err != nil {
		return err
	}
	for _, e := range tx.touchedEdges {
		var rec [1]shard.Record
		if err := tx.read.EdgeRecords(ctx, []graph.Edge{e}, rec[:]); err != nil {
			return err
		}
		if rec[0].Labels == 0 {
			continue
		}
		for _, d := range tx.defs.ByType[e.Type] {
			if p := d.Missing(d.Values(rec[0].Props)); p != "" {
				return index.MissingEdgeProp(d, p)
			}
		}
	}
	return nil
}

// verifyDeleted checks that no edge is left at a vertex that was deleted.
func (tx *Mutator) verifyDeleted(ctx context.Context) error {
	if len(tx.deleted) == 0 {
		return nil
	}
	ids := make([]graph.VertexID, 0, len(tx.deleted))
	for id := range tx.deleted {
		ids = append(ids, id)
	}
	degrees := make([]int, len(ids))
	for _, dir := range []graph.Direction{graph.Out, graph.In} {
		if err := tx.read.Degrees(ctx, ids, nil, dir, degrees); err != nil {
			return err
		}
		for i, n := range degrees {
			if n > 0 {
				return graph.RuntimeError("ConstraintVerificationFailed", "DeleteConnectedNode",
					"vertex %d still has edges, so it cannot be deleted; delete them first, or use DETACH DELETE", uint64(ids[i]))
			}
		}
	}
	return nil
}

// verifyVertices checks that vertices have their required properties.
func (tx *Mutator) verifyVertices(ctx context.Context) error {
	byDef := map[*index.Def][]graph.VertexID{}
	for id := range tx.touched {
		for _, l := range tx.catalog.Labels(tx.set(id)) {
			for _, d := range tx.defs.ByLabel[l] {
				if d.Required {
					byDef[d] = append(byDef[d], id)
				}
			}
		}
	}
	for d, ids := range byDef {
		cols := shard.Columns(len(d.PropIDs), len(ids))
		if err := tx.read.Properties(ctx, ids, d.PropIDs, cols); err != nil {
			return err
		}
		vals := make([]graph.Value, len(d.PropIDs))
		for i := range ids {
			for p := range vals {
				vals[p] = cols[p][i]
			}
			if p := d.Missing(vals); p != "" {
				return index.MissingProp(d, p)
			}
		}
	}
	return nil
}

// CheckUnique implements shard.Tx.
func (tx *Mutator) CheckUnique(ctx context.Context) error {
	if tx == nil {
		return nil
	}
	for key, owners := range tx.Duplicates {
		return tx.duplicate(ctx, graph.IndexID(binary.BigEndian.Uint32([]byte(key))), owners[0])
	}
	return nil
}

// KeepsUnique reports whether CheckUnique would find nothing.
func (tx *Mutator) KeepsUnique() bool { return tx == nil || len(tx.Duplicates) == 0 }

// duplicate describes a violation of a unique index.
func (tx *Mutator) duplicate(ctx context.Context, id graph.IndexID, o graph.IndexOwner) error {
	d := tx.defs.ByID[id]
	var vals []graph.Value
	var err error
	if o.IsEdge {
		t, _ := tx.catalog.Type(d.Type)
		vals, _, err = tx.edgeValuesOf(ctx, d, graph.Edge{ID: o.Edge, Src: o.Vertex, Dst: o.Dst, Type: t})
	} else {
		vals, err = tx.valuesOf(ctx, d, o.Vertex)
	}
	if err != nil {
		return err
	}
	tuple, _, _, err := view.AppendIndexed(nil, &d.Index, vals)
	if err != nil {
		return err
	}
	has, ok, err := tx.Owner(d.ID, tuple)
	if err != nil {
		return err
	}
	if !ok {
		return fail.Misuse("a violation of the constraint %s without its cause", d.Name)
	}
	return index.DuplicateError(d, vals, index.OwnerName(has), index.OwnerName(o))
}
