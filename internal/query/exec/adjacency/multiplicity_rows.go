package adjacency

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/exchange"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// rowMultiplicity adds a multiplicity to each row and drops rows where it is 0. BenchmarkCountMultiplicity against
// BenchmarkCountRows compares it with enumeration.
type rowMultiplicity struct {
	runtime.Input
	factor  factor
	from    []int // input position of each column; -1 for the multiplicity
	at      int   // of the multiplicity among the columns, or -1
	r       *runtime.Run
	product []int64
	b       *runtime.Batch // of the input
	all     runtime.Sel    // its rows with a positive multiplicity
	rows    runtime.Sel    // those of them that are not yet returned
	out     runtime.Batch
}

// factor computes the multiplicities of rows.
type factor interface {
	open()
	release()
	// multiplyRows multiplies into[i] by the multiplicity of row i.
	multiplyRows(ctx context.Context, b *runtime.Batch, into []int64) error
}

// PathMultiplicity compiles a PathMultiplicity.
func PathMultiplicity(c *compile.Compiler, n *plan.PathMultiplicity, need plan.ColSet) *runtime.Stage {
	below := plan.NewColSet()
	below.AddAll(need)
	below.Remove(n.Out)
	below.Add(n.Col)
	in := c.Compile(n.Input, below)
	c.Bound(in, n.Col)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, n.Out)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return &rowMultiplicity{
			Input: runtime.Input{In: exchange.Coalesce(r, kids[0], len(in.Cols))}, r: r, factor: newSharing(r).newMultiplicities(r, in.Pos(n.Col), n.Branches),
			from: in.Positions(s.Cols), at: s.Pos(n.Out),
		}
	}
	return s
}

func (x *rowMultiplicity) Close() {
	x.factor.release()
	x.Input.Close()
}

func (x *rowMultiplicity) Open(ctx context.Context) error {
	x.rows = nil
	x.factor.open()
	return x.In.Open(ctx)
}

func (x *rowMultiplicity) Next(ctx context.Context) (*runtime.Batch, error) {
	for len(x.rows) == 0 {
		b, err := x.In.Next(ctx)
		if b == nil || err != nil {
			return nil, err
		}
		if err := x.multiply(ctx, b); err != nil {
			return nil, err
		}
	}
	rows := x.rows[:min(len(x.rows), x.r.BatchSize())]
	x.rows = x.rows[len(rows):]
	x.out.Reset(len(x.from))
	x.out.AppendRows(x.b, x.from, rows)
	x.out.N = len(rows)
	if x.at >= 0 {
		products := x.out.Cols[x.at].Vals[:0]
		for _, i := range rows {
			products = append(products, graph.IntValue(x.product[i]))
		}
		x.out.Cols[x.at].Vals = products
	}
	return &x.out, nil
}

// multiply finds the rows of a batch with a positive multiplicity.
func (x *rowMultiplicity) multiply(ctx context.Context, b *runtime.Batch) error {
	x.product = x.product[:0]
	for range b.N {
		x.product = append(x.product, 1)
	}
	if err := x.factor.multiplyRows(ctx, b, x.product); err != nil {
		return err
	}
	x.b, x.all = b, x.all[:0]
	for i, n := range x.product {
		if n > 0 {
			x.all = append(x.all, int32(i))
		}
	}
	x.rows = x.all
	return nil
}
