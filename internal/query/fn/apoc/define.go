package apoc

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fn"
)

func init() {
	fn.Register("APOC", metaFunctions, textFunctions, similarityFunctions, collFunctions, mapFunctions, convertFunctions, dateFunctions, numberFunctions)
}

var null graph.Value

// call is one call of a function. Its accessors read arguments of the types that the signature declares; a missing one is null.
type call struct {
	*fn.Context
	name string
	args []graph.Value
}

type body = func(c *call) (graph.Value, error)

func (c *call) text(i int) string        { return c.args[i].Str() }
func (c *call) list(i int) []graph.Value { return c.args[i].List() }
func (c *call) int(i int) int64          { return c.args[i].Int() }

func (c *call) textOr(i int, missing string) string {
	if c.args[i].IsNull() {
		return missing
	}
	return c.args[i].Str()
}

func (c *call) intOr(i int, missing int64) int64 {
	if c.args[i].IsNull() {
		return missing
	}
	return c.args[i].Int()
}

func (c *call) boolOr(i int, missing bool) bool {
	if c.args[i].IsNull() {
		return missing
	}
	return c.args[i].Bool()
}

// failed is the error of a call that cannot work with the values of its arguments.
func (c *call) failed(format string, args ...any) error {
	return graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "%s(): "+format, append([]any{c.name}, args...)...)
}

// texts returns the strings of a list argument.
func (c *call) texts(i int) ([]string, error) {
	out := make([]string, len(c.list(i)))
	for k, v := range c.list(i) {
		if v.Kind() != graph.String {
			return nil, graph.TypeError("InvalidArgumentValue", "%s() expects a List of Strings, but it has %s", c.name, notation.Describe(v))
		}
		out[k] = v.Str()
	}
	return out, nil
}

// strict makes a function that is null if a required argument is.
func strict(signature, description string, f body) fn.Function {
	return define(signature, description, true, f)
}

// loose makes a function that sees nulls.
func loose(signature, description string, f body) fn.Function {
	return define(signature, description, false, f)
}

// ofText makes a function of one text.
func ofText(name, description string, f func(string) string) fn.Function {
	return strict(name+"(text :: STRING) :: STRING", description, func(c *call) (graph.Value, error) { return text(f(c.text(0))), nil })
}

// alias makes a function that is another one of the catalogue by APOC's name.
func alias(name, of string) fn.Function {
	f, ok := fn.Lookup(of)
	if !ok {
		panic("apoc: there is no " + of)
	}
	g := *f
	g.Name, g.Signature = name, name+strings.TrimPrefix(f.Signature, f.Name)
	return g
}

// orEmpty makes a function of a list one that gives an empty list for null.
func orEmpty(f fn.Function) fn.Function {
	inner := f.Eval
	f.Eval = func(ctx *fn.Context, args []graph.Value) (graph.Value, error) {
		if args[0].IsNull() {
			return graph.ListValue(nil), nil
		}
		return inner(ctx, args)
	}
	return f
}

// reading marks a function that reads properties.
func reading(f fn.Function) fn.Function {
	f.Records = true
	return f
}

// volatile marks a function whose calls give different values.
func volatile(f fn.Function) fn.Function {
	f.Deterministic, f.Volatile = false, true
	return f
}

func text(s string) graph.Value { return graph.StringValue(s) }

func texts(list []string) graph.Value {
	out := make([]graph.Value, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return graph.ListValue(out)
}

// types are those of signatures: the kinds of their values, and the words for them in errors.
var types = map[string]struct {
	kinds fn.Kinds
	words string
}{
	"STRING": {fn.String, "a String"}, "INTEGER": {fn.Integer, "an Integer"}, "FLOAT": {fn.Float, "a number"}, "NUMBER": {fn.Number, "a number"},
	"BOOLEAN": {fn.Boolean, "a Boolean"}, "MAP": {fn.Map, "a Map"}, "ANY": {fn.Any, "a value"},
}

func typeOf(name string) (fn.Kinds, string) {
	if strings.HasPrefix(name, "LIST<") {
		return fn.List, "a List"
	}
	t, ok := types[name]
	if !ok {
		return fn.Any, "a value"
	}
	return t.kinds, t.words
}

func define(signature, description string, strict bool, f body) fn.Function {
	name, rest, _ := strings.Cut(signature, "(")
	params, result, _ := strings.Cut(rest, ") :: ")
	needed, optional, _ := strings.Cut(params, "[")
	names := typeNames(needed)
	required := len(names)
	names = append(names, typeNames(strings.TrimSuffix(optional, "]"))...)
	kinds, _ := typeOf(result)
	return fn.Function{
		Name: name, MinArgs: required, MaxArgs: len(names), Deterministic: true, Result: kinds | fn.Null, Signature: signature, Description: description,
		Eval: func(ctx *fn.Context, args []graph.Value) (graph.Value, error) {
			c := call{ctx, name, make([]graph.Value, len(names))}
			copy(c.args, args)
			for i, typ := range names {
				if strict && i < required && c.args[i].IsNull() {
					return null, nil
				}
				if err := c.check(i, typ); err != nil {
					return null, err
				}
			}
			return f(&c)
		},
	}
}

// typeNames returns the types of a list of parameters.
func typeNames(params string) (names []string) {
	for p := range strings.SplitSeq(params, ", ") {
		if _, typ, ok := strings.Cut(strings.TrimSpace(p), " :: "); ok {
			names = append(names, typ)
		}
	}
	return names
}

// check checks the type of an argument.
func (c *call) check(i int, typ string) error {
	v := c.args[i]
	want, words := typeOf(typ)
	ok := v.IsNull()
	switch want {
	case fn.String:
		ok = ok || v.Kind() == graph.String
	case fn.Integer:
		if n, whole := v.Whole(); whole {
			c.args[i], ok = graph.IntValue(n), true
		}
	case fn.Float, fn.Number:
		ok = ok || v.IsNumber()
	case fn.Boolean:
		ok = ok || v.Kind() == graph.Bool
	case fn.Map:
		ok = ok || v.Kind() == graph.Map
	case fn.List:
		ok = ok || v.Kind() == graph.List
	default:
		ok = true
	}
	if !ok {
		return graph.TypeError("InvalidArgumentValue", "%s() expects %s, but got %s", c.name, words, notation.Describe(v))
	}
	return nil
}
