package fn

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// eval is the type of Function.Eval.
type eval = func(ctx *Context, args []graph.Value) (graph.Value, error)

var null graph.Value

// strict returns a function that is null if any argument is null.
func strict(f eval) eval {
	return func(ctx *Context, args []graph.Value) (graph.Value, error) {
		for i := range args {
			if args[i].IsNull() {
				return null, nil
			}
		}
		return f(ctx, args)
	}
}

// badArgument returns the error of a function called with a value of the wrong type.
func badArgument(name string, v graph.Value, wanted string) error {
	return graph.TypeError("InvalidArgumentValue", "%s() expects %s, but got %s", name, wanted, notation.Describe(v))
}

// badNumber returns the error of a function called with a number out of range.
func badNumber(name string, v graph.Value, wanted string) error {
	return graph.RuntimeError("ArgumentError", "NumberOutOfRange", "%s() expects %s, but got %s", name, wanted, notation.Describe(v))
}

// textArg takes a string argument.
func textArg(name string, v graph.Value) (string, error) {
	if v.Kind() != graph.String {
		return "", badArgument(name, v, "a String")
	}
	return v.Str(), nil
}

// intArg takes an integer argument.
func intArg(name string, v graph.Value) (int64, error) {
	n, ok := v.Whole()
	if !ok {
		return 0, badArgument(name, v, "an Integer")
	}
	return n, nil
}

// countArg takes an integer argument that must not be negative.
func countArg(name string, v graph.Value) (int, error) {
	n, err := intArg(name, v)
	if err == nil && n < 0 {
		err = badNumber(name, v, "an Integer that is not negative")
	}
	const most = 1 << 40 // beyond any length
	return int(min(n, most)), err
}

// numberArg takes a number argument as a float.
func numberArg(name string, v graph.Value) (float64, error) {
	if !v.IsNumber() {
		return 0, badArgument(name, v, "a number")
	}
	return v.Number(), nil
}

// listArg takes a list argument.
func listArg(name string, v graph.Value) ([]graph.Value, error) {
	if v.Kind() != graph.List {
		return nil, badArgument(name, v, "a List")
	}
	return v.List(), nil
}

// CallFailed is the error of a procedure whose arguments it cannot work with.
func CallFailed(format string, args ...any) error {
	e := graph.RuntimeError("ProcedureError", "ProcedureCallFailed", format, args...)
	e.Code = "Neo.ClientError.Procedure.ProcedureCallFailed"
	return e
}
