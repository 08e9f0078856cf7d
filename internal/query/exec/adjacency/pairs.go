package adjacency

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// pairs looks for the edges between two vertices of each row of a batch. If one of the two repeats from row to row, its list is read once and all rows look up their other vertex in it. Otherwise each row reads the list of the vertex with the smaller degree.
//
//	p.begin(b, from, to)
//	for more, err := p.advance(ctx); more; more, err = p.advance(ctx) {
//		for ; p.k < p.end; p.k++ {
//			row, source, dst := p.at()   // looks dst up in p.probe, the list of source
//		}
//	}
type pairs struct {
	r        *runtime.Run
	readers  [2]*Reader // from From to To, and back
	oneSided bool       // lists are read only from From

	froms, tos []graph.VertexID
	rows       runtime.Sel // parallel to froms and tos
	f, far     runtime.Frontier
	degrees    [2][]int
	sides      [2]side

	now     int // the current side; 2 when the batch is done
	base    int // sources answered before the current answer
	k, end  int // the remaining pairs of the current answer
	u       int // the source whose list is in probe, or -1
	probe   probe
	started bool
}

// side is the part of a batch that is read from one end.
type side struct {
	src, dst []graph.VertexID
	rows     runtime.Sel
}

// add adds one row.
func (p *pairs) add(from, to graph.VertexID, row int32) {
	p.froms, p.tos, p.rows = append(p.froms, from), append(p.tos, to), append(p.rows, row)
}

// reset removes all rows.
func (p *pairs) reset() {
	p.froms, p.tos, p.rows = p.froms[:0], p.tos[:0], p.rows[:0]
	for i := range p.sides {
		s := &p.sides[i]
		s.src, s.dst, s.rows = s.src[:0], s.dst[:0], s.rows[:0]
	}
	p.probe.clear()
	p.now, p.base, p.k, p.end, p.u, p.started = 2, 0, 0, 0, -1, false
}

// Begin decides from which end each row is read.
func (p *pairs) Begin(ctx context.Context) error {
	types, ok := p.readers[0].Types.Resolve()
	if !ok || len(p.rows) == 0 {
		return nil
	}
	p.now = 0
	if p.oneSided {
		p.take(0)
		return nil
	}
	sides := [2][]graph.VertexID{p.froms, p.tos}
	fronts := [2]*runtime.Frontier{&p.f, &p.far}
	few := 0
	if repeats(p.tos) > repeats(p.froms) {
		few = 1
	}
	for _, i := range [...]int{few, 1 - few} {
		fronts[i].Set(sides[i])
		if err := p.readDegrees(ctx, i, fronts[i].IDs, types); err != nil {
			return err
		}
		sum := 0
		for _, d := range p.degrees[i] {
			sum += d
		}
		if i == few && sum <= 64*len(p.rows) {
			p.takeSome(few, fronts[few].Pos)
			return nil
		}
	}
	for k, row := range p.rows {
		s, src, dst := &p.sides[0], p.froms[k], p.tos[k]
		if p.degrees[1][p.far.Pos[k]] < p.degrees[0][p.f.Pos[k]] {
			s, src, dst = &p.sides[1], dst, src
		}
		s.src, s.dst, s.rows = append(s.src, src), append(s.dst, dst), append(s.rows, row)
	}
	return nil
}

// take assigns all rows to one side.
func (p *pairs) take(i int) {
	s := &p.sides[i]
	s.src, s.dst = append(s.src, p.froms...), append(s.dst, p.tos...)
	if i == 1 {
		s.src, s.dst = s.dst, s.src
	}
	s.rows = append(s.rows, p.rows...)
}

// takeSome assigns the rows to one side whose lists there have edges, by the degrees of that side; pos says which is of which row.
func (p *pairs) takeSome(i int, pos []int32) {
	s := &p.sides[i]
	for k, row := range p.rows {
		if p.degrees[i][pos[k]] == 0 {
			continue
		}
		src, dst := p.froms[k], p.tos[k]
		if i == 1 {
			src, dst = dst, src
		}
		s.src, s.dst, s.rows = append(s.src, src), append(s.dst, dst), append(s.rows, row)
	}
}

// repeats counts the vertices that equal their predecessor.
func repeats(list []graph.VertexID) int {
	n := 0
	for i := 1; i < len(list); i++ {
		if list[i-1] == list[i] {
			n++
		}
	}
	return n
}

func (p *pairs) readDegrees(ctx context.Context, i int, ids []graph.VertexID, types []graph.TypeID) error {
	p.degrees[i] = slices.Grow(p.degrees[i][:0], len(ids))[:len(ids)]
	return p.r.DegreeBounds(ctx, ids, types, p.readers[i].Dir, p.degrees[i])
}

// hop returns the reader of the current lists.
func (p *pairs) hop() *Reader { return p.readers[min(p.now, 1)] }

// Advance reads the next lists; it returns false after the last row.
func (p *pairs) Advance(ctx context.Context) (bool, error) {
	for p.now < 2 {
		h := p.hop()
		switch {
		case !p.started:
			p.f.Set(p.sides[p.now].src)
			p.base, p.started, h.Answer.Done = 0, true, 0
		default:
			p.base += h.Answer.Done
		}
		p.probe.clear()
		p.u = -1
		if p.base >= len(p.f.IDs) {
			p.now++
			p.started = false
			continue
		}
		if err := h.Read(ctx, p.f.IDs[p.base:], MaxEdges); err != nil {
			return false, err
		}
		p.k, p.end = int(p.f.First[p.base]), int(p.f.First[p.base+h.Answer.Done])
		if p.k < p.end {
			return true, nil
		}
	}
	return false, nil
}

// at returns the row of pair k, the vertex whose list is in probe, and the vertex to look up there. first is the list's
// position in the reader's answer.
func (p *pairs) at() (row int32, source, dst graph.VertexID, first int) {
	s := &p.sides[p.now]
	place := p.f.Order[p.k]
	u := int(p.f.Pos[place])
	res := &p.hop().Answer
	first = res.Offsets[u-p.base]
	if u != p.u {
		p.u = u
		p.probe.set(res.Targets[first:res.Offsets[u-p.base+1]], int(p.f.First[u+1])-p.k)
	}
	return s.rows[place], s.src[place], s.dst[place], first
}
