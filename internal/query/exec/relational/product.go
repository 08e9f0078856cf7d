package relational

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// product pairs the rows of each batch of its left input with all rows of its right one, batch by batch of the latter.
type product struct {
	r           *runtime.Run
	frame       *runtime.Frame
	left, right runtime.Operator
	leftFrom    []int // left position of each column of the output, or -1
	rightFrom   []int // right position of each column of the output, or -1

	b     *runtime.Batch // of the left input, or nil
	rows  runtime.Sel    // of b: the rows that need more pairs
	part  *runtime.Batch // of the right input, or nil
	k, at int            // the next pair: rows[k] and row at of part
	picks runtime.Sel    // left rows of the output
	out   runtime.Batch
}

// Product compiles a Product.
func Product(c *compile.Compiler, n *plan.Product, need plan.ColSet) *runtime.Stage {
	leftNeed, rightNeed := plan.NewColSet(), plan.NewColSet()
	leftNeed.AddAll(need)
	for _, col := range n.RightCols {
		if need.Has(col) {
			rightNeed.Add(col)
			leftNeed.Remove(col)
		}
	}
	left := c.Compile(n.Left, leftNeed)
	right := c.Compile(n.Right, rightNeed)
	rightCols := compile.Kept(n.RightCols, need)
	c.Bound(right, rightCols...)
	right.Alone = true
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{left, right}, Cols: compile.Kept(left.Cols, leftNeed)}
	outer := len(s.Cols)
	s.Cols = append(s.Cols, rightCols...)
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return &product{
			r: r, frame: r.Frame, left: kids[0], right: kids[1],
			leftFrom:  append(left.Positions(s.Cols[:outer]), slices.Repeat(nowhere, len(rightCols))...),
			rightFrom: append(slices.Repeat(nowhere, outer), right.Positions(rightCols)...),
		}
	}
	return s
}

func (p *product) Open(ctx context.Context) error {
	p.b, p.part = nil, nil
	return p.left.Open(ctx)
}

func (p *product) Next(ctx context.Context) (*runtime.Batch, error) {
	p.out.Reset(len(p.leftFrom))
	for p.out.N == 0 {
		if p.b == nil {
			b, err := p.left.Next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			if err := p.right.Open(ctx); err != nil {
				return nil, err
			}
			p.b = b
		}
		if p.part == nil {
			part, err := p.right.Next(ctx)
			if err != nil {
				return nil, err
			}
			if p.want(); part == nil || len(p.rows) == 0 {
				p.b = nil
				continue
			}
			p.part, p.k, p.at = part, 0, 0
		}
		p.pair()
	}
	return &p.out, nil
}

// want lists the rows of b that need more pairs.
func (p *product) want() {
	p.rows = p.rows[:0]
	for i := range p.b.N {
		if p.frame.Wants(p.b.RowOf(i)) {
			p.rows = append(p.rows, int32(i))
		}
	}
}

// pair fills a batch with pairs of the part, left row by left row.
func (p *product) pair() {
	p.picks = p.picks[:0]
	for room := p.r.BatchSize(); room > 0; {
		if p.k == len(p.rows) {
			p.part = nil
			break
		}
		n := min(room, p.part.N-p.at)
		for i, from := range p.rightFrom {
			if from >= 0 {
				runtime.AppendColumn(&p.out.Cols[i], &p.part.Cols[from], runtime.AllRows(p.at + n)[p.at:])
			}
		}
		p.picks = runtime.AppendRepeated(p.picks, p.rows[p.k], n)
		room -= n
		if p.at += n; p.at == p.part.N {
			p.k, p.at = p.k+1, 0
		}
	}
	p.out.AppendRows(p.b, p.leftFrom, p.picks)
	p.out.N = len(p.picks)
}

func (p *product) Close() {
	p.left.Close()
	p.right.Close()
}
