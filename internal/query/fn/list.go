package fn

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// maxRange bounds the elements that range() makes, 24 bytes each, where the context sets no other bound.
const maxRange = 1 << 26

var listFunctions = []Function{
	{
		Name: "size", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{String | List | Vector}, Result: Integer | Null,
		Signature: "size(value :: LIST<ANY> | STRING | VECTOR) :: INTEGER", Description: "The number of elements, characters or coordinates.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			switch a := args[0]; a.Kind() {
			case graph.List:
				return graph.IntValue(int64(len(a.List()))), nil
			case graph.String:
				return graph.IntValue(int64(utf8.RuneCountInString(a.Str()))), nil
			case graph.VectorKind:
				return graph.IntValue(int64(a.Vector().Dimensions())), nil
			case graph.Bytes:
				return graph.IntValue(int64(len(a.Bytes()))), nil
			}
			return null, badArgument("size", args[0], "a List, String or Vector")
		}),
	},
	{
		Name: "head", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{List}, Result: Any,
		Signature: "head(list :: LIST<ANY>) :: ANY", Description: "The first element, or null.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			l, err := listArg("head", args[0])
			if err != nil || len(l) == 0 {
				return null, err
			}
			return l[0], nil
		}),
	},
	{
		Name: "last", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{List}, Result: Any,
		Signature: "last(list :: LIST<ANY>) :: ANY", Description: "The last element, or null.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			l, err := listArg("last", args[0])
			if err != nil || len(l) == 0 {
				return null, err
			}
			return l[len(l)-1], nil
		}),
	},
	{
		Name: "tail", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{List}, Result: List | Null,
		Signature: "tail(list :: LIST<ANY>) :: LIST<ANY>", Description: "All elements but the first.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			l, err := listArg("tail", args[0])
			if err != nil || len(l) == 0 {
				return graph.ListValue(nil), err
			}
			return graph.ListValue(l[1:]), nil
		}),
	},
	{
		Name: "reverse", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{String | List}, Result: String | List | Null,
		Signature:   "reverse(value :: LIST<ANY> | STRING) :: LIST<ANY> | STRING",
		Description: "The elements or characters in the opposite order.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			switch a := args[0]; a.Kind() {
			case graph.List:
				l := slices.Clone(a.List())
				slices.Reverse(l)
				return graph.ListValue(l), nil
			case graph.String:
				r := []rune(a.Str())
				slices.Reverse(r)
				return graph.StringValue(string(r)), nil
			}
			return null, badArgument("reverse", args[0], "a List or String")
		}),
	},
	{
		Name: "range", MinArgs: 2, MaxArgs: 3, Deterministic: true,
		Result: List | Null, Elem: Integer,
		Signature:   "range(start :: INTEGER, end :: INTEGER [, step :: INTEGER]) :: LIST<INTEGER>",
		Description: "The integers from start to end, both included, in steps of 1 or as given.",
		Eval:        strict(rangeOf),
	},
	{
		Name: "keys", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Map | Node | Relationship}, Result: List | Null, Elem: String,
		Signature:   "keys(value :: MAP | NODE | RELATIONSHIP) :: LIST<STRING>",
		Description: "The keys of a map, or of an entity's properties.",
		Eval:        strict(keysOf),
	},
}

// RangeBounds parses the arguments of range(), none of them null, so that the caller can iterate without a list: n numbers from
// start by step.
func RangeBounds(args []graph.Value) (start, step, n int64, err error) {
	whole := [3]int64{2: 1}
	for i, a := range args {
		var ok bool
		if whole[i], ok = a.Whole(); !ok {
			return 0, 0, 0, graph.RuntimeError("ArgumentError", "InvalidArgumentType", "range() expects Integers, but got %s", notation.Describe(a))
		}
	}
	start, end, step := whole[0], whole[1], whole[2]
	switch {
	case step == 0:
		return 0, 0, 0, badNumber("range", args[2], "a step other than 0")
	case step > 0 && start > end, step < 0 && start < end:
		return start, step, 0, nil
	}
	span, by := uint64(end)-uint64(start), abs64(step)
	if step < 0 {
		span = -span
	}
	n = int64(min(span/by, math.MaxInt64-1)) + 1
	return start, step, n, nil
}

func rangeOf(ctx *Context, args []graph.Value) (graph.Value, error) {
	start, step, n, err := RangeBounds(args)
	if err != nil {
		return null, err
	}
	most := ctx.MostCells()
	if n > most {
		return null, graph.BudgetError("range() would make a list of %d elements, more than %d", n, most)
	}
	l := make([]graph.Value, n)
	for i := range l {
		if i&0xffff == 0xffff {
			if err := ctx.Alive(); err != nil {
				return null, err
			}
		}
		l[i] = graph.IntValue(start + int64(i)*step)
	}
	return graph.ListValue(l), nil
}
