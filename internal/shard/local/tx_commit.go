package local

import (
	"context"
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Commit implements shard.Tx. Once the changes are on their way to the disk, it ignores ctx.
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
	if tx.snap == nil {
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
		if err := tx.EdgeRecords(ctx, []graph.Edge{e}, rec[:]); err != nil {
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
	byDef := map[*index.Def][]graph.VertexID{}
	for id := range tx.touched {
		for _, l := range tx.g.Labels(tx.set(id)) {
			for _, d := range tx.defs.ByLabel[l] {
				if d.Required {
					byDef[d] = append(byDef[d], id)
				}
			}
		}
	}
	for d, ids := range byDef {
		cols := shard.Columns(len(d.PropIDs), len(ids))
		if err := tx.properties(ctx, ids, d.PropIDs, cols); err != nil {
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
func (tx *Tx) CheckUnique(ctx context.Context) error {
	for key, owners := range tx.dups {
		return tx.duplicate(ctx, graph.IndexID(binary.BigEndian.Uint32([]byte(key))), owners[0])
	}
	return nil
}

// KeepsUnique reports whether CheckUnique would find nothing.
func (tx *Tx) KeepsUnique() bool { return len(tx.dups) == 0 }

// duplicate describes a violation of a unique index.
func (tx *Tx) duplicate(ctx context.Context, id graph.IndexID, o graph.IndexOwner) error {
	d := tx.defs.ByID[id]
	var vals []graph.Value
	var err error
	if o.IsEdge {
		t, _ := tx.g.Catalog.Type(d.Type)
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
	has, ok, err := tx.lookup(d.ID, tuple)
	if err != nil {
		return err
	}
	if !ok {
		return misuse("a violation of the constraint %s without its cause", d.Name)
	}
	return index.DuplicateError(d, vals, index.OwnerName(has), index.OwnerName(o))
}

// Name makes the transaction's commit findable by Outcome.
func (tx *Tx) Name(id storage.CommitID) { tx.id = id }

// ids returns the name of the transaction, if it has one.
func (tx *Tx) ids() []storage.CommitID {
	if tx.id == (storage.CommitID{}) {
		return nil
	}
	return []storage.CommitID{tx.id}
}

// Outcome tells what became of the commit of a transaction that has ended, or whose process has; see storage.FindOutcome.
func (g *Graph) Outcome(id storage.CommitID) (storage.Outcome, error) {
	if err := g.enter(); err != nil {
		return storage.OutcomeUnknown, err
	}
	defer g.leave()
	return storage.FindOutcome(g.shards, id)
}
