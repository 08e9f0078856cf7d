package operation

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Type is the type of a parameter, in openCypher's words: BOOLEAN, INTEGER, FLOAT, STRING, MAP, ANY, or LIST<T> of one of these but a list.
// Null is a value of each of them only if a question mark follows: STRING?.
type Type string

var plainTypes = []Type{"BOOLEAN", "INTEGER", "FLOAT", "STRING", "MAP", "ANY"}

// Element returns the type of the elements of a list, or "" for another type.
func (t Type) Element() Type {
	inner, ok := strings.CutPrefix(string(t.plain()), "LIST<")
	if !ok {
		return ""
	}
	return Type(strings.TrimSuffix(inner, ">"))
}

// Nullable reports whether null is a value of the type.
func (t Type) Nullable() bool { return strings.HasSuffix(string(t), "?") }

func (t Type) plain() Type { return Type(strings.TrimSuffix(string(t), "?")) }

func (t Type) check() error {
	of := t.plain()
	if e := of.Element(); e != "" && of == "LIST<"+e+">" {
		of = e
	}
	if !slices.Contains(plainTypes, of) {
		return fmt.Errorf("the type %q is not BOOLEAN, INTEGER, FLOAT, STRING, MAP, ANY, or LIST<…> of one of these", string(t))
	}
	return nil
}

// Schema returns the JSON Schema of the type's values.
func (t Type) Schema() map[string]any {
	if e := t.Element(); e != "" {
		return nullable(t, map[string]any{"type": "array", "items": e.Schema()})
	}
	name, ok := map[Type]string{"BOOLEAN": "boolean", "INTEGER": "integer", "FLOAT": "number", "STRING": "string", "MAP": "object"}[t.plain()]
	if !ok {
		return map[string]any{}
	}
	return nullable(t, map[string]any{"type": name})
}

func nullable(t Type, schema map[string]any) map[string]any {
	if t.Nullable() {
		schema["type"] = []any{schema["type"], "null"}
	}
	return schema
}

// Schema returns the JSON Schema of an object of the operation's parameters.
func (o *Operation) Schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range o.Params {
		p := &o.Params[i]
		s := p.Type.Schema()
		if p.Description != "" {
			s["description"] = p.Description
		}
		if p.Required() {
			required = append(required, p.Name)
		} else {
			s["default"] = p.Default
		}
		properties[p.Name] = s
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// InQuery reports whether a query string can carry values of the type.
func (t Type) InQuery() bool {
	of := t.plain()
	if e := of.Element(); e != "" {
		of = e.plain()
	}
	return of != "MAP" && of != "ANY"
}

// value returns a value as one of the type: a whole number is also a FLOAT.
func (t Type) value(v graph.Value) (graph.Value, error) {
	if v.IsNull() {
		if t.Nullable() {
			return v, nil
		}
		return v, errors.New("must not be null")
	}
	of := t.plain()
	if e := of.Element(); e != "" {
		if v.Kind() != graph.List {
			return v, t.wrong(v)
		}
		out := make([]graph.Value, len(v.List()))
		for i, x := range v.List() {
			var err error
			if out[i], err = e.value(x); err != nil {
				return v, fmt.Errorf("element %d %w", i, err)
			}
		}
		return graph.ListValue(out), nil
	}
	ok := false
	switch of {
	case "ANY":
		return v, nil
	case "BOOLEAN":
		ok = v.Kind() == graph.Bool
	case "INTEGER":
		ok = v.Kind() == graph.Int
	case "FLOAT":
		if v.Kind() == graph.Int {
			return graph.FloatValue(float64(v.Int())), nil
		}
		ok = v.Kind() == graph.Float
	case "STRING":
		ok = v.Kind() == graph.String
	case "MAP":
		ok = v.Kind() == graph.Map
	}
	if !ok {
		return v, t.wrong(v)
	}
	return v, nil
}

func (t Type) wrong(v graph.Value) error {
	return fmt.Errorf("must be of type %s, is of %s", t, v.Kind())
}

// Fault is what is wrong with a parameter of a call.
type Fault struct{ Param, Problem string }

// Bind returns the parameters of a call with their types and defaults. The error has the code Neo.ClientError.Statement.ParameterMissing if
// some are missing, or else Neo.ClientError.Statement.ArgumentError, and names each that is missing, unknown or of another type.
func (o *Operation) Bind(given map[string]graph.Value) (map[string]graph.Value, error) {
	out := make(map[string]graph.Value, len(o.Params))
	var faults []Fault
	missing, known := false, 0
	for i := range o.Params {
		p := &o.Params[i]
		v, ok := given[p.Name]
		switch {
		case ok:
			known++
			typed, err := p.Type.value(v)
			if err != nil {
				faults = append(faults, Fault{p.Name, err.Error()})
			}
			out[p.Name] = typed
		case p.Required():
			missing = true
			faults = append(faults, Fault{p.Name, "is missing, of type " + string(p.Type)})
		default:
			out[p.Name] = p.value
		}
	}
	if known < len(given) {
		names := make([]string, 0, len(given))
		for name := range given {
			if !slices.ContainsFunc(o.Params, func(p Param) bool { return p.Name == name }) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			faults = append(faults, Fault{name, "is not a parameter of the operation"})
		}
	}
	if faults != nil {
		return nil, o.faulty(faults, missing)
	}
	return out, nil
}

func (o *Operation) faulty(faults []Fault, missing bool) error {
	parts := make([]string, len(faults))
	for i, f := range faults {
		parts[i] = "$" + f.Param + " " + f.Problem
	}
	err := graph.RequestError(graph.KindInvalid, "InvalidParameters", "operation %s: %s", o.Name, strings.Join(parts, "; "))
	err.Code = "Neo.ClientError.Statement.ArgumentError"
	if missing {
		err.Code = "Neo.ClientError.Statement.ParameterMissing"
	}
	return err
}

// FromQuery returns the parameters of a query string, each in the text form of its type: a list repeats its name, and
// for a type with a question mark, an empty text that is no STRING is null. A MAP or ANY has none. Bind reports the parameters that the operation has not.
func (o *Operation) FromQuery(q url.Values) (map[string]graph.Value, error) {
	out := make(map[string]graph.Value, len(q))
	var faults []Fault
	for name, texts := range q {
		i := slices.IndexFunc(o.Params, func(p Param) bool { return p.Name == name })
		if i < 0 {
			out[name] = graph.StringValue(texts[0])
			continue
		}
		t := o.Params[i].Type
		v, err := t.fromTexts(texts)
		if err != nil {
			faults = append(faults, Fault{name, err.Error()})
		}
		out[name] = v
	}
	if faults != nil {
		slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Param, b.Param) })
		return nil, o.faulty(faults, false)
	}
	return out, nil
}

func (t Type) fromTexts(texts []string) (graph.Value, error) {
	if e := t.Element(); e != "" {
		all := make([]graph.Value, len(texts))
		for i, text := range texts {
			var err error
			if all[i], err = e.fromText(text); err != nil {
				return graph.Value{}, err
			}
		}
		return graph.ListValue(all), nil
	}
	if len(texts) != 1 {
		return graph.Value{}, errors.New("must be there once")
	}
	return t.fromText(texts[0])
}

func (t Type) fromText(text string) (graph.Value, error) {
	if text == "" && t.Nullable() && t.plain() != "STRING" {
		return graph.Value{}, nil
	}
	bad := fmt.Errorf("must be of type %s, is %q", t, text)
	switch t.plain() {
	case "BOOLEAN":
		switch text {
		case "true":
			return graph.BoolValue(true), nil
		case "false":
			return graph.BoolValue(false), nil
		}
		return graph.Value{}, bad
	case "INTEGER":
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return graph.Value{}, bad
		}
		return graph.IntValue(i), nil
	case "FLOAT":
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return graph.Value{}, bad
		}
		return graph.FloatValue(f), nil
	case "STRING":
		return graph.StringValue(text), nil
	}
	return graph.Value{}, fmt.Errorf("a query string cannot carry a %s: use POST", t)
}
