package read

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// Tx is a Reader of all shards of a graph, which knows the graph's names, indexes and counts.
type Tx struct {
	Reader
	names  Names
	defs   *index.Defs
	shards []*storage.Shard

	counts *graph.Counts // of what was written, until the next change
}

// Names has the numbers of a graph's labels, types and properties.
type Names interface {
	graph.Catalog
	// PropsOf appends the properties that vertices with a label set may have.
	PropsOf(dst []graph.PropID, set graph.LabelSet) []graph.PropID
}

// Open makes the transaction read a snapshot.
func (tx *Tx) Open(on *Readers, names Names, snap *Snapshot) {
	tx.on, tx.names, tx.snap, tx.views, tx.defs, tx.whole = on, names, snap, snap.Views, snap.Defs, tx
}

// OpenOver makes the transaction read what it writes: over a snapshot, or, if that is nil, over the present state, which is that of a
// commit seq with the indexes defs.
func (tx *Tx) OpenOver(on *Readers, names Names, snap *Snapshot, shards []*storage.Shard, seq uint64, defs *index.Defs, over *Overlay) {
	tx.on, tx.names, tx.snap, tx.shards, tx.defs, tx.over, tx.whole = on, names, snap, shards, defs, over, tx
	over.seq = seq
	for no, s := range shards {
		var w *staging.Writer
		if snap != nil {
			w = s.NewWriterAt(snap.Views[no])
		} else {
			w = s.NewWriter()
		}
		over.writers = append(over.writers, w)
		tx.views = append(tx.views, w.View)
	}
}

// Defs are the indexes as the transaction sees them: an index that came online after its snapshot was made is not whole there, and one
// that was dropped afterwards still is.
func (tx *Tx) Defs() *index.Defs { return tx.defs }

// Online returns the indexes that can be read.
func (tx *Tx) Online() []graph.IndexID {
	var ids []graph.IndexID
	for id, d := range tx.defs.ByID {
		if d.Indexed && d.Online {
			ids = append(ids, id)
		}
	}
	return ids
}

// Types returns the types that have edges.
func (tx *Tx) Types() []graph.TypeID {
	n := len(tx.names.AllTypes())
	types := make([]graph.TypeID, 0, n)
	for t := graph.TypeID(1); int(t) <= n; t++ {
		if tx.Count(stats.Count{Kind: stats.CountType, Type: t}) != 0 {
			types = append(types, t)
		}
	}
	return types
}

// Changed forgets what was counted before a change.
func (tx *Tx) Changed() {
	tx.mu.Lock()
	tx.counts = nil
	tx.mu.Unlock()
}

// Records implements shard.Tx.
func (tx *Tx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	return shard.ReadRecords(ctx, tx, func(set graph.LabelSet) []graph.PropID { return tx.names.PropsOf(nil, set) }, ids, out)
}
