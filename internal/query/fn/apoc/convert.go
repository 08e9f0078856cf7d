package apoc

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fn"
)

var convertFunctions = []fn.Function{
	reading(loose("apoc.convert.toJson(value :: ANY) :: STRING", "The value in JSON.", func(c *call) (graph.Value, error) {
		return text(string(notation.PlainJSON.Append(nil, c.args[0]))), nil
	})),
	strict("apoc.convert.fromJsonMap(json :: STRING) :: MAP", "The map that is a JSON object.", func(c *call) (graph.Value, error) {
		return c.fromJSON(graph.Map, "an object")
	}),
	strict("apoc.convert.fromJsonList(json :: STRING) :: LIST<ANY>", "The list that is a JSON array.", func(c *call) (graph.Value, error) {
		return c.fromJSON(graph.List, "an array")
	}),
	reading(loose("apoc.convert.toMap(map :: ANY) :: MAP", "The map that a value is, or the properties of an entity; else null.", func(c *call) (graph.Value, error) {
		switch v := c.args[0]; v.Kind() {
		case graph.Map:
			return v, nil
		case graph.VertexKind, graph.EdgeKind:
			properties, _ := fn.Lookup("properties")
			return properties.Eval(c.Context, c.args[:1])
		}
		return null, nil
	})),
	loose("apoc.convert.toList(value :: ANY) :: LIST<ANY>", "The list that a value is, or one of the value.", func(c *call) (graph.Value, error) { return c.asList(), nil }),
	loose("apoc.convert.toSet(list :: ANY) :: LIST<ANY>", "The list that a value is, each value once.", func(c *call) (graph.Value, error) {
		if l := c.asList(); !l.IsNull() {
			return graph.ListValue(bagOf(l.List()).values), nil
		}
		return null, nil
	}),
	reading(loose("apoc.convert.toString(value :: ANY) :: STRING", "The text of a value.", func(c *call) (graph.Value, error) {
		if c.args[0].IsNull() {
			return null, nil
		}
		return c.converted("toStringOrNull", c.args[0])
	})),
	loose("apoc.convert.toInteger(value :: ANY) :: INTEGER", "The integer that a value is or that its text says; else null. Hexadecimal digits follow 0x.", func(c *call) (graph.Value, error) {
		return c.toInteger(c.args[0])
	}),
	loose("apoc.convert.toFloat(value :: ANY) :: FLOAT", "The float that a value is or that its text says; else null.", func(c *call) (graph.Value, error) {
		return c.converted("toFloatOrNull", c.args[0])
	}),
	loose("apoc.convert.toBoolean(value :: ANY) :: BOOLEAN", "False for null, 0, an empty list or map, and the texts no, false, 0 and the empty one; else true.",
		func(c *call) (graph.Value, error) { return graph.BoolValue(truthy(c.args[0])), nil }),
	lists("String", func(c *call, v graph.Value) (graph.Value, error) {
		if v.IsNull() {
			return null, nil
		}
		return text(plain(v)), nil
	}),
	lists("Int", (*call).toInteger), lists("Float", func(c *call, v graph.Value) (graph.Value, error) { return c.converted("toFloatOrNull", v) }),
	lists("Boolean", func(_ *call, v graph.Value) (graph.Value, error) { return graph.BoolValue(truthy(v)), nil }),
	loose("apoc.convert.toNode(node :: ANY) :: NODE", "The node that a value is, or null.", func(c *call) (graph.Value, error) { return c.ofKind(graph.VertexKind) }),
	loose("apoc.convert.toRelationship(rel :: ANY) :: RELATIONSHIP", "The relationship that a value is, or null.",
		func(c *call) (graph.Value, error) { return c.ofKind(graph.EdgeKind) }),
}

// lists makes a function that converts the elements of a list.
func lists(name string, convert func(c *call, v graph.Value) (graph.Value, error)) fn.Function {
	element := map[string]string{"String": "STRING", "Int": "INTEGER", "Float": "FLOAT", "Boolean": "BOOLEAN"}[name]
	return strict("apoc.convert.to"+name+"List(list :: LIST<ANY>) :: LIST<"+element+">", "The list with each element converted.", func(c *call) (graph.Value, error) {
		out := make([]graph.Value, len(c.list(0)))
		for i, v := range c.list(0) {
			var err error
			if out[i], err = convert(c, v); err != nil {
				return null, err
			}
		}
		return graph.ListValue(out), nil
	})
}

func (c *call) ofKind(kind graph.ValueKind) (graph.Value, error) {
	if c.args[0].Kind() == kind {
		return c.args[0], nil
	}
	return null, nil
}

func (c *call) asList() graph.Value {
	switch v := c.args[0]; v.Kind() {
	case graph.List, graph.Null:
		return v
	case graph.VectorKind:
		return graph.ListValue(v.Vector().List())
	default:
		return graph.ListValue([]graph.Value{v})
	}
}

// converted converts a value by a function of openCypher; what that cannot convert is text in its notation, or null.
func (c *call) converted(name string, v graph.Value) (graph.Value, error) {
	f, _ := fn.Lookup(name)
	out, err := f.Eval(c.Context, []graph.Value{v})
	if err == nil && out.IsNull() && name == "toStringOrNull" {
		return text(plain(v)), nil
	}
	return out, err
}

func (c *call) toInteger(v graph.Value) (graph.Value, error) {
	if v.Kind() == graph.String && strings.HasPrefix(strings.ToLower(v.Str()), "0x") {
		if n, ok := parseHex(v.Str()[2:]); ok {
			return graph.IntValue(n), nil
		}
		return null, nil
	}
	return c.converted("toIntegerOrNull", v)
}

func truthy(v graph.Value) bool {
	switch v.Kind() {
	case graph.Null:
		return false
	case graph.Bool:
		return v.Bool()
	case graph.Int, graph.Float:
		return v.Number() != 0
	case graph.List:
		return len(v.List()) > 0
	case graph.Map:
		return len(v.Map()) > 0
	case graph.String:
		switch strings.ToLower(v.Str()) {
		case "", "no", "false", "0":
			return false
		}
	}
	return true
}

// fromJSON reads a text that is one JSON value of a kind.
func (c *call) fromJSON(kind graph.ValueKind, wanted string) (graph.Value, error) {
	if strings.TrimSpace(c.text(0)) == "" {
		return null, nil
	}
	d := jsontext.NewDecoder(strings.NewReader(c.text(0)), jsontext.AllowDuplicateNames(true))
	v, err := notation.ReadJSON(d)
	if err != nil {
		return null, c.failed("%v", err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return null, c.failed("more follows after the JSON value")
	}
	if v.Kind() != kind && !v.IsNull() {
		return null, c.failed("the JSON is not %s", wanted)
	}
	return v, nil
}
