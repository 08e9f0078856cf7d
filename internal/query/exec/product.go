package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// product pairs the rows of each batch of its left input with all rows of its right one, a batch of these at a time.
type product struct {
	r           *run
	frame       *frame
	left, right operator
	leftFrom    []int // left position of each column of the output, or -1
	rightFrom   []int // right position of each column of the output, or -1

	b     *batch // of the left input, or nil
	rows  sel    // of b: those that pairs are wanted for
	part  *batch // of the right input, or nil
	k, at int    // the next pair: rows[k] and row at of part
	picks sel    // left rows of the output
	out   batch
}

func (c *compiler) product(n *plan.Product, need plan.ColSet) *stage {
	leftNeed, rightNeed := plan.ColSet{}, plan.ColSet{}
	for col := range need {
		leftNeed.Add(col)
	}
	for _, col := range n.RightCols {
		if need.Has(col) {
			rightNeed.Add(col)
			delete(leftNeed, col)
		}
	}
	left := c.compile(n.Left, leftNeed)
	right := c.compile(n.Right, rightNeed)
	rightCols := kept(n.RightCols, need)
	c.bound(right, rightCols...)
	right.alone = true
	s := &stage{node: n, kids: []*stage{left, right}, cols: kept(left.cols, leftNeed)}
	outer := len(s.cols)
	s.cols = append(s.cols, rightCols...)
	s.build = func(r *run, kids []operator) operator {
		return &product{
			r: r, frame: r.frame, left: kids[0], right: kids[1],
			leftFrom:  append(left.positions(s.cols[:outer]), slices.Repeat(nowhere, len(rightCols))...),
			rightFrom: append(slices.Repeat(nowhere, outer), right.positions(rightCols)...),
		}
	}
	return s
}

func (p *product) open(ctx context.Context) error {
	p.b, p.part = nil, nil
	return p.left.open(ctx)
}

func (p *product) next(ctx context.Context) (*batch, error) {
	p.out.reset(len(p.leftFrom))
	for p.out.N == 0 {
		if p.b == nil {
			b, err := p.left.next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			if err := p.right.open(ctx); err != nil {
				return nil, err
			}
			p.b = b
		}
		if p.part == nil {
			part, err := p.right.next(ctx)
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

// want lists the rows of b that more pairs are wanted for.
func (p *product) want() {
	p.rows = p.rows[:0]
	for i := range p.b.N {
		if p.frame.wants(p.b.rowOf(i)) {
			p.rows = append(p.rows, int32(i))
		}
	}
}

// pair fills a batch with pairs of the part, all of one left row after the other.
func (p *product) pair() {
	p.picks = p.picks[:0]
	for room := p.r.batchSize(); room > 0; {
		if p.k == len(p.rows) {
			p.part = nil
			break
		}
		n := min(room, p.part.N-p.at)
		for i, from := range p.rightFrom {
			if from >= 0 {
				appendColumn(&p.out.Cols[i], &p.part.Cols[from], allRows(p.at + n)[p.at:])
			}
		}
		p.picks = appendRepeated(p.picks, p.rows[p.k], n)
		room -= n
		if p.at += n; p.at == p.part.N {
			p.k, p.at = p.k+1, 0
		}
	}
	p.out.appendRows(p.b, p.leftFrom, p.picks)
	p.out.N = len(p.picks)
}

func (p *product) close() {
	p.left.close()
	p.right.close()
}
