package write

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// setsAlike is how many mutations, from the first on, set properties of vertices.
func setsAlike(ms []shard.Mutation) int {
	n := 0
	for n < len(ms) && ms[n].Op == shard.SetVertex {
		n++
	}
	return n
}

// vertexRun is memory for vertices that are changed together.
type vertexRun struct {
	at      []int32 // the mutations, in the order of their vertices
	ids     []graph.VertexID
	records codec.Cells
}

var vertexRuns = sync.Pool{New: func() any { return new(vertexRun) }}

// fewRecords is how many delta records are read together; fewer are read one by one, which opens no iterator.
const fewRecords = 8

// setVertices sets properties of vertices in the order of their ids, whose delta records it reads in one pass. Changes of one vertex keep
// their order.
func setVertices(ctx context.Context, tx *Mutator, ms []shard.Mutation) error {
	run := vertexRuns.Get().(*vertexRun)
	defer vertexRuns.Put(run)
	at := run.at[:0]
	for i := range ms {
		if tx.set(ms[i].Vertex) == 0 {
			return fail.Gone("vertex", uint64(ms[i].Vertex))
		}
		if err := storable(ms[i].Props); err != nil {
			return err
		}
		at = append(at, int32(i))
	}
	run.at = at
	order := func(a, b int32) int { return cmp.Or(cmp.Compare(ms[a].Vertex, ms[b].Vertex), cmp.Compare(a, b)) }
	if !slices.IsSortedFunc(at, order) {
		slices.SortFunc(at, order)
	}
	for len(at) > 0 {
		no := ms[at[0]].Vertex.Shard()
		run.ids = run.ids[:0]
		for _, i := range at {
			if ms[i].Vertex.Shard() != no {
				break
			}
			run.ids = append(run.ids, ms[i].Vertex)
		}
		w := tx.ws[no]
		together := len(run.ids) >= fewRecords
		if together {
			if err := w.Vertices.Records(ctx, run.ids, &run.records); err != nil {
				return err
			}
		}
		for k, id := range run.ids {
			if k&0xff == 0xff {
				if err := kv.Alive(ctx); err != nil {
					return err
				}
			}
			var record []byte
			if together && (k == 0 || id != run.ids[k-1]) {
				record = run.records.At(k)
			} else {
				var err error
				if record, err = w.Vertices.DeltaRecord(id); err != nil {
					return err
				}
			}
			if err := tx.setVertex(ctx, w, &ms[at[k]], record); err != nil {
				return err
			}
		}
		at = at[len(run.ids):]
	}
	return nil
}

// setVertex sets properties of a vertex with a label set and a delta record, in the changes of w.
func (tx *Mutator) setVertex(ctx context.Context, w *staging.Writer, m *shard.Mutation, record []byte) error {
	set := tx.set(m.Vertex)
	if err := tx.catalog.Present(set, m.Props); err != nil {
		return err
	}
	owner := graph.IndexOwner{Vertex: m.Vertex}
	props := tx.stampVertex(tx.catalog.Labels(set), m.Props)
	for _, l := range tx.catalog.Labels(set) {
		for _, d := range tx.defs.ByLabel[l] {
			if !d.Touches(props) {
				continue
			}
			if d.Required {
				put(&tx.touched, m.Vertex, struct{}{})
			}
			if d.Kind == graph.FullTextIndex {
				w.Texts.Note(d.ID, owner)
				continue
			}
			old, err := tx.valuesOf(ctx, d, m.Vertex)
			if err != nil {
				return err
			}
			if err := tx.moveEntry(d, old, d.Merged(old, props), owner); err != nil {
				return err
			}
		}
	}
	was, err := tx.Log.set(ctx, m.Vertex, set, set, props)
	if err != nil {
		return err
	}
	return w.Vertices.SetRecord(m.Vertex, set, props, was, record)
}

// valuesOf reads the values of an index's properties of one vertex.
func (tx *Mutator) valuesOf(ctx context.Context, d *index.Def, id graph.VertexID) ([]graph.Value, error) {
	if vals, ok := tx.Log.known(make([]graph.Value, 0, len(d.PropIDs)), id, d.PropIDs); ok {
		return vals, nil
	}
	cols := shard.Columns(len(d.PropIDs), 1)
	if err := tx.read.Properties(ctx, []graph.VertexID{id}, d.PropIDs, cols); err != nil {
		return nil, err
	}
	vals := make([]graph.Value, len(cols))
	for i := range cols {
		vals[i] = cols[i][0]
	}
	return vals, nil
}
