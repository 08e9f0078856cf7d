package cache

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// TestColumn round-trips columns of every form, dense and with nulls.
func TestColumn(t *testing.T) {
	list := graph.ListValue([]graph.Value{graph.IntValue(1), graph.IntValue(2)})
	for _, tc := range []struct {
		name   string
		values []graph.Value
		form   form
	}{
		{"empty", []graph.Value{{}, {}}, formEmpty},
		{"narrow", []graph.Value{graph.IntValue(-5), graph.IntValue(math.MaxUint32 - 5)}, formNarrow},
		{"wide", []graph.Value{graph.IntValue(math.MinInt64), graph.IntValue(math.MaxInt64)}, formWide},
		{"floats", []graph.Value{graph.FloatValue(1.5), graph.FloatValue(math.Inf(-1))}, formWide},
		{"dates", []graph.Value{graph.DateValue(temporal.Date(-3)), graph.DateValue(temporal.Date(19000))}, formNarrow},
		{"times", []graph.Value{graph.LocalTimeValue(temporal.LocalTime(5)), graph.LocalTimeValue(temporal.LocalTime(1 << 40))}, formWide},
		{"bools", []graph.Value{graph.BoolValue(true), graph.BoolValue(false)}, formBool},
		{"texts", []graph.Value{graph.StringValue(""), graph.StringValue("Zoë")}, formCoded},
		{"distinct texts", nil, formText},
		{"lists", []graph.Value{list, list}, formMixed},
		{"numbers", []graph.Value{graph.IntValue(7), graph.FloatValue(7)}, formMixed},
		{"text then number", []graph.Value{graph.StringValue("x"), graph.StringValue(""), graph.IntValue(1)}, formMixed},
		{"bool then list", []graph.Value{graph.BoolValue(true), list}, formMixed},
		{"date then bool", []graph.Value{graph.DateValue(1), graph.BoolValue(true)}, formMixed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, nulls := range []int{0, 1, 100} {
				rnd := rand.New(rand.NewPCG(1, uint64(nulls)))
				var want []graph.Value
				for i := range 200 {
					for range rnd.IntN(nulls + 1) {
						want = append(want, graph.Value{})
					}
					if tc.values == nil {
						want = append(want, graph.StringValue(strconv.Itoa(i)))
						continue
					}
					want = append(want, tc.values[i%len(tc.values)])
				}
				var b ColumnBuilder
				var cells Cells
				for range 2 {
					b.reset()
					for i, v := range want {
						switch {
						case !Simple(v.Kind()):
							b.Opaque(i, encodeList(v))
						case !v.IsNull() || rnd.IntN(2) == 0:
							b.Value(i, v)
						}
					}
				}
				n := len(want) + nulls
				b.finish(n)
				mem := make([]byte, b.size())
				col, rest := b.put(mem)
				if len(rest) != 0 || col.form != tc.form {
					t.Fatalf("%d bytes left, form %d, want %d", len(rest), col.form, tc.form)
				}
				for i := range n {
					v, err := col.Value(uint32(i), decodeList)
					if err != nil {
						t.Fatal(err)
					}
					if w := (graph.Value{}); i < len(want) && !sameValue(v, want[i]) || i >= len(want) && !sameValue(v, w) {
						t.Fatalf("cell %d of %d differs", i, n)
					}
				}
				checkSummary(t, rnd, &col, uint32(n))
				for range 20 {
					lo := rnd.IntN(n + 1)
					hi := lo + rnd.IntN(n+1-lo)
					got, err := col.AppendTo(make([]graph.Value, 1), uint32(lo), uint32(hi), decodeList)
					if err != nil || len(got) != 1+hi-lo {
						t.Fatalf("%d cells, %v", len(got), err)
					}
					for i, v := range got[1:] {
						if w, _ := col.Value(uint32(lo+i), decodeList); !sameValue(v, w) {
							t.Fatalf("cell %d of %d … %d differs", i, lo, hi)
						}
					}
					if err := col.Cells(&cells, uint32(lo), uint32(hi), decodeList); err != nil {
						t.Fatal(err)
					}
					for i := range uint32(hi - lo) {
						if v := cells.Value(i); !sameValue(v, got[1+i]) || cells.Ints() && cells.Has(i) && magnitude(v.Int()) > cells.Most {
							t.Fatalf("cell %d of %d … %d is %v", i, lo, hi, v)
						}
					}
					checkWithin(t, rnd, &col, uint32(lo), uint32(hi), tc.values)
				}
			}
		})
	}
}

// checkWithin compares the cells that a column finds in intervals with those that its values are in.
func checkWithin(t *testing.T, rnd *rand.Rand, col *Column, lo, hi uint32, values []graph.Value) {
	bounds := []graph.Value{{}, graph.IntValue(math.MinInt64), graph.IntValue(math.MaxInt64), graph.IntValue(0), graph.FloatValue(1.5), graph.DateValue(1)}
	for _, v := range values {
		if graph.Bounds(v) {
			bounds = append(bounds, v)
		}
	}
	in := graph.Interval{
		Lo: bounds[rnd.IntN(len(bounds))], Hi: bounds[rnd.IntN(len(bounds))], LoOpen: rnd.IntN(2) == 0, HiOpen: rnd.IntN(2) == 0,
	}
	if in.Lo.IsNull() && in.Hi.IsNull() {
		in.Lo = bounds[1]
	}
	want, all := []uint32{7}, []uint32{}
	for i := range hi - lo {
		all = append(all, i)
		if v, _ := col.Value(lo+i, decodeList); in.Holds(v) {
			want = append(want, i)
		}
	}
	got, err := col.AppendWithin([]uint32{7}, lo, hi, &in, decodeList)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v: places %v, want %v, %v", in, got, want, err)
	}
	if got, err = col.Within(all, lo, &in, decodeList); err != nil || !slices.Equal(got, want[1:]) {
		t.Fatalf("%v: places %v, want %v, %v", in, got, want[1:], err)
	}
}

// TestArena fills an arena with runs of all sizes in a random order; they must not overlap, and nothing may be lost.
func TestArena(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	a := arena{budget: 8 << 20}
	type held struct {
		run
		mark byte
	}
	var runs []held
	for i := range 5000 {
		if n := 1 + rnd.IntN(1<<(4+rnd.IntN(16))); rnd.IntN(2) == 0 {
			if r, ok := a.alloc(n); ok {
				if len(r.mem) != n {
					t.Fatalf("%d bytes, want %d", len(r.mem), n)
				}
				r.mem[0], r.mem[n-1] = byte(i), byte(i)
				runs = append(runs, held{r, byte(i)})
			}
		} else if len(runs) > 0 {
			k := rnd.IntN(len(runs))
			r := runs[k]
			if r.mem[0] != r.mark || r.mem[len(r.mem)-1] != r.mark {
				t.Fatal("a run was overwritten")
			}
			a.release(r.run)
			runs[k] = runs[len(runs)-1]
			runs = runs[:len(runs)-1]
		}
		if a.mapped > a.budget || a.used > a.mapped {
			t.Fatalf("%d mapped, %d used", a.mapped, a.used)
		}
	}
	for _, r := range runs {
		a.release(r.run)
	}
	if a.trim(); a.used != 0 || a.mapped != 0 || len(a.regions) != 0 {
		t.Fatalf("%d used, %d mapped at the end", a.used, a.mapped)
	}
}

// TestEpochs shows what a pin holds: what is retired while it is in, until it leaves.
func TestEpochs(t *testing.T) {
	var e epochs
	var early, late pin
	reg := new(region)
	one, two := run{make([]byte, 1), reg}, run{make([]byte, 2), reg}
	e.enter(&early)
	e.retire(one)
	e.enter(&late)
	e.retire(two)
	if got := e.reclaim(); len(got) != 0 {
		t.Fatalf("%d runs were free under a pin", len(got))
	}
	if !e.leave(&early) {
		t.Fatal("the oldest pin left unnoticed")
	}
	if got := e.reclaim(); len(got) != 1 || len(got[0].mem) != 1 {
		t.Fatalf("got %d runs, want the first", len(got))
	}
	e.leave(&late)
	if got := e.reclaim(); len(got) != 1 || e.waitingBytes() != 0 {
		t.Fatalf("got %d runs, want the second", len(got))
	}
}
