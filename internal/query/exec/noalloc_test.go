package exec

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// repeat gives the same batch again and again.
type repeat struct {
	b batch
	n int // times; below 0: for ever
	i int
}

func (r *repeat) open(context.Context) error { r.i = 0; return nil }

func (r *repeat) close() {}

func (r *repeat) next(context.Context) (*batch, error) {
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
	src.b.reset(2)
	src.b.N = 1024
	for i := range 1024 {
		src.b.Cols[0].Vals = append(src.b.Cols[0].Vals, graph.IntValue(int64(i)))
		src.b.Cols[1].Vals = append(src.b.Cols[1].Vals, graph.StringValue([]string{"a", "b", "c"}[i%3]))
	}
	g := oracle.NewGraph(1)
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	r := &run{tx: tx}
	r.init(&program{query: q, batchSize: 1024}, g)
	in := []plan.Col{x, s}
	k := func(n int64) plan.Expr { return &plan.Const{Value: graph.IntValue(n)} }

	f := &filter{input: input{src}, r: r, from: []int{0, 1}, preds: r.evaluators(in).predicates([]plan.Expr{
		op(plan.Gt, ref(x), k(100)), op(plan.Or, op(plan.Eq, ref(s), &plan.Const{Value: graph.StringValue("a")}), op(plan.Lt, ref(x), k(500))),
	})}
	es := r.evaluators(in)
	pr := &project{input: input{f}, es: es, from: []int{-1, 1}, items: []evaluator{es.add(op(plan.Add, op(plan.Mul, ref(x), k(2)), k(1))), nil}}
	es = r.evaluators([]plan.Col{y, s})
	a := &aggregate{
		input: input{pr}, r: r, es: es, keys: []evaluator{es.add(ref(s))}, outKey: []int{0},
		table: newGroupTable(r, "Aggregate", 1), cols: make([][]graph.Value, 1),
	}
	for _, agg := range []plan.Agg{
		{Col: n, Func: "count"}, {Col: sum, Func: "sum", Args: []plan.Expr{ref(y)}}, {Col: n, Func: "min", Args: []plan.Expr{ref(y)}},
	} {
		a.aggs = append(a.aggs, newAggColumn(r, agg, es.addAll(agg.Args)))
	}
	require.NoError(t, r.err)

	pass := func(batches int) func() {
		return func() {
			src.n = batches
			if err := a.open(context.Background()); err != nil {
				t.Fatal(err)
			}
			for {
				b, err := a.next(context.Background())
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
	short, long := testing.AllocsPerRun(10, pass(8)), testing.AllocsPerRun(10, pass(64))
	require.LessOrEqual(t, long, short, "8 times as many batches cost more allocations")
}
