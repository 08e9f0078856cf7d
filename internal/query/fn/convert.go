package fn

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// conversion converts one value that is not null. It is null where a text cannot be read, and not ok where values of that
// type cannot be converted at all.
type conversion func(v graph.Value) (result graph.Value, ok bool)

// toBoolean reads true and false in any case; the integer 0 is false and all others are true.
func toBoolean(v graph.Value) (graph.Value, bool) {
	switch v.Kind() {
	case graph.Bool:
		return v, true
	case graph.Int:
		return graph.BoolValue(v.Int() != 0), true
	case graph.String:
		switch strings.ToLower(strings.TrimSpace(v.Str())) {
		case "true":
			return graph.BoolValue(true), true
		case "false":
			return graph.BoolValue(false), true
		}
		return null, true
	}
	return null, false
}

// toInteger truncates numbers, and strings of numbers, towards zero. A number out of range is null.
func toInteger(v graph.Value) (graph.Value, bool) {
	switch v.Kind() {
	case graph.Int:
		return v, true
	case graph.Bool:
		if v.Bool() {
			return graph.IntValue(1), true
		}
		return graph.IntValue(0), true
	case graph.Float:
		return cutFloat(v.Float()), true
	case graph.String:
		text := asciiDigits(v.Str())
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return graph.IntValue(i), true
		}
		if f, ok := parseFloat(text); ok {
			return cutFloat(f), true
		}
		return null, true
	}
	return null, false
}

// asciiDigits replaces the decimal digits of other scripts, which Java and so Neo4j read in integers, by ASCII's.
func asciiDigits(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf || !unicode.Is(unicode.Nd, r) {
			return r
		}
		n := rune(0) // Unicode's digits come in blocks from 0 to 9, some of which adjoin
		for ; unicode.Is(unicode.Nd, r-1); r-- {
			n++
		}
		return '0' + n%10
	}, s)
}

func cutFloat(f float64) graph.Value {
	if f >= -1<<63 && f < 1<<63 {
		return graph.IntValue(int64(f))
	}
	return null
}

func toFloat(v graph.Value) (graph.Value, bool) {
	switch v.Kind() {
	case graph.Float:
		return v, true
	case graph.Int:
		return graph.FloatValue(float64(v.Int())), true
	case graph.String:
		if f, ok := parseFloat(strings.TrimSpace(v.Str())); ok {
			return graph.FloatValue(f), true
		}
		return null, true
	}
	return null, false
}

// parseFloat reads decimal notation, NaN and Infinity. Numbers too large become infinite.
func parseFloat(s string) (float64, bool) {
	switch s {
	case "NaN":
		return math.NaN(), true
	case "Infinity", "+Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', c == '.', c == '+', c == '-', c == 'e', c == 'E':
		default:
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func toString(v graph.Value) (graph.Value, bool) {
	switch v.Kind() {
	case graph.String:
		return v, true
	case graph.Date, graph.LocalTime, graph.Time, graph.LocalDateTime, graph.DateTime, graph.Duration, graph.PointKind, graph.VectorKind:
		return graph.StringValue(string(graph.AppendTemporal(nil, v))), true
	}
	var buf [32]byte
	text, ok := notation.AppendScalar(buf[:0], v)
	if !ok {
		return null, false
	}
	return graph.StringValue(string(text)), true
}

var conversionFunctions = concatTables(
	conversions("Boolean", "BOOLEAN", "BOOLEAN | INTEGER | STRING", Boolean, toBoolean),
	conversions("Integer", "INTEGER", "BOOLEAN | FLOAT | INTEGER | STRING", Integer, toInteger),
	conversions("Float", "FLOAT", "FLOAT | INTEGER | STRING", Float, toFloat),
	conversions("String", "STRING", "BOOLEAN | FLOAT | INTEGER | STRING | POINT | VECTOR | temporal", String, toString),
)

func concatTables(tables ...[]Function) []Function {
	var all []Function
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}

// conversions makes toX, toXOrNull and toXList.
func conversions(name, result, takes string, kind Kinds, convert conversion) []Function {
	to := "to" + name
	lists := "LIST<ANY>"
	if kind&Number != 0 {
		lists += " | VECTOR"
	}
	orNull := func(v graph.Value) graph.Value {
		if v.IsNull() {
			return null
		}
		r, _ := convert(v)
		return r
	}
	return []Function{
		{
			Name: to, MinArgs: 1, MaxArgs: 1, Deterministic: true,
			Result:      kind | Null,
			Signature:   to + "(value :: " + takes + ") :: " + result,
			Description: "Converts a value; null if a text cannot be read, an error if the type cannot be converted.",
			Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
				r, ok := convert(args[0])
				if !ok {
					return null, badArgument(to, args[0], takes)
				}
				return r, nil
			}),
		},
		{
			Name: to + "OrNull", MinArgs: 1, MaxArgs: 1, Deterministic: true,
			Result:      kind | Null,
			Signature:   to + "OrNull(value :: ANY) :: " + result,
			Description: "Converts a value; null if it cannot be converted.",
			Eval: func(_ *Context, args []graph.Value) (graph.Value, error) {
				return orNull(args[0]), nil
			},
		},
		{
			Name: to + "List", MinArgs: 1, MaxArgs: 1, Deterministic: true,
			Result: List | Null, Elem: kind | Null,
			Signature:   to + "List(values :: " + lists + ") :: LIST<" + result + ">",
			Description: "Converts each value of a list; null where one cannot be converted.",
			Eval: strict(func(_ *Context, args []graph.Value) (_ graph.Value, err error) {
				var l []graph.Value
				if args[0].Kind() == graph.VectorKind && kind&Number != 0 {
					l = args[0].Vector().List()
				} else if l, err = listArg(to+"List", args[0]); err != nil {
					return null, err
				}
				r := make([]graph.Value, len(l))
				for i := range l {
					r[i] = orNull(l[i])
				}
				return graph.ListValue(r), nil
			}),
		},
	}
}
