package local

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/bulk"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/shard/local/turns"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Tx is a transaction of a graph, made up of what reads it, what changes it, and its commit. It implements shard.Tx.
//
// Its reads go to the views of a snapshot, or, if it may write, to those of one writer a shard: over a snapshot, or, while it holds the
// writer's lock, over the present state.
type Tx struct {
	read.Tx
	*write.Mutator // nil if it only reads
	*writing       // of a reader: noWriting
	g              *Graph
	snap           *snapshot // nil if it holds the writer's lock
}

// writing is what a transaction that may write needs for its commit.
type writing struct {
	id      storage.CommitID // of the commit, or zero
	seq     uint64           // of the commit
	time    int64            // of the commit, in nanoseconds since 1970
	nth     int              // of those that were committed together
	turn    *turns.Taker     // takes turns with others that change the same; or nil
	origin  changelog.Origin
	changed []shard.Key // at which it takes its turn because of its changes
}

// noWriting is the writing of all transactions that only read. It never changes.
var noWriting writing

var (
	_ shard.Graph  = (*Graph)(nil)
	_ shard.Tx     = (*Tx)(nil)
	_ shard.PartTx = (*Tx)(nil)
	_ bulk.Tx      = (*Tx)(nil)
)

// graphFeatures are those of a graph.
var graphFeatures = shard.FeatureSet{
	shard.Validation:   "every snapshot is the present one as it begins",
	shard.WireMetering: "what is read is in this process",
	shard.DegreeBounds: "degrees are looked up",
	shard.RuleScans:    "every vertex is visible",
}

// Features implements shard.Graph.
func (g *Graph) Features() *shard.FeatureSet { return &graphFeatures }

// Features implements shard.Tx and shard.PartTx.
func (tx *Tx) Features() shard.Features {
	return shard.Features{Aggregates: tx, Text: tx, Turns: tx, Reads: tx, Passer: tx, Exact: tx, Dated: tx, Versions: tx, Commits: tx, Positions: view.Cursors{}, Set: &graphFeatures}
}

// reader begins to read a snapshot.
func (g *Graph) reader(c *snapshot) *Tx {
	tx := &Tx{writing: &noWriting, g: g, snap: c}
	tx.Open(g.Readers, g.Catalog, &c.Snapshot)
	return tx
}

// writerOver begins to write over a snapshot, or, if that is nil, over the present state.
func (g *Graph) writerOver(c *snapshot) *Tx {
	tx := &Tx{writing: new(writing), g: g, snap: c}
	if c != nil {
		tx.Mutator = write.Begin(&tx.Tx, &c.Snapshot, write.State{Readers: g.Readers, Catalog: g.Catalog, Shards: g.shards, Mode: g.log.Mode()})
	} else {
		tx.Mutator = write.Begin(&tx.Tx, nil, g.state())
	}
	return tx
}

// state is the present state of the graph. The caller holds the writer's lock.
func (g *Graph) state() write.State {
	return write.State{
		Readers: g.Readers, Catalog: g.Catalog, Shards: g.shards, Seq: g.log.Last().Number, Defs: g.defs.Load(), Mode: g.log.Mode(),
	}
}

// Apply implements shard.Tx.
func (tx *Tx) Apply(ctx context.Context, ms []shard.Mutation) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	if err := tx.Writable(); err != nil {
		return err
	}
	if tx.turn != nil {
		if err := tx.takeTurns(ctx, ms); err != nil {
			return err
		}
	}
	return tx.Mutator.Apply(ctx, ms)
}

// Commit implements shard.Tx. Once the changes are on their way to the disk, it ignores ctx.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.Ended() {
		return fail.Misuse("the transaction has ended")
	}
	if tx.Mutator == nil {
		tx.Rollback()
		return nil
	}
	if err := tx.Verify(ctx); err != nil {
		tx.Rollback()
		return err
	}
	tx.End()
	var err error
	if tx.snap == nil {
		tx.seq, tx.time, err = tx.g.commit(&change{ws: tx.Writers(), ids: tx.ids(), origins: []changelog.Origin{tx.origin}, next: due{at: tx.Due()}})
	} else {
		tx.seq, tx.time, err = tx.commitOver(ctx)
		tx.Discard()
	}
	tx.leave()
	return err
}

// Name makes the commit of a transaction that may write findable by Outcome.
func (tx *Tx) Name(id storage.CommitID) {
	if tx.Mutator != nil {
		tx.id = id
	}
}

// ids returns the name of the transaction, if it has one.
func (tx *Tx) ids() []storage.CommitID {
	if tx.id == (storage.CommitID{}) {
		return nil
	}
	return []storage.CommitID{tx.id}
}

// Outcome tells what became of the commit of a transaction that has ended, or whose process has; see storage.FindOutcome.
func (g *Graph) Outcome(id storage.CommitID) (storage.Outcome, error) {
	if err := g.Enter(); err != nil {
		return storage.OutcomeUnknown, err
	}
	defer g.Leave()
	return storage.FindOutcome(g.shards, id)
}

// Rollback implements shard.Tx.
func (tx *Tx) Rollback() {
	if !tx.End() {
		return
	}
	if tx.Mutator != nil {
		tx.Discard()
		if tx.snap == nil {
			tx.g.unlock()
		}
	}
	tx.leave()
}

// leave returns what the transaction holds of the graph but the writer's lock.
func (tx *Tx) leave() {
	if tx.turn != nil {
		tx.g.turns.Leave(tx.turn)
	}
	switch {
	case tx.snap == nil:
	case tx.Mutator == nil:
		tx.g.release(tx.snap)
	default:
		tx.g.releaseBase(tx.snap)
	}
	tx.g.Leave()
}

// Versions returns the versions of the shards of a transaction's snapshot in other processes, 0 for one of this process; nil if
// the transaction has no snapshot.
func (tx *Tx) Versions() []uint64 {
	if tx.snap == nil {
		return nil
	}
	out := make([]uint64, len(tx.snap.Views))
	for i, v := range tx.snap.Views {
		out[i] = storage.VersionOf(v)
	}
	return out
}

// SnapshotID tells snapshots of a graph apart, as long as it is open.
func (tx *Tx) SnapshotID() uint64 { return tx.snap.id }

// takeTurns waits for the transaction's turn at what mutations change, and fails if that was changed since its snapshot.
func (tx *Tx) takeTurns(ctx context.Context, ms []shard.Mutation) error {
	tx.changed = shard.AddKeys(tx.changed, ms)
	if len(ms)+tx.turn.Taken() > shard.MostTurns {
		return nil
	}
	keys := shard.AddKeys(nil, ms)
	slices.SortFunc(keys, shard.CompareKeys)
	return tx.TakeTurns(ctx, keys)
}

// TakeTurns implements shard.Heir.
func (tx *Tx) TakeTurns(ctx context.Context, keys []shard.Key) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	if tx.turn == nil {
		return fail.Misuse("a transaction without turns")
	}
	var own writeSet
	for _, k := range keys {
		if k.Edge {
			own.edges = append(own.edges, graph.EdgeID(k.ID))
		} else {
			own.vertices = append(own.vertices, graph.VertexID(k.ID))
		}
	}
	if err := tx.g.turns.Wait(ctx, tx.turn, keys, tx.g.stop); err != nil {
		return err
	}
	for _, s := range tx.g.since(tx.snap.Seq) {
		if own.meets(&s) {
			return conflict(nil)
		}
	}
	return nil
}

// Changes implements shard.Heir.
func (tx *Tx) Changes() []shard.Key { return tx.changed }

// Inherit implements shard.Heir.
func (tx *Tx) Inherit(_ context.Context, from shard.Tx) error {
	old, ok := from.(*Tx)
	if !ok || old.g != tx.g || tx.turn == nil {
		return fail.Misuse("no turns to inherit")
	}
	if old.turn != nil {
		tx.g.turns.Inherit(tx.turn, old.turn)
	}
	return nil
}

// SearchText implements shard.TextSearcher.
func (tx *Tx) SearchText(ctx context.Context, req *shard.TextSearch, res *shard.TextHits) error {
	var ws []*staging.Writer
	if tx.Mutator != nil {
		ws = tx.Writers()
	}
	return tx.g.texts.Search(ctx, &tx.Tx, ws, req, res)
}
