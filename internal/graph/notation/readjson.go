package notation

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/graph"
)

// maxJSONDepth is how deep values of JSON may be nested.
const maxJSONDepth = 1000

// ReadJSON reads the next value: a number without a fraction and an exponent that an Integer holds as one, others as Float; a map has the
// last of equal keys, if the decoder allows them. It returns io.EOF where there is no more value.
func ReadJSON(d *jsontext.Decoder) (graph.Value, error) {
	t, err := d.ReadToken()
	if err != nil {
		return graph.Value{}, err
	}
	switch t.Kind() {
	case jsontext.KindTrue, jsontext.KindFalse:
		return graph.BoolValue(t.Bool()), nil
	case jsontext.KindString:
		return graph.StringValue(t.String()), nil
	case jsontext.KindNumber:
		return number(t.String())
	case jsontext.KindBeginArray, jsontext.KindBeginObject:
		if d.StackDepth() > maxJSONDepth {
			return graph.Value{}, graph.BudgetError("JSON is nested more than %d deep", maxJSONDepth)
		}
	}
	switch t.Kind() {
	case jsontext.KindBeginArray:
		return readArray(d)
	case jsontext.KindBeginObject:
		return readObject(d)
	}
	return graph.Value{}, nil
}

func number(s string) (graph.Value, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return graph.IntValue(n), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if math.IsInf(f, 0) {
		return graph.Value{}, graph.RuntimeError("ArgumentError", "NumberOutOfRange", "the number %s is beyond the range of a Float", s)
	}
	return graph.FloatValue(f), err
}

func readArray(d *jsontext.Decoder) (graph.Value, error) {
	list := []graph.Value{}
	for d.PeekKind() != jsontext.KindEndArray {
		v, err := ReadJSON(d)
		if err != nil {
			return graph.Value{}, err
		}
		list = append(list, v)
	}
	_, err := d.ReadToken()
	return graph.ListValue(list), err
}

func readObject(d *jsontext.Decoder) (graph.Value, error) {
	m, at := []graph.MapEntry{}, map[string]int{}
	for d.PeekKind() != jsontext.KindEndObject {
		t, err := d.ReadToken()
		if err != nil {
			return graph.Value{}, err
		}
		key := t.String()
		v, err := ReadJSON(d)
		if err != nil {
			return graph.Value{}, err
		}
		if i, ok := at[key]; ok {
			m[i].Value = v
			continue
		}
		at[key] = len(m)
		m = append(m, graph.MapEntry{Key: key, Value: v})
	}
	_, err := d.ReadToken()
	return graph.MapValue(m), err
}
