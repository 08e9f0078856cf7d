package relational

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// repeat returns the same batch repeatedly.
type repeat struct {
	b runtime.Batch
	n int // times; below 0: without end
	i int
}

func (r *repeat) Open(context.Context) error { r.i = 0; return nil }

func (r *repeat) Close() {}

func (r *repeat) Next(context.Context) (*runtime.Batch, error) {
	if r.n >= 0 && r.i == r.n {
		return nil, nil
	}
	r.i++
	return &r.b, nil
}

// TestNoAllocations runs Filter, Project and Aggregate over scalar columns. Once they are warm, a batch costs no memory.
func TestNoAllocations(t *testing.T) {
	ref := func(c plan.Col) plan.Expr { return &plan.ColRef{Col: c} }
	op := func(o plan.OpCode, args ...plan.Expr) plan.Expr { return &plan.Op{Op: o, Args: args} }
	q := &plan.Query{}
	x, s, y, n, sum := q.NewCol("x", 0), q.NewCol("s", 0), q.NewCol("y", 0), q.NewCol("n", 0), q.NewCol("sum", 0)
	src := &repeat{n: -1}
	src.b.Reset(2)
	src.b.N = 1024
	for i := range 1024 {
		src.b.Cols[0].Vals = append(src.b.Cols[0].Vals, graph.IntValue(int64(i)))
		src.b.Cols[1].Vals = append(src.b.Cols[1].Vals, graph.StringValue([]string{"a", "b", "c"}[i%3]))
	}
	g := oracle.NewGraph(1)
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	r := &runtime.Run{Tx: tx}
	r.Init(&runtime.Program{Query: q, BatchSize: 1024}, g)
	in := []plan.Col{x, s}
	k := func(n int64) plan.Expr { return &plan.Const{Value: graph.IntValue(n)} }

	f := &filter{Input: runtime.Input{In: src}, r: r, from: []int{0, 1}, preds: expr.New(r, in).Predicates([]plan.Expr{
		op(plan.Gt, ref(x), k(100)), op(plan.Or, op(plan.Eq, ref(s), &plan.Const{Value: graph.StringValue("a")}), op(plan.Lt, ref(x), k(500))),
	})}
	es := expr.New(r, in)
	pr := &project{Input: runtime.Input{In: f}, es: es, from: []int{-1, 1}, items: []runtime.Evaluator{es.Add(op(plan.Add, op(plan.Mul, ref(x), k(2)), k(1))), nil}}
	es = expr.New(r, []plan.Col{y, s})
	a := &aggregate{
		Input: runtime.Input{In: pr}, r: r, es: es, keys: []runtime.Evaluator{es.Add(ref(s))}, outKey: []int{0},
		table: NewGroupTable(r, "Aggregate", 1), cols: make([][]graph.Value, 1),
	}
	for _, agg := range []plan.Agg{
		{Col: n, Func: "count"}, {Col: sum, Func: "sum", Args: []plan.Expr{ref(y)}}, {Col: n, Func: "min", Args: []plan.Expr{ref(y)}},
	} {
		a.aggs = append(a.aggs, newAggColumn(r, agg, es.AddAll(agg.Args)))
	}
	require.NoError(t, r.Err)

	pass := func(batches int) func() {
		return func() {
			src.n = batches
			if err := a.Open(context.Background()); err != nil {
				t.Fatal(err)
			}
			for {
				b, err := a.Next(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					return
				}
			}
		}
	}
	pass(64)()
	short, long := alloctest.Least(10, pass(8)), alloctest.Least(10, pass(64))
	require.LessOrEqual(t, long, short, "8 times as many batches cost more allocations")
}
