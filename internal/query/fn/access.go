package fn

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// In is x IN list.
func In(x, list graph.Value) (graph.Value, error) {
	if list.IsNull() {
		return list, nil
	}
	if list.Kind() != graph.List {
		return graph.Value{}, graph.TypeError("InvalidArgumentType", "IN expects a List, but got %s", notation.Describe(list))
	}
	found := False
	for _, e := range list.List() {
		if found = found.Or(Equal(x, e)); found == True {
			break
		}
	}
	return found.Value(), nil
}

// StartsWith is text STARTS WITH prefix: null unless both are strings.
func StartsWith(text, prefix graph.Value) graph.Value { return onText(text, prefix, strings.HasPrefix) }

// EndsWith is text ENDS WITH suffix: null unless both are strings.
func EndsWith(text, suffix graph.Value) graph.Value { return onText(text, suffix, strings.HasSuffix) }

// Contains is text CONTAINS part: null unless both are strings.
func Contains(text, part graph.Value) graph.Value { return onText(text, part, strings.Contains) }

func onText(a, b graph.Value, test func(a, b string) bool) graph.Value {
	if a.Kind() != graph.String || b.Kind() != graph.String {
		return graph.Value{}
	}
	return graph.BoolValue(test(a.Str(), b.Str()))
}

// Index is x[i]: an element of a list, counted from the end if i is negative and null beyond either end; an entry of a
// map; or a property of a materialised entity.
func Index(x, i graph.Value) (graph.Value, error) {
	if x.IsNull() || i.IsNull() {
		return graph.Value{}, nil
	}
	switch x.Kind() {
	case graph.List:
		if i.Kind() != graph.Int {
			return graph.Value{}, graph.TypeError("InvalidArgumentType", "a list's index must be an Integer, not %s", notation.Describe(i))
		}
		l, at := x.List(), i.Int()
		if at < 0 {
			at += int64(len(l))
		}
		if at < 0 || at >= int64(len(l)) {
			return graph.Value{}, nil
		}
		return l[at], nil
	case graph.Map, graph.VertexKind, graph.EdgeKind, graph.Date, graph.LocalTime, graph.Time, graph.LocalDateTime,
		graph.DateTime, graph.Duration, graph.PointKind:
		if i.Kind() != graph.String {
			return graph.Value{}, graph.TypeError("MapElementAccessByNonString", "a key must be a String, not %s", notation.Describe(i))
		}
		return Property(x, i.Str())
	}
	return graph.Value{}, graph.TypeError("InvalidArgumentType", "cannot take an element of %s", notation.Describe(x))
}

// Slice is list[from..to]. Negative from and to count from the end; both are clamped to the list. An omitted bound is unlimited; a
// null bound makes the result null.
func Slice(list graph.Value, from, to graph.Value, hasFrom, hasTo bool) (graph.Value, error) {
	if list.IsNull() || hasFrom && from.IsNull() || hasTo && to.IsNull() {
		return graph.Value{}, nil
	}
	if list.Kind() != graph.List {
		return graph.Value{}, graph.TypeError("InvalidArgumentType", "cannot take a slice of %s", notation.Describe(list))
	}
	l := list.List()
	low, high := 0, len(l)
	var err error
	if hasFrom {
		if low, err = bound(from, len(l)); err != nil {
			return graph.Value{}, err
		}
	}
	if hasTo {
		if high, err = bound(to, len(l)); err != nil {
			return graph.Value{}, err
		}
	}
	if low >= high {
		return graph.ListValue(nil), nil
	}
	return graph.ListValue(l[low:high:high]), nil
}

func bound(v graph.Value, n int) (int, error) {
	i, ok := v.Whole()
	if !ok {
		return 0, graph.TypeError("InvalidArgumentType", "a slice's bounds must be Integers, not %s", notation.Describe(v))
	}
	if i < 0 {
		i += int64(n)
	}
	return int(max(0, min(i, int64(n)))), nil
}

// Property is x.key: an entry of a map, a component of a temporal value, or a property of a materialised entity. It is
// null if there is none, but a temporal value must have the component.
func Property(x graph.Value, key string) (graph.Value, error) {
	switch x.Kind() {
	case graph.Null:
		return x, nil
	case graph.Map:
		return x.Get(key), nil
	case graph.VertexKind:
		if r := x.Record(); r != nil {
			return r.Property(key), nil
		}
		return graph.Value{}, notMaterialised()
	case graph.EdgeKind:
		if r := x.Edge().Record; r != nil {
			return r.Property(key), nil
		}
		return graph.Value{}, notMaterialised()
	case graph.Duration:
		if n, ok := x.Duration().Component(key); ok {
			return graph.IntValue(n), nil
		}
		return graph.Value{}, noComponent(x, key)
	case graph.PointKind:
		if v, ok := x.Point().Component(key); ok {
			return v, nil
		}
		return graph.Value{}, noComponent(x, key)
	}
	if p, ok := parts(x); ok {
		if n, ok := p.Component(key); ok {
			return graph.IntValue(n), nil
		}
		if s, ok := p.TextComponent(key); ok {
			return graph.StringValue(s), nil
		}
		return graph.Value{}, noComponent(x, key)
	}
	return graph.Value{}, graph.TypeError("InvalidArgumentType", "%s has no properties", notation.Describe(x))
}

func noComponent(x graph.Value, key string) error {
	return graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "%s has no component %q", notation.Describe(x), key)
}

func notMaterialised() error {
	return graph.InternalError("an entity's properties were asked for before they were read", nil)
}

// parts takes an instant apart; it is not ok for other values.
func parts(v graph.Value) (temporal.Parts, bool) {
	switch v.Kind() {
	case graph.Date:
		return v.Date().Parts(), true
	case graph.LocalTime:
		return v.LocalTime().Parts(), true
	case graph.Time:
		return v.Time().Parts(), true
	case graph.LocalDateTime:
		return v.LocalDateTime().Parts(), true
	case graph.DateTime:
		return v.DateTime().Parts(), true
	}
	return temporal.Parts{}, false
}
