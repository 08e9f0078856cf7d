package exec

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// anyValue makes a value of any kind, lists and maps at most depth deep.
func anyValue(r *rand.Rand, depth int) graph.Value {
	text := func() string { return fmt.Sprint("text ", r.IntN(50)) }
	vertex := func() graph.Value {
		if r.IntN(2) == 0 {
			return graph.VertexValue(graph.VertexID(r.Uint64N(1 << 50)))
		}
		return graph.VertexRecordValue(graph.VertexID(r.IntN(9)), &graph.Record{
			Labels: []string{"A", text()}, Keys: []string{"k"}, Values: []graph.Value{anyValue(r, 0)},
		})
	}
	edge := func() graph.Value {
		return graph.EdgeRefValue(&graph.EdgeValue{
			Edge:   graph.Edge{ID: graph.EdgeID(r.Uint64()), Src: 1, Dst: graph.VertexID(r.IntN(9)), Type: 3},
			Record: &graph.Record{Type: "T", Keys: []string{"k"}, Values: []graph.Value{graph.IntValue(1)}},
		})
	}
	list := func(n int) []graph.Value {
		vs := make([]graph.Value, n)
		for i := range vs {
			vs[i] = anyValue(r, depth-1)
		}
		return vs
	}
	n := 13
	if depth > 0 {
		n = 18
	}
	switch r.IntN(n) {
	case 0:
		return graph.Value{}
	case 1:
		return graph.BoolValue(r.IntN(2) == 0)
	case 2:
		return graph.IntValue(r.Int64() - 1<<62)
	case 3:
		return graph.IntValue(r.Int64N(40) - 20)
	case 4:
		return graph.FloatValue(r.NormFloat64())
	case 5:
		return graph.StringValue(text())
	case 6:
		return graph.DateValue(temporal.Date(r.IntN(2000) - 1000))
	case 7:
		return graph.LocalTimeValue(temporal.LocalTime(r.Int64N(1e9)))
	case 8:
		return graph.TimeValue(temporal.Time{Local: temporal.LocalTime(r.Int64N(1e9)), Offset: -3600})
	case 9:
		return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: r.Int64N(1e9) - 5e8, Nano: 7})
	case 10:
		t := temporal.DateTime{Sec: r.Int64N(1e9), Nano: 1, Offset: 7200}
		if r.IntN(2) == 0 {
			z, _ := temporal.ParseZone("Europe/Stockholm")
			t.Zone = z.Location
		}
		return graph.DateTimeValue(t)
	case 11:
		return graph.DurationValue(temporal.Duration{Months: -3, Days: r.Int64N(9), Seconds: 5, Nanos: 6})
	case 16:
		return graph.PointValue(graph.Point{CRS: graph.Cartesian3D, X: r.NormFloat64(), Y: 2, Z: -1})
	case 17:
		return graph.BytesValue([]byte(text()))
	case 12:
		return vertex()
	case 13:
		return graph.ListValue(list(r.IntN(4)))
	case 14:
		m := make([]graph.MapEntry, r.IntN(3))
		for i := range m {
			m[i] = graph.MapEntry{Key: strconv.Itoa(i), Value: anyValue(r, depth-1)}
		}
		return graph.MapValue(m)
	}
	if r.IntN(2) == 0 {
		return edge()
	}
	return graph.PathValue(&graph.Path{Vertices: []graph.Value{vertex(), vertex()}, Edges: []graph.Value{edge()}})
}

// TestSpilledValues writes and reads values of all kinds; cut short, they are damage.
func TestSpilledValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[graph.ValueKind]bool{}
	for range 2000 {
		v := anyValue(r, 3)
		kinds[v.Kind()] = true
		cell := appendSpilled(nil, v)
		d := spillDecoder{b: append(slices.Clone(cell), 42)}
		got := d.value()
		require.False(t, d.bad)
		require.Equal(t, []byte{42}, d.b)
		require.Equal(t, v.Kind(), got.Kind())
		require.Equal(t, cell, appendSpilled(nil, got))
		if v.Kind() == graph.EdgeKind {
			require.Equal(t, v.Edge(), got.Edge())
		}
		cut := spillDecoder{b: cell[:r.IntN(len(cell))]}
		cut.value()
		require.True(t, cut.bad)
	}
	require.Len(t, kinds, int(graph.Bytes)+1)
}

// heaped is a plan over rows of three columns that are made beforehand.
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

// someRows are rows with a key that comes about four times in a row, one that comes often, and anything.
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
		rows[i] = graph.ListValue([]graph.Value{key, graph.IntValue(r.Int64N(100)), anyValue(r, 2)})
	}
	return rows
}

// try runs a plan of a heaped and gives its rows as bytes, and the bytes that it has written.
func (h *heaped) try(ctx context.Context, t testing.TB, root plan.Node, size int, env Env, out ...plan.Col) (rows []string, spilled int64, err error) {
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
		b, err := run.r.next(ctx, run)
		if b == nil || err != nil {
			for _, s := range run.Stats() {
				spilled += s.Spilled
			}
			return rows, spilled, err
		}
		for i := range b.N {
			var row []byte
			for k := range b.Cols {
				row = appendSpilled(row, b.Cols[k].Value(i))
			}
			rows = append(rows, string(row))
		}
	}
}

// next gives the rows as the root has them, since there is no graph that knows their vertices.
func (r *run) next(ctx context.Context, rows *Rows) (*graph.Batch, error) {
	if !rows.opened {
		rows.opened = true
		if err := rows.x.root.open(ctx); err != nil {
			return nil, err
		}
	}
	b, err := rows.x.root.next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	rows.x.out.view(b, rows.p.out)
	return &rows.x.out.Batch, nil
}

// plans are those that need all rows at once, and whether the order of their answer is one to keep.
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

func testSpill(t testing.TB) (*Spill, string) {
	dir := filepath.Join(t.TempDir(), "spill")
	s, err := NewSpill(dir, 1<<30)
	require.NoError(t, err)
	return s, dir
}

func requireNothingLeft(t testing.TB, s *Spill, dir string) {
	t.Helper()
	require.Zero(t, s.Used())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

// TestSpill checks that little memory gives the rows that much memory does.
func TestSpill(t *testing.T) {
	s, dir := testSpill(t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		h := newHeaped(someRows(r, 20000))
		for name, p := range h.plans() {
			want, spilled, err := h.try(context.Background(), t, p.root, 1024, Env{}, p.out...)
			require.NoError(t, err, name)
			require.Zero(t, spilled)
			for _, budget := range []int64{300 << 10, 700 << 10} {
				env := Env{Budget: Budget{Bytes: budget}, Spill: s}
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

// fullDisk takes a number of bytes, then none; fault is what it says.
type fullDisk struct {
	spillFile
	left  *int
	fault error
}

func (f fullDisk) Write(b []byte) (int, error) {
	if *f.left -= len(b); *f.left < 0 {
		return 0, f.fault
	}
	return f.spillFile.Write(b)
}

// TestSpillFails checks that a disk that is full or broken ends the statement with an error that says so, that a
// statement may be cancelled meanwhile, and that nothing is left of it.
func TestSpillFails(t *testing.T) {
	s, dir := testSpill(t)
	create := s.create
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
			s.create = func() (spillFile, error) {
				f, err := create()
				return fullDisk{f, &left, c.fault}, err
			}
			_, _, err := h.try(context.Background(), t, p.root, 50, Env{Budget: Budget{Bytes: 300 << 10}, Spill: s}, p.out...)
			require.Equal(t, c.kind, graph.AsError(err).Kind, name)
			require.ErrorContains(t, err, c.text, name)
			requireNothingLeft(t, s, dir)
		}
		s.create = func() (spillFile, error) { return nil, errors.New("no more files") }
		_, _, err := h.try(context.Background(), t, p.root, 50, Env{Budget: Budget{Bytes: 300 << 10}, Spill: s}, p.out...)
		require.Equal(t, graph.KindInternal, graph.AsError(err).Kind, name)
		requireNothingLeft(t, s, dir)

		ctx, cancel := context.WithCancel(context.Background())
		files := 0
		s.create = func() (spillFile, error) {
			if files++; files == 3 {
				cancel()
			}
			return create()
		}
		_, _, err = h.try(ctx, t, p.root, 50, Env{Budget: Budget{Bytes: 300 << 10}, Spill: s}, p.out...)
		cancel()
		require.Equal(t, graph.KindDeadline, graph.AsError(err).Kind, name)
		requireNothingLeft(t, s, dir)
		s.create = create
	}
	s.limit = 20 << 10
	p := h.plans()["sort"]
	_, _, err := h.try(context.Background(), t, p.root, 50, Env{Budget: Budget{Bytes: 300 << 10}, Spill: s}, p.out...)
	require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
	require.ErrorContains(t, err, "20480 bytes on disk")
	requireNothingLeft(t, s, dir)
}

// TestSpillDirectory checks that what a crash has left is removed at the start, and the directory at the end.
func TestSpillDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rows-1"), make([]byte, 100), 0o600))
	s, err := NewSpill(dir, 1)
	require.NoError(t, err)
	requireNothingLeft(t, s, dir)
	require.NoError(t, s.Close())
	require.NoDirExists(t, dir)
}

// TestPool checks that what runs hold together is known, that a run beyond it asks for relief, and that sorts use the
// disk before.
func TestPool(t *testing.T) {
	h := newHeaped(someRows(rand.New(rand.NewPCG(7, 8)), 20000))
	sort := h.plans()["sort"]
	asked := 0
	pool := &Pool{Limit: 1 << 20, Relieve: func(*Pool) { asked++ }}
	_, _, err := h.try(context.Background(), t, sort.root, 50, Env{Pools: []*Pool{pool}}, sort.out...)
	require.NoError(t, err)
	require.Positive(t, asked)
	require.Zero(t, pool.Held())

	asked = 0
	pool.Limit = 4 << 20
	s, dir := testSpill(t)
	_, spilled, err := h.try(context.Background(), t, sort.root, 50, Env{Pools: []*Pool{pool}, Spill: s}, sort.out...)
	require.NoError(t, err)
	require.Zero(t, asked)
	require.Positive(t, spilled)
	require.Zero(t, pool.Held())
	requireNothingLeft(t, s, dir)
}
