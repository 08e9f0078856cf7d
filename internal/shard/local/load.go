package local

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// Load implements shard.Graph. A batch holds the writer's lock from its first look-up to its commit, so loads that run
// side by side lose no update.
//
// New vertices and edges are collected in storage.Bulk, which packs them but cannot be read; all else goes through the
// transaction, one row after the other. What a row does depends on the rows before it, so before the transaction is
// used for something that may meet what was collected, the bulks are spilled into it.
func (g *Graph) Load(ctx context.Context, l *shard.Load) error {
	l.Rejected = l.Rejected[:0]
	l.AppliedVertices, l.AppliedEdges, l.Skipped = 0, 0, false
	t, err := g.Begin(ctx, shard.WriteExclusive)
	if err != nil {
		return err
	}
	tx := t.(*Tx)
	defer tx.Rollback()
	// What a spilled bulk holds is in no list of changes.
	tx.plain = true
	if l.Stream != "" {
		first := tx.ws[0]
		seq := uint64(0)
		if !l.Restart {
			if seq, _, err = first.Mark(l.Stream); err != nil {
				return err
			}
		}
		if l.Skipped = l.Seq <= seq; l.Skipped && !l.Restart {
			return nil
		}
		if l.Skipped {
			first.DropMark(l.Stream)
		}
	}
	b := newLoadBatch(ctx, tx, l)
	if !l.Skipped {
		if err := b.run(); err != nil {
			// The tables may hold keys that have come to nothing.
			g.keys = nil
			return err
		}
		if l.Stream != "" {
			tx.ws[0].SetMark(l.Stream, l.Seq, shard.AppendRejected(slices.Clone(l.Mark), l.Rejected))
		}
	}
	tx.ended.Store(true)
	defer g.leave()
	_, err = g.commit(tx.ws, nil, b.tables, due{at: tx.due})
	return err
}

// LoadState implements shard.Graph.
func (g *Graph) LoadState(ctx context.Context, stream string) (seq uint64, mark []byte, err error) {
	t, err := g.Begin(ctx, shard.Read)
	if err != nil {
		return 0, nil, err
	}
	defer t.Rollback()
	return t.(*Tx).views[0].Mark(stream)
}

// loadBatch is a load at work.
type loadBatch struct {
	ctx    context.Context // of the one call that this is
	g      *Graph
	tx     *Tx
	l      *shard.Load
	defs   *indexDefs
	tables *keyTables
	bulks  []*storage.Bulk // by shard, nil where nothing is collected
	// pending are the vertices that are being made, by label set and id space; see pendingID.
	pending []*newVertices
	ranges  []madeRange
	tick    int
}

// madeRange is vertices in a bulk.
type madeRange struct {
	first graph.VertexID
	n     int
	set   graph.LabelSet
}

// reject says why a row is refused.
type reject struct{ code, msg string }

var (
	rejectKey       = &reject{"MissingKey", "a key must be an integer or a string"}
	rejectDuplicate = &reject{"DuplicateKey", "there is a vertex with this key already"}
	rejectMissing   = &reject{"MissingVertex", "there is no vertex with this key"}
	rejectDangling  = &reject{"DanglingEdge", "an end of the edge does not exist"}
	rejectNoEdge    = &reject{"MissingEdge", "there is no such edge"}
	rejectStrategy  = &reject{"StrategyType", "the update strategy does not fit the types of the values"}
	rejectValue     = &reject{"BadValue", "a property cannot hold this value"}
)

func newLoadBatch(ctx context.Context, tx *Tx, l *shard.Load) *loadBatch {
	b := &loadBatch{ctx: ctx, g: tx.g, tx: tx, l: l, defs: tx.g.defs.Load(), tables: tx.g.keys, bulks: make([]*storage.Bulk, len(tx.ws))}
	if b.tables == nil {
		b.tables = &keyTables{byIndex: map[graph.IndexID]*keyTable{}, spill: tx.g.keySpill}
	}
	return b
}

func (b *loadBatch) run() error {
	if b.tables.spill != nil {
		rows := map[graph.IndexID]int{}
		for i := range b.l.Vertices {
			rows[b.l.Vertices[i].Space] += len(b.l.Vertices[i].Keys)
		}
		for i := range b.l.Edges {
			rows[b.l.Edges[i].SrcSpace] += len(b.l.Edges[i].Src)
			rows[b.l.Edges[i].DstSpace] += len(b.l.Edges[i].Dst)
		}
		if err := b.tables.makeRoom(rows); err != nil {
			return err
		}
	}
	for from := 0; from < len(b.l.Vertices); {
		to := from + 1
		for to < len(b.l.Vertices) && sameShape(&b.l.Vertices[from], &b.l.Vertices[to]) {
			to++
		}
		if err := b.vertices(from, to); err != nil {
			return err
		}
		from = to
	}
	if err := b.makePending(); err != nil {
		return err
	}
	if err := b.edges(); err != nil {
		return err
	}
	slices.SortStableFunc(b.l.Rejected, func(x, y shard.Rejected) int {
		switch {
		case x.Edge != y.Edge && y.Edge:
			return -1
		case x.Edge != y.Edge:
			return 1
		case x.Group != y.Group:
			return x.Group - y.Group
		}
		return x.Row - y.Row
	})
	b.tables.trim()
	return nil
}

// space gives a unique index over vertices that holds external keys.
func (b *loadBatch) space(id graph.IndexID) (*indexDef, error) {
	d := b.defs.byID[id]
	if d == nil || !d.Unique || !d.Indexed || d.Type != "" || len(d.props) != 1 {
		return nil, invalid("load: %d is not a unique index over one property of vertices, nor an id space", id)
	}
	if !d.Online {
		return nil, unavailableIndex(d)
	}
	return d, nil
}

// alive checks the context now and then.
func (b *loadBatch) alive() error {
	if b.tick++; b.tick&0xfff != 0 {
		return nil
	}
	return storage.Alive(b.ctx)
}

func (b *loadBatch) refuse(edge bool, group, row int, r *reject) {
	b.l.Rejected = append(b.l.Rejected, shard.Rejected{Edge: edge, Group: group, Row: row, Code: r.code, Msg: r.msg})
}

// bulk gives the bulk of a shard.
func (b *loadBatch) bulk(no int) *storage.Bulk {
	if b.bulks[no] == nil {
		b.bulks[no] = b.tx.ws[no].NewBulk()
	}
	return b.bulks[no]
}

// settle makes all that was collected readable through the transaction.
func (b *loadBatch) settle() error {
	if err := b.makePending(); err != nil {
		return err
	}
	for _, bulk := range b.bulks {
		if bulk != nil {
			if err := bulk.Spill(); err != nil {
				return err
			}
		}
	}
	b.ranges = b.ranges[:0]
	return nil
}

// union gives the label set of the labels of both.
func (b *loadBatch) union(x, y graph.LabelSet) (graph.LabelSet, error) {
	if x == y || y <= graph.NoLabels {
		return max(x, graph.NoLabels), nil
	}
	if x <= graph.NoLabels {
		return y, nil
	}
	return b.g.NewLabelSet(slices.Concat(b.g.Labels(x), b.g.Labels(y)))
}

// newSet gives the label set of a vertex that is made under a key of a space.
func (b *loadBatch) newSet(d *indexDef, labels graph.LabelSet) (graph.LabelSet, error) {
	if d.bare() {
		return max(labels, graph.NoLabels), nil
	}
	l, ok := b.g.Catalog.Label(d.Label)
	if !ok {
		return 0, misuse("the label of index %s has no number", d.Name)
	}
	if slices.Contains(b.g.Labels(labels), l) {
		return labels, nil
	}
	own, err := b.g.NewLabelSet([]graph.LabelID{l})
	if err != nil {
		return 0, err
	}
	return b.union(max(labels, graph.NoLabels), own)
}

// combine sets v to what a property becomes when a row's value, which is not null, meets its old value.
func combine(s shard.Strategy, old, new graph.Value) (graph.Value, *reject) {
	if !old.IsNull() {
		var ok bool
		if new, ok = merge(s, old, new); !ok {
			return new, rejectStrategy
		}
	}
	if !storable(new) {
		return new, rejectValue
	}
	return new, nil
}
