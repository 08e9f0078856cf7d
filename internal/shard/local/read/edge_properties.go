package read

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// edgeOrder returns the places of edges in the order of their lists, without those that cannot be.
func (tx *Reader) edgeOrder(edges []graph.Edge) []int32 {
	at := make([]int32, 0, len(edges))
	for i, e := range edges {
		if e.Src.Shard() < len(tx.views) && e.Dst.Shard() < len(tx.views) {
			at = append(at, int32(i))
		}
	}
	slices.SortFunc(at, func(a, b int32) int {
		x, y := &edges[a], &edges[b]
		return cmp.Or(cmp.Compare(x.Src.Shard(), y.Src.Shard()), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Src, y.Src), cmp.Compare(x.Dst, y.Dst))
	})
	return at
}

// eachEdge calls f with the edges at the places at, in that order, and the list that holds each.
func (tx *Reader) eachEdge(edges []graph.Edge, at []int32, f func(i int, ls *view.Lists) error) error {
	var ls *view.Lists
	defer func() {
		if ls != nil {
			ls.Close()
		}
	}()
	for k, i := range at {
		e := &edges[i]
		if k == 0 || e.Type != edges[at[k-1]].Type || e.Src.Shard() != edges[at[k-1]].Src.Shard() {
			if ls != nil {
				ls.Close()
				ls = nil
			}
			var err error
			if ls, err = tx.views[e.Src.Shard()].Lists(e.Type, graph.Out); err != nil {
				return err
			}
		}
		if err := f(int(i), ls); err != nil {
			return err
		}
	}
	return nil
}

// EdgeProperties implements shard.Tx.
func (tx *Reader) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	for p := range props {
		clear(out[p][:len(edges)])
	}
	at := tx.edgeOrder(edges)
	if !tx.plain {
		var err error
		if at, err = tx.cachedEdges(edges, at, props, out[:len(props)]); err != nil {
			return err
		}
	}
	return tx.eachEdge(edges, at, func(i int, ls *view.Lists) error {
		e := &edges[i]
		_, err := ls.Edge(ctx, e.Src.Local(), e.Dst, e.ID, func(q graph.PropID, v graph.Value, ref keys.Ref, isRef bool) (err error) {
			for p, prop := range props {
				if prop != q {
					continue
				}
				if isRef {
					if v, err = tx.value(ref); err != nil {
						return err
					}
				}
				out[p][i] = v
			}
			return nil
		})
		return err
	})
}

// cachedEdges fills in the properties of edges in decoded lists, and returns the places that remain in at.
func (tx *Reader) cachedEdges(edges []graph.Edge, at []int32, props []graph.PropID, out [][]graph.Value) ([]int32, error) {
	views := tx.openLists(true)
	defer views.Close()
	rest := at[:0]
	var cur cache.Cursor
	for k := 0; k < len(at); {
		e := &edges[at[k]]
		n := 1
		for k+n < len(at) && edges[at[k+n]].Type == e.Type && edges[at[k+n]].Src/cache.ListBlock == e.Src/cache.ListBlock {
			n++
		}
		views.Views[e.Src.Shard()].Cursor(&cur, e.Type, graph.Out, cache.Want{Edges: true, Props: props})
		hit, err := cur.Seek(e.Src, n)
		if err != nil {
			return nil, err
		}
		for _, i := range at[k : k+n] {
			known := false
			if hit {
				if known, err = tx.cachedEdge(&cur, &edges[i], int(i), out); err != nil {
					return nil, err
				}
			}
			if !known {
				rest = append(rest, i)
			}
		}
		k += n
	}
	return rest, nil
}

// cachedEdge fills out[p][i] with the properties of an edge, if the block shows its present state.
func (tx *Reader) cachedEdge(cur *cache.Cursor, e *graph.Edge, i int, out [][]graph.Value) (ok bool, err error) {
	list, ok := cur.List(e.Src)
	if !ok {
		return false, nil
	}
	far, ok := tx.on.Topology.lists[e.Src.Shard()].IDs().Pack(e.Dst)
	if !ok {
		return false, nil
	}
	lo, hi := cache.Find(list.Targets, far)
	n := slices.Index(list.Edges[lo:hi], uint32(e.ID.Local()))
	if n < 0 {
		return false, nil
	}
	for p := range out {
		if out[p][i], err = cur.Prop(p).Value(list.Offset+uint32(lo+n), tx.decode); err != nil {
			return false, err
		}
	}
	return true, nil
}

// value reads a large value.
func (tx *Reader) value(ref keys.Ref) (graph.Value, error) {
	no := graph.EdgeID(ref.ID).Shard()
	if no >= len(tx.views) {
		return graph.Value{}, graph.CorruptError("read a large value of a shard that is not there", nil)
	}
	if tx.views[no] == nil {
		return shard.LargeRef(ref).Value(), nil
	}
	tx.reads.Fetched()
	return tx.views[no].Large(ref)
}

// EdgeRecords implements shard.Tx.
func (tx *Reader) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	return tx.edgeRecords(ctx, edges, out, false)
}

// AllEdgeRecords is EdgeRecords with hidden properties.
func (tx *Reader) AllEdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	return tx.edgeRecords(ctx, edges, out, true)
}

func (tx *Reader) edgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record, all bool) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	clear(out[:len(edges)])
	return tx.eachEdge(edges, tx.edgeOrder(edges), func(i int, ls *view.Lists) error {
		e := &edges[i]
		ok, err := ls.Edge(ctx, e.Src.Local(), e.Dst, e.ID, func(p graph.PropID, v graph.Value, ref keys.Ref, isRef bool) (err error) {
			if !all && index.Hidden(p) {
				return nil
			}
			if isRef {
				if v, err = tx.value(ref); err != nil {
					return err
				}
			}
			out[i].Props = append(out[i].Props, graph.Property{ID: p, Value: v})
			return nil
		})
		if ok {
			out[i].Labels = graph.NoLabels
		}
		return err
	})
}

// Large implements shard.PartTx.
func (tx *Reader) Large(ctx context.Context, refs []shard.LargeRef) ([]graph.Value, error) {
	out := make([]graph.Value, len(refs))
	for i, ref := range refs {
		if err := kv.Alive(ctx); err != nil {
			return nil, err
		}
		var err error
		if out[i], err = tx.value(keys.Ref(ref)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
