package relational

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// callProc joins each row with the rows of a procedure.
type callProc struct {
	runtime.Input
	r     *runtime.Run
	node  *plan.CallProc
	proc  runtime.Procedure
	es    *expr.Evaluators
	args  expr.Tuple
	from  []int // input position of each column, -1 for a result
	take  []int // the procedure's result for each column, -1 for the input's
	b     *runtime.Batch
	row   int
	got   [][]graph.Value // rows of the procedure that are not yet joined with row-1
	more  runtime.Stream  // yields those after got, or nil
	table *runtime.Table  // likewise, from row at on; or nil
	at    int
	rows  runtime.Sel
	out   runtime.Batch
	whole runtime.Batch
	late  runtime.Late
	part  runtime.Batch // the rows before one that fails
}

// CallProc compiles a CallProc.
func CallProc(c *compile.Compiler, n *plan.CallProc, need plan.ColSet) *runtime.Stage {
	below := c.Below(need, n.Args...)
	var own []plan.Col
	for _, y := range n.Yield {
		own = append(own, y.Col)
		below.Remove(y.Col)
	}
	in := c.Compile(n.Input, below)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, own...)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		p := &callProc{Input: runtime.Input{In: kids[0]}, r: r, node: n, es: expr.New(r, in.Cols), from: in.Positions(s.Cols)}
		p.args = expr.NewTuple(p.es.AddAll(n.Args))
		p.find(s.Cols)
		return p
	}
	return s
}

// find resolves the procedure and its results.
func (p *callProc) find(cols []plan.Col) {
	ok := p.r.Env.Procs != nil
	if ok {
		p.proc, ok = p.r.Env.Procs.Procedure(p.node.Proc)
	}
	if !ok {
		p.r.Fail(&graph.Error{
			Kind: graph.KindInvalid, Code: "Neo.ClientError.Procedure.ProcedureNotFound", Type: "ProcedureError",
			Phase: graph.PhaseCompile, Detail: "ProcedureNotFound", Msg: "there is no procedure " + p.node.Proc,
		})
		return
	}
	for _, col := range cols {
		at := -1
		for _, y := range p.node.Yield {
			if y.Col != col {
				continue
			}
			if at = slices.Index(p.proc.Results, y.Name); at < 0 {
				p.r.Fail(graph.SyntaxError("UndefinedVariable", graph.Pos{}, "procedure %s has no result %s", p.node.Proc, y.Name))
			}
		}
		p.take = append(p.take, at)
	}
}

func (p *callProc) Open(ctx context.Context) error {
	p.b, p.got, p.late = nil, nil, runtime.Late{}
	p.end()
	return p.In.Open(ctx)
}

// Close implements Operator.
func (p *callProc) Close() {
	p.end()
	p.Input.Close()
}

// end ends the call of the current row.
func (p *callProc) end() {
	if p.table != nil {
		p.table.Close()
		p.table = nil
	}
	if p.more != nil {
		p.more.Close()
		p.more = nil
	}
}

func (p *callProc) Next(ctx context.Context) (*runtime.Batch, error) {
	for {
		if p.b == nil {
			if p.late.Waits() {
				return nil, p.late.Take()
			}
			b, err := p.In.Next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			if err := p.begin(ctx, b); err != nil {
				return nil, err
			}
		}
		err := p.fill(ctx)
		if err != nil && !p.late.Hold(p.r, err) {
			return nil, err
		}
		if p.node.Void {
			p.whole.View(p.b, p.from)
			if p.b = nil; err == nil {
				return &p.whole, nil
			}
			if p.row == 1 {
				continue
			}
			p.part.Slice(&p.whole, 0, p.row-1)
			return &p.part, nil
		}
		done := err != nil || p.row == p.b.N && len(p.got) == 0 && p.table == nil && p.more == nil
		if n := len(p.rows); n > 0 {
			p.out.AppendRows(p.b, p.from, p.rows)
			p.out.N = n
			if done {
				p.b = nil
			}
			return &p.out, nil
		}
		if done {
			p.b = nil
		}
	}
}

// begin starts on the rows of b, or those before one whose arguments cannot be computed.
func (p *callProc) begin(ctx context.Context, b *runtime.Batch) error {
	err := p.compute(ctx, b)
	if err == nil {
		return nil
	}
	_, err = p.late.Before(p.r, b.N, err, func(k int) error {
		p.part.Slice(b, 0, k)
		return p.compute(ctx, &p.part)
	})
	return err
}

// compute computes the arguments for the rows of b.
func (p *callProc) compute(ctx context.Context, b *runtime.Batch) error {
	s := runtime.AllRows(b.N)
	p.es.Begin(s)
	p.b, p.row = b, 0
	return p.args.Run(ctx, b, s)
}

// integer returns the integer that a whole float equals, and other values as they are.
func integer(v graph.Value) graph.Value {
	if n, ok := v.Whole(); ok {
		return graph.IntValue(n)
	}
	return v
}

// fill joins the next rows, or, for a procedure without rows, calls it for all of them.
func (p *callProc) fill(ctx context.Context) error {
	p.out.Reset(len(p.from))
	p.rows = p.rows[:0]
	for len(p.rows) < p.r.BatchSize() {
		var err error
		switch {
		case p.table != nil:
			p.takeTable()
		case len(p.got) > 0:
			p.takeRow()
		case p.more != nil:
			if p.got, err = p.more.Next(ctx); len(p.got) == 0 {
				p.end()
			}
		case p.row == p.b.N:
			return nil
		default:
			err = p.call(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// call calls the procedure for the next row.
func (p *callProc) call(ctx context.Context) (err error) {
	c := runtime.Call{Run: p.r, Graph: p.r.Graph, Tx: p.r.Tx, Args: make([]graph.Value, len(p.args.Cols))}
	for k := range c.Args {
		c.Args[k] = p.args.Cols[k][p.row]
		if k < len(p.proc.Integers) && p.proc.Integers[k] {
			c.Args[k] = integer(c.Args[k])
		}
	}
	if p.r.Env.Statement != nil {
		c.Statement, c.Query = p.statement, p.query
		if p.node.Own && p.r.Env.Begin != nil {
			c.Transact = p.transact
		}
	}
	p.row++
	switch {
	case p.proc.Table != nil:
		p.table, err = p.proc.Table(ctx, &c)
		p.at = 0
		return err
	case p.proc.Stream != nil:
		more, err := p.proc.Stream(ctx, &c)
		if err == nil {
			p.more = more
		}
		return err
	}
	if p.got, err = p.proc.Run(ctx, &c); err == nil && c.Transact != nil {
		err = p.r.Renew(ctx)
	}
	if p.node.Void {
		p.got = nil
	}
	return err
}

// takeRow joins a row.
func (p *callProc) takeRow() {
	row := p.got[0]
	p.got = p.got[1:]
	p.rows = append(p.rows, int32(p.row-1))
	for k, at := range p.take {
		if at >= 0 {
			c := &p.out.Cols[k]
			c.Vals = append(c.Vals, row[at])
		}
	}
}

// takeTable joins rows of a table, as many as the batch takes.
func (p *callProc) takeTable() {
	n := min(p.r.BatchSize()-len(p.rows), p.table.N-p.at)
	for range n {
		p.rows = append(p.rows, int32(p.row-1))
	}
	for k, at := range p.take {
		if at >= 0 {
			c := &p.out.Cols[k]
			c.Vals = p.table.Append(at, p.at, p.at+n, c.Vals)
		}
	}
	if p.at += n; p.at == p.table.N {
		p.end()
	}
}

// statement runs a statement of a procedure.
func (p *callProc) statement(ctx context.Context, text string, params map[string]graph.Value) (rows [][]graph.Value, err error) {
	counters, err := p.r.Env.Statement(ctx, p.r.Tx, &runtime.Inner{
		Text: text, Params: params, Writes: true, Commands: true,
		Row: func(_ []string, row []graph.Value) error { rows = append(rows, row); return nil },
	})
	p.r.Counters.Add(counters)
	return rows, err
}

// query runs a statement that the caller of a procedure has written.
func (p *callProc) query(ctx context.Context, in runtime.Inner) error {
	in.Writes = in.Writes && p.node.Writes
	counters, err := p.r.Env.Statement(ctx, p.r.Tx, &in)
	p.r.Counters.Add(counters)
	return err
}

// transact runs statements in a transaction of their own. After a conflict, no other transaction commits meanwhile.
func (p *callProc) transact(ctx context.Context, rows int64, statements ...runtime.Inner) error {
	before := p.r.Counters
	for mode := shard.Write; ; mode = shard.WriteExclusive {
		err := p.r.Commit(ctx, mode, rows, func(tx shard.Tx) error {
			for i := range statements {
				counters, err := p.r.Env.Statement(ctx, tx, &statements[i])
				p.r.Counters.Add(counters)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			return nil
		}
		p.r.Counters = before
		if mode == shard.WriteExclusive || ctx.Err() != nil || graph.AsError(err).Kind != graph.KindConflict {
			return err
		}
	}
}
