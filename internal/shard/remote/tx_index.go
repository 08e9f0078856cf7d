package remote

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

var _ shard.Tx = (*Tx)(nil)

// index returns an index that may be read, over vertices, or a bare id space, or over edges of a type.
func (tx *Tx) index(id graph.IndexID, edges bool) (*pb.Index, graph.TypeID, error) {
	for _, c := range []*catalog{tx.g.state.Load(), tx.l.names} {
		for _, ix := range c.indexes {
			if ix.ID != id || edges != (ix.Type != "") || !ix.Indexed {
				continue
			}
			if !slices.Contains(tx.l.online, uint32(id)) {
				return nil, 0, unavailable("IndexOffline", "the index "+ix.Name+" is being built", nil)
			}
			t, _ := tx.g.Type(ix.Type)
			return &pb.Index{Id: uint32(id), Unique: ix.Unique, Width: uint32(max(1, len(ix.Props)))}, t, nil
		}
	}
	return nil, 0, misuse("there is no such index %d", id)
}

// everywhere returns the places where all of an index is.
func (tx *Tx) everywhere() []place {
	if !tx.clean() {
		return []place{tx.all()}
	}
	places := make([]place, tx.g.shards)
	for no := range places {
		places[no] = tx.shard(no)
	}
	return places
}

// lookup calls f with the owners of each tuple of values, and gives how many there were before each and at the end. next, if not nil,
// is asked for as well.
func (tx *Tx) lookup(ctx context.Context, ix *pb.Index, vals []graph.Value, next *prefetch, offsets []int, f func(o graph.IndexOwner)) ([]int, error) {
	if err := tx.check(ctx); err != nil {
		return offsets, err
	}
	width := int(ix.GetWidth())
	if len(vals)%width != 0 {
		return offsets, misuse("the keys of a seek are no whole tuples")
	}
	n := len(vals) / width
	// What cannot be stored is in no entry.
	keys := slices.Clone(vals)
	for i := range keys {
		if _, err := appendValues(nil, keys[i:i+1]); err != nil {
			keys[i] = graph.Value{}
			keys[i-i%width] = graph.Value{}
		}
	}
	b, err := appendValues(nil, keys)
	if err != nil {
		return offsets, err
	}
	answers, err := tx.seek(ctx, ix, b, n, next)
	if err != nil {
		return offsets, err
	}
	offsets = append(offsets, 0)
	total := 0
	var some []graph.IndexOwner
	for k := range n {
		some = some[:0]
		for i := range answers {
			a := &answers[i]
			m := int(a.counts[k])
			if m > len(a.owners) {
				return offsets, errCodec
			}
			some, a.owners = append(some, a.owners[:m]...), a.owners[m:]
		}
		slices.SortFunc(some, func(a, b graph.IndexOwner) int {
			return shard.Entry{Owner: a}.Compare(shard.Entry{Owner: b})
		})
		for _, o := range some {
			f(o)
		}
		total += len(some)
		offsets = append(offsets, total)
	}
	return offsets, nil
}

// sought are the owners of tuples that one place has.
type sought struct {
	counts []uint32
	owners []graph.IndexOwner
}

// seek looks n tuples up. One of a unique index is asked for where it was found last, and only if it is not there, elsewhere.
func (tx *Tx) seek(ctx context.Context, ix *pb.Index, tuples []byte, n int, next *prefetch) ([]sought, error) {
	places := tx.everywhere()
	if !ix.GetUnique() || n != 1 || len(places) == 1 {
		return tx.seekAt(ctx, places, ix, tuples, n, next)
	}
	hint := tx.g.hints.of(ix.GetId(), tuples)
	if no, ok := hint.get(); ok && no < len(places) {
		answers, err := tx.seekAt(ctx, places[no:no+1], ix, tuples, n, next)
		if err != nil || answers[0].counts[0] > 0 {
			return answers, err
		}
	}
	answers, err := tx.seekAt(ctx, places, ix, tuples, n, next)
	for no := range answers {
		if answers[no].counts[0] > 0 {
			hint.set(no)
		}
	}
	return answers, err
}

// seekAt looks n tuples up in places side by side.
func (tx *Tx) seekAt(ctx context.Context, places []place, ix *pb.Index, tuples []byte, n int, next *prefetch) ([]sought, error) {
	answers := make([]sought, len(places))
	first, second := next.requests()
	err := askFirst(ctx, tx, pb.ReadService_Seek_FullMethodName, places, second != nil, func(i int) proto.Message {
		return &pb.SeekRequest{Snapshot: places[i].snap, Index: ix, Values: tuples, Next: first, Beyond: second}
	}, func(i int, a *pb.SeekResponse) (err error) {
		answers[i].counts = a.GetCounts()
		answers[i].owners, err = owners(a.GetOwners())
		if err == nil && len(answers[i].counts) != n {
			err = errCodec
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
func (tx *Tx) Seek(ctx context.Context, index graph.IndexID, vals []graph.Value, res *shard.Found) error {
	ix, _, err := tx.index(index, false)
	if err != nil {
		return err
	}
	res.IDs = res.IDs[:0]
	var next *prefetch
	if len(vals) == int(ix.GetWidth()) {
		if next, err = tx.prefetch(res.Next, res.Beyond); err != nil {
			return err
		}
	}
	res.Offsets, err = tx.lookup(ctx, ix, vals, next, res.Offsets[:0], func(o graph.IndexOwner) { res.IDs = append(res.IDs, o.Vertex) })
	if len(res.IDs) == 1 {
		tx.next.Store(next)
	}
	return err
}

// SeekEdges implements shard.Tx.
func (tx *Tx) SeekEdges(ctx context.Context, index graph.IndexID, vals []graph.Value, res *shard.FoundEdges) error {
	ix, t, err := tx.index(index, true)
	if err != nil {
		return err
	}
	res.Edges = res.Edges[:0]
	res.Offsets, err = tx.lookup(ctx, ix, vals, nil, res.Offsets[:0], func(o graph.IndexOwner) { res.Edges = append(res.Edges, edgeOf(o, t)) })
	return err
}

func edgeOf(o graph.IndexOwner, t graph.TypeID) graph.Edge {
	return graph.Edge{ID: o.Edge, Src: o.Vertex, Dst: o.Dst, Type: t}
}

// entries returns the next room entries of a range.
func (tx *Tx) entries(ctx context.Context, ix *pb.Index, r shard.Range, cursor *[]byte, room int) ([]shard.Entry, error) {
	if err := tx.check(ctx); err != nil {
		return nil, err
	}
	if room == 0 {
		room = graph.BatchSize
	}
	room = min(room, maxRoom)
	equal, err := appendValues(nil, r.Equal)
	pairs := []graph.Value{r.Lo, r.Hi}
	for _, b := range r.Further {
		pairs = append(pairs, b[:]...)
	}
	bounds, berr := appendValues(nil, pairs)
	if err != nil || berr != nil {
		*cursor = nil
		return nil, nil //nolint:nilerr // what cannot be stored is in no entry
	}
	places := tx.everywhere()
	answers := make([][]shard.Entry, len(places))
	more := make([]bool, len(places))
	err = ask(ctx, tx, pb.ReadService_SeekRange_FullMethodName, places, func(i int) proto.Message {
		return &pb.SeekRangeRequest{
			Snapshot: places[i].snap, Index: ix, Equal: equal, Bounds: bounds, LoOpen: r.LoOpen, HiOpen: r.HiOpen, Prefix: r.Prefix, Down: r.Down, Cursor: *cursor,
			Room: uint32(room),
		}
	}, func(i int, a *pb.SeekRangeResponse) error {
		os, err := owners(a.GetOwners())
		if err != nil || len(os) != len(a.GetTuples()) {
			return errCodec
		}
		answers[i], more[i] = make([]shard.Entry, len(os)), a.GetMore()
		for k, o := range os {
			answers[i][k] = shard.Entry{Tuple: a.GetTuples()[k], Owner: o}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(answers...)
	if len(places) > 1 {
		order := shard.Entry.Compare
		if r.Down {
			order = func(a, b shard.Entry) int { return b.Compare(a) }
		}
		slices.SortFunc(all, order)
	}
	rest := slices.Contains(more, true)
	if len(all) > room {
		all, rest = all[:room], true
	}
	*cursor = nil
	if rest {
		*cursor = all[len(all)-1].Cursor()
	}
	return all, nil
}

// SeekRange implements shard.Tx.
func (tx *Tx) SeekRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	ix, _, err := tx.index(index, false)
	if err != nil {
		return dst, err
	}
	some, err := tx.entries(ctx, ix, r, cursor, cap(dst)-len(dst))
	for _, e := range some {
		dst = append(dst, e.Owner.Vertex)
	}
	return dst, err
}

// SeekEdgeRange implements shard.Tx.
func (tx *Tx) SeekEdgeRange(ctx context.Context, index graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	ix, t, err := tx.index(index, true)
	if err != nil {
		return dst, err
	}
	some, err := tx.entries(ctx, ix, r, cursor, cap(dst)-len(dst))
	for _, e := range some {
		dst = append(dst, edgeOf(e.Owner, t))
	}
	return dst, err
}
