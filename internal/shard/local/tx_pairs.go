package local

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// CountPairs implements shard.PairCounter. It counts in decoded lists, and reads the others.
func (tx *Tx) CountPairs(ctx context.Context, req *shard.Pairs, first graph.VertexID, n int, counts []int64) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	views := tx.OpenLists(false)
	defer views.Close()
	no := first.Shard()
	from := req.From[no][first.Local():]
	var cur cache.Cursor
	views.Views[no].Cursor(&cur, req.Type, req.Dir, cache.Want{})
	var rest []graph.VertexID
	for i := 0; i < n; {
		v := first + graph.VertexID(i)
		m := min(n-i, int(cache.ListBlock-v.Local()%cache.ListBlock))
		ok, err := cur.Seek(v, m)
		if err != nil {
			return err
		}
		for j, code := range from[i : i+m] {
			if code < 0 {
				continue
			}
			row := counts[int(code)*req.Width:][:req.Width]
			if v := v + graph.VertexID(j); !ok || !cur.CountTargets(v, req.To, row) {
				rest = append(rest, v)
			}
		}
		i += m
	}
	return tx.countStored(ctx, req, rest, counts)
}

// countStored counts the edges of vertices whose lists are not decoded.
func (tx *Tx) countStored(ctx context.Context, req *shard.Pairs, ids []graph.VertexID, counts []int64) error {
	x := shard.Expand{Types: []graph.TypeID{req.Type}, Dir: req.Dir, MaxEdges: 4 * summaryRows}
	var far shard.Neighbours
	for len(ids) > 0 {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		x.Sources = ids
		if err := tx.Expand(ctx, &x, &far); err != nil {
			return err
		}
		for i, v := range ids[:far.Done] {
			row := counts[int(req.From[v.Shard()][v.Local()])*req.Width:][:req.Width]
			for _, t := range far.Targets[far.Offsets[i]:far.Offsets[i+1]] {
				code := uint64(req.Width - 1)
				if no := t.Shard(); no < len(req.To) && t.Local() < uint64(len(req.To[no])) {
					code = min(code, uint64(uint32(req.To[no][t.Local()])))
				}
				row[code]++
			}
		}
		ids = ids[far.Done:]
	}
	return nil
}
