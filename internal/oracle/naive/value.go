package naive

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
)

// truth is 1 for true, 0 for false and -1 for null.
type truth int

func truthOf(v any) truth {
	switch v := v.(type) {
	case nil:
		return -1
	case bool:
		if v {
			return 1
		}
		return 0
	}
	fail("not a boolean: %v", v)
	return -1
}

func (t truth) value() any {
	if t < 0 {
		return nil
	}
	return t == 1
}

func (t truth) not() truth {
	if t < 0 {
		return t
	}
	return 1 - t
}

func is(b bool) truth {
	if b {
		return 1
	}
	return 0
}

// and is openCypher's AND: false wins over null.
func and(a, b truth) truth {
	if a == 0 || b == 0 {
		return 0
	}
	return min(a, b)
}

func or(a, b truth) truth { return and(a.not(), b.not()).not() }

// equal is the operator =.
func equal(a, b any) truth {
	if a == nil || b == nil {
		return -1
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return is(ok && x == y)
	}
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return 0
		}
		all := truth(1)
		for i := range x {
			all = and(all, equal(x[i], y[i]))
		}
		return all
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return 0
		}
		all := truth(1)
		for k := range x {
			e, ok := y[k]
			if !ok {
				return 0
			}
			all = and(all, equal(x[k], e))
		}
		return all
	case *Path:
		y, ok := b.(*Path)
		return is(ok && slices.Equal(x.Nodes, y.Nodes) && slices.Equal(x.Rels, y.Rels))
	}
	return is(a == b)
}

// number returns an integer or float as a float: the fuzzer's integers are small.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// less is a < b where both can be compared, and null elsewhere.
func compare(a, b any, holds func(order int) bool) truth {
	if a == nil || b == nil {
		return -1
	}
	x, ok := number(a)
	y, ok2 := number(b)
	if ok && ok2 {
		if math.IsNaN(x) || math.IsNaN(y) {
			return 0
		}
		return is(holds(cmp.Compare(x, y)))
	}
	if fmt.Sprintf("%T", a) != fmt.Sprintf("%T", b) {
		return -1
	}
	switch a.(type) {
	case string, bool, Date, LocalTime:
		return is(holds(order(a, b)))
	case Vector:
		return -1
	}
	unknown(a)
	return -1
}

// rank returns the place of a value's type in ORDER BY.
func rank(v any) int {
	switch v.(type) {
	case map[string]any:
		return 0
	case *Node:
		return 1
	case *Rel:
		return 2
	case []any:
		return 3
	case *Path:
		return 4
	case Vector:
		return 5
	case LocalTime:
		return 6
	case Date:
		return 7
	case string:
		return 8
	case bool:
		return 9
	case int64, float64:
		return 10
	}
	return 11
}

// order is the order of ORDER BY.
func order(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
	case bool:
		return cmp.Compare(is(x), is(b.(bool)))
	case Date:
		return x.Compare(b.(Date).Time)
	case LocalTime:
		return x.Compare(b.(LocalTime).Time)
	case Vector:
		return x.compare(b.(Vector))
	case int64, float64:
		p, _ := number(a)
		q, _ := number(b)
		switch {
		case math.IsNaN(p) || math.IsNaN(q):
			return cmp.Compare(is(math.IsNaN(p)), is(math.IsNaN(q)))
		}
		return cmp.Compare(p, q)
	case []any:
		y := b.([]any)
		for i := range min(len(x), len(y)) {
			if c := order(x[i], y[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(x), len(y))
	case *Node:
		return cmp.Compare(x.serial, b.(*Node).serial)
	case *Rel:
		return cmp.Compare(x.serial, b.(*Rel).serial)
	case nil:
		return 0
	}
	unknown(a)
	return 0
}

// key names a value so that DISTINCT and grouping take values of the same name for the same.
func key(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case int64:
		return fmt.Sprintf("#%g", float64(v))
	case float64:
		if v == 0 {
			v = 0 // of both signs
		}
		return fmt.Sprintf("#%g", v)
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, key(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+":"+key(v[k]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case *Node:
		return fmt.Sprintf("n%d", v.serial)
	case *Rel:
		return fmt.Sprintf("r%d", v.serial)
	case *Path:
		s := "p" + key(v.Nodes[0])
		for _, r := range v.Rels {
			s += key(r)
		}
		return s
	}
	return fmt.Sprint(v)
}

func sorted(v []any) []any {
	v = slices.Clone(v)
	sort.SliceStable(v, func(i, j int) bool { return order(v[i], v[j]) < 0 })
	return v
}
