package local

import (
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
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
func (tx *Tx) createEdges(ms []shard.Mutation) error {
	t := ms[0].Edge.Type
	run := edgeRuns.Get().(*edgeRun)
	defer edgeRuns.Put(run)
	run.bodies = slices.Grow(run.bodies[:0], len(ms))
	indexes := tx.defs.ByType[t]
	counted := 0 // edges before the one at hand that count alike
	var last struct {
		src, dst           graph.LabelSet
		srcShard, dstShard int
	}
	for i := range ms {
		m := &ms[i]
		for _, p := range m.Props {
			if !keys.Storable(p.Value) {
				return graph.TypeError("InvalidPropertyType", "a value of type %s cannot be stored as a property", p.Value.Kind())
			}
		}
		e := &m.Edge
		is := last
		if is.src, is.dst = tx.set(e.Src), tx.set(e.Dst); is.src == 0 {
			return gone("vertex", uint64(e.Src))
		}
		if is.dst == 0 {
			return gone("vertex", uint64(e.Dst))
		}
		is.srcShard, is.dstShard = e.Src.Shard(), e.Dst.Shard()
		src := tx.ws[is.srcShard]
		props := tx.stampEdge(t, m.Props)
		body, err := src.EdgeBody(nil, t, props)
		if err != nil {
			return err
		}
		run.bodies = append(run.bodies, body)
		if !tx.replaying {
			e.ID = src.NewEdge()
		}
		if is != last && counted > 0 {
			tx.countEdge(ms[i-1].Edge, int64(counted))
			counted = 0
		}
		last = is
		counted++
		for _, d := range indexes {
			if d.Required {
				put(&tx.touchedEdges, e.ID, *e)
			}
			if err := tx.putEntry(d, d.Values(props), edgeOwner(*e)); err != nil {
				return err
			}
		}
	}
	tx.countEdge(ms[len(ms)-1].Edge, int64(counted))
	for _, dir := range [...]graph.Direction{graph.Out, graph.In} {
		if err := tx.addEdges(run, ms, t, dir); err != nil {
			return err
		}
	}
	clear(run.bodies)
	return nil
}

// addEdges puts new edges into the lists of their sources or targets.
func (tx *Tx) addEdges(run *edgeRun, ms []shard.Mutation, t graph.TypeID, dir graph.Direction) error {
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
		if err := w.AddEdges(t, dir, storage.SortEdges(run.ends[no]), run.bodies); err != nil {
			return err
		}
	}
	return nil
}
