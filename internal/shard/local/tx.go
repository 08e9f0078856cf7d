package local

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Tx implements shard.Tx. Reads go to the views of a snapshot, or, where it may write, to those of one writer a shard: over
// a snapshot, or, while it holds the writer's lock, over the present state.
type Tx struct {
	g     *Graph // nil if the transaction reads a Part
	on    *readers
	mode  shard.Mode
	views []*view.View
	snap  *snapshot // nil if the transaction holds the writer's lock
	defs  *index.Defs
	seq   uint64 // of the commit
	nth   int    // of those that were committed together
	ended atomic.Bool
	plain bool                // reads nothing that is decoded
	reads *graph.Reads        // what counts the reads, or nil
	done  func()              // gives back a snapshot that is not the graph's; or nil
	again func() (*Tx, error) // of a part: reads the same state in another transaction

	*write   // of a writer; a reader's is empty and never changed
	topology topologyReads

	mu     sync.Mutex
	counts *graph.Counts // of a writer, until the next change
}

// check says why a request cannot be served now.
func (tx *Tx) check(ctx context.Context) error {
	if tx.ended.Load() {
		return misuse("the transaction has ended")
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
func (tx *Tx) byShard(ids []graph.VertexID) *rows {
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
func (r *rows) each(tx *Tx, n int, f func(v *view.View, at view.Order) error) error {
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
func (tx *Tx) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) (ids []graph.VertexID, next graph.VertexID, done bool, err error) {
	if err := tx.check(ctx); err != nil {
		return dst, from, false, err
	}
	if len(dst) == cap(dst) {
		return dst, from, false, misuse("no room for a scan")
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
func (tx *Tx) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	if err := tx.check(ctx); err != nil {
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
func (tx *Tx) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	return tx.properties(ctx, ids, props, out)
}

func (tx *Tx) properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
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
func (tx *Tx) eachShard(ids []graph.VertexID, rows []int32, f func(v *view.View, at view.Order) error) error {
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

// large fills in the large values that a read has left out.
func (tx *Tx) large(ctx context.Context, pending []view.Pending, out [][]graph.Value) error {
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

// Records implements shard.Tx.
func (tx *Tx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	return shard.ReadRecords(ctx, tx, func(set graph.LabelSet) []graph.PropID { return tx.g.PropsOf(nil, set) }, ids, out)
}

// Label implements shard.Tx.
func (tx *Tx) Label(name string) (graph.LabelID, error) {
	if err := tx.writable(); err != nil {
		return 0, err
	}
	return tx.g.NewLabel(name)
}

// Type implements shard.Tx.
func (tx *Tx) Type(name string) (graph.TypeID, error) {
	if err := tx.writable(); err != nil {
		return 0, err
	}
	return tx.g.NewType(name)
}

// Prop implements shard.Tx.
func (tx *Tx) Prop(name string) (graph.PropID, error) {
	if err := tx.writable(); err != nil {
		return 0, err
	}
	return tx.g.NewProp(name)
}

// LabelSet implements shard.Tx.
func (tx *Tx) LabelSet(labels []graph.LabelID) (graph.LabelSet, error) {
	if err := tx.writable(); err != nil {
		return 0, err
	}
	return tx.g.NewLabelSet(labels)
}

func (tx *Tx) writable() error {
	switch {
	case tx.ended.Load():
		return misuse("the transaction has ended")
	case tx.mode == shard.Read:
		return misuse("a write in a transaction that only reads")
	}
	return nil
}

// Rollback implements shard.Tx.
func (tx *Tx) Rollback() {
	if tx.ended.Swap(true) {
		return
	}
	tx.discard()
	if tx.snap == nil {
		tx.g.unlock()
	}
	tx.end()
}

// discard throws the changes away.
func (tx *Tx) discard() {
	for _, w := range tx.ws {
		if err := w.Discard(); err != nil {
			tx.on.opts.Logger.Error("end a transaction", slog.String("graph", tx.on.name), slog.Any("error", err))
		}
	}
}

// end returns what the transaction holds but the writer's lock.
func (tx *Tx) end() {
	tx.closeTopology()
	tx.leaveTurns()
	switch {
	case tx.snap == nil:
	case tx.done != nil:
		tx.done()
	case tx.mode == shard.Read:
		tx.g.leaveFrom(tx.snap)
		return
	default:
		tx.g.releaseBase(tx.snap)
	}
	tx.on.leave()
}
