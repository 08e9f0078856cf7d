package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// cappedReader reads the edges of frontiers, without those beyond the caps of a plan.TraverseHop.
type cappedReader struct {
	*adjacency.Reader
	caps  *plan.TraverseHop
	seed  int64
	taken int // edges of the hop so far
	count *runtime.HopCount

	degrees []int
	sampled []sampled
}

// sampled is an edge and its rank in a sample.
type sampled struct {
	order uint64
	at    int32
}

// reset restarts the hop.
func (c *cappedReader) reset() { c.taken, *c.count = 0, runtime.HopCount{} }

// full reports whether the hop has as many edges as its limit.
func (c *cappedReader) full() bool { return c.caps.Limit > 0 && c.taken >= c.caps.Limit }

// takesAll reports whether the caps exclude nothing.
func (c *cappedReader) takesAll() bool {
	return c.caps.Skip == 0 && c.caps.MaxDegree == 0 && c.caps.Sample == 0 && c.caps.Limit == 0
}

// admit returns those of sources that the hop expands; keep is nil for all.
func (c *cappedReader) admit(ctx context.Context, sources []graph.VertexID) (keep []bool, err error) {
	if c.caps.Skip == 0 || len(sources) == 0 {
		return nil, nil
	}
	types, ok := c.Types.Resolve()
	if !ok {
		return nil, nil
	}
	c.degrees = slices.Grow(c.degrees[:0], len(sources))[:len(sources)]
	if err := c.Run.Tx.Degrees(ctx, sources, types, c.Dir, c.degrees); err != nil {
		return nil, err
	}
	for i, d := range c.degrees {
		if d > c.caps.Skip && keep == nil {
			keep = make([]bool, len(sources))
			for k := range i {
				keep[k] = true
			}
		}
		if keep != nil {
			keep[i] = d <= c.caps.Skip
		}
	}
	return keep, nil
}

// next reads as Reader.Read does and applies the caps.
func (c *cappedReader) next(ctx context.Context, sources []graph.VertexID, limit int) error {
	if c.caps.Sample > 0 {
		c.Edges = true
	}
	spent := c.Run.Exhausted() // then no source is expanded
	if err := c.Read(ctx, sources, limit); err != nil || spent {
		return err
	}
	if c.caps.MaxDegree > 0 || c.caps.Sample > 0 || c.caps.Limit > 0 {
		c.trim()
	}
	c.taken += len(c.Answer.Targets)
	c.count.Sources += int64(c.Answer.Done)
	c.count.Edges += int64(len(c.Answer.Targets))
	return nil
}

// trim drops the edges of the answer that the caps exclude.
func (c *cappedReader) trim() {
	res := &c.Answer
	c.Keep = c.Keep[:0]
	left := len(res.Targets)
	if c.caps.Limit > 0 {
		left = c.caps.Limit - c.taken
	}
	for u := range res.Done {
		lo, hi := res.Offsets[u], res.Offsets[u+1]
		if c.caps.MaxDegree > 0 && hi-lo > c.caps.MaxDegree {
			hi = lo + c.caps.MaxDegree // they are sorted by type, direction and far end
		}
		at := len(c.Keep)
		if c.caps.Sample > 0 && hi-lo > c.caps.Sample {
			c.sample(lo, hi)
		} else {
			for i := lo; i < hi; i++ {
				c.Keep = append(c.Keep, int32(i))
			}
		}
		if n := len(c.Keep) - at; n > left {
			c.Keep = c.Keep[:at+left]
		}
		left -= len(c.Keep) - at
	}
	c.Compact()
}

// sample keeps those of edges lo … hi-1 with the least ranks, so the choice depends only on the seed.
func (c *cappedReader) sample(lo, hi int) {
	c.sampled = c.sampled[:0]
	for i := lo; i < hi; i++ {
		c.sampled = append(c.sampled, sampled{SampleOrder(c.seed, c.Answer.Edges[i]), int32(i)})
	}
	slices.SortFunc(c.sampled, func(a, b sampled) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.at, b.at))
	})
	at := len(c.Keep)
	for _, s := range c.sampled[:c.caps.Sample] {
		c.Keep = append(c.Keep, s.at)
	}
	slices.Sort(c.Keep[at:])
}

// SampleOrder is the rank of an edge in a sample with a seed (splitmix64 of both).
func SampleOrder(seed int64, e graph.EdgeID) uint64 {
	z := uint64(e) + uint64(seed)*0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
