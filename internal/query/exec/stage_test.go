package exec

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// planned builds plans by hand, for shapes that no statement produces.
type planned struct {
	q *plan.Query
}

func newPlanned() *planned { return &planned{q: &plan.Query{}} }

func (p *planned) col(name string) plan.Col { return p.q.NewCol(name, graph.Null) }

// values are rows with the given integers in a column; a negative one is null.
func (p *planned) values(c plan.Col, ints ...int64) plan.Node {
	return &plan.Unwind{Input: &plan.Unit{}, Out: c, List: &plan.Const{Value: intList(ints...)}}
}

func intList(ints ...int64) graph.Value {
	l := make([]graph.Value, len(ints))
	for i, n := range ints {
		if n >= 0 {
			l[i] = graph.IntValue(n)
		}
	}
	return graph.ListValue(l)
}

func ref(c plan.Col) plan.Expr { return &plan.ColRef{Col: c} }

func op(o plan.OpCode, args ...plan.Expr) plan.Expr { return &plan.Op{Op: o, Args: args} }

// run returns the rows as text.
func (p *planned) run(t testing.TB, root plan.Node, size int, env runtime.Env, out ...plan.Col) ([]string, error) {
	t.Helper()
	p.q.Root, p.q.Out = root, out
	prep, err := Compile(p.q, Options{BatchSize: size})
	require.NoError(t, err)
	g := oracle.NewGraph(1)
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	rows, err := prep.Run(context.Background(), g, tx, env)
	require.NoError(t, err)
	defer rows.Close()
	var got []string
	for {
		b, err := rows.Next(context.Background())
		if b == nil || err != nil {
			return got, err
		}
		for i := range b.N {
			line := ""
			for k := range b.Cols {
				line += " " + text(b.Cols[k].Value(i))
			}
			got = append(got, line[1:])
		}
	}
}

func text(v graph.Value) string {
	switch v.Kind() {
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10)
	case graph.Bool:
		return strconv.FormatBool(v.Bool())
	case graph.List:
		s := ""
		for _, e := range v.List() {
			s += "," + text(e)
		}
		return "[" + s[min(1, len(s)):] + "]"
	}
	return "-"
}

var sizes = []int{1, 2, 3, 1024}

func TestHashJoin(t *testing.T) {
	for _, size := range sizes {
		p := newPlanned()
		a, b, c := p.col("a"), p.col("b"), p.col("c")
		right := &plan.Project{
			Input: p.values(b, 1, 2, 2, -1, 3), Keep: true,
			Items: []plan.Item{{Col: c, Expr: op(plan.Mul, ref(b), &plan.Const{Value: graph.IntValue(10)})}},
		}
		join := &plan.HashJoin{
			Left: p.values(a, 2, 0, -1, 1), Right: right, LeftKeys: []plan.Col{a}, RightKeys: []plan.Col{b},
			RightCols: []plan.Col{b, c},
		}
		got, err := p.run(t, join, size, runtime.Env{}, a, c)
		require.NoError(t, err)
		require.Equal(t, []string{"2 20", "2 20", "1 10"}, got, "batches of %d", size)
	}
}

// TestApply runs, for each x, the y of [0 … x-1] that are not 1, in all kinds of Apply.
func TestApply(t *testing.T) {
	want := map[plan.ApplyKind][]string{
		plan.Inner:     {"1 0", "3 0", "3 2"},
		plan.Optional:  {"1 0", "3 0", "3 2", "0 -", "- -"},
		plan.Exists:    {"1 true", "0 false", "3 true", "- false"},
		plan.CountRows: {"1 1", "0 0", "3 2", "- 0"},
		plan.Collect:   {"1 [0]", "0 []", "3 [0,20]", "- []"},
	}
	for kind, rows := range want {
		for _, size := range sizes {
			p := newPlanned()
			x, y, out := p.col("x"), p.col("y"), p.col("out")
			list := &plan.Call{Func: "range", Args: []plan.Expr{
				&plan.Const{Value: graph.IntValue(0)}, op(plan.Sub, ref(x), &plan.Const{Value: graph.IntValue(1)}),
			}}
			sub := &plan.Filter{
				Input: &plan.Unwind{Input: &plan.Argument{Cols: []plan.Col{x}}, Out: y, List: &plan.Case{
					When: []plan.Expr{op(plan.IsNotNull, ref(x))}, Then: []plan.Expr{list},
				}},
				Preds: []plan.Expr{op(plan.Ne, ref(y), &plan.Const{Value: graph.IntValue(1)})},
			}
			n := &plan.Apply{Input: p.values(x, 1, 0, 3, -1), Sub: sub, Kind: kind, Out: out}
			cols := []plan.Col{x, out}
			switch kind {
			case plan.Inner, plan.Optional:
				n.Out, n.Cols = 0, []plan.Col{y}
				cols = []plan.Col{x, y}
			case plan.Collect:
				n.Expr = op(plan.Mul, ref(y), &plan.Const{Value: graph.IntValue(10)})
			}
			got, err := p.run(t, n, size, runtime.Env{}, cols...)
			require.NoError(t, err)
			require.ElementsMatch(t, rows, got, "kind %d, batches of %d", kind, size)
		}
	}
}

// TestPartitions runs operators that combine rows within a subplan: each outer row x has the rows y of [1 … x].
func TestPartitions(t *testing.T) {
	k := func(n int64) plan.Expr { return &plan.Const{Value: graph.IntValue(n)} }
	cases := []struct {
		name string
		sub  func(rows plan.Node, x, y, z plan.Col) plan.Node
		want []string // x and the collected z
	}{
		{"sort", func(rows plan.Node, x, y, z plan.Col) plan.Node {
			return &plan.Sort{Input: rows, Keys: []plan.SortKey{{Expr: ref(z), Desc: true}}, Skip: k(1), Limit: k(2)}
		}, []string{"2 [1]", "0 []", "4 [3,2]"}},
		{"slice", func(rows plan.Node, x, y, z plan.Col) plan.Node {
			return &plan.Slice{Input: rows, Skip: k(1), Limit: k(2)}
		}, []string{"2 [2]", "0 []", "4 [2,3]"}},
		{"distinct", func(rows plan.Node, x, y, z plan.Col) plan.Node {
			return &plan.Distinct{Cols: []plan.Col{z}, Input: &plan.Project{
				Input: rows, Items: []plan.Item{{Col: z, Expr: op(plan.Mod, ref(y), k(2))}},
			}}
		}, []string{"2 [1,0]", "0 []", "4 [1,0]"}},
		{"count", func(rows plan.Node, x, y, z plan.Col) plan.Node {
			return &plan.Aggregate{Input: rows, Aggs: []plan.Agg{{Col: z, Func: "count"}}}
		}, []string{"2 [2]", "0 [0]", "4 [4]"}},
		{"group", func(rows plan.Node, x, y, z plan.Col) plan.Node {
			return &plan.Aggregate{
				Input: rows, Keys: []plan.Item{{Col: y, Expr: op(plan.Mod, ref(y), k(2))}},
				Aggs: []plan.Agg{{Col: z, Func: "sum", Args: []plan.Expr{ref(y)}}},
			}
		}, []string{"2 [1,2]", "0 []", "4 [4,6]"}},
		{"union", func(rows plan.Node, x, y, z plan.Col) plan.Node {
			return &plan.Union{
				Inputs: []plan.Node{rows, &plan.Project{Input: &plan.Argument{Cols: []plan.Col{x}}, Items: []plan.Item{{Col: z, Expr: ref(x)}}}},
				Cols:   [][]plan.Col{{y}, {z}}, Out: []plan.Col{z},
			}
		}, []string{"2 [1,2]", "0 [0]", "4 [1,2,3,4]"}},
		{
			"eager", func(rows plan.Node, x, y, z plan.Col) plan.Node { return &plan.Eager{Input: rows} },
			[]string{"2 [1,2]", "0 []", "4 [1,2,3,4]"},
		},
		{"nested", func(rows plan.Node, x, y, z plan.Col) plan.Node {
			inner := &plan.Unwind{Input: &plan.Argument{Cols: []plan.Col{x, y}}, Out: z, List: &plan.ListLit{Elems: []plan.Expr{ref(x), ref(y)}}}
			return &plan.Apply{Kind: plan.Inner, Cols: []plan.Col{z}, Sub: inner, Input: &plan.Slice{Input: rows, Limit: k(1)}}
		}, []string{"2 [2,1]", "0 []", "4 [4,1]"}},
	}
	for _, c := range cases {
		for _, size := range sizes {
			p := newPlanned()
			x, y, z, out := p.col("x"), p.col("y"), p.col("z"), p.col("out")
			var rows plan.Node = &plan.Unwind{
				Input: &plan.Argument{Cols: []plan.Col{x}}, Out: y, List: &plan.Call{Func: "range", Args: []plan.Expr{k(1), ref(x)}},
			}
			rows = &plan.Project{Input: rows, Keep: true, Items: []plan.Item{{Col: z, Expr: ref(y)}}}
			n := &plan.Apply{
				Input: p.values(x, 2, 0, 4), Sub: c.sub(rows, x, y, z), Kind: plan.Collect, Out: out, Expr: ref(z),
			}
			got, err := p.run(t, n, size, runtime.Env{}, x, out)
			require.NoError(t, err)
			require.Equal(t, c.want, got, "%s, batches of %d", c.name, size)
		}
	}
}

// TestBudget names the operator that held most when the memory was exhausted, and returns the memory.
func TestBudget(t *testing.T) {
	for name, wrap := range map[string]func(p *planned, rows plan.Node, x plan.Col) plan.Node{
		"Sort": func(p *planned, rows plan.Node, x plan.Col) plan.Node {
			return &plan.Sort{Input: rows, Keys: []plan.SortKey{{Expr: ref(x)}}}
		},
		"Eager": func(p *planned, rows plan.Node, x plan.Col) plan.Node { return &plan.Eager{Input: rows} },
		"Distinct": func(p *planned, rows plan.Node, x plan.Col) plan.Node {
			return &plan.Distinct{Input: rows, Cols: []plan.Col{x}}
		},
		"Aggregate": func(p *planned, rows plan.Node, x plan.Col) plan.Node {
			return &plan.Aggregate{Input: rows, Aggs: []plan.Agg{{Col: x, Func: "collect", Args: []plan.Expr{ref(x)}}}}
		},
	} {
		p := newPlanned()
		x := p.col("x")
		rows := &plan.Unwind{Input: &plan.Unit{}, Out: x, List: &plan.Call{Func: "range", Args: []plan.Expr{
			&plan.Const{Value: graph.IntValue(1)}, &plan.Const{Value: graph.IntValue(10_000)},
		}}}
		_, err := p.run(t, wrap(p, rows, x), 1024, runtime.Env{Budget: runtime.Budget{Bytes: 100_000}}, x)
		require.Equal(t, graph.KindBudget, graph.AsError(err).Kind, name)
		require.ErrorContains(t, err, "operator "+name+" holds")
		_, err = p.run(t, wrap(p, rows, x), 1024, runtime.Env{Budget: runtime.Budget{Bytes: 10_000_000}}, x)
		require.NoError(t, err, name)
	}
}

func TestRowBudget(t *testing.T) {
	p := newPlanned()
	x := p.col("x")
	_, err := p.run(t, p.values(x, 1, 2, 3), 2, runtime.Env{Budget: runtime.Budget{Rows: 2}}, x)
	require.ErrorContains(t, err, "more than 2 rows")
}

func TestCancelled(t *testing.T) {
	p := newPlanned()
	x := p.col("x")
	p.q.Root, p.q.Out = p.values(x, 1, 2, 3), []plan.Col{x}
	prep, err := Compile(p.q, Options{BatchSize: 1})
	require.NoError(t, err)
	g := oracle.NewGraph(1)
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	ctx, cancel := context.WithCancel(context.Background())
	rows, err := prep.Run(ctx, g, tx, runtime.Env{})
	require.NoError(t, err)
	_, err = rows.Next(ctx)
	require.NoError(t, err)
	cancel()
	_, err = rows.Next(ctx)
	require.Equal(t, graph.KindDeadline, graph.AsError(err).Kind)
}
