package bulk

import (
	"bytes"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// merge combines an old and a new value of a property, neither of them null, by an update strategy; ok is false if their types do
// not fit.
func merge(strategy shard.Strategy, old, new graph.Value) (v graph.Value, ok bool) {
	switch strategy {
	case shard.Override:
		return new, true
	case shard.Sum:
		return sum(old, new)
	case shard.Bigger, shard.Smaller:
		c, ok := compareOrdered(old, new)
		if !ok {
			return v, false
		}
		if c != 0 && (c < 0) == (strategy == shard.Bigger) {
			return new, true
		}
		return old, true
	}
	if old.Kind() != graph.List || new.Kind() != graph.List {
		return v, false
	}
	a, b := old.List(), new.List()
	switch strategy {
	case shard.Append:
		return graph.ListValue(slices.Concat(a, b)), true
	case shard.Union:
		return graph.ListValue(distinct(slices.Concat(a, b), nil, false)), true
	case shard.Intersection:
		return graph.ListValue(distinct(a, b, true)), true
	default:
		return graph.ListValue(distinct(a, b, false)), true
	}
}

func sum(a, b graph.Value) (v graph.Value, ok bool) {
	switch {
	case a.Kind() == graph.Int && b.Kind() == graph.Int:
		x, y := a.Int(), b.Int()
		s := x + y
		return graph.IntValue(s), (s > x) == (y > 0)
	case a.IsNumber() && b.IsNumber():
		return graph.FloatValue(a.Number() + b.Number()), true
	}
	return v, false
}

// compareOrdered compares two numbers, or two instants of one type; ok is false for anything else.
func compareOrdered(a, b graph.Value) (c int, ok bool) {
	switch a.Kind() {
	case graph.Int, graph.Float:
		if !b.IsNumber() || keys.HasNaN(a) || keys.HasNaN(b) {
			return 0, false
		}
	case graph.Date, graph.LocalTime, graph.Time, graph.LocalDateTime, graph.DateTime:
		if a.Kind() != b.Kind() {
			return 0, false
		}
	default:
		return 0, false
	}
	x, ok1 := keys.AppendOrdered(nil, a)
	y, ok2 := keys.AppendOrdered(nil, b)
	return bytes.Compare(x, y), ok1 && ok2
}

// distinct returns the first of equal values of a, in their order; with only those that are among b if in is set, else
// without them.
func distinct(a, b []graph.Value, in bool) []graph.Value {
	if len(a)+len(b) <= fewValues {
		return distinctFew(a, b, in)
	}
	seen := map[string]bool{} // and whether the value may be taken
	var key []byte
	for _, v := range b {
		key, _ = keys.AppendOrdered(key[:0], v)
		seen[string(key)] = in
	}
	out := []graph.Value{}
	for _, v := range a {
		key, _ = keys.AppendOrdered(key[:0], v)
		if take, known := seen[string(key)]; known && !take || !known && in {
			continue
		}
		seen[string(key)] = false
		out = append(out, v)
	}
	return out
}

// fewValues is how many values are compared with each other rather than hashed.
const fewValues = 32

func distinctFew(a, b []graph.Value, in bool) []graph.Value {
	var space [512]byte
	var ends [fewValues + 1]int
	buf := space[:0]
	n := 0
	for _, vs := range [2][]graph.Value{b, a} {
		for _, v := range vs {
			n++
			buf, _ = keys.AppendOrdered(buf, v)
			ends[n] = len(buf)
		}
	}
	key := func(i int) []byte { return buf[ends[i]:ends[i+1]] }
	among := func(k []byte, from, to int) bool {
		for i := from; i < to; i++ {
			if bytes.Equal(k, key(i)) {
				return true
			}
		}
		return false
	}
	out := make([]graph.Value, 0, len(a))
	for i, v := range a {
		k := key(len(b) + i)
		if among(k, 0, len(b)) == in && !among(k, len(b), len(b)+i) {
			out = append(out, v)
		}
	}
	return out
}
