package local

import (
	"context"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/shard"
)

// compareRows is how many lists are read at a time where they are not packed.
const compareRows = 64

// Compare implements shard.Comparer.
func (tx *Tx) Compare(ctx context.Context, prop graph.PropID, probe *vector.Probe, ids []graph.VertexID, scores []float64) (bytes int, err error) {
	if err := tx.check(ctx); err != nil {
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
