package adjacency

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// pairFactor counts the pairs of edges of two vertices that lead to different vertices, or the edges of the first vertex to where
// no edge of the second leads. It reads the second lists only for rows whose first list has edges.
type pairFactor struct {
	ends   [2]listEnd
	absent bool
	rows   runtime.Sel // with a first vertex
	part   []pairRow   // rows whose first list has been read and has edges
	counts []int64     // by row
}

type listEnd struct {
	pos    int // in the input
	reader *Reader
	src    []graph.VertexID
	f      runtime.Frontier
}

// pairRow is a row and the place of its first list.
type pairRow struct {
	row    int32
	lo, hi int
}

// PairMultiplicity compiles a PairMultiplicity.
func PairMultiplicity(c *compile.Compiler, n *plan.PairMultiplicity, need plan.ColSet) *runtime.Stage {
	below := c.Below(need)
	below.Remove(n.Out)
	below.Add(n.Ends[0].Col, n.Ends[1].Col)
	in := c.Compile(n.Input, below)
	c.Bound(in, n.Ends[0].Col, n.Ends[1].Col)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, n.Out)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		w := &pairFactor{absent: n.Absent}
		for i := range n.Ends {
			b := &n.Ends[i].Branches[0]
			w.ends[i] = listEnd{pos: in.Pos(n.Ends[i].Col), reader: NewReader(r, b.Types, b.Dir, b.Labels)}
		}
		return &rowMultiplicity{Input: runtime.Input{In: kids[0]}, r: r, factor: w, from: in.Positions(s.Cols), at: s.Pos(n.Out)}
	}
	return s
}

func (w *pairFactor) open()    {}
func (w *pairFactor) release() {}

func (w *pairFactor) multiplyRows(ctx context.Context, b *runtime.Batch, into []int64) error {
	if !w.absent && slices.IsSorted(b.Cols[w.ends[1].pos].IDs) && !slices.IsSorted(b.Cols[w.ends[0].pos].IDs) {
		w.ends[0], w.ends[1] = w.ends[1], w.ends[0] // lists of ascending vertices lie side by side
	}
	first := &w.ends[0]
	var err error
	if first.src, w.rows, err = Sources(b, first.pos, nil, first.src[:0], w.rows[:0]); err != nil {
		return err
	}
	w.counts = append(w.counts[:0], make([]int64, b.N)...)
	first.f.Set(first.src)
	for lo := 0; lo < len(first.f.IDs); lo += first.reader.Answer.Done {
		if err := first.read(ctx, lo); err != nil {
			return err
		}
		if err := w.addPart(ctx, b, lo); err != nil {
			return err
		}
	}
	for i, n := range w.counts {
		if into[i], err = times(into[i], n); err != nil {
			return err
		}
	}
	return nil
}

// addPart counts for the rows of those first vertices whose lists have been read, from lo on.
func (w *pairFactor) addPart(ctx context.Context, b *runtime.Batch, lo int) error {
	first, second := &w.ends[0], &w.ends[1]
	w.part, second.src = w.part[:0], second.src[:0]
	col := &b.Cols[second.pos]
	for u := range first.reader.Answer.Done {
		from, to := first.reader.Answer.Offsets[u], first.reader.Answer.Offsets[u+1]
		if from == to {
			continue
		}
		for _, k := range first.f.Order[first.f.First[lo+u]:first.f.First[lo+u+1]] {
			row := w.rows[k]
			switch v := col.Value(int(row)); v.Kind() {
			case graph.VertexKind:
				w.part, second.src = append(w.part, pairRow{row, from, to}), append(second.src, v.Vertex())
			case graph.Null:
			default:
				return NotVertex(v)
			}
		}
	}
	second.f.Set(second.src)
	for at := 0; at < len(second.f.IDs); at += second.reader.Answer.Done {
		if err := second.read(ctx, at); err != nil {
			return err
		}
		res := &second.reader.Answer
		for u := range res.Done {
			list := res.Targets[res.Offsets[u]:res.Offsets[u+1]]
			for _, k := range second.f.Order[second.f.First[at+u]:second.f.First[at+u+1]] {
				p := &w.part[k]
				w.counts[p.row] = w.count(first.reader.Answer.Targets[p.lo:p.hi], list)
			}
		}
	}
	return nil
}

// count returns the multiplicity of a row with two lists.
func (w *pairFactor) count(a, b []graph.VertexID) int64 {
	if w.absent {
		return int64(len(a)) - common(a, b, true)
	}
	return int64(len(a))*int64(len(b)) - common(a, b, false)
}

// read reads the lists of the next vertices, from lo on, and sorts each.
func (l *listEnd) read(ctx context.Context, lo int) error {
	if err := l.reader.Run.CheckCancel(ctx); err != nil {
		return err
	}
	if err := l.reader.Read(ctx, l.f.IDs[lo:], MaxEdges); err != nil {
		return err
	}
	res := &l.reader.Answer
	for u := range res.Done {
		if list := res.Targets[res.Offsets[u]:res.Offsets[u+1]]; len(list) > 1 && !slices.IsSorted(list) {
			slices.Sort(list) // it has several types or directions
		}
	}
	return nil
}

// common counts the pairs of equal entries of two sorted lists, or if once, the entries of a that are in b.
func common(a, b []graph.VertexID, once bool) (n int64) {
	for len(a) > 0 && len(b) > 0 {
		switch v := a[0]; {
		case b[0] < v:
			b = b[gallop(b, v):]
		case v < b[0]:
			a = a[gallop(a, b[0]):]
		default:
			i, j := gallop(a, v+1), gallop(b, v+1)
			a, b = a[i:], b[j:]
			if once {
				j = 1
			}
			n += int64(i) * int64(j)
		}
	}
	return n
}

// gallop returns the first position in an ascending list at or after v, whose first entry is less, by exponential search (Bentley
// and Yao 1976).
func gallop(list []graph.VertexID, v graph.VertexID) int {
	lo, hi := 1, 2 // entries before lo are less
	for hi <= len(list) && list[hi-1] < v {
		lo, hi = hi, 2*hi
	}
	hi = min(hi-1, len(list))
	return lo + search(list[lo:hi], v)
}
