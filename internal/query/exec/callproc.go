package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// callProc joins each row with the rows of a procedure.
type callProc struct {
	input
	r     *run
	node  *plan.CallProc
	proc  Procedure
	es    *evaluators
	args  tuple
	from  []int // input position of each column, -1 for a result
	take  []int // the procedure's result for each column, -1 for the input's
	b     *batch
	row   int
	got   [][]graph.Value // rows of the procedure that are still to be joined with row-1
	rows  sel
	out   batch
	whole batch
}

func (c *compiler) callProc(n *plan.CallProc, need plan.ColSet) *stage {
	below := c.below(need, n.Args...)
	var own []plan.Col
	for _, y := range n.Yield {
		own = append(own, y.Col)
		delete(below, y.Col)
	}
	in := c.compile(n.Input, below)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need, own...)}
	s.build = func(r *run, kids []operator) operator {
		p := &callProc{input: input{kids[0]}, r: r, node: n, es: r.evaluators(in.cols), from: in.positions(s.cols)}
		p.args = newTuple(p.es.addAll(n.Args))
		p.find(s.cols)
		return p
	}
	return s
}

// find looks the procedure and its results up.
func (p *callProc) find(cols []plan.Col) {
	ok := p.r.env.Procs != nil
	if ok {
		p.proc, ok = p.r.env.Procs.Procedure(p.node.Proc)
	}
	if !ok {
		p.r.fail(&graph.Error{
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
				p.r.fail(graph.SyntaxError("UndefinedVariable", graph.Pos{}, "procedure %s has no result %s", p.node.Proc, y.Name))
			}
		}
		p.take = append(p.take, at)
	}
}

func (p *callProc) open(ctx context.Context) error {
	p.b, p.got = nil, nil
	return p.in.open(ctx)
}

func (p *callProc) next(ctx context.Context) (*batch, error) {
	for {
		if p.b == nil {
			b, err := p.in.next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			s := allRows(b.N)
			p.es.begin(s)
			if err := p.args.run(ctx, b, s); err != nil {
				return nil, err
			}
			p.b, p.row = b, 0
		}
		if err := p.fill(ctx); err != nil {
			return nil, err
		}
		if p.node.Void {
			p.whole.view(p.b, p.from)
			p.b = nil
			return &p.whole, nil
		}
		done := p.row == p.b.N && len(p.got) == 0
		if n := len(p.rows); n > 0 {
			p.out.appendRows(p.b, p.from, p.rows)
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

// fill joins the next rows, or, for a procedure without rows, calls it for all of them.
func (p *callProc) fill(ctx context.Context) error {
	p.out.reset(len(p.from))
	p.rows = p.rows[:0]
	for len(p.rows) < p.r.batchSize() {
		if len(p.got) == 0 {
			if p.row == p.b.N {
				return nil
			}
			c := Call{Graph: p.r.g, Tx: p.r.tx, Args: make([]graph.Value, len(p.args.cols))}
			for k := range c.Args {
				c.Args[k] = p.args.cols[k][p.row]
			}
			if p.r.env.Statement != nil {
				c.Statement = p.statement
			}
			p.row++
			var err error
			if p.got, err = p.proc.Run(ctx, &c); err != nil {
				return err
			}
			if p.node.Void {
				p.got = nil
			}
			continue
		}
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
	return nil
}

// statement runs a statement within a call.
func (p *callProc) statement(ctx context.Context, text string, params map[string]graph.Value) ([][]graph.Value, error) {
	rows, counters, err := p.r.env.Statement(ctx, p.r.tx, text, params)
	p.r.counters.Add(counters)
	return rows, err
}
