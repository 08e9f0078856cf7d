package local

import (
	"context"
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// Commit implements shard.Tx. Once the changes are on their way to the disk, ctx is not heeded any more.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.ended.Load() {
		return misuse("the transaction has ended")
	}
	if tx.mode == shard.Read {
		tx.Rollback()
		return nil
	}
	if err := tx.verify(ctx); err != nil {
		tx.Rollback()
		return err
	}
	tx.ended.Store(true)
	var err error
	if tx.cut == nil {
		tx.seq, err = tx.g.commit(tx.ws, tx.ids(), nil, due{at: tx.due})
	} else {
		tx.seq, err = tx.commitOver(ctx)
		tx.discard()
	}
	tx.end()
	return err
}

// verify checks what must hold of the graph after the changes.
func (tx *Tx) verify(ctx context.Context) error {
	if err := storage.Alive(ctx); err != nil {
		return err
	}
	if err := tx.verifyDeleted(ctx); err != nil {
		return err
	}
	for key := range tx.dups {
		return tx.duplicate(graph.IndexID(binary.BigEndian.Uint32([]byte(key))), tx.dups[key][0])
	}
	if err := tx.verifyVertices(ctx); err != nil {
		return err
	}
	for _, e := range tx.touchedEdges {
		var rec [1]shard.Record
		if err := tx.EdgeRecords(ctx, []graph.Edge{e}, rec[:]); err != nil {
			return err
		}
		if rec[0].Labels == 0 {
			continue
		}
		for _, d := range tx.defs.byType[e.Type] {
			if p := d.missing(d.values(rec[0].Props)); p != "" {
				return missingEdgeProp(d, p)
			}
		}
	}
	return nil
}

// verifyDeleted checks that no edge is left at a vertex that was deleted.
func (tx *Tx) verifyDeleted(ctx context.Context) error {
	if len(tx.deleted) == 0 {
		return nil
	}
	ids := make([]graph.VertexID, 0, len(tx.deleted))
	for id := range tx.deleted {
		ids = append(ids, id)
	}
	degrees := make([]int, len(ids))
	for _, dir := range []graph.Direction{graph.Out, graph.In} {
		if err := tx.Degrees(ctx, ids, nil, dir, degrees); err != nil {
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

// verifyVertices checks that required properties are there.
func (tx *Tx) verifyVertices(ctx context.Context) error {
	byDef := map[*indexDef][]graph.VertexID{}
	for id := range tx.touched {
		for _, l := range tx.g.Labels(tx.set(id)) {
			for _, d := range tx.defs.byLabel[l] {
				if d.Required {
					byDef[d] = append(byDef[d], id)
				}
			}
		}
	}
	for d, ids := range byDef {
		cols := shard.Columns(len(d.props), len(ids))
		if err := tx.properties(ctx, ids, d.props, cols); err != nil {
			return err
		}
		vals := make([]graph.Value, len(d.props))
		for i := range ids {
			for p := range vals {
				vals[p] = cols[p][i]
			}
			if p := d.missing(vals); p != "" {
				return missingProp(d, p)
			}
		}
	}
	return nil
}

// missing gives the name of a required property that is not there, or "".
func (d *indexDef) missing(vals []graph.Value) string {
	if !d.Required {
		return ""
	}
	for i, v := range vals {
		if v.IsNull() {
			return d.Props[i]
		}
	}
	return ""
}

func missingProp(d *indexDef, p string) error {
	return graph.RequiredError("a vertex with the label %s must have the property %s (constraint %s)", d.Label, p, d.Name)
}

func missingEdgeProp(d *indexDef, p string) error {
	return graph.RequiredError("an edge of the type %s must have the property %s (constraint %s)", d.Type, p, d.Name)
}

// duplicate tells of a violation of a unique index.
func (tx *Tx) duplicate(id graph.IndexID, o storage.Owner) error {
	d := tx.defs.byID[id]
	var vals []graph.Value
	var err error
	if o.IsEdge {
		t, _ := tx.g.Catalog.Type(d.Type)
		vals, _, err = tx.edgeValuesOf(context.Background(), d, graph.Edge{ID: o.Edge, Src: o.Vertex, Dst: o.Dst, Type: t})
	} else {
		vals, err = tx.valuesOf(context.Background(), d, o.Vertex)
	}
	if err != nil {
		return err
	}
	tuple, _, _, err := storage.AppendIndexed(nil, &d.Index, vals)
	if err != nil {
		return err
	}
	has, ok, err := tx.lookup(d.ID, tuple)
	if err != nil {
		return err
	}
	if !ok {
		return misuse("a violation of the constraint %s without its cause", d.Name)
	}
	return duplicateError(d, vals, who(has), who(o))
}

// duplicateError says that one has, or gets, the values that another one has. Object mappers look for its first words.
func duplicateError(d *indexDef, vals []graph.Value, has, gets string) error {
	over, props := "label `"+d.Label+"`", "property "
	if d.Type != "" {
		over = "type `" + d.Type + "`"
	}
	if len(vals) > 1 {
		props = "properties "
	}
	for i, v := range vals {
		if i > 0 {
			props += ", "
		}
		props += "`" + d.Props[i] + "` = " + show(v)
	}
	return graph.ConstraintError("%s already exists with %s and %s, so %s cannot have the same (constraint %s)", has, over, props, gets, d.Name)
}
