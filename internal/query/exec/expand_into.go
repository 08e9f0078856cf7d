package exec

import (
	"context"
	"slices"
	"sort"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// expandInto joins each row with the edges between two vertices that it has. It reads the list of whichever of the two
// has the smaller degree and looks the other up in it.
type expandInto struct {
	expand
	to       int     // position of To in the input
	back     *hop    // from To to From; expand.hop goes from From to To
	sides    [2]side // from From, from To
	now      int     // the side at work; 2 when the batch is done
	sorted   bool    // lists are in the order of their far ends
	froms    []graph.VertexID
	tos      []graph.VertexID
	far      frontier // of tos
	degrees  [2][]int
	oneSided bool
}

// side is the part of an input batch that is read from one end.
type side struct {
	src, dst []graph.VertexID
	rows     sel
}

func newExpandInto(x *expand, n *plan.Expand, in *stage) *expandInto {
	i := &expandInto{expand: *x, to: in.pos(n.To), sorted: len(n.Types) == 1 && n.Dir != graph.Both}
	// Conditions are on the edge alone, so they hold from either end.
	i.back = &hop{
		r: x.r, types: x.hop.types, dir: n.Dir.Reverse(), where: x.hop.where, edges: x.hop.edges,
	}
	// Labels of To are tested where To is bound; a label test here would apply to From on the way back.
	if n.Labels != nil {
		i.oneSided = true
	}
	return i
}

func (x *expandInto) open(ctx context.Context) error {
	x.now = 2
	return x.expand.open(ctx)
}

func (x *expandInto) next(ctx context.Context) (*batch, error) {
	x.out.reset(len(x.carry))
	for x.out.N < x.r.batchSize() {
		h := x.hop
		if x.now == 1 {
			h = x.back
		}
		switch {
		case x.b == nil:
			b, err := x.in.next(ctx)
			if err != nil {
				return nil, err
			}
			if b == nil {
				return x.give(), nil
			}
			if err := x.take(ctx, b); err != nil {
				return nil, err
			}
			x.start(0)
		case x.k < x.end:
			x.match(h)
		case x.now < 2 && x.base+h.res.Done < len(x.f.ids):
			x.base += h.res.Done
			if err := h.read(ctx, x.f.ids[x.base:], mostEdges); err != nil {
				return nil, err
			}
			x.k, x.end = int(x.f.first[x.base]), int(x.f.first[x.base+h.res.Done])
		case x.now == 0:
			x.start(1)
		default:
			x.now = 2
			x.flush()
			x.b = nil
			if x.out.N >= x.want {
				return x.give(), nil
			}
		}
	}
	return x.give(), nil
}

// start begins with a side of the input batch.
func (x *expandInto) start(side int) {
	x.now = side
	x.f.set(x.sides[side].src)
	x.base, x.k, x.end = 0, 0, 0
	x.hop.res.Done, x.back.res.Done = 0, 0
}

// take takes in an input batch and decides for each row from which end its edges are read.
func (x *expandInto) take(ctx context.Context, b *batch) error {
	x.b = b
	x.uses.begin(b)
	for i := range x.sides {
		s := &x.sides[i]
		s.src, s.dst, s.rows = s.src[:0], s.dst[:0], s.rows[:0]
	}
	var err error
	if x.src, x.rows, err = sources(b, x.from, x.frame, x.src[:0], x.rows[:0]); err != nil {
		return err
	}
	x.froms, x.tos = x.froms[:0], x.tos[:0]
	to := &b.Cols[x.to]
	kept := x.rows[:0]
	for k, row := range x.rows {
		v := to.Value(int(row))
		if v.IsNull() {
			continue
		}
		if v.Kind() != graph.VertexKind {
			return notVertex(v)
		}
		x.froms, x.tos = append(x.froms, x.src[k]), append(x.tos, v.Vertex())
		kept = append(kept, row)
	}
	x.rows = kept
	types, ok := x.hop.types.resolve()
	if !ok || len(kept) == 0 {
		return nil
	}
	x.f.set(x.froms)
	x.far.set(x.tos)
	if !x.oneSided {
		for i, ids := range [2][]graph.VertexID{x.f.ids, x.far.ids} {
			x.degrees[i] = slices.Grow(x.degrees[i][:0], len(ids))[:len(ids)]
			dir := x.hop.dir
			if i == 1 {
				dir = x.back.dir
			}
			if err := x.r.tx.Degrees(ctx, ids, types, dir, x.degrees[i]); err != nil {
				return err
			}
		}
	}
	for k, row := range kept {
		s, src, dst := &x.sides[0], x.froms[k], x.tos[k]
		if !x.oneSided && x.degrees[1][x.far.pos[k]] < x.degrees[0][x.f.pos[k]] {
			s, src, dst = &x.sides[1], dst, src
		}
		s.src, s.dst, s.rows = append(s.src, src), append(s.dst, dst), append(s.rows, row)
	}
	return nil
}

// match finds the far ends of rows in the present answer, until the batch is full or the answer ends.
func (x *expandInto) match(h *hop) {
	s := &x.sides[x.now]
	res := &h.res
	for ; x.k < x.end && x.out.N < x.r.batchSize(); x.k++ {
		place := x.f.order[x.k]
		u := int(x.f.pos[place]) - x.base
		lo, hi := res.Offsets[u], res.Offsets[u+1]
		dst, row := s.dst[place], s.rows[place]
		if x.sorted {
			list := res.Targets[lo:hi]
			lo += sort.Search(len(list), func(i int) bool { return list[i] >= dst })
		}
		var excluded []graph.EdgeID
		for i := lo; i < hi; i++ {
			if res.Targets[i] != dst {
				if x.sorted {
					break
				}
				continue
			}
			if excluded == nil {
				excluded = x.uses.of(row)
			}
			if len(excluded) > 0 && slices.Contains(excluded, res.Edges[i]) {
				continue
			}
			x.dealt.add(&x.out, h, s.src[place], i, i+1)
			x.picked = append(x.picked, row)
			x.out.N++
		}
	}
}
