package relational

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// hashJoin builds a hash table of the rows of its right input and probes it with the rows of its left input.
type hashJoin struct {
	r           *runtime.Run
	left, right runtime.Operator
	leftKey     []int
	rightKey    []int
	leftFrom    []int // left position of each column of the output, or -1
	rightFrom   []int // position in the spool of each column of the output, or -1
	spoolFrom   []int // right position of each column of the spool
	once        bool  // all rows of the frame share the right side, which survives Open

	table *GroupTable
	spool runtime.Buffer
	first []int32 // by group: its first row in the spool
	last  []int32
	chain []int32 // by row of the spool: the next row of its group, or -1
	built bool

	b        *runtime.Batch // of the left input
	row      int            // the next row of b
	follow   int32          // the next partner of row-1, or -1
	group    []int32
	cols     [][]graph.Value
	bufs     [][]graph.Value
	rows     runtime.Sel // left rows of the output
	partners runtime.Sel // parallel to rows: rows of the spool
	out      runtime.Batch
}

// HashJoin compiles a HashJoin.
func HashJoin(c *compile.Compiler, n *plan.HashJoin, need plan.ColSet) *runtime.Stage {
	leftNeed, rightNeed, passed := plan.NewColSet(), plan.NewColSet(), plan.NewColSet()
	isRight := plan.NewColSet()
	isRight.Add(n.RightCols...)
	var rightCols []plan.Col
	for col := range need.All() {
		if !isRight.Has(col) {
			leftNeed.Add(col)
			passed.Add(col)
		}
	}
	for _, col := range n.RightCols {
		if need.Has(col) {
			rightCols = append(rightCols, col)
			rightNeed.Add(col)
		}
	}
	leftNeed.Add(n.LeftKeys...)
	rightNeed.Add(n.RightKeys...)
	left := c.Compile(n.Left, leftNeed)
	right := c.Compile(n.Right, rightNeed)
	c.Bound(left, n.LeftKeys...)
	c.Bound(right, append(n.RightKeys, rightCols...)...)
	right.Alone = n.Once
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{left, right}, Cols: compile.Kept(left.Cols, passed)}
	outer := len(s.Cols)
	s.Cols = append(s.Cols, rightCols...)
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		k := len(n.LeftKeys)
		return &hashJoin{
			r: r, left: kids[0], right: kids[1], leftKey: left.Positions(n.LeftKeys), rightKey: right.Positions(n.RightKeys),
			leftFrom:  append(left.Positions(s.Cols[:outer]), slices.Repeat(nowhere, len(rightCols))...),
			rightFrom: append(slices.Repeat(nowhere, outer), runtime.AllPositions(len(rightCols))...),
			spoolFrom: right.Positions(rightCols), once: n.Once,
			table: NewGroupTable(r, "HashJoin", k), spool: runtime.Buffer{Acct: runtime.Account{Run: r, Name: "HashJoin"}},
			cols: make([][]graph.Value, k), bufs: make([][]graph.Value, k),
		}
	}
	return s
}

func (j *hashJoin) Open(ctx context.Context) error {
	j.b = nil
	if j.built && j.once {
		return j.left.Open(ctx)
	}
	j.built = false
	j.table.Reset()
	j.spool.Reset(len(j.spoolFrom))
	j.first, j.last, j.chain = j.first[:0], j.last[:0], j.chain[:0]
	if err := j.right.Open(ctx); err != nil {
		return err
	}
	return j.left.Open(ctx)
}

// keys reads key columns and returns the rows of b whose keys equal themselves: null, NaN and lists that contain them do not.
func (j *hashJoin) keys(b *runtime.Batch, pos []int) runtime.Sel {
	for k, p := range pos {
		j.cols[k], j.bufs[k] = ColumnValues(&b.Cols[p], b.N, j.bufs[k])
	}
	if len(j.group) < b.N {
		j.group = make([]int32, max(b.N, j.r.BatchSize()))
	}
	j.rows = j.rows[:0]
rows:
	for i := range int32(b.N) {
		for _, c := range j.cols {
			if !fn.EqualsItself(c[i]) {
				continue rows
			}
		}
		j.rows = append(j.rows, i)
	}
	return j.rows
}

func (j *hashJoin) build(ctx context.Context) error {
	for {
		b, err := j.right.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		s := j.keys(b, j.rightKey)
		if err := j.table.Numbers(b, j.cols, s, j.group); err != nil {
			return err
		}
		for len(j.first) < j.table.len() {
			j.first, j.last = append(j.first, -1), append(j.last, -1)
		}
		for _, i := range s {
			g, at := j.group[i], int32(len(j.chain))
			j.chain = append(j.chain, -1)
			if j.first[g] < 0 {
				j.first[g] = at
			} else {
				j.chain[j.last[g]] = at
			}
			j.last[g] = at
		}
		if err := j.spool.AddRows(b, j.spoolFrom, s); err != nil {
			return err
		}
	}
}

func (j *hashJoin) Next(ctx context.Context) (*runtime.Batch, error) {
	for {
		if j.b == nil {
			b, err := j.left.Next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			// The right side is read after the first rows of the left one, so it sees the writes of clauses on the left, and is
			// not read if there are no rows.
			if !j.built {
				if err := j.build(ctx); err != nil {
					return nil, err
				}
				j.built = true
			}
			s := j.keys(b, j.leftKey)
			for i := range b.N {
				j.group[i] = -1
			}
			of := *b
			if j.once {
				of.Row = nil // all rows of the frame share one table
			}
			if err := j.table.lookup(&of, j.cols, s, j.group); err != nil {
				return nil, err
			}
			j.b, j.row, j.follow = b, 0, -1
		}
		j.pair()
		if len(j.rows) == 0 {
			j.b = nil
			continue
		}
		j.emit()
		if j.row == j.b.N && j.follow < 0 {
			j.b = nil
		}
		return &j.out, nil
	}
}

// pair fills rows and partners with the next pairs.
func (j *hashJoin) pair() {
	j.rows, j.partners = j.rows[:0], j.partners[:0]
	for size := j.r.BatchSize(); len(j.rows) < size; {
		if j.follow >= 0 {
			j.rows, j.partners = append(j.rows, int32(j.row-1)), append(j.partners, j.follow)
			j.follow = j.chain[j.follow]
			continue
		}
		if j.row == j.b.N {
			return
		}
		if g := j.group[j.row]; g >= 0 {
			j.follow = j.first[g]
		}
		j.row++
	}
}

func (j *hashJoin) emit() {
	j.out.Reset(len(j.leftFrom))
	j.out.AppendRows(j.b, j.leftFrom, j.rows)
	j.out.N = len(j.rows)
	for k, p := range j.rightFrom {
		if p < 0 {
			continue
		}
		runtime.AppendColumn(&j.out.Cols[k], &j.spool.All.Cols[p], j.partners)
	}
}

func (j *hashJoin) Close() {
	j.table.Acct.Release()
	j.spool.Acct.Release()
	j.left.Close()
	j.right.Close()
}
