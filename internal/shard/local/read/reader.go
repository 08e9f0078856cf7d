package read

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Reader answers requests from one state of a graph's shards, or of those that one process has: from a snapshot, from a snapshot with what
// a transaction has written over it, or, while a transaction holds the writer's lock, from the present state. It implements shard.PartTx.
type Reader struct {
	on      *Readers
	snap    *Snapshot // nil under the writer's lock
	over    *Overlay  // what the transaction has written; nil if it only reads
	whole   *Tx       // what embeds the Reader; nil for a part
	views   []*view.View
	ended   atomic.Bool
	plain   bool         // reads nothing that is decoded
	reads   *graph.Reads // what counts the reads, or nil
	release func()       // gives back a part's snapshot
	again   Again        // of a part's reader

	columns []cache.ColumnView // open from the first use to the end
	values  cache.Hold         // keeps the properties of edges that were returned, which lie in the memory of decoded lists, until the end
	mu      sync.Mutex
}

// Again begins another reader of the same state, or of a later one. end ends it.
type Again func() (r *Reader, end func(), err error)

// Overlay is what a transaction has written so far. Its reader shows it. Reads and writes do not run at the same time.
type Overlay struct {
	// Duplicates holds, by DuplicateKey, further owners of tuples that a unique index holds once. A commit needs it empty.
	Duplicates map[string][]graph.IndexOwner
	writers    []*staging.Writer // by shard
	seq        uint64            // of the present state, without a snapshot
	seen       changeLog
}

// Writers are the writers of the shards.
func (o *Overlay) Writers() []*staging.Writer { return o.writers }

// DuplicateKey is the key of an index and a tuple in Overlay.Duplicates.
func DuplicateKey(ix graph.IndexID, tuple []byte) string {
	return string(append(binary.BigEndian.AppendUint32(nil, uint32(ix)), tuple...))
}

// NewReader reads the part of a snapshot that this process has, after Enter. Its Rollback calls release and Leave.
func NewReader(on *Readers, snap *Snapshot, again Again, release func()) *Reader {
	return &Reader{on: on, snap: snap, views: snap.Views, again: again, release: release}
}

// Features implements shard.PartTx.
func (tx *Reader) Features() shard.Features {
	return shard.Features{Aggregates: tx, Reads: tx, Passer: tx, Set: &partFeatures}
}

var partFeatures = shard.FeatureSet{
	shard.FullText:     "the leader has the full-text indexes",
	shard.Turns:        "the leader keeps the turns",
	shard.Validation:   "the leader knows the present snapshot",
	shard.WireMetering: "what is read is in this process",
	shard.ExactCounts:  "the leader has the counts of all parts",
	shard.ChangeDates:  "the leader knows of the commits",
	shard.DegreeBounds: "degrees are looked up",
	shard.RuleScans:    "every vertex is visible",
	shard.Commits:      "the leader knows of the commits",
	shard.Versions:     "the leader knows of the commits",
	shard.Positions:    "who asks gives the cursors",
}

// Views returns the views of the shards, nil for those of other processes.
func (tx *Reader) Views() []*view.View { return tx.views }

// Plain makes the reader use nothing that is decoded, and decode nothing.
func (tx *Reader) Plain() { tx.plain = true }

// End ends the reader, and returns what it holds of caches. It returns false if the reader had ended.
func (tx *Reader) End() bool {
	if tx.ended.Swap(true) {
		return false
	}
	tx.CloseDecoded()
	return true
}

// Ended reports whether the reader has ended.
func (tx *Reader) Ended() bool { return tx.ended.Load() }

// Rollback implements shard.PartTx.
func (tx *Reader) Rollback() {
	if tx.End() {
		tx.release()
		tx.on.Leave()
	}
}

// dups are the duplicates that the transaction has written.
func (tx *Reader) dups() map[string][]graph.IndexOwner {
	if tx.over == nil {
		return nil
	}
	return tx.over.Duplicates
}

// next is the first local id of a shard that no vertex has.
func (tx *Reader) next(no int) uint64 {
	if tx.over == nil {
		return tx.snap.sources[no].next
	}
	return tx.over.writers[no].NextVertex()
}

// Alive says why a request cannot be answered now, or nil.
func (tx *Reader) Alive(ctx context.Context) error {
	if tx.ended.Load() {
		return fail.Misuse("the transaction has ended")
	}
	return kv.Alive(ctx)
}

// rows are the rows of a request by shard.
type rows struct {
	orders [][]int32
	all    view.Order // of the one shard
}

var rowsPool = sync.Pool{New: func() any { return new(rows) }}

// byShard sorts rows by the ids that they name. Rows whose shard does not exist are left out.
func (tx *Reader) byShard(ids []graph.VertexID) *rows {
	r := rowsPool.Get().(*rows)
	n := len(tx.views)
	for len(r.orders) < n {
		r.orders = append(r.orders, nil)
	}
	for s := range n {
		r.orders[s] = r.orders[s][:0]
	}
	sorted := true
	for i := 1; i < len(ids) && sorted; i++ {
		sorted = ids[i-1] <= ids[i]
	}
	r.all = nil
	if sorted && len(ids) > 0 && n == 1 && ids[len(ids)-1].Shard() == 0 {
		return r
	}
	for i, id := range ids {
		if s := id.Shard(); s < n {
			r.orders[s] = append(r.orders[s], int32(i))
		}
	}
	if !sorted {
		for s := range n {
			slices.SortFunc(r.orders[s], func(a, b int32) int {
				if ids[a] < ids[b] {
					return -1
				}
				return int(min(1, ids[a]-ids[b]))
			})
		}
	}
	r.all = r.orders[0]
	if r.all == nil {
		r.all = view.Order{}
	}
	return r
}

// each calls f with every shard that has rows.
func (r *rows) each(tx *Reader, n int, f func(v *view.View, at view.Order) error) error {
	defer rowsPool.Put(r)
	if n == 0 {
		return nil
	}
	if len(tx.views) == 1 {
		if r.all != nil && len(r.all) == 0 {
			return nil
		}
		return f(tx.views[0], r.all)
	}
	for s, v := range tx.views {
		if len(r.orders[s]) > 0 {
			if err := f(v, r.orders[s]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Scan implements shard.Tx.
func (tx *Reader) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) (ids []graph.VertexID, next graph.VertexID, done bool, err error) {
	if err := tx.Alive(ctx); err != nil {
		return dst, from, false, err
	}
	if len(dst) == cap(dst) {
		return dst, from, false, fail.Misuse("no room for a scan")
	}
	for s := from.Shard(); s < len(tx.views); s++ {
		if tx.views[s] == nil {
			continue
		}
		start := uint64(0)
		if s == from.Shard() {
			start = from.Local()
		}
		dst, done, err = tx.views[s].Scan(ctx, label, start, dst)
		if err != nil {
			return dst, from, false, err
		}
		if !done {
			return dst, dst[len(dst)-1] + 1, false, nil
		}
		if len(dst) == cap(dst) && s+1 < len(tx.views) {
			return dst, graph.MakeVertexID(s+1, 0), false, nil
		}
	}
	return dst, graph.NoVertex, true, nil
}

// LabelSets implements shard.Tx.
func (tx *Reader) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	clear(out[:len(ids)])
	if tx.plain {
		return tx.byShard(ids).each(tx, len(ids), func(v *view.View, at view.Order) error {
			return v.LabelSets(ctx, ids, at, out)
		})
	}
	var rest []int
	views := tx.openColumns()
	for no := range views {
		var err error
		if rest, err = views[no].FillLabels(ids, out, rest); err != nil {
			return err
		}
	}
	return tx.eachShard(ids, sortRows(ids, rest), func(v *view.View, at view.Order) error {
		return v.LabelSets(ctx, ids, at, out)
	})
}

// Properties implements shard.Tx.
func (tx *Reader) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	return tx.properties(ctx, ids, props, out)
}

func (tx *Reader) properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	for p := range props {
		clear(out[p][:len(ids)])
	}
	var pending []view.Pending
	if tx.plain {
		err := tx.byShard(ids).each(tx, len(ids), func(v *view.View, at view.Order) error {
			return v.Properties(ctx, ids, at, props, out, &pending)
		})
		if err != nil {
			return err
		}
		return tx.large(ctx, pending, out)
	}
	missing, err := tx.cachedProperties(ids, props, out, &pending)
	if err != nil {
		return err
	}
	for p := range missing {
		var some []view.Pending
		err := tx.eachShard(ids, missing[p], func(v *view.View, at view.Order) error {
			return v.Properties(ctx, ids, at, props[p:p+1], out[p:p+1], &some)
		})
		if err != nil {
			return err
		}
		for _, q := range some {
			pending = append(pending, view.Pending{P: p, I: q.I, Ref: q.Ref})
		}
	}
	return tx.large(ctx, pending, out)
}

// eachShard calls f with the rows of each shard; rows are in the order of their vertices.
func (tx *Reader) eachShard(ids []graph.VertexID, rows []int32, f func(v *view.View, at view.Order) error) error {
	for len(rows) > 0 {
		no := ids[rows[0]].Shard()
		n, _ := slices.BinarySearchFunc(rows, no+1, func(r int32, no int) int { return ids[r].Shard() - no })
		if no >= len(tx.views) {
			return nil
		}
		if err := f(tx.views[no], view.Order(rows[:n])); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// large reads large values and fills them in.
func (tx *Reader) large(ctx context.Context, pending []view.Pending, out [][]graph.Value) error {
	slices.SortFunc(pending, func(a, b view.Pending) int { return cmp.Compare(a.Ref.ID, b.Ref.ID) })
	for len(pending) > 0 {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		n, no := 1, graph.EdgeID(pending[0].Ref.ID).Shard()
		for n < min(len(pending), 256) && graph.EdgeID(pending[n].Ref.ID).Shard() == no {
			n++
		}
		switch {
		case no >= len(tx.views):
			return graph.CorruptError("read a large value of a shard that is not there", nil)
		case tx.views[no] == nil:
			for _, p := range pending[:n] {
				out[p.P][p.I] = shard.LargeRef(p.Ref).Value()
			}
		default:
			for range n {
				tx.reads.Fetched()
			}
			if err := tx.views[no].LargeValues(pending[:n], out); err != nil {
				return err
			}
		}
		pending = pending[n:]
	}
	return nil
}
