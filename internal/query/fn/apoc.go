package fn

import (
	"math"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// apocVersion is the release of APOC whose names clients may expect.
const apocVersion = "5.26.0"

var apocFunctions = []Function{
	{
		Name: "apoc.version", Deterministic: true,
		Result:    String,
		Signature: "apoc.version() :: STRING", Description: "The version of APOC, some of whose names the server knows.",
		Eval: func(*Context, []graph.Value) (graph.Value, error) { return graph.StringValue(apocVersion), nil },
	},
	{
		Name: "apoc.any.property", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Result:    Any,
		Signature: "apoc.any.property(thing :: MAP | NODE | RELATIONSHIP, key :: STRING) :: ANY", Description: "A property, as thing[key].",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) { return Index(args[0], args[1]) },
	},
	{
		Name: "apoc.coll.flatten", MinArgs: 1, MaxArgs: 2, Deterministic: true,
		Args: []Kinds{List, Boolean}, Result: List | Null,
		Signature:   "apoc.coll.flatten(coll :: LIST<ANY> [, recursive :: BOOLEAN]) :: LIST<ANY>",
		Description: "The list with the elements of the lists in it in their place, one level deep or, if recursive, at all levels.",
		Eval: onListOf("apoc.coll.flatten", func(c *Context, l, args []graph.Value) (graph.Value, error) {
			depth := 1
			if len(args) > 0 && args[0].Kind() == graph.Bool && args[0].Bool() {
				depth = math.MaxInt
			}
			out, err := flatten(c, []graph.Value{}, l, depth)
			return graph.ListValue(out), err
		}),
	},
	{
		Name: "apoc.coll.sort", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{List}, Result: List | Null,
		Signature: "apoc.coll.sort(coll :: LIST<ANY>) :: LIST<ANY>", Description: "The elements in the order of ORDER BY.",
		Eval: onListOf("apoc.coll.sort", sorted),
	},
	{
		Name: "apoc.coll.toSet", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{List}, Result: List | Null,
		Signature: "apoc.coll.toSet(coll :: LIST<ANY>) :: LIST<ANY>", Description: "The elements without those that equal one before them.",
		Eval: onListOf("apoc.coll.toSet", distinctOf),
	},
	{
		Name: "apoc.date.convertFormat", MinArgs: 2, MaxArgs: 3, Deterministic: true,
		Result:      String | Null,
		Signature:   "apoc.date.convertFormat(temporal :: STRING, currentFormat :: STRING [, convertTo :: STRING]) :: STRING",
		Description: "The text of an instant in another format: a pattern of Java's DateTimeFormatter, or the name of one, such as iso_zoned_date_time.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			var texts [3]string
			texts[2] = "yyyy-MM-dd"
			for i, a := range args {
				var err error
				if texts[i], err = textArg("apoc.date.convertFormat", a); err != nil {
					return null, err
				}
			}
			if texts[0] == "" {
				return null, nil
			}
			p, err := temporal.ParsePattern(texts[0], temporal.NamedPattern(texts[1]))
			if err != nil {
				return temporalResult(null, err)
			}
			text, err := p.Format(temporal.NamedPattern(texts[2]))
			return temporalResult(graph.StringValue(text), err)
		}),
	},
	{
		Name: "apoc.map.clean", MinArgs: 3, MaxArgs: 3, Deterministic: true,
		Result:      Map | Null,
		Signature:   "apoc.map.clean(map :: MAP, keys :: LIST<STRING>, values :: LIST<ANY>) :: MAP",
		Description: "The map without some keys, some values and nulls.",
		Eval:        cleanMap,
	},
	{
		Name: "apoc.meta.cypher.types", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Result:      Map,
		Signature:   "apoc.meta.cypher.types(properties :: MAP) :: MAP",
		Description: "The types of a map's values, by their keys.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].IsNull() {
				return graph.MapValue(nil), nil
			}
			if args[0].Kind() != graph.Map {
				return null, badArgument("apoc.meta.cypher.types", args[0], "a Map")
			}
			out := make([]graph.MapEntry, len(args[0].Map()))
			for i, e := range args[0].Map() {
				out[i] = graph.MapEntry{Key: e.Key, Value: graph.StringValue(apocType(e.Value))}
			}
			return graph.MapValue(out), nil
		},
	},
	{
		Name: "apoc.util.validatePredicate", MinArgs: 2, MaxArgs: 3,
		Result:      Boolean,
		Signature:   "apoc.util.validatePredicate(predicate :: BOOLEAN, message :: STRING [, params :: LIST<ANY>]) :: BOOLEAN",
		Description: "True, or an error with a message if the predicate holds.",
		Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
			var params graph.Value
			if len(args) > 2 {
				params = args[2]
			}
			return Validate(args[0], args[1], params)
		},
	},
}

func cleanMap(_ *Context, args []graph.Value) (graph.Value, error) {
	const name = "apoc.map.clean"
	if args[0].IsNull() {
		return null, nil
	}
	if args[0].Kind() != graph.Map {
		return null, badArgument(name, args[0], "a Map")
	}
	var drops [2][]graph.Value // keys and values
	for i := range drops {
		if args[1+i].IsNull() {
			continue
		}
		var err error
		if drops[i], err = listArg(name, args[1+i]); err != nil {
			return null, err
		}
	}
	keys, values := drops[0], drops[1]
	out := []graph.MapEntry{}
	for _, e := range args[0].Map() {
		drop := e.Value.IsNull() || slices.ContainsFunc(keys, func(k graph.Value) bool { return k.Kind() == graph.String && k.Str() == e.Key }) ||
			slices.ContainsFunc(values, func(v graph.Value) bool { return Equivalent(v, e.Value) })
		if !drop {
			out = append(out, e)
		}
	}
	return graph.MapValue(out), nil
}

// Validate fails with a message, whose %s and %d params replace, if the predicate is true; otherwise it returns true.
func Validate(predicate, message, params graph.Value) (graph.Value, error) {
	if predicate.Kind() != graph.Bool || !predicate.Bool() {
		return graph.BoolValue(true), nil
	}
	text, err := textArg("apoc.util.validate", message)
	if err != nil {
		return null, err
	}
	var list []graph.Value
	if params.Kind() == graph.List {
		list = params.List()
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+1 < len(text) {
			switch c := text[i+1]; {
			case c == '%':
				b.WriteByte('%')
				i++
				continue
			case strings.IndexByte("sdfb", c) >= 0 && len(list) > 0:
				if list[0].Kind() == graph.String {
					b.WriteString(list[0].Str())
				} else {
					b.Write(notation.Append(nil, list[0]))
				}
				list = list[1:]
				i++
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return null, CallFailed("%s", b.String())
}

// CallFailed is the error of a procedure whose arguments it cannot work with.
func CallFailed(format string, args ...any) error {
	e := graph.RuntimeError("ProcedureError", "ProcedureCallFailed", format, args...)
	e.Code = "Neo.ClientError.Procedure.ProcedureCallFailed"
	return e
}

// apocType names the type of a value as apoc.meta.cypher.types does.
func apocType(v graph.Value) string {
	switch v.Kind() {
	case graph.Int:
		return "INTEGER"
	case graph.List:
		of := ""
		for _, e := range v.List() {
			t := apocType(e)
			if of != "" && of != t {
				t = "ANY"
			}
			of = t
		}
		if of == "" {
			of = "ANY"
		}
		return "LIST OF " + of
	case graph.LocalTime:
		return "LOCAL_TIME"
	case graph.LocalDateTime:
		return "LOCAL_DATE_TIME"
	case graph.DateTime:
		return "DATE_TIME"
	case graph.VertexKind:
		return "NODE"
	case graph.EdgeKind:
		return "RELATIONSHIP"
	}
	return strings.ToUpper(v.Kind().String())
}
