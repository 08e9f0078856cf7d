package read

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/cache"
)

// compareRows is how many lists are read at a time where they are not packed.
const compareRows = 64

// Compare implements shard.Composed.
func (tx *Reader) Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (bytes int, err error) {
	if err := tx.Alive(ctx); err != nil {
		return 0, err
	}
	for i, id := range ids {
		if id.Shard() >= len(tx.views) {
			scores[i] = math.NaN()
		}
	}
	var missing []int
	if tx.plain {
		for i := range ids {
			missing = append(missing, i)
		}
	} else {
		for no, v := 0, tx.openColumns(); no < len(v); no++ {
			var n int
			if missing, n, err = v[no].Compare(prop, probe, ids, scores, missing); err != nil {
				return bytes, err
			}
			bytes += n
		}
	}
	if len(missing) == 0 {
		return bytes, nil
	}
	rows := sortRows(ids, missing)
	var some [compareRows]graph.VertexID
	var got [compareRows]float64
	values := make([]graph.Value, min(len(rows), compareRows))
	for len(rows) > 0 {
		n := min(len(rows), compareRows)
		for i, r := range rows[:n] {
			some[i] = ids[r]
		}
		if err := tx.properties(ctx, some[:n], []graph.PropID{prop}, [][]graph.Value{values[:n]}); err != nil {
			return bytes, err
		}
		bytes += shard.CompareLists(probe, values[:n], got[:n])
		for i, r := range rows[:n] {
			scores[r] = got[i]
		}
		rows = rows[n:]
	}
	return bytes, nil
}

// edgeComparison is the memory of a comparison of edges.
type edgeComparison struct {
	cached cache.EdgeComparison
	req    *shard.Nearest
	best   *shard.Top
}

var edgeComparisons = sync.Pool{New: func() any {
	x := new(edgeComparison)
	x.cached.Take = func(hits []cache.EdgeHit) {
		for i := range hits {
			h := &hits[i]
			x.best.Add(x.req.K, shard.Hit{Score: h.Score, ID: uint64(h.Edge), Edge: graph.Edge{ID: h.Edge, Type: x.req.Type, Src: h.Source, Dst: h.Target}})
		}
	}
	return x
}}

// CompareEdges implements shard.Composed.
func (tx *Reader) CompareEdges(ctx context.Context, req *shard.Nearest, sources []graph.VertexID, best *shard.Top) (found shard.NearestFound, err error) {
	if err := tx.Alive(ctx); err != nil {
		return found, err
	}
	x := edgeComparisons.Get().(*edgeComparison)
	defer edgeComparisons.Put(x)
	x.req, x.best = req, best
	c := &x.cached
	c.Type, c.Prop, c.Probe, c.Missing, c.Compared, c.Bytes = req.Type, req.Prop, req.Probe, c.Missing[:0], 0, 0
	if tx.plain {
		c.Missing = append(c.Missing, sources...)
	} else if err := tx.comparePacked(c, sources); err != nil {
		return found, err
	}
	if len(c.Missing) > 0 {
		slices.Sort(c.Missing)
		found, err = shard.ReadAndCompareEdges(ctx, tx, req, c.Missing, best)
	}
	found.Done, found.Compared, found.Bytes = true, found.Compared+c.Compared, found.Bytes+c.Bytes
	x.req, x.best, c.Probe = nil, nil, nil
	return found, err
}

// comparePacked compares the edges whose vectors are packed.
func (tx *Reader) comparePacked(c *cache.EdgeComparison, sources []graph.VertexID) error {
	views := tx.openLists(false)
	defer views.Close()
	for len(sources) > 0 {
		no := sources[0].Shard()
		n := 1
		for n < len(sources) && sources[n].Shard() == no {
			n++
		}
		if no < len(views.refs) && views.refs[no] != nil {
			if err := views.refs[no].CompareEdges(c, no, sources[:n]); err != nil {
				return err
			}
		}
		sources = sources[n:]
	}
	return nil
}
