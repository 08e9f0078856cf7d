package algo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// edgesAtOnce is about how many edges a worker asks for.
const edgesAtOnce = 64 << 10

// reader reads neighbours on one goroutine.
type reader struct {
	j     *job
	own   *runtime.Run
	lists *lists
	used  []uint32
	req   shard.Expand
	res   shard.Neighbours
	left  bool // some neighbours were left out
}

func (r *reader) request(dir graph.Direction) shard.Expand {
	req := shard.Expand{Types: r.j.types, Dir: dir, MaxEdges: edgesAtOnce}
	if r.j.weightID != 0 {
		req.Props = []graph.PropID{r.j.weightID}
	}
	return req
}

// read reads the neighbours of vertices lo … hi-1.
func (r *reader) read(ctx context.Context, lo, hi int) error {
	for lo < hi {
		r.req.Sources = r.j.ids[lo:hi]
		if err := r.own.Tx.Expand(ctx, &r.req, &r.res); err != nil {
			return err
		}
		if err := r.own.Visit(len(r.res.Targets)); err != nil {
			return err
		}
		for i := range r.res.Done {
			if err := r.place(lo+i, r.res.Offsets[i], r.res.Offsets[i+1]); err != nil {
				return err
			}
		}
		lo += r.res.Done
	}
	return nil
}

// place writes the neighbours of a vertex to their places.
func (r *reader) place(v, from, to int) error {
	l := r.lists
	at, end := l.offsets[v], l.offsets[v+1]
	if int64(to-from) > end-at {
		return graph.InternalError(r.j.acct.Name, errors.New("a list is longer than its vertex's degree"))
	}
	start := at
	for i := from; i < to; i++ {
		n, ok := r.j.find(r.res.Targets[i])
		if !ok {
			continue
		}
		l.targets[at] = n
		if l.weights != nil {
			w, err := r.weight(i)
			if err != nil {
				return err
			}
			l.weights[at] = w
		}
		at++
	}
	r.used[v] = uint32(at - start)
	r.left = r.left || at < end
	return nil
}

// weight returns the weight of an edge; one without the property weighs 1.
func (r *reader) weight(i int) (float64, error) {
	if r.j.weightID == 0 {
		return 1, nil
	}
	v := r.res.Props[0][i]
	switch {
	case v.IsNull():
		return 1, nil
	case v.IsNumber() && v.Number() >= 0: // NaN is not
		return v.Number(), nil
	}
	return 0, graph.TypeError("InvalidArgumentValue", "%s: the weights `%s` must be numbers from 0 on, one is %s", r.j.acct.Name, r.j.weight, notation.Describe(v))
}

func sizeOf[T any](v T) uintptr { return unsafe.Sizeof(v) }

// sortedUnique sorts ids, if they come from several lists, and drops repeats.
func sortedUnique(ids []graph.VertexID, several bool) []graph.VertexID {
	if !several {
		return ids
	}
	slices.SortFunc(ids, cmp.Compare[graph.VertexID])
	return slices.Compact(ids)
}
