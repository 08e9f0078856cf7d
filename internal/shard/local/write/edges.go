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
	"github.com/hopgate/hopgate/internal/storage/pack"
)

// edgesAlike is how many mutations, from the first on, create edges of one type.
func edgesAlike(ms []shard.Mutation) int {
	n := 0
	for n < len(ms) && ms[n].Op == shard.CreateEdge && ms[n].Edge.Type == ms[0].Edge.Type {
		n++
	}
	return n
}

// edgeRun is memory for edges that are created together.
type edgeRun struct {
	ends   [][]codec.ListEdge // by shard
	bodies [][]byte
}

var edgeRuns = sync.Pool{New: func() any { return new(edgeRun) }}

// createEdges creates edges of one type.
func (tx *Mutator) createEdges(ctx context.Context, ms []shard.Mutation) error {
	t := ms[0].Edge.Type
	run := edgeRuns.Get().(*edgeRun)
	defer edgeRuns.Put(run)
	run.bodies = slices.Grow(run.bodies[:0], len(ms))
	indexes := tx.defs.ByType[t]
	counts := edgeCounter{tx: tx, by: 1}
	for i := range ms {
		m := &ms[i]
		if err := storable(m.Props); err != nil {
			return err
		}
		e := &m.Edge
		srcSet, dstSet := tx.set(e.Src), tx.set(e.Dst)
		if srcSet == 0 {
			return fail.Gone("vertex", uint64(e.Src))
		}
		if dstSet == 0 {
			return fail.Gone("vertex", uint64(e.Dst))
		}
		src := tx.ws[e.Src.Shard()]
		props := tx.stampEdge(t, m.Props)
		body, err := src.Edges.Body(nil, t, props)
		if err != nil {
			return err
		}
		run.bodies = append(run.bodies, body)
		if !tx.replaying {
			e.ID = src.NewEdge()
		}
		counts.add(*e, srcSet, dstSet)
		if err := tx.Log.CreatedEdge(ctx, *e, props); err != nil {
			return err
		}
		for _, d := range indexes {
			if d.Required {
				put(&tx.touchedEdges, e.ID, *e)
			}
			if err := tx.PutEntry(d, d.Values(props), index.EdgeOwner(*e)); err != nil {
				return err
			}
		}
	}
	counts.flush()
	for _, dir := range [...]graph.Direction{graph.Out, graph.In} {
		if err := tx.addEdges(run, ms, t, dir); err != nil {
			return err
		}
	}
	clear(run.bodies)
	return nil
}

// addEdges puts new edges into the lists of their sources or targets, those whose ids are of one shard together: so the ids of
// what is packed together lie together, which is how storage finds an edge among many groups.
func (tx *Mutator) addEdges(run *edgeRun, ms []shard.Mutation, t graph.TypeID, dir graph.Direction) error {
	for len(run.ends) < len(tx.ws) {
		run.ends = append(run.ends, nil)
	}
	for no := range tx.ws {
		run.ends[no] = run.ends[no][:0]
	}
	for i := range ms {
		e := &ms[i].Edge
		at, far := e.Src, e.Dst
		if dir == graph.In {
			at, far = far, at
		}
		ends := &run.ends[at.Shard()]
		*ends = append(*ends, codec.ListEdge{Vertex: at.Local(), Neighbour: far, Edge: e.ID, Row: int32(i)})
	}
	for no, w := range tx.ws {
		if len(run.ends[no]) == 0 {
			continue
		}
		ends := pack.SortEdges(run.ends[no])
		byShard := func(a, b codec.ListEdge) int { return cmp.Compare(a.Edge.Shard(), b.Edge.Shard()) }
		if dir == graph.In && len(tx.ws) > 1 {
			slices.SortStableFunc(ends, byShard)
		}
		for len(ends) > 0 {
			n := 1
			for n < len(ends) && byShard(ends[0], ends[n]) == 0 {
				n++
			}
			if err := w.Edges.AddRun(t, dir, ends[:n], run.bodies); err != nil {
				return err
			}
			ends = ends[n:]
		}
	}
	return nil
}
