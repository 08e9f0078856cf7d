package apoc

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// Version is the release of APOC whose names clients may expect.
const Version = "5.26.0"

var metaFunctions = []fn.Function{
	loose("apoc.version() :: STRING", "The version of APOC, some of whose names the server knows.",
		func(*call) (graph.Value, error) { return text(Version), nil }),
	loose("apoc.any.property(thing :: MAP | NODE | RELATIONSHIP, key :: STRING) :: ANY", "A property, as thing[key].",
		func(c *call) (graph.Value, error) { return fn.Index(c.args[0], c.args[1]) }),
	loose("apoc.meta.cypher.types(properties :: MAP) :: MAP", "The types of a map's values, by their keys.", func(c *call) (graph.Value, error) {
		out := make([]graph.MapEntry, len(c.args[0].Map()))
		for i, e := range c.args[0].Map() {
			out[i] = graph.MapEntry{Key: e.Key, Value: text(typeName(e.Value))}
		}
		return graph.MapValue(out), nil
	}),
	loose("apoc.meta.cypher.type(value :: ANY) :: STRING", "The type of a value.",
		func(c *call) (graph.Value, error) { return text(typeName(c.args[0])), nil }),
	loose("apoc.meta.cypher.isType(value :: ANY, type :: STRING) :: BOOLEAN", "Whether a value has a type.",
		func(c *call) (graph.Value, error) {
			return graph.BoolValue(strings.EqualFold(typeName(c.args[0]), c.text(1))), nil
		}),
	loose("apoc.util.validatePredicate(predicate :: BOOLEAN, message :: STRING [, params :: LIST<ANY>]) :: BOOLEAN",
		"True, or an error with a message if the predicate holds.",
		func(c *call) (graph.Value, error) {
			return Validate("function `apoc.util.validatePredicate`", c.args[0], c.args[1], c.args[2])
		}),
}

// Validate fails with a message, whose %s and %d params replace, if the predicate is true; otherwise it returns true. The error names the
// caller in Neo4j's words, after which clients such as @neo4j/graphql find the message.
func Validate(caller string, predicate, message, params graph.Value) (graph.Value, error) {
	if predicate.Kind() != graph.Bool || !predicate.Bool() {
		return graph.BoolValue(true), nil
	}
	if message.Kind() != graph.String {
		return null, graph.TypeError("InvalidArgumentValue", "apoc.util.validate() expects a String, but got %s", notation.Describe(message))
	}
	format := message.Str()
	var list []graph.Value
	if params.Kind() == graph.List {
		list = params.List()
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] == '%' && i+1 < len(format) {
			switch c := format[i+1]; {
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
		b.WriteByte(format[i])
	}
	return null, fn.CallFailed("Failed to invoke %s: Caused by: java.lang.RuntimeException: %s", caller, b.String())
}

// typeName names the type of a value as apoc.meta.cypher.types does.
func typeName(v graph.Value) string {
	switch v.Kind() {
	case graph.Int:
		return "INTEGER"
	case graph.List:
		of := ""
		for _, e := range v.List() {
			t := typeName(e)
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
