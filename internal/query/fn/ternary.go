package fn

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// Ternary is a truth value of Kleene's three-valued logic. By its numbers, AND is the minimum, OR the maximum and NOT the distance
// from True.
type Ternary uint8

// The three truths; Unknown is null.
const (
	False Ternary = iota
	Unknown
	True
)

// TernaryOf converts a bool.
func TernaryOf(b bool) Ternary {
	if b {
		return True
	}
	return False
}

// Value is true, false or null.
func (t Ternary) Value() graph.Value {
	switch t {
	case True:
		return graph.BoolValue(true)
	case False:
		return graph.BoolValue(false)
	}
	return graph.Value{}
}

// And is t AND o.
func (t Ternary) And(o Ternary) Ternary { return min(t, o) }

// Or is t OR o.
func (t Ternary) Or(o Ternary) Ternary { return max(t, o) }

// Not is NOT t.
func (t Ternary) Not() Ternary { return True - t }

// xor is t XOR o.
func (t Ternary) xor(o Ternary) Ternary {
	if t == Unknown || o == Unknown {
		return Unknown
	}
	return TernaryOf(t != o)
}

// Truth reads a value that stands where a predicate is expected: a list is true unless it is empty, and anything else that is
// no boolean and not null is a TypeError.
func Truth(v graph.Value) (Ternary, error) {
	switch v.Kind() {
	case graph.Bool:
		return TernaryOf(v.Bool()), nil
	case graph.Null:
		return Unknown, nil
	case graph.List:
		return TernaryOf(len(v.List()) > 0), nil
	}
	return Unknown, graph.TypeError("InvalidArgumentType", "expected a Boolean, but got %s", notation.Describe(v))
}

// And is a AND b on values, which Truth reads.
func And(a, b graph.Value) (graph.Value, error) { return logic(a, b, Ternary.And) }

// Or is a OR b on values.
func Or(a, b graph.Value) (graph.Value, error) { return logic(a, b, Ternary.Or) }

// Xor is a XOR b on values.
func Xor(a, b graph.Value) (graph.Value, error) { return logic(a, b, Ternary.xor) }

// Not is NOT a on a value.
func Not(a graph.Value) (graph.Value, error) {
	t, err := Truth(a)
	if err != nil {
		return graph.Value{}, err
	}
	return t.Not().Value(), nil
}

func logic(a, b graph.Value, op func(a, b Ternary) Ternary) (graph.Value, error) {
	x, err := Truth(a)
	if err != nil {
		return graph.Value{}, err
	}
	y, err := Truth(b)
	if err != nil {
		return graph.Value{}, err
	}
	return op(x, y).Value(), nil
}
