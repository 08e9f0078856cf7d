package exec

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// heaped is a plan over given rows of three columns.
type heaped struct {
	*planned
	a, b, c plan.Col
	rows    plan.Node
}

func newHeaped(rows []graph.Value) *heaped {
	h := &heaped{planned: newPlanned()}
	l := h.col("l")
	h.a, h.b, h.c = h.col("a"), h.col("b"), h.col("c")
	at := func(i int64) plan.Expr { return op(plan.Index, ref(l), &plan.Const{Value: graph.IntValue(i)}) }
	h.rows = &plan.Project{
		Input: &plan.Unwind{Input: &plan.Unit{}, Out: l, List: &plan.Const{Value: graph.ListValue(rows)}},
		Items: []plan.Item{{Col: h.a, Expr: at(0)}, {Col: h.b, Expr: at(1)}, {Col: h.c, Expr: at(2)}},
	}
	return h
}

// someRows are rows with a key that repeats about four times in a row, a frequent one, and a random one.
func someRows(r *rand.Rand, n int) []graph.Value {
	rows := make([]graph.Value, n)
	for i := range rows {
		var key graph.Value
		switch k := i/4 + r.IntN(3); k % 3 {
		case 0:
			key = graph.IntValue(int64(k))
		case 1:
			key = graph.StringValue(fmt.Sprint("key ", k))
		default:
			key = graph.VertexValue(graph.VertexID(k))
		}
		rows[i] = graph.ListValue([]graph.Value{key, graph.IntValue(r.Int64N(100)), graph.ListValue([]graph.Value{graph.StringValue(strings.Repeat("x", r.IntN(20))), graph.FloatValue(r.Float64()), {}})})
	}
	return rows
}

// try runs a plan of a heaped and returns its rows as bytes, and the bytes that it has written.
func (h *heaped) try(ctx context.Context, t testing.TB, root plan.Node, size int, env runtime.Env, out ...plan.Col) (rows []string, spilled int64, err error) {
	t.Helper()
	h.q.Root, h.q.Out = root, out
	prep, err := Compile(h.q, Options{BatchSize: size})
	require.NoError(t, err)
	g := oracle.NewGraph(1)
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	env.Profile = true
	run, err := prep.Run(ctx, g, tx, env)
	require.NoError(t, err)
	defer run.Close()
	for {
		b, err := unfilled(ctx, run)
		if b == nil || err != nil {
			for _, s := range run.Stats() {
				spilled += s.Spilled
			}
			return rows, spilled, err
		}
		for i := range b.N {
			var row []byte
			for k := range b.Cols {
				row = spill.AppendValue(row, b.Cols[k].Value(i))
			}
			rows = append(rows, string(row))
		}
	}
}

// unfilled returns the rows as the root has them, since there is no graph that knows their vertices.
func unfilled(ctx context.Context, rows *Rows) (*graph.Batch, error) {
	if !rows.opened {
		rows.opened = true
		if err := rows.x.root.Open(ctx); err != nil {
			return nil, err
		}
	}
	b, err := rows.x.root.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	rows.x.out.View(b, rows.p.out)
	return &rows.x.out.Batch, nil
}

// plans are plans that must buffer all rows, and whether their results are ordered.
func (h *heaped) plans() map[string]struct {
	root    plan.Node
	out     []plan.Col
	ordered bool
} {
	type p = struct {
		root    plan.Node
		out     []plan.Col
		ordered bool
	}
	count, sum, largest, many, list := h.col("count"), h.col("sum"), h.col("max"), h.col("many"), h.col("list")
	keys := []plan.SortKey{{Expr: ref(h.b)}, {Expr: ref(h.a), Desc: true}}
	number := func(n int64) plan.Expr { return &plan.Const{Value: graph.IntValue(n)} }
	all := []plan.Col{h.a, h.b, h.c}
	arg := []plan.Expr{ref(h.b)}
	return map[string]p{
		"sort":             {&plan.Sort{Input: h.rows, Keys: keys}, all, true},
		"sort of anything": {&plan.Sort{Input: h.rows, Keys: []plan.SortKey{{Expr: ref(h.b)}}}, all, true},
		"sort with limit":  {&plan.Sort{Input: h.rows, Keys: keys, Skip: number(1000), Limit: number(3000)}, all, true},
		"distinct":         {&plan.Distinct{Input: h.rows, Cols: []plan.Col{h.a, h.b}}, []plan.Col{h.b, h.a}, false},
		"distinct key":     {&plan.Distinct{Input: h.rows, Cols: []plan.Col{h.a}}, []plan.Col{h.a}, false},
		"aggregate": {&plan.Aggregate{Input: h.rows, Keys: []plan.Item{{Col: h.a, Expr: ref(h.a)}}, Aggs: []plan.Agg{
			{Col: count, Func: "count"},
			{Col: sum, Func: "sum", Args: arg},
			{Col: largest, Func: "max", Args: arg},
			{Col: many, Func: "count", Args: arg, Distinct: true},
			{Col: list, Func: "collect", Args: arg},
		}}, []plan.Col{h.a, count, sum, largest, many, list}, false},
	}
}

func testSpill(t testing.TB) (*spill.Space, string) {
	dir := filepath.Join(t.TempDir(), "spill")
	s, err := spill.Open(dir, 1<<30)
	require.NoError(t, err)
	return s, dir
}

func requireNothingLeft(t testing.TB, s *spill.Space, dir string) {
	t.Helper()
	require.Zero(t, s.Used())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

// TestSpill checks that runs with little memory return the same rows as runs with much.
func TestSpill(t *testing.T) {
	s, dir := testSpill(t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		h := newHeaped(someRows(r, 20000))
		for name, p := range h.plans() {
			want, spilled, err := h.try(context.Background(), t, p.root, 1024, runtime.Env{}, p.out...)
			require.NoError(t, err, name)
			require.Zero(t, spilled)
			for _, budget := range []int64{300 << 10, 700 << 10} {
				env := runtime.Env{Budget: runtime.Budget{Bytes: budget}, Spill: s}
				got, spilled, err := h.try(context.Background(), t, p.root, 50, env, p.out...)
				require.NoError(t, err, name)
				if budget == 300<<10 {
					require.Positive(t, spilled, name)
				}
				if !p.ordered {
					slices.Sort(want)
					slices.Sort(got)
				}
				require.True(t, slices.Equal(want, got), "%s in %d bytes: %d rows, want %d", name, budget, len(got), len(want))
				requireNothingLeft(t, s, dir)
			}
		}
	}
}

// Without a disk, all plans end when their memory runs short.
func TestSpillAbsent(t *testing.T) {
	h := newHeaped(someRows(rand.New(rand.NewPCG(7, 8)), 20000))
	for name, p := range h.plans() {
		_, _, err := h.try(context.Background(), t, p.root, 50, runtime.Env{Budget: runtime.Budget{Bytes: 100 << 10}}, p.out...)
		require.Equal(t, graph.KindBudget, graph.AsError(err).Kind, name)
	}
}

// fullDisk accepts a number of bytes, then fails with fault.
type fullDisk struct {
	spill.File
	left  *int
	fault error
}

func (f fullDisk) Write(b []byte) (int, error) {
	if *f.left -= len(b); *f.left < 0 {
		return 0, f.fault
	}
	return f.File.Write(b)
}

// TestSpillFails checks that a disk that is full or broken ends the statement with an error that says so, that a
// statement may be cancelled meanwhile, and that nothing is left of it.
func TestSpillFails(t *testing.T) {
	s, dir := testSpill(t)
	create := s.Create
	h := newHeaped(someRows(rand.New(rand.NewPCG(5, 6)), 20000))
	for name, p := range h.plans() {
		for _, c := range []struct {
			fault error
			kind  graph.Kind
			text  string
		}{
			{syscall.ENOSPC, graph.KindBudget, "the disk is full"}, {syscall.EIO, graph.KindInternal, "spill"},
		} {
			left := 20 << 10
			s.Create = func() (spill.File, error) {
				f, err := create()
				return fullDisk{f, &left, c.fault}, err
			}
			_, _, err := h.try(context.Background(), t, p.root, 50, runtime.Env{Budget: runtime.Budget{Bytes: 300 << 10}, Spill: s}, p.out...)
			require.Equal(t, c.kind, graph.AsError(err).Kind, name)
			require.ErrorContains(t, err, c.text, name)
			requireNothingLeft(t, s, dir)
		}
		s.Create = func() (spill.File, error) { return nil, errors.New("no more files") }
		_, _, err := h.try(context.Background(), t, p.root, 50, runtime.Env{Budget: runtime.Budget{Bytes: 300 << 10}, Spill: s}, p.out...)
		require.Equal(t, graph.KindInternal, graph.AsError(err).Kind, name)
		requireNothingLeft(t, s, dir)

		ctx, cancel := context.WithCancel(context.Background())
		files := 0
		s.Create = func() (spill.File, error) {
			if files++; files == 3 {
				cancel()
			}
			return create()
		}
		_, _, err = h.try(ctx, t, p.root, 50, runtime.Env{Budget: runtime.Budget{Bytes: 300 << 10}, Spill: s}, p.out...)
		cancel()
		require.Equal(t, graph.KindDeadline, graph.AsError(err).Kind, name)
		requireNothingLeft(t, s, dir)
		s.Create = create
	}
	s.Limit = 20 << 10
	p := h.plans()["sort"]
	_, _, err := h.try(context.Background(), t, p.root, 50, runtime.Env{Budget: runtime.Budget{Bytes: 300 << 10}, Spill: s}, p.out...)
	require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
	require.ErrorContains(t, err, "20480 bytes on disk")
	requireNothingLeft(t, s, dir)
}

// TestSpillDirectory checks that the files of a crashed process are removed at the start, and the directory at the end.
func TestSpillDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rows-1"), make([]byte, 100), 0o600))
	s, err := spill.Open(dir, 1)
	require.NoError(t, err)
	requireNothingLeft(t, s, dir)
	require.NoError(t, s.Close())
	require.NoDirExists(t, dir)
}

// TestPool checks that the total memory of runs is known, that a run beyond the limit requests relief, and that sorts spill first.
func TestPool(t *testing.T) {
	h := newHeaped(someRows(rand.New(rand.NewPCG(7, 8)), 20000))
	sort := h.plans()["sort"]
	asked := 0
	pool := &memory.Pool{Limit: 1 << 20, Relieve: func(*memory.Pool) { asked++ }}
	_, _, err := h.try(context.Background(), t, sort.root, 50, runtime.Env{Pools: []*memory.Pool{pool}}, sort.out...)
	require.NoError(t, err)
	require.Positive(t, asked)
	require.Zero(t, pool.Held())

	asked = 0
	pool.Limit = 4 << 20
	s, dir := testSpill(t)
	_, spilled, err := h.try(context.Background(), t, sort.root, 50, runtime.Env{Pools: []*memory.Pool{pool}, Spill: s}, sort.out...)
	require.NoError(t, err)
	require.Zero(t, asked)
	require.Positive(t, spilled)
	require.Zero(t, pool.Held())
	requireNothingLeft(t, s, dir)
}
