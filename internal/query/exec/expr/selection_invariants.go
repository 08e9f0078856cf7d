//go:build invariants || race

package expr

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// selection is the memory of one selector's results. Nothing else writes to it.
type selection struct {
	rows runtime.Sel
	in   runtime.Sel // what the rows are selected from, and a copy of it
	copy runtime.Sel
}

// begin returns an empty selection with room for rows of s. The last one ends: its memory is overwritten, so that whatever
// still reads it fails.
func (k *selection) begin(s runtime.Sel) runtime.Sel {
	k.rows = slices.Grow(k.rows[:0], len(s))
	all := k.rows[:cap(k.rows)]
	if overlap(all, s) {
		panic("a selection is chosen from itself")
	}
	for i := range all {
		all[i] = -1
	}
	k.in, k.copy = s, append(k.copy[:0], s...)
	return k.rows
}

// end returns the rows of b that were appended to what begin returned.
func (k *selection) end(b *runtime.Batch, rows runtime.Sel) runtime.Sel {
	k.rows = rows
	if !slices.Equal(k.in, k.copy) {
		panic(fmt.Sprintf("a selection has changed from %v to %v", k.copy, k.in))
	}
	from := k.in
	for at, i := range rows {
		if i < 0 || int(i) >= b.N || at > 0 && rows[at-1] >= i {
			panic(fmt.Sprintf("a selection from %d rows is %v", b.N, rows))
		}
		for len(from) > 0 && from[0] < i {
			from = from[1:]
		}
		if len(from) == 0 || from[0] != i {
			panic(fmt.Sprintf("%v is selected from %v", rows, k.in))
		}
	}
	return rows
}

// overlap reports whether two selections share memory.
func overlap(a, b runtime.Sel) bool {
	if cap(a) == 0 || cap(b) == 0 {
		return false
	}
	begin := func(s runtime.Sel) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }
	end := func(s runtime.Sel) uintptr { return begin(s) + uintptr(cap(s))*unsafe.Sizeof(int32(0)) }
	return begin(a) < end(b) && begin(b) < end(a)
}

// relevant are the rows that a set of evaluators may be asked for.
type relevant struct{ rows, copy runtime.Sel }

func (r *relevant) set(s runtime.Sel) { r.rows, r.copy = s, append(r.copy[:0], s...) }

func (r *relevant) get() runtime.Sel {
	if !slices.Equal(r.rows, r.copy) {
		panic(fmt.Sprintf("the relevant rows have changed from %v to %v", r.copy, r.rows))
	}
	return r.rows
}

// poison makes undefined cells differ from what any statement computes.
func poison(vs []graph.Value) {
	for i := range vs {
		vs[i] = graph.StringValue("an undefined cell")
	}
}
