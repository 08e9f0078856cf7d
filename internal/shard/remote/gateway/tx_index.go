package gateway

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage/view"
)

var _ shard.Tx = (*Tx)(nil)

// features says what a gateway lacks, and why.
var features = shard.FeatureSet{
	shard.ReadMetering: "the processes of the shards read",
	shard.Passing:      "the processes of the shards have the caches",
	shard.ChangeDates:  "the leader knows of the commits",
	shard.DegreeBounds: "degrees are looked up",
	shard.RuleScans:    "every vertex is visible",
}

// Features implements shard.Graph.
func (g *Graph) Features() *shard.FeatureSet { return &features }

// Features implements shard.Tx.
func (tx *Tx) Features() shard.Features {
	return shard.Features{Aggregates: tx, Text: tx, Turns: tx, Validator: tx, Wire: tx, Exact: tx, Versions: (*versioned)(tx), Commits: (*committed)(tx), Positions: view.Cursors{}, Set: &features}
}

// index returns an index over vertices, or an id space, or an index over edges with their type. It must be online.
func (tx *Tx) index(id graph.IndexID, edges bool) (shard.IndexRef, graph.TypeID, error) {
	for _, c := range []*catalog{tx.g.state.Load(), tx.l.names} {
		for _, ix := range c.indexes {
			if ix.ID != id || edges != (ix.Type != "") || !ix.Indexed {
				continue
			}
			if !slices.Contains(tx.l.online, uint32(id)) {
				return shard.IndexRef{}, 0, wire.Unavailable("IndexOffline", "the index "+ix.Name+" is being built", nil)
			}
			t, _ := tx.g.Type(ix.Type)
			return shard.RefOf(&ix), t, nil
		}
	}
	return shard.IndexRef{}, 0, misuse("index %d does not exist", id)
}

// everywhere returns the targets that together have an index.
func (tx *Tx) everywhere() []target {
	if !tx.clean() {
		return []target{tx.all()}
	}
	targets := make([]target, tx.g.shards)
	for no := range targets {
		targets[no] = tx.shard(no)
	}
	return targets
}

// Lookup implements shard.Indexes.
func (tx *Tx) Lookup(ctx context.Context, ref shard.IndexRef, vals []graph.Value) (offsets []int, owners []graph.IndexOwner, err error) {
	return (&seeking{Tx: tx}).lookup(ctx, ref, vals, nil)
}

// lookup is Lookup, and sends next along, if not nil.
func (tx *seeking) lookup(ctx context.Context, ref shard.IndexRef, vals []graph.Value, next *prefetch) (offsets []int, found []graph.IndexOwner, err error) {
	if err := tx.check(ctx); err != nil {
		return nil, nil, err
	}
	width := ref.Width
	if len(vals)%width != 0 {
		return nil, nil, misuse("the keys of a seek are not whole tuples")
	}
	n := len(vals) / width
	// Values that cannot be stored are in no entry.
	keys := slices.Clone(vals)
	for i := range keys {
		if _, err := wire.EncodeValues(keys[i : i+1]); err != nil {
			keys[i] = graph.Value{}
			keys[i-i%width] = graph.Value{}
		}
	}
	b, err := wire.EncodeValues(keys)
	if err != nil {
		return nil, nil, err
	}
	answers, err := tx.seek(ctx, wire.EncodeRef(ref), b, n, next)
	if err != nil {
		return nil, nil, err
	}
	offsets = append(make([]int, 0, n+1), 0)
	for k := range n {
		for i := range answers {
			a := &answers[i]
			m := int(a.counts[k])
			if m > len(a.owners) {
				return nil, nil, wire.ErrMalformed
			}
			found, a.owners = append(found, a.owners[:m]...), a.owners[m:]
		}
		slices.SortFunc(found[offsets[k]:], func(a, b graph.IndexOwner) int {
			return shard.Entry{Owner: a}.Compare(shard.Entry{Owner: b})
		})
		offsets = append(offsets, len(found))
	}
	return offsets, found, nil
}

// sought is the owners of tuples at one target.
type sought struct {
	counts []uint32
	owners []graph.IndexOwner
}

// seek looks up n tuples. For one tuple of a unique index, it first asks the shard that had it last.
func (tx *seeking) seek(ctx context.Context, ix *pb.Index, tuples []byte, n int, next *prefetch) ([]sought, error) {
	targets := tx.everywhere()
	if !ix.GetUnique() || n != 1 || len(targets) == 1 {
		return tx.seekAt(ctx, targets, ix, tuples, n, next)
	}
	hint := tx.g.hints.of(ix.GetId(), tuples)
	if no, ok := hint.get(); ok && no < len(targets) {
		answers, err := tx.seekAt(ctx, targets[no:no+1], ix, tuples, n, next)
		if err != nil || answers[0].counts[0] > 0 {
			return answers, err
		}
	}
	answers, err := tx.seekAt(ctx, targets, ix, tuples, n, next)
	for no := range answers {
		if answers[no].counts[0] > 0 {
			hint.set(no)
		}
	}
	return answers, err
}

// seekAt looks up n tuples in targets, in parallel.
func (tx *seeking) seekAt(ctx context.Context, targets []target, ix *pb.Index, tuples []byte, n int, next *prefetch) ([]sought, error) {
	answers := make([]sought, len(targets))
	first, second := next.requests()
	err := askFirst(ctx, tx.Tx, pb.ReadService_Seek_FullMethodName, targets, second != nil, func(i int) proto.Message {
		return &pb.SeekRequest{Snapshot: targets[i].snap, Index: ix, Values: tuples, Next: first, Beyond: second}
	}, func(i int, a *pb.SeekResponse) (err error) {
		answers[i].counts = a.GetCounts()
		answers[i].owners, err = wire.DecodeOwners(a.GetOwners())
		if err == nil && len(answers[i].counts) != n {
			err = wire.ErrMalformed
		}
		if err == nil && a.GetNext() != nil {
			err = next.take(answers[i].owners, a)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// Seek implements shard.Tx.
func (tx *Tx) Seek(ctx context.Context, req *shard.Seek, res *shard.Found) error {
	ref, _, err := tx.index(req.Index, false)
	if err != nil {
		return err
	}
	x := seeking{Tx: tx}
	if len(req.Keys) == ref.Width {
		if x.next, err = tx.prefetch(req.Then); err != nil {
			return err
		}
	}
	if err = shard.LookupVertices(ctx, &x, ref, req.Keys, res); len(res.IDs) == 1 {
		tx.next.Store(x.next)
	}
	return err
}

// seeking is a transaction whose look-up is sent with the requests for the next hops.
type seeking struct {
	*Tx
	next *prefetch
}

// Lookup implements shard.Indexes.
func (tx *seeking) Lookup(ctx context.Context, ref shard.IndexRef, vals []graph.Value) ([]int, []graph.IndexOwner, error) {
	return tx.lookup(ctx, ref, vals, tx.next)
}

// SeekEdges implements shard.Tx.
func (tx *Tx) SeekEdges(ctx context.Context, req *shard.Seek, res *shard.FoundEdges) error {
	ref, t, err := tx.index(req.Index, true)
	if err != nil {
		return err
	}
	return shard.LookupEdges(ctx, tx, ref, t, req.Keys, res)
}

// Range implements shard.Indexes.
func (tx *Tx) Range(ctx context.Context, ref shard.IndexRef, r shard.Range, cursor []byte, room int) (entries []shard.Entry, rest bool, err error) {
	if err := tx.check(ctx); err != nil {
		return nil, false, err
	}
	if room == 0 {
		room = graph.BatchSize
	}
	room = min(room, wire.MaxRoom)
	equal, err := wire.EncodeValues(r.Equal)
	pairs := []graph.Value{r.Lo, r.Hi}
	for _, b := range r.Further {
		pairs = append(pairs, b[:]...)
	}
	bounds, berr := wire.EncodeValues(pairs)
	if err != nil || berr != nil {
		return nil, false, nil //nolint:nilerr // values that cannot be stored are in no entry
	}
	targets := tx.everywhere()
	ix, answers := wire.EncodeRef(ref), make([][]shard.Entry, len(targets))
	more := make([]bool, len(targets))
	err = ask(ctx, tx, pb.ReadService_SeekRange_FullMethodName, targets, func(i int) proto.Message {
		return &pb.SeekRangeRequest{
			Snapshot: targets[i].snap, Index: ix, Equal: equal, Bounds: bounds, LoOpen: r.LoOpen, HiOpen: r.HiOpen, Prefix: r.Prefix, Down: r.Down, Cursor: cursor,
			Room: uint32(room),
		}
	}, func(i int, a *pb.SeekRangeResponse) error {
		os, err := wire.DecodeOwners(a.GetOwners())
		if err != nil || len(os) != len(a.GetTuples()) {
			return wire.ErrMalformed
		}
		answers[i], more[i] = make([]shard.Entry, len(os)), a.GetMore()
		for k, o := range os {
			answers[i][k] = shard.Entry{Tuple: a.GetTuples()[k], Owner: o}
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	entries = slices.Concat(answers...)
	if len(targets) > 1 {
		order := shard.Entry.Compare
		if r.Down {
			order = func(a, b shard.Entry) int { return b.Compare(a) }
		}
		slices.SortFunc(entries, order)
	}
	if len(entries) > room {
		return entries[:room], true, nil
	}
	return entries, slices.Contains(more, true), nil
}

// SeekRange implements shard.Tx.
func (tx *Tx) SeekRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	ref, _, err := tx.index(index, false)
	if err != nil {
		return dst, err
	}
	return shard.RangeVertices(ctx, tx, ref, r, cursor, dst)
}

// SeekEdgeRange implements shard.Tx.
func (tx *Tx) SeekEdgeRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	ref, t, err := tx.index(index, true)
	if err != nil {
		return dst, err
	}
	return shard.RangeEdges(ctx, tx, ref, t, r, cursor, dst)
}
