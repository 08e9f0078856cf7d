package fn

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

var mathFunctions = []Function{
	constant("e", "The base of the natural logarithm.", math.E),
	constant("pi", "The circle's circumference by its diameter.", math.Pi),
	mapFloat("ceil", "The smallest whole number that is not smaller.", math.Ceil),
	mapFloat("floor", "The largest whole number that is not larger.", math.Floor),
	mapFloat("sqrt", "The square root.", math.Sqrt),
	mapFloat("exp", "The power of e.", math.Exp),
	mapFloat("log", "The natural logarithm.", math.Log),
	mapFloat("log10", "The logarithm to the base 10.", math.Log10),
	mapFloat("sin", "The sine of an angle in radians.", math.Sin),
	mapFloat("cos", "The cosine of an angle in radians.", math.Cos),
	mapFloat("tan", "The tangent of an angle in radians.", math.Tan),
	mapFloat("cot", "The cotangent of an angle in radians.", func(x float64) float64 { return 1 / math.Tan(x) }),
	mapFloat("asin", "The angle in radians with that sine.", math.Asin),
	mapFloat("acos", "The angle in radians with that cosine.", math.Acos),
	mapFloat("atan", "The angle in radians with that tangent.", math.Atan),
	mapFloat("sinh", "The hyperbolic sine.", math.Sinh),
	mapFloat("cosh", "The hyperbolic cosine.", math.Cosh),
	mapFloat("tanh", "The hyperbolic tangent.", math.Tanh),
	mapFloat("coth", "The hyperbolic cotangent.", func(x float64) float64 { return 1 / math.Tanh(x) }),
	mapFloat("degrees", "An angle in radians as degrees.", func(x float64) float64 { return x * 180 / math.Pi }),
	mapFloat("radians", "An angle in degrees as radians.", func(x float64) float64 { return x / 180 * math.Pi }),
	mapFloat("haversin", "Half of the versine of an angle in radians.", func(x float64) float64 { return (1 - math.Cos(x)) / 2 }),
	{
		Name: "atan2", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Result:    Float | Null,
		Signature: "atan2(y :: FLOAT, x :: FLOAT) :: FLOAT", Description: "The angle in radians of a point.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			y, err := numberArg("atan2", args[0])
			if err != nil {
				return null, err
			}
			x, err := numberArg("atan2", args[1])
			return graph.FloatValue(math.Atan2(y, x)), err
		}),
	},
	{
		Name: "abs", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result:      Integer | Float | Duration | Null,
		Signature:   "abs(number :: INTEGER | FLOAT) :: INTEGER | FLOAT",
		Description: "The number without its sign.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			switch a := args[0]; {
			case a.Kind() == graph.Int && a.Int() < 0:
				return Neg(a)
			case a.Kind() == graph.Int:
				return a, nil
			case a.Kind() == graph.Float:
				return graph.FloatValue(math.Abs(a.Float())), nil
			}
			return null, badArgument("abs", args[0], "a number")
		}),
	},
	{
		Name: "sign", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result:    Integer | Null,
		Signature: "sign(number :: INTEGER | FLOAT) :: INTEGER", Description: "-1, 0 or 1 as the number's sign.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			x, err := numberArg("sign", args[0])
			switch {
			case x > 0:
				return graph.IntValue(1), err
			case x < 0:
				return graph.IntValue(-1), err
			}
			return graph.IntValue(0), err
		}),
	},
	{
		Name: "isNaN", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result:    Boolean | Null,
		Signature: "isNaN(number :: INTEGER | FLOAT) :: BOOLEAN", Description: "Whether the number is NaN.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			x, err := numberArg("isNaN", args[0])
			return graph.BoolValue(math.IsNaN(x)), err
		}),
	},
	{
		Name: "round", MinArgs: 1, MaxArgs: 3, Deterministic: true,
		Result:    Float | Null,
		Signature: "round(number :: FLOAT [, precision :: INTEGER [, mode :: STRING]]) :: FLOAT",
		Description: "The nearest number with so many decimal places, 0 unless given. Without a precision, one half rounds " +
			"up; with one, away from zero, or by mode: UP, DOWN, CEILING, FLOOR, HALF_UP, HALF_DOWN, HALF_EVEN.",
		Eval: strict(round),
	},
	{
		Name:     "rand",
		Volatile: true, Result: Float,
		Signature: "rand() :: FLOAT", Description: "A random number from 0 up to, but without, 1.",
		Eval: func(ctx *Context, _ []graph.Value) (graph.Value, error) {
			return graph.FloatValue(float64(ctx.Random()>>11) / (1 << 53)), nil
		},
	},
}

func constant(name, description string, f float64) Function {
	return Function{
		Name: name, Deterministic: true, Result: Float, Signature: name + "() :: FLOAT", Description: description,
		Eval: func(_ *Context, _ []graph.Value) (graph.Value, error) { return graph.FloatValue(f), nil },
	}
}

func mapFloat(name, description string, f func(float64) float64) Function {
	return Function{
		Name: name, MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result: Float | Null, Signature: name + "(number :: FLOAT) :: FLOAT", Description: description,
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			x, err := numberArg(name, args[0])
			if err != nil {
				return null, err
			}
			return graph.FloatValue(f(x)), nil
		}),
	}
}
