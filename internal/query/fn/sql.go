package fn

import (
	"math"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// The functions named sql.… are SQL functions with MySQL's semantics, for front ends that speak SQL. They never fail on the type of
// a value: they convert strings to numbers and numbers to strings as needed, and a failed conversion is null.

// sqlFunction defines such a function. It returns null if an argument is null, unless nulls is set.
func sqlFunction(name string, lo, hi int, f func(ctx *Context, args []graph.Value) graph.Value) Function {
	return Function{
		Name: "sql." + name, MinArgs: lo, MaxArgs: hi, Deterministic: true, Internal: true, Result: Any,
		Signature: "sql." + name + "(arguments :: ANY) :: ANY", Description: "SQL's " + name + ".",
		Eval: strict(func(ctx *Context, args []graph.Value) (graph.Value, error) { return f(ctx, args), nil }),
	}
}

// sqlNulls defines a function that accepts nulls.
func sqlNulls(name string, lo, hi int, f func(ctx *Context, args []graph.Value) graph.Value) Function {
	s := sqlFunction(name, lo, hi, f)
	s.Eval = func(ctx *Context, args []graph.Value) (graph.Value, error) { return f(ctx, args), nil }
	return s
}

// sqlTexts makes one whose first n arguments are texts.
func sqlTexts(name string, n int, f func(s []string) graph.Value) Function {
	return sqlFunction(name, n, n, func(_ *Context, args []graph.Value) graph.Value {
		var s [4]string
		for i := range args {
			s[i] = sqlText(args[i])
		}
		return f(s[:n])
	})
}

// sqlFloats defines a function of a number; other values yield null.
func sqlFloats(name string, f func(x float64) float64) Function {
	return sqlFunction(name, 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		return sqlFloat(f(sqlNumber(args[0]).Number()))
	})
}

func sqlFloat(x float64) graph.Value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return null
	}
	return graph.FloatValue(x)
}

func text(s string) graph.Value { return graph.StringValue(s) }

func sqlBool(b bool) graph.Value {
	if b {
		return graph.IntValue(1)
	}
	return graph.IntValue(0)
}

// sqlText is a value as a text; lists are JSON.
func sqlText(v graph.Value) string {
	switch v.Kind() {
	case graph.String:
		return v.Str()
	case graph.Null:
		return ""
	case graph.Bool:
		return sqlText(sqlBool(v.Bool()))
	case graph.Float:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return string(notation.Append(nil, v))
}

// sqlNumber is a value as an Int or a Float: of a text the number that it begins with, or 0.
func sqlNumber(v graph.Value) graph.Value {
	switch v.Kind() {
	case graph.Int, graph.Float, graph.Null:
		return v
	case graph.Bool:
		return sqlBool(v.Bool())
	case graph.String:
		return numberPrefix(v.Str())
	}
	return graph.IntValue(0)
}

// numberPrefix reads the number that a text begins with.
func numberPrefix(s string) graph.Value {
	s = strings.TrimLeft(s, " \t\n\r")
	i, digits, whole := 0, 0, true
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	for ; i < len(s) && (isDigit(s[i]) || s[i] == '.' && whole); i++ {
		if s[i] == '.' {
			whole = false
		} else {
			digits++
		}
	}
	if digits == 0 {
		return graph.IntValue(0)
	}
	if i+1 < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if s[j] == '-' || s[j] == '+' {
			j++
		}
		if j < len(s) && isDigit(s[j]) {
			for whole = false; j < len(s) && isDigit(s[j]); j++ {
			}
			i = j
		}
	}
	if whole {
		if n, err := strconv.ParseInt(s[:i], 10, 64); err == nil {
			return graph.IntValue(n)
		}
	}
	f, _ := strconv.ParseFloat(s[:i], 64)
	return graph.FloatValue(f)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// sqlInt is a value as an integer, rounded.
func sqlInt(v graph.Value) int64 {
	n := sqlNumber(v)
	if n.Kind() == graph.Float {
		return floatToInt(math.Round(n.Float()))
	}
	return n.Int()
}

func floatToInt(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// sqlTrue reports whether a value is a number that is not 0.
func sqlTrue(v graph.Value) bool {
	n := sqlNumber(v)
	return n.IsNumber() && n.Number() != 0
}

// sqlCompare orders two values: as numbers where one is a number, else as texts.
func sqlCompare(a, b graph.Value) int {
	if c, ok := Compare(a, b); ok {
		return c
	}
	if a.IsNumber() || b.IsNumber() {
		c, _ := Compare(sqlNumber(a), sqlNumber(b))
		return c
	}
	return strings.Compare(sqlText(a), sqlText(b))
}

// sqlArithmetic are the operators.
var sqlArithmetic = []Function{
	sqlOperator("plus", Add, func(a, b float64) float64 { return a + b }),
	sqlOperator("minus", Sub, func(a, b float64) float64 { return a - b }),
	sqlOperator("multiply", Mul, func(a, b float64) float64 { return a * b }),
	sqlFunction("divide", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		a, b := sqlNumber(args[0]), sqlNumber(args[1])
		if b.Number() == 0 {
			return null
		}
		if a.Kind() == graph.Int && b.Kind() == graph.Int {
			return graph.FloatValue(roundTo(a.Number()/b.Number(), 4))
		}
		return sqlFloat(a.Number() / b.Number())
	}),
	sqlFunction("div", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		b := sqlNumber(args[1]).Number()
		if b == 0 {
			return null
		}
		return graph.IntValue(floatToInt(math.Trunc(sqlNumber(args[0]).Number() / b)))
	}),
	sqlFunction("modulo", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		a, b := sqlNumber(args[0]), sqlNumber(args[1])
		switch {
		case b.Number() == 0:
			return null
		case a.Kind() == graph.Int && b.Kind() == graph.Int && b.Int() == -1:
			return graph.IntValue(0)
		case a.Kind() == graph.Int && b.Kind() == graph.Int:
			return graph.IntValue(a.Int() % b.Int())
		}
		return sqlFloat(math.Mod(a.Number(), b.Number()))
	}),
	sqlFunction("average", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		sum, n := args[0], args[1]
		if n.Kind() != graph.Int || n.Int() == 0 || !sum.IsNumber() {
			return null
		}
		if sum.Kind() == graph.Int {
			return graph.FloatValue(roundTo(sum.Number()/n.Number(), 4))
		}
		return sqlFloat(sum.Number() / n.Number())
	}),
	sqlFunction("truth", 1, 1, func(_ *Context, args []graph.Value) graph.Value { return graph.BoolValue(sqlTrue(args[0])) }),
	sqlFunction("number", 1, 1, func(_ *Context, args []graph.Value) graph.Value { return sqlNumber(args[0]) }),
	sqlFunction("text", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		if args[0].Kind() == graph.String {
			return args[0]
		}
		return text(sqlText(args[0]))
	}),
	sqlFunction("abs", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		n := sqlNumber(args[0])
		if n.Kind() == graph.Int && n.Int() != math.MinInt64 {
			return graph.IntValue(max(n.Int(), -n.Int()))
		}
		return graph.FloatValue(math.Abs(n.Number()))
	}),
	sqlFunction("sign", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		n := sqlNumber(args[0]).Number()
		switch {
		case n > 0:
			return graph.IntValue(1)
		case n < 0:
			return graph.IntValue(-1)
		}
		return graph.IntValue(0)
	}),
	sqlRounding("ceil", math.Ceil), sqlRounding("floor", math.Floor),
	sqlFunction("round", 1, 2, func(_ *Context, args []graph.Value) graph.Value { return sqlRound(args, roundTo) }),
	sqlFunction("truncate", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		return sqlRound(args, func(x float64, digits int) float64 {
			p := math.Pow10(digits)
			return math.Trunc(x*p) / p
		})
	}),
	sqlFloats("sqrt", math.Sqrt), sqlFloats("exp", math.Exp), sqlFloats("ln", math.Log), sqlFloats("log2", math.Log2),
	sqlFloats("log10", math.Log10), sqlFloats("sin", math.Sin), sqlFloats("cos", math.Cos), sqlFloats("tan", math.Tan),
	sqlFloats("asin", math.Asin), sqlFloats("acos", math.Acos), sqlFloats("atan", math.Atan),
	sqlFloats("cot", func(x float64) float64 { return 1 / math.Tan(x) }),
	sqlFloats("degrees", func(x float64) float64 { return x * 180 / math.Pi }),
	sqlFloats("radians", func(x float64) float64 { return x / 180 * math.Pi }),
	sqlFunction("log", 1, 2, func(_ *Context, args []graph.Value) graph.Value {
		if len(args) == 1 {
			return sqlFloat(math.Log(sqlNumber(args[0]).Number()))
		}
		return sqlFloat(math.Log(sqlNumber(args[1]).Number()) / math.Log(sqlNumber(args[0]).Number()))
	}),
	sqlFunction("pow", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		return sqlFloat(math.Pow(sqlNumber(args[0]).Number(), sqlNumber(args[1]).Number()))
	}),
	sqlFunction("atan2", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		return sqlFloat(math.Atan2(sqlNumber(args[0]).Number(), sqlNumber(args[1]).Number()))
	}),
	sqlFunction("pi", 0, 0, func(*Context, []graph.Value) graph.Value { return graph.FloatValue(math.Pi) }),
	sqlFunction("greatest", 2, -1, func(_ *Context, args []graph.Value) graph.Value { return sqlMost(args, 1) }),
	sqlFunction("least", 2, -1, func(_ *Context, args []graph.Value) graph.Value { return sqlMost(args, -1) }),
	sqlNulls("if", 3, 3, func(_ *Context, args []graph.Value) graph.Value {
		if args[0].Kind() == graph.Bool && args[0].Bool() || args[0].Kind() != graph.Bool && sqlTrue(args[0]) {
			return args[1]
		}
		return args[2]
	}),
	sqlNulls("nullif", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		if !args[0].IsNull() && !args[1].IsNull() && sqlCompare(args[0], args[1]) == 0 {
			return null
		}
		return args[0]
	}),
	sqlNulls("isnull", 1, 1, func(_ *Context, args []graph.Value) graph.Value { return sqlBool(args[0].IsNull()) }),
	sqlFunction("cast", 2, 2, func(_ *Context, args []graph.Value) graph.Value { return sqlCast(args[0], args[1].Str()) }),
}

func sqlOperator(name string, whole func(a, b graph.Value) (graph.Value, error), f func(a, b float64) float64) Function {
	return sqlFunction(name, 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		a, b := sqlNumber(args[0]), sqlNumber(args[1])
		if a.Kind() == graph.Int && b.Kind() == graph.Int {
			if v, err := whole(a, b); err == nil {
				return v
			}
		}
		return sqlFloat(f(a.Number(), b.Number()))
	})
}

func sqlRounding(name string, f func(float64) float64) Function {
	return sqlFunction(name, 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		n := sqlNumber(args[0])
		if n.Kind() == graph.Int {
			return n
		}
		return graph.IntValue(floatToInt(f(n.Float())))
	})
}

func sqlRound(args []graph.Value, f func(x float64, digits int) float64) graph.Value {
	n := sqlNumber(args[0])
	digits := 0
	if len(args) == 2 {
		digits = int(min(max(sqlInt(args[1]), -30), 30))
	}
	if n.Kind() == graph.Int && digits >= 0 {
		return n
	}
	x := f(n.Number(), digits)
	if digits <= 0 {
		return graph.IntValue(floatToInt(x))
	}
	return sqlFloat(x)
}

// roundTo rounds half away from zero.
func roundTo(x float64, digits int) float64 {
	p := math.Pow10(digits)
	if y := math.Round(x*p) / p; !math.IsInf(y, 0) && !math.IsNaN(y) {
		return y
	}
	return x
}

func sqlMost(args []graph.Value, sign int) graph.Value {
	best := args[0]
	for _, v := range args[1:] {
		if sqlCompare(v, best)*sign > 0 {
			best = v
		}
	}
	return best
}

// sqlCast converts a value to a type; times are strings, as they are stored.
func sqlCast(v graph.Value, typ string) graph.Value {
	switch typ {
	case "SIGNED", "UNSIGNED", "INT", "INTEGER", "BIGINT":
		return graph.IntValue(sqlInt(v))
	case "DECIMAL", "NUMERIC", "DOUBLE", "FLOAT", "REAL":
		return graph.FloatValue(sqlNumber(v).Number())
	case "DATE", "DATETIME", "TIMESTAMP", "TIME":
		t, ok := sqlTime(v)
		if !ok {
			return null
		}
		switch typ {
		case "DATE":
			return text(t.Format("2006-01-02"))
		case "TIME":
			return text(t.Format("15:04:05"))
		}
		return text(t.Format("2006-01-02 15:04:05"))
	case "JSON":
		return jsonOf(v)
	}
	return text(sqlText(v))
}
