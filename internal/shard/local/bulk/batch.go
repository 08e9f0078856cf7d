package bulk

import (
	"cmp"
	"context"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// Batch is one load in progress.
//
// It collects new vertices and edges in storage.Bulk, which packs them but cannot be read; all other rows go through the
// transaction, one after the other. What a row does depends on the rows before it, so the batch spills the bulks into the
// transaction before it reads anything that may meet what they hold.
type Batch struct {
	ctx    context.Context // of the one call that this is
	g      *Graph
	tx     Tx
	log    *write.Recorder
	l      *shard.Load
	load   string // the name of the load; "" if it has no other batches
	defs   *index.Defs
	tables *Keys
	bulks  []*pack.Bulk // by shard, nil where nothing is collected
	// pending are the vertices that are being made, by label set and id space; see pendingID.
	pending []*newVertices
	ranges  []madeRange
	// before and now are the vertices that rows of earlier batches and of this one have written.
	before *written
	now    roaring64.Bitmap
	stores bool // the batch stores the vertices that its load has written
	tick   int
}

// madeRange is vertices in a bulk.
type madeRange struct {
	first graph.VertexID
	n     int
	set   graph.LabelSet
}

// reject records why a row is refused.
type reject struct{ code, msg string }

var (
	rejectKey       = &reject{"MissingKey", "a key must be an integer or a string"}
	rejectDuplicate = &reject{"DuplicateKey", "there is a vertex with this key already"}
	rejectRepeated  = &reject{"RepeatedKey", "an earlier row of the load has this key"}
	rejectMissing   = &reject{"MissingVertex", "there is no vertex with this key"}
	rejectDangling  = &reject{"DanglingEdge", "an end of the edge does not exist"}
	rejectNoEdge    = &reject{"MissingEdge", "there is no such edge"}
	rejectStrategy  = &reject{"StrategyType", "the update strategy does not fit the types of the values"}
	rejectValue     = &reject{"BadValue", "a property cannot hold this value"}
)

// New begins a batch through a transaction, which log records. The caller holds the writer's lock.
func New(ctx context.Context, g *Graph, tx Tx, log *write.Recorder, defs *index.Defs, l *shard.Load) *Batch {
	b := &Batch{ctx: ctx, g: g, tx: tx, log: log, l: l, load: cmp.Or(l.Stream, l.Run), defs: defs, tables: g.Keys, bulks: make([]*pack.Bulk, len(g.Shards))}
	if b.tables == nil {
		b.tables = &Keys{byIndex: map[graph.IndexID]*keyTable{}, spill: g.spill}
	}
	return b
}

// Run carries out the rows.
func (b *Batch) Run() error {
	if b.l.Unlogged {
		b.log.Stop()
	}
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
	if !b.l.Unlogged {
		return nil
	}
	v, e := &b.l.Counts.Vertices, &b.l.Counts.Edges
	deleted := e.Created // a deleted vertex takes its edges with it, for which no row counts
	for _, w := range b.tx.Writers() {
		deleted -= int(w.Counts[stats.Count{Kind: stats.CountEdges}])
	}
	return b.log.Skip([6]uint64{
		uint64(v.Created), uint64(v.Overwritten), uint64(v.Deleted), uint64(e.Created), uint64(e.Overwritten), uint64(deleted),
	})
}

// space returns a unique index over vertices that holds external keys.
func (b *Batch) space(id graph.IndexID) (*index.Def, error) {
	d := b.defs.ByID[id]
	if d == nil || !d.Unique || !d.Indexed || d.Type != "" || len(d.PropIDs) != 1 {
		return nil, fail.Invalid("load: %d is not a unique index over one property of vertices, nor an id space", id)
	}
	if !d.Online {
		return nil, index.Unavailable(d)
	}
	return d, nil
}

// alive checks the context now and then.
func (b *Batch) alive() error {
	if b.tick++; b.tick&0xfff != 0 {
		return nil
	}
	return kv.Alive(b.ctx)
}

func (b *Batch) refuse(edge bool, group, row int, r *reject) {
	b.l.Rejected = append(b.l.Rejected, shard.Rejected{Edge: edge, Group: group, Row: row, Code: r.code, Msg: r.msg})
}

// bulk returns the bulk of a shard.
func (b *Batch) bulk(no int) *pack.Bulk {
	if b.bulks[no] == nil {
		b.bulks[no] = b.tx.Writers()[no].NewBulk()
	}
	return b.bulks[no]
}

// settle makes all collected rows readable through the transaction.
func (b *Batch) settle() error {
	if err := b.makePending(); err != nil {
		return err
	}
	for no, bulk := range b.bulks {
		if bulk != nil {
			if err := b.tx.Writers()[no].Spill(); err != nil {
				return err
			}
		}
	}
	b.ranges = b.ranges[:0]
	return nil
}

// union returns the label set of the labels of both.
func (b *Batch) union(x, y graph.LabelSet) (graph.LabelSet, error) {
	if x == y || y <= graph.NoLabels {
		return max(x, graph.NoLabels), nil
	}
	if x <= graph.NoLabels {
		return y, nil
	}
	return b.g.NewLabelSet(slices.Concat(b.g.Labels(x), b.g.Labels(y)))
}

// newSet returns the label set of a vertex that is made under a key of a space.
func (b *Batch) newSet(d *index.Def, labels graph.LabelSet) (graph.LabelSet, error) {
	if d.Bare() {
		return max(labels, graph.NoLabels), nil
	}
	l, ok := b.g.Catalog.Label(d.Label)
	if !ok {
		return 0, fail.Misuse("the label of index %s has no number", d.Name)
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

// combine sets v to the result of combining a row's non-null value with the old value of a property.
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
