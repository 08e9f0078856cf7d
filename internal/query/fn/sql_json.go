package fn

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// sqlJSONFunctions are SQL's functions of JSON: lists are JSON arrays, and so are texts that hold one.
var sqlJSONFunctions = []Function{
	sqlFunction("json_length", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		switch v := jsonOf(args[0]); v.Kind() {
		case graph.Null:
			return null
		case graph.List:
			return graph.IntValue(int64(len(v.List())))
		case graph.Map:
			return graph.IntValue(int64(len(v.Map())))
		}
		return graph.IntValue(1)
	}),
	sqlFunction("json_contains", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		return graph.BoolValue(jsonContains(jsonOf(args[0]), args[1]))
	}),
	sqlFunction("json_overlaps", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		for _, v := range listOf(args[1]) {
			if jsonContains(jsonOf(args[0]), v) {
				return graph.BoolValue(true)
			}
		}
		return graph.BoolValue(false)
	}),
	sqlFunction("flag", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		if args[0].Kind() == graph.Bool {
			return sqlBool(args[0].Bool())
		}
		return args[0]
	}),
	sqlFunction("json_extract", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		return jsonAt(jsonOf(args[0]), sqlText(args[1]))
	}),
	sqlFunction("json_array_get", 2, 2, func(_ *Context, args []graph.Value) graph.Value {
		return jsonAt(jsonOf(args[0]), "$["+strconv.FormatInt(sqlInt(args[1]), 10)+"]")
	}),
	sqlFunction("json_valid", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		return sqlBool(args[0].Kind() == graph.List || args[0].Kind() == graph.String && json.Valid([]byte(args[0].Str())))
	}),
	sqlFunction("json_type", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		switch jsonOf(args[0]).Kind() {
		case graph.List:
			return text("ARRAY")
		case graph.Map:
			return text("OBJECT")
		case graph.Int:
			return text("INTEGER")
		case graph.Float:
			return text("DOUBLE")
		case graph.Bool:
			return text("BOOLEAN")
		}
		return text("STRING")
	}),
	// list converts a value to a list: a list to itself, a string with a JSON array to that array, any other value to a list of one
	// element.
	sqlFunction("list", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		if args[0].Kind() == graph.List {
			return args[0]
		}
		return graph.ListValue(listOf(args[0]))
	}),
	// distinct leaves the first of equivalent elements of a list.
	sqlFunction("distinct", 1, 1, func(_ *Context, args []graph.Value) graph.Value {
		return graph.ListValue(distinct(args[0].List()))
	}),
}

func listOf(v graph.Value) []graph.Value {
	if v = jsonOf(v); v.Kind() == graph.List {
		return v.List()
	}
	return []graph.Value{v}
}

// distinct returns the values without those equivalent to an earlier one.
func distinct(list []graph.Value) []graph.Value {
	out := make([]graph.Value, 0, len(list))
	last := make(map[uint64]int, len(list)) // by hash: the last of out, counted from 1
	before := make([]int, 0, len(list))     // parallel to out: the previous value with the same hash
next:
	for _, v := range list {
		h := Hash(v)
		for at := last[h]; at > 0; at = before[at-1] {
			if Equivalent(out[at-1], v) {
				continue next
			}
		}
		out, before = append(out, v), append(before, last[h])
		last[h] = len(out)
	}
	return out
}

// jsonContains reports whether a value is in a list, or all values of a list are.
func jsonContains(doc, v graph.Value) bool {
	if v.Kind() == graph.List {
		for _, e := range v.List() {
			if !jsonContains(doc, e) {
				return false
			}
		}
		return true
	}
	if doc.Kind() != graph.List {
		return Equal(doc, v) == True
	}
	for _, e := range doc.List() {
		if Equal(e, v) == True || e.IsNull() && v.IsNull() {
			return true
		}
	}
	return false
}

// jsonOf reads a text that holds a JSON array or object; any other value is itself.
func jsonOf(v graph.Value) graph.Value {
	if v.Kind() != graph.String {
		return v
	}
	s := strings.TrimSpace(v.Str())
	if s == "" || s[0] != '[' && s[0] != '{' {
		return v
	}
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil || d.More() {
		return v
	}
	return jsonValue(x)
}

func jsonValue(x any) graph.Value {
	switch x := x.(type) {
	case bool:
		return graph.BoolValue(x)
	case string:
		return text(x)
	case json.Number:
		return numberPrefix(x.String())
	case []any:
		list := make([]graph.Value, len(x))
		for i, e := range x {
			list[i] = jsonValue(e)
		}
		return graph.ListValue(list)
	case map[string]any:
		var m []graph.MapEntry
		for k, e := range x {
			m = append(m, graph.MapEntry{Key: k, Value: jsonValue(e)})
		}
		slices.SortFunc(m, func(a, b graph.MapEntry) int { return strings.Compare(a.Key, b.Key) })
		return graph.MapValue(m)
	}
	return null
}

// jsonAt evaluates a path such as $, $[0] or $.a[1].b.
func jsonAt(v graph.Value, path string) graph.Value {
	path, ok := strings.CutPrefix(path, "$")
	if !ok {
		return null
	}
	for path != "" {
		switch path[0] {
		case '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return null
			}
			i, err := strconv.Atoi(path[1:end])
			if err != nil || v.Kind() != graph.List || i < 0 || i >= len(v.List()) {
				return null
			}
			v, path = v.List()[i], path[end+1:]
		case '.':
			end := strings.IndexAny(path[1:], ".[") + 1
			if end == 0 {
				end = len(path)
			}
			if v.Kind() != graph.Map {
				return null
			}
			v, path = v.Get(strings.Trim(path[1:end], `"`)), path[end:]
		default:
			return null
		}
	}
	return v
}
