package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// inList is x IN list.
type inList struct {
	r       *runtime.Run
	x, list runtime.Evaluator
	set     *valueSet // of a constant list
	out     []graph.Value
}

func newInList(r *runtime.Run, x, list runtime.Evaluator) *inList {
	l := &inList{r: r, x: x, list: list}
	if v, ok := IsConst(list); ok && v.Kind() == graph.List && len(v.List()) > 4 {
		l.set = newValueSet(v.List())
	}
	return l
}

func (l *inList) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	xs, err := l.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	lists, err := l.list.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	l.out = Grown(l.out, b.N)
	set, of := l.set, graph.Value{}
	if set == nil && oneList(lists, s) {
		of = lists[s[0]]
		if set, err = l.setOf(ctx, of.List()); err != nil {
			return nil, err
		}
	}
	for _, i := range s {
		if err := l.r.CheckLargePair(ctx, xs[i], lists[i]); err != nil {
			return nil, err
		}
		if set != nil && (l.set != nil || SameList(lists[i], of)) {
			l.out[i] = set.has(xs[i]).Value()
		} else if l.out[i], err = fn.In(xs[i], lists[i]); err != nil {
			return nil, err
		}
	}
	return l.out, nil
}

// oneList reports whether the rows seem to share one long list, such as a collected one, so that a hash table of it pays.
func oneList(lists []graph.Value, s runtime.Sel) bool {
	return len(s) >= 8 && lists[s[0]].Kind() == graph.List && len(lists[s[0]].List()) >= 16 && SameList(lists[s[0]], lists[s[len(s)-1]])
}

// SameList reports whether two values are the same list, not only equal.
func SameList(a, b graph.Value) bool {
	if a.Kind() != graph.List || b.Kind() != graph.List {
		return false
	}
	x, y := a.List(), b.List()
	return len(x) == len(y) && len(x) > 0 && &x[0] == &y[0]
}

// inAny reports whether x equals any element of a list.
func inAny(x graph.Value, list []graph.Value) fn.Ternary {
	found := no
	for _, e := range list {
		if found = found.Or(fn.Equal(x, e)); found == yes {
			break
		}
	}
	return found
}

// valueSet tests x IN list by a hash table of the list's simple elements.
type valueSet struct {
	all    []graph.Value
	simple map[uint64][]graph.Value
	others []graph.Value // nulls, lists and maps, whose equality may be unknown
}

// setOf is newValueSet for a list so long that the run may be cancelled meanwhile.
func (l *inList) setOf(ctx context.Context, list []graph.Value) (*valueSet, error) {
	s := newValueSet(nil)
	for s.all = list; len(list) > 0; {
		n := min(len(list), 1<<12)
		s.add(list[:n])
		if list = list[n:]; len(list) > 0 {
			if err := l.r.CheckCancel(ctx); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func newValueSet(list []graph.Value) *valueSet {
	s := &valueSet{all: list, simple: make(map[uint64][]graph.Value, len(list))}
	s.add(list)
	return s
}

func (s *valueSet) add(list []graph.Value) {
	for _, v := range list {
		if runtime.Nests(v) || v.IsNull() {
			s.others = append(s.others, v)
			continue
		}
		h := fn.Hash(v)
		s.simple[h] = append(s.simple[h], v)
	}
}

func (s *valueSet) has(x graph.Value) fn.Ternary {
	if x.IsNull() || runtime.Nests(x) {
		return inAny(x, s.all)
	}
	if inAny(x, s.simple[fn.Hash(x)]) == yes {
		return yes
	}
	return inAny(x, s.others)
}
