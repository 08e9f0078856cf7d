package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// spool holds rows and gives them again in batches.
type spool struct {
	acct account
	all  batch
	at   int
	out  batch
}

// reset forgets the rows; the spool gets n columns.
func (s *spool) reset(n int) {
	s.all.reset(n)
	s.at = 0
	s.acct.release()
}

// add copies the rows of a batch whose columns stand at from.
func (s *spool) add(b *batch, from []int) error {
	return s.addRows(b, from, allRows(b.N))
}

// spoolChunk is how many bytes are held before they are accounted, though the batch is not at its end: a value may be large.
const spoolChunk = 1 << 20

// addRows copies some rows of a batch.
func (s *spool) addRows(b *batch, from []int, rows sel) error {
	s.all.appendRows(b, from, rows)
	s.all.N += len(rows)
	size := 0
	for _, p := range from {
		c := &b.Cols[p]
		if c.IDs != nil {
			size += 8 * len(rows)
			continue
		}
		for _, r := range rows {
			if size += valueSize(c.Vals[r]); size >= spoolChunk {
				if err := s.acct.r.askRun(c.Vals[r]); err != nil {
					return err
				}
				if err := s.acct.grow(size); err != nil {
					return err
				}
				size = 0
			}
		}
	}
	return s.acct.grow(size)
}

// next gives up to n rows, or nil.
func (s *spool) next(n int) *batch {
	if s.at >= s.all.N {
		return nil
	}
	end := min(s.at+n, s.all.N)
	s.out.slice(&s.all, s.at, end)
	s.at = end
	return &s.out
}

// eager takes in all rows before it gives the first.
type eager struct {
	input
	r      *run
	from   []int
	spool  spool
	filled bool
}

func (c *compiler) eager(n *plan.Eager, need plan.ColSet) *stage {
	in := c.compile(n.Input, need)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need)}
	s.build = func(r *run, kids []operator) operator {
		return &eager{input: input{kids[0]}, r: r, from: in.positions(s.cols), spool: spool{acct: account{r: r, name: "Eager"}}}
	}
	return s
}

func (e *eager) open(ctx context.Context) error {
	e.filled = false
	e.spool.reset(len(e.from))
	return e.in.open(ctx)
}

func (e *eager) next(ctx context.Context) (*batch, error) {
	for !e.filled {
		b, err := e.in.next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			e.filled = true
			break
		}
		if err := e.spool.add(b, e.from); err != nil {
			return nil, err
		}
	}
	return e.spool.next(e.r.batchSize()), nil
}

func (e *eager) close() {
	e.spool.acct.release()
	e.in.close()
}

// drain runs its input to the end and gives no row.
type drain struct{ input }

func (c *compiler) drain(n *plan.Drain) *stage {
	in := c.compile(n.Input, plan.ColSet{})
	return &stage{node: n, kids: []*stage{in}, build: func(_ *run, kids []operator) operator {
		return &drain{input{kids[0]}}
	}}
}

func (d *drain) next(ctx context.Context) (*batch, error) {
	for {
		b, err := d.in.next(ctx)
		if b == nil || err != nil {
			return nil, err
		}
	}
}
