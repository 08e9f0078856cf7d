package check

import (
	"maps"
	"strings"
)

// Signature is what can be known of a function from its call. Args gives the types that arguments may have, where a clash is an
// error at compile time; arguments that have none may be anything, and are checked when the statement runs.
type Signature struct {
	Name             string // as documented
	MinArgs, MaxArgs int    // MaxArgs −1: no limit
	Aggregate        bool
	Random           bool   // another value at every call
	Args             []Type // may be shorter than MaxArgs
	Result           Type   // 0: anything
	Elem             Type   // of the result, if it is a list; 0: anything
}

// Builtins gives the functions that the language has, by name in small letters. The map is the caller's.
func Builtins() map[string]Signature { return maps.Clone(builtins) }

var builtins = index(
	[]Signature{
		{Name: "id", Args: []Type{Node | Relationship}, Result: Integer | Null},
		{Name: "elementId", Args: []Type{Node | Relationship}, Result: String | Null},
		{Name: "labels", Args: []Type{Node}, Result: List | Null, Elem: String},
		{Name: "type", Args: []Type{Relationship}, Result: String | Null},
		{Name: "startNode", Args: []Type{Relationship}, Result: Node | Null},
		{Name: "endNode", Args: []Type{Relationship}, Result: Node | Null},
		{Name: "properties", Args: []Type{Node | Relationship | Map}, Result: Map | Null},
		{Name: "keys", Args: []Type{Node | Relationship | Map}, Result: List | Null, Elem: String},
		{Name: "nodes", Args: []Type{Path}, Result: List | Null, Elem: Node},
		{Name: "relationships", Args: []Type{Path}, Result: List | Null, Elem: Relationship},
		{Name: "length", Args: []Type{Path}, Result: Integer | Null},
		{Name: "size", Args: []Type{List | String}, Result: Integer | Null},
		{Name: "exists", Result: Boolean | Null},
		{Name: "isEmpty", Args: []Type{List | String | Map}, Result: Boolean | Null},
		{Name: "reverse", Args: []Type{List | String}, Result: List | String | Null},
		{Name: "head", Args: []Type{List}},
		{Name: "last", Args: []Type{List}},
		{Name: "tail", Args: []Type{List}, Result: List | Null},
		{Name: "range", MinArgs: 2, MaxArgs: 3, Result: List | Null, Elem: Integer},
		{Name: "coalesce", MinArgs: 1, MaxArgs: -1},
		{Name: "nullIf", MinArgs: 2},
		{Name: "valueType", Result: String},
		{Name: "toBooleanList", Result: List | Null, Elem: Boolean | Null},
		{Name: "toFloatList", Result: List | Null, Elem: Float | Null},
		{Name: "toIntegerList", Result: List | Null, Elem: Integer | Null},
		{Name: "toStringList", Result: List | Null, Elem: String | Null},
	},
	[]Signature{
		{Name: "point", Args: []Type{Map | Point}, Result: Point | Null},
		{Name: "point.distance", MinArgs: 2, Result: Float | Null},
		{Name: "point.withinBBox", MinArgs: 3, Result: Boolean | Null},
	},
	[]Signature{
		{Name: "apoc.version", MaxArgs: noArgs, Result: String},
		{Name: "apoc.any.property", MinArgs: 2},
		{Name: "apoc.date.convertFormat", MinArgs: 2, MaxArgs: 3, Result: String | Null},
		{Name: "apoc.map.clean", MinArgs: 3, Result: Map | Null},
		{Name: "apoc.meta.cypher.types", Result: Map},
		{Name: "apoc.util.validatePredicate", MinArgs: 2, MaxArgs: 3, Result: Boolean},
	},
	[]Signature{
		{Name: "coll.distinct", Args: []Type{List}, Result: List | Null},
		{Name: "coll.flatten", MinArgs: 1, MaxArgs: 2, Args: []Type{List, Integer}, Result: List | Null},
		{Name: "coll.indexOf", MinArgs: 2, Args: []Type{List}, Result: Integer | Null},
		{Name: "coll.insert", MinArgs: 3, Args: []Type{List, Integer}, Result: List | Null},
		{Name: "coll.max", Args: []Type{List}},
		{Name: "coll.min", Args: []Type{List}},
		{Name: "coll.remove", MinArgs: 2, Args: []Type{List, Integer}, Result: List | Null},
		{Name: "coll.sort", Args: []Type{List}, Result: List | Null},
		{Name: "linenumber", MaxArgs: noArgs, Result: Integer | Null},
		{Name: "file", MaxArgs: noArgs, Result: String | Null},
	},
	plain(Boolean|Null, "toBoolean", "toBooleanOrNull", "isNaN"),
	plain(Integer|Null, "toInteger", "toIntegerOrNull", "sign", "char_length", "character_length"),
	plain(Float|Null, "toFloat", "toFloatOrNull", "ceil", "floor", "exp", "log", "log10", "sqrt", "acos", "asin", "atan", "cos", "cosh",
		"cot", "coth", "degrees", "haversin", "radians", "sin", "sinh", "tan", "tanh"),
	plain(String|Null, "toString", "toStringOrNull", "lower", "upper", "toLower", "toUpper"),
	plain(Number|Duration|Null, "abs"),
	[]Signature{
		{Name: "atan2", MinArgs: 2, Result: Float | Null},
		{Name: "round", MinArgs: 1, MaxArgs: 3, Result: Float | Null},
		{Name: "e", MaxArgs: noArgs, Result: Float},
		{Name: "pi", MaxArgs: noArgs, Result: Float},
		{Name: "rand", MaxArgs: noArgs, Result: Float, Random: true},
		{Name: "randomUUID", MaxArgs: noArgs, Result: String, Random: true},
		{Name: "timestamp", MaxArgs: noArgs, Result: Integer},
		{Name: "normalize", MinArgs: 1, MaxArgs: 2, Result: String | Null},
		{Name: "left", MinArgs: 2, Result: String | Null},
		{Name: "right", MinArgs: 2, Result: String | Null},
		{Name: "replace", MinArgs: 3, MaxArgs: 4, Result: String | Null},
		{Name: "split", MinArgs: 2, Result: List | Null, Elem: String},
		{Name: "substring", MinArgs: 2, MaxArgs: 3, Result: String | Null},
		{Name: "lpad", MinArgs: 2, MaxArgs: 3, Result: String | Null},
		{Name: "rpad", MinArgs: 2, MaxArgs: 3, Result: String | Null},
		{Name: "trim", MinArgs: 1, MaxArgs: 2, Result: String | Null},
		{Name: "btrim", MinArgs: 1, MaxArgs: 2, Result: String | Null},
		{Name: "ltrim", MinArgs: 1, MaxArgs: 2, Result: String | Null},
		{Name: "rtrim", MinArgs: 1, MaxArgs: 2, Result: String | Null},
		{Name: "datetime.fromEpoch", MinArgs: 2, Result: DateTime | Null},
		{Name: "datetime.fromEpochMillis", Result: DateTime | Null},
		{Name: "format", MinArgs: 1, MaxArgs: 2, Result: String | Null},
		{Name: "duration", Result: Duration | Null},
		{Name: "duration.between", MinArgs: 2, Result: Duration | Null},
		{Name: "duration.inMonths", MinArgs: 2, Result: Duration | Null},
		{Name: "duration.inDays", MinArgs: 2, Result: Duration | Null},
		{Name: "duration.inSeconds", MinArgs: 2, Result: Duration | Null},
	},
	instant("date", Date), instant("time", Time), instant("localtime", LocalTime),
	instant("datetime", DateTime), instant("localdatetime", LocalDateTime),
	[]Signature{
		{Name: "count", Aggregate: true, Result: Integer},
		{Name: "collect", Aggregate: true, Result: List},
		{Name: "sum", Aggregate: true},
		{Name: "avg", Aggregate: true},
		{Name: "min", Aggregate: true},
		{Name: "max", Aggregate: true},
		{Name: "stDev", Aggregate: true, Result: Float},
		{Name: "stDevP", Aggregate: true, Result: Float},
		{Name: "percentileCont", Aggregate: true, MinArgs: 2},
		{Name: "percentileDisc", Aggregate: true, MinArgs: 2},
	},
)

// noArgs as MaxArgs in the table above is a function without arguments; 0 there is as many as MinArgs, and at least one.
const noArgs = -2

// index completes and indexes the entries of the table.
func index(tables ...[]Signature) map[string]Signature {
	m := map[string]Signature{}
	for _, t := range tables {
		for _, s := range t {
			switch {
			case s.MaxArgs == noArgs:
				s.MaxArgs = 0
			case s.MaxArgs == 0:
				s.MinArgs = max(s.MinArgs, 1)
				s.MaxArgs = s.MinArgs
			}
			m[strings.ToLower(s.Name)] = s
		}
	}
	return m
}

// plain gives functions of one argument with the same result.
func plain(result Type, names ...string) []Signature {
	out := make([]Signature, 0, len(names))
	for _, n := range names {
		out = append(out, Signature{Name: n, Result: result})
	}
	return out
}

// instant gives the functions of a temporal type: the constructor, the clocks and truncate.
func instant(name string, t Type) []Signature {
	t |= Null
	clock := func(suffix string) Signature { return Signature{Name: name + suffix, MaxArgs: 1, Result: t} }
	return []Signature{
		clock(""), clock(".transaction"), clock(".statement"), clock(".realtime"),
		{Name: name + ".truncate", MinArgs: 1, MaxArgs: 3, Result: t},
	}
}
