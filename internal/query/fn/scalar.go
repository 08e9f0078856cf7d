package fn

import (
	"encoding/hex"
	"math/rand/v2"

	"github.com/hopgate/hopgate/internal/graph"
)

var scalarFunctions = []Function{
	{
		Name: "coalesce", MinArgs: 1, MaxArgs: -1, Deterministic: true,
		Result:    Any,
		Signature: "coalesce(value :: ANY, …) :: ANY", Description: "The first value that is not null.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			for _, a := range args {
				if !a.IsNull() {
					return a, nil
				}
			}
			return null, nil
		},
	},
	{
		Name: "nullIf", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Result:    Any,
		Signature: "nullIf(a :: ANY, b :: ANY) :: ANY", Description: "Null if the two values are equal, else the first.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			if Equal(args[0], args[1]) == True {
				return null, nil
			}
			return args[0], nil
		},
	},
	{
		Name: "exists", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result:    Boolean | Null,
		Signature: "exists(value :: ANY) :: BOOLEAN", Description: "Whether a property is not null, or a pattern has a match.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			return graph.BoolValue(!args[0].IsNull()), nil
		},
	},
	{
		Name: "valueType", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result:    String,
		Signature: "valueType(value :: ANY) :: STRING", Description: "The most precise type that the value has, as a text.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			return graph.StringValue(typeText(args[0])), nil
		},
	},
	{
		Name: "isEmpty", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{String | List | Map}, Result: Boolean | Null,
		Signature:   "isEmpty(value :: LIST<ANY> | MAP | STRING) :: BOOLEAN",
		Description: "Whether a list, map or string holds nothing.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			switch a := args[0]; a.Kind() {
			case graph.List:
				return graph.BoolValue(len(a.List()) == 0), nil
			case graph.Map:
				return graph.BoolValue(len(a.Map()) == 0), nil
			case graph.String:
				return graph.BoolValue(a.Str() == ""), nil
			}
			return null, badArgument("isEmpty", args[0], "a List, Map or String")
		}),
	},
	{
		Name:      "timestamp",
		Result:    Integer,
		Signature: "timestamp() :: INTEGER", Description: "The milliseconds since 1970-01-01T00:00Z when the statement began.",
		Eval: func(ctx *Context, _ []graph.Value) (graph.Value, error) {
			return graph.IntValue(ctx.Statement.UnixMilli()), nil
		},
	},
	{
		Name:     "randomUUID",
		Volatile: true, Result: String,
		Signature: "randomUUID() :: STRING", Description: "A random UUID of version 4.",
		Eval: func(ctx *Context, _ []graph.Value) (graph.Value, error) {
			return graph.StringValue(ctx.UUID()), nil
		},
	},
}

// Random returns 64 random bits of the context's source.
func (ctx *Context) Random() uint64 {
	if ctx.Rand != nil {
		return ctx.Rand.Uint64()
	}
	return rand.Uint64()
}

// UUID creates a random UUID of version 4.
func (ctx *Context) UUID() string {
	var b [16]byte
	for i := 0; i < len(b); i += 8 {
		r := ctx.Random()
		for j := range 8 {
			b[i+j] = byte(r >> (8 * j))
		}
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	text := make([]byte, 0, 36)
	for i, part := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, part)
	}
	return string(text)
}
