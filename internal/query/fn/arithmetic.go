package fn

import (
	"math"
	"math/bits"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// Add is a + b: numbers, strings (also with a number or boolean), lists (also with an element), and instants and
// durations.
func Add(a, b graph.Value) (graph.Value, error) {
	if a.Kind() == graph.Int && b.Kind() == graph.Int {
		x, y := a.Int(), b.Int()
		if c := x + y; (c > x) == (y > 0) {
			return graph.IntValue(c), nil
		}
		return graph.Value{}, overflow(a, "+", b)
	}
	if a.IsNull() || b.IsNull() {
		return graph.Value{}, nil
	}
	if a.IsNumber() && b.IsNumber() {
		return graph.FloatValue(a.Number() + b.Number()), nil
	}
	if a.Kind() == graph.List || b.Kind() == graph.List {
		return addLists(a, b), nil
	}
	if a.Kind() == graph.String || b.Kind() == graph.String {
		if v, ok := concat(a, b); ok {
			return v, nil
		}
		return graph.Value{}, badOperands(a, "+", b)
	}
	if v, ok, err := addTemporal(a, b); ok {
		return v, err
	}
	return graph.Value{}, badOperands(a, "+", b)
}

// Sub is a - b on numbers, durations, and a duration from an instant.
func Sub(a, b graph.Value) (graph.Value, error) {
	if a.Kind() == graph.Int && b.Kind() == graph.Int {
		x, y := a.Int(), b.Int()
		if c := x - y; (c < x) == (y > 0) {
			return graph.IntValue(c), nil
		}
		return graph.Value{}, overflow(a, "-", b)
	}
	if a.IsNull() || b.IsNull() {
		return graph.Value{}, nil
	}
	if a.IsNumber() && b.IsNumber() {
		return graph.FloatValue(a.Number() - b.Number()), nil
	}
	if v, ok, err := subTemporal(a, b); ok {
		return v, err
	}
	return graph.Value{}, badOperands(a, "-", b)
}

// Concat is a || b on two strings or two lists.
func Concat(a, b graph.Value) (graph.Value, error) {
	switch {
	case a.IsNull() || b.IsNull():
		return graph.Value{}, nil
	case a.Kind() == graph.String && b.Kind() == graph.String, a.Kind() == graph.List && b.Kind() == graph.List:
		return Add(a, b)
	}
	return graph.Value{}, badOperands(a, "||", b)
}

// Mul is a * b on numbers, and a duration by a number.
func Mul(a, b graph.Value) (graph.Value, error) {
	if a.Kind() == graph.Int && b.Kind() == graph.Int {
		if c, ok := mulInt(a.Int(), b.Int()); ok {
			return graph.IntValue(c), nil
		}
		return graph.Value{}, overflow(a, "*", b)
	}
	switch {
	case a.IsNull() || b.IsNull():
		return graph.Value{}, nil
	case a.IsNumber() && b.IsNumber():
		return graph.FloatValue(a.Number() * b.Number()), nil
	case a.Kind() == graph.Duration && b.IsNumber():
		return mulDuration(a, b)
	case a.IsNumber() && b.Kind() == graph.Duration:
		return mulDuration(b, a)
	}
	return graph.Value{}, badOperands(a, "*", b)
}

// Div is a / b on numbers, and a duration by a number. Integers give an integer, rounded towards zero.
func Div(a, b graph.Value) (graph.Value, error) {
	if a.Kind() == graph.Int && b.Kind() == graph.Int {
		switch x, y := a.Int(), b.Int(); {
		case y == 0:
			return graph.Value{}, divisionByZero()
		case y == -1 && x == math.MinInt64:
			return graph.Value{}, overflow(a, "/", b)
		default:
			return graph.IntValue(x / y), nil
		}
	}
	switch {
	case a.IsNull() || b.IsNull():
		return graph.Value{}, nil
	case a.IsNumber() && b.IsNumber():
		return graph.FloatValue(a.Number() / b.Number()), nil
	case a.Kind() == graph.Duration && b.IsNumber():
		if b.Number() == 0 {
			return graph.Value{}, divisionByZero()
		}
		d, err := a.Duration().Div(b.Number())
		return durationResult(d, err)
	}
	return graph.Value{}, badOperands(a, "/", b)
}

// Mod is a % b on numbers, with the sign of a.
func Mod(a, b graph.Value) (graph.Value, error) {
	if a.Kind() == graph.Int && b.Kind() == graph.Int {
		switch y := b.Int(); y {
		case 0:
			return graph.Value{}, divisionByZero()
		case -1:
			return graph.IntValue(0), nil
		default:
			return graph.IntValue(a.Int() % y), nil
		}
	}
	switch {
	case a.IsNull() || b.IsNull():
		return graph.Value{}, nil
	case a.IsNumber() && b.IsNumber():
		return graph.FloatValue(math.Mod(a.Number(), b.Number())), nil
	}
	return graph.Value{}, badOperands(a, "%", b)
}

// Pow is a ^ b, which is always a float.
func Pow(a, b graph.Value) (graph.Value, error) {
	switch {
	case a.IsNull() || b.IsNull():
		return graph.Value{}, nil
	case a.IsNumber() && b.IsNumber():
		return graph.FloatValue(math.Pow(a.Number(), b.Number())), nil
	}
	return graph.Value{}, badOperands(a, "^", b)
}

// Neg is -a on numbers and durations.
func Neg(a graph.Value) (graph.Value, error) {
	switch a.Kind() {
	case graph.Null:
		return a, nil
	case graph.Int:
		if a.Int() == math.MinInt64 {
			return graph.Value{}, graph.RuntimeError("ArithmeticError", "IntegerOverflow",
				"integer overflow: -(%d) is too large", a.Int())
		}
		return graph.IntValue(-a.Int()), nil
	case graph.Float:
		return graph.FloatValue(-a.Float()), nil
	case graph.Duration:
		d, err := a.Duration().Negate()
		return durationResult(d, err)
	}
	return graph.Value{}, graph.TypeError("InvalidArgumentType", "cannot negate %s", notation.Describe(a))
}

// Pos is +a on numbers and durations.
func Pos(a graph.Value) (graph.Value, error) {
	if a.IsNull() || a.IsNumber() || a.Kind() == graph.Duration {
		return a, nil
	}
	return graph.Value{}, graph.TypeError("InvalidArgumentType", "cannot apply + to %s", notation.Describe(a))
}

func mulInt(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(abs64(a), abs64(b))
	switch negative := (a < 0) != (b < 0); {
	case hi != 0:
		return 0, false
	case negative:
		return -int64(lo), lo <= 1<<63
	default:
		return int64(lo), lo < 1<<63
	}
}

func abs64(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func addLists(a, b graph.Value) graph.Value {
	var l []graph.Value
	switch {
	case b.Kind() != graph.List:
		l = append(make([]graph.Value, 0, len(a.List())+1), a.List()...)
		l = append(l, b)
	case a.Kind() != graph.List:
		l = append(make([]graph.Value, 0, len(b.List())+1), a)
		l = append(l, b.List()...)
	default:
		l = append(make([]graph.Value, 0, len(a.List())+len(b.List())), a.List()...)
		l = append(l, b.List()...)
	}
	return graph.ListValue(l)
}

// concat joins two strings, or a string and a number or boolean.
func concat(a, b graph.Value) (graph.Value, bool) {
	if a.Kind() == graph.String && b.Kind() == graph.String {
		return graph.StringValue(a.Str() + b.Str()), true
	}
	var buf [64]byte
	dst, ok := notation.AppendScalar(buf[:0], a)
	if !ok {
		return graph.Value{}, false
	}
	if dst, ok = notation.AppendScalar(dst, b); !ok {
		return graph.Value{}, false
	}
	return graph.StringValue(string(dst)), true
}

func overflow(a graph.Value, op string, b graph.Value) error {
	return graph.RuntimeError("ArithmeticError", "IntegerOverflow", "integer overflow: %d %s %d is too large", a.Int(), op, b.Int())
}

func divisionByZero() error {
	return graph.RuntimeError("ArithmeticError", "DivisionByZero", "/ by zero")
}

func badOperands(a graph.Value, op string, b graph.Value) error {
	return graph.TypeError("InvalidArgumentType", "cannot compute %s %s %s", notation.Describe(a), op, notation.Describe(b))
}
