package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/memory"
)

// MaxDepth bounds the nesting of parameters.
const MaxDepth = 128

// mostPlain bounds the text of parameters that are tried as plain ones: what is counted of others first is counted twice.
const mostPlain = 1 << 10

// DecodeParams decodes the parameters of a request, plain or typed, and counts their memory. The keys of maps keep their order.
func DecodeParams(raw json.RawMessage, typed bool, charge *memory.Charge) (map[string]graph.Value, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if len(raw) <= mostPlain && !typed {
		if params, ok, err := plainParams(raw, charge); err != nil {
			return nil, BadParams("parameters: ", err)
		} else if ok {
			return params, nil
		}
	}
	v, err := DecodeValue(raw, charge)
	if err != nil {
		return nil, BadParams("parameters: ", err)
	}
	if v.Kind() != graph.Map {
		return nil, RequestError("parameters: must be an object")
	}
	params := make(map[string]graph.Value, len(v.Map()))
	for _, e := range v.Map() {
		p := e.Value
		if typed {
			if p, err = untype(p, charge); err != nil {
				return nil, BadParams("parameters."+e.Key+": ", err)
			}
		}
		params[e.Key] = p
	}
	return params, nil
}

// BadParams returns the error for parameters that cannot be decoded; one of a limit passes as it is.
func BadParams(place string, err error) error {
	if over := (*graph.Error)(nil); errors.As(err, &over) && over.Kind == graph.KindBudget {
		return over
	}
	return RequestError(place + err.Error())
}

// DecodeValue decodes a value and counts its memory. Reading the request has already validated the JSON syntax.
func DecodeValue(raw json.RawMessage, charge *memory.Charge) (graph.Value, error) {
	d := valueDecoder{charge: charge, dec: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	return d.value(0)
}

// valuesAtOnce is how many values are decoded before yielding to other work.
const valuesAtOnce = 4096

type valueDecoder struct {
	dec    *jsontext.Decoder
	charge *memory.Charge
	seen   int // decoded values
}

// collected are the elements of a list whose length is not known yet. Long lists are collected in chunks and joined at the end: to grow them
// would allocate a multiple of what they take, and copies of hundreds of megabytes hold up a garbage collection and all goroutines with it.
type collected[T any] struct {
	full [][]T // chunks
	last []T
}

// add adds an element and counts its memory before it allocates.
func (c *collected[T]) add(v T, charge *memory.Charge) error {
	if n := cap(c.last); len(c.last) == n {
		more := min(max(2*n, 1), valuesAtOnce)
		if err := charge.Add(more * int(unsafe.Sizeof(v))); err != nil {
			return err
		}
		if n == valuesAtOnce {
			c.full, c.last = append(c.full, c.last), make([]T, 0, more)
		} else {
			c.last = append(make([]T, 0, more), c.last...)
			if err := charge.Add(-n * int(unsafe.Sizeof(v))); err != nil {
				return err
			}
		}
	}
	c.last = append(c.last, v)
	return nil
}

// all returns the elements.
func (c *collected[T]) all(charge *memory.Charge) ([]T, error) {
	if len(c.full) == 0 {
		return c.last, nil
	}
	n, size := len(c.full)*valuesAtOnce+len(c.last), int(unsafe.Sizeof(*new(T)))
	if err := charge.Add(n * size); err != nil {
		return nil, err
	}
	list := make([]T, 0, n)
	for i, chunk := range append(c.full, c.last) {
		list = append(list, chunk...)
		if i < len(c.full) {
			c.full[i] = nil
		}
	}
	return list, charge.Add(-(len(c.full)*valuesAtOnce + cap(c.last)) * size)
}

func (d *valueDecoder) value(depth int) (graph.Value, error) {
	if depth > MaxDepth {
		return graph.Value{}, fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	if d.seen++; d.seen%valuesAtOnce == 0 {
		runtime.Gosched()
	}
	switch d.dec.PeekKind() {
	case jsontext.KindNumber:
		text, err := d.dec.ReadValue()
		if err != nil {
			return graph.Value{}, err
		}
		return number(text)
	case jsontext.KindBeginArray:
		return d.list(depth)
	case jsontext.KindBeginObject:
		return d.object(depth)
	}
	tok, err := d.dec.ReadToken()
	if err != nil {
		return graph.Value{}, err
	}
	switch tok.Kind() {
	case jsontext.KindTrue, jsontext.KindFalse:
		return graph.BoolValue(tok.Bool()), nil
	case jsontext.KindString:
		s := tok.String()
		return graph.StringValue(s), d.charge.Add(len(s))
	}
	return graph.Value{}, nil // null
}

func (d *valueDecoder) list(depth int) (graph.Value, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return graph.Value{}, err
	}
	var list collected[graph.Value]
	for d.dec.PeekKind() != jsontext.KindEndArray {
		v, err := d.value(depth + 1)
		if err != nil {
			return v, err
		}
		if err := list.add(v, d.charge); err != nil {
			return v, err
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return graph.Value{}, err
	}
	all, err := list.all(d.charge)
	return graph.ListValue(all), err
}

func (d *valueDecoder) object(depth int) (graph.Value, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return graph.Value{}, err
	}
	var entries collected[graph.MapEntry]
	for d.dec.PeekKind() != jsontext.KindEndObject {
		key, err := d.dec.ReadToken()
		if err != nil {
			return graph.Value{}, err
		}
		name := key.String() // the next read reuses its memory
		v, err := d.value(depth + 1)
		if err != nil {
			return v, err
		}
		if err := d.charge.Add(len(name)); err != nil {
			return v, err
		}
		if err := entries.add(graph.MapEntry{Key: name, Value: v}, d.charge); err != nil {
			return v, err
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return graph.Value{}, err
	}
	all, err := entries.all(d.charge)
	return graph.MapValue(uniqueKeys(all)), err
}

// uniqueKeys keeps the last value of each key, at the position of its first.
func uniqueKeys(entries []graph.MapEntry) []graph.MapEntry {
	if len(entries) <= fewKeys && !anyTwice(entries) {
		return entries
	}
	at := make(map[string]int, len(entries))
	kept := entries[:0]
	for _, e := range entries {
		if i, ok := at[e.Key]; ok {
			kept[i].Value = e.Value
			continue
		}
		at[e.Key] = len(kept)
		kept = append(kept, e)
	}
	return kept
}

// fewKeys bounds the number of keys compared pairwise.
const fewKeys = 16

func anyTwice(entries []graph.MapEntry) bool {
	for i, e := range entries {
		for _, f := range entries[:i] {
			if e.Key == f.Key {
				return true
			}
		}
	}
	return false
}

// number decodes a JSON number; with a point or an exponent, it is a float.
func number(text []byte) (graph.Value, error) {
	if bytes.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return graph.Value{}, fmt.Errorf("%s is out of the range of a float", text)
		}
		return graph.FloatValue(f), nil
	}
	i, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return graph.Value{}, fmt.Errorf("%s is out of the range of a 64-bit integer", text)
	}
	return graph.IntValue(i), nil
}

// untype converts {"$type": …, "_value": …} to the value it represents, in the memory of lists and maps. Plain values pass unchanged.
func untype(v graph.Value, charge *memory.Charge) (graph.Value, error) {
	if v.Kind() != graph.Map {
		return v, nil
	}
	typ := v.Get("$type")
	if typ.Kind() != graph.String {
		return graph.Value{}, errors.New("a typed value needs a $type")
	}
	x := v.Get("_value")
	text := func(kind string) (string, error) {
		if x.Kind() != graph.String {
			return "", fmt.Errorf("the _value of %s must be a string", kind)
		}
		return x.Str(), nil
	}
	switch typ.Str() {
	case "Null":
		return graph.Value{}, nil
	case "Boolean":
		if x.Kind() == graph.Bool {
			return x, nil
		}
		if x.Kind() == graph.String && (x.Str() == "true" || x.Str() == "false") {
			return graph.BoolValue(x.Str() == "true"), nil
		}
		return x, errors.New("the _value of Boolean must be a boolean")
	case "Integer":
		if x.Kind() == graph.Int {
			return x, nil
		}
		s, err := text("Integer")
		if err != nil {
			return x, err
		}
		i, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return x, fmt.Errorf("%q is not a 64-bit integer", s)
		}
		return graph.IntValue(i), nil
	case "Float":
		if x.IsNumber() {
			return graph.FloatValue(x.Number()), nil
		}
		s, err := text("Float")
		if err != nil {
			return x, err
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return x, fmt.Errorf("%q is not a 64-bit float", s)
		}
		return graph.FloatValue(f), nil
	case "String":
		s, err := text("String")
		return graph.StringValue(s), err
	case "Point":
		s, err := text("Point")
		if err != nil {
			return x, err
		}
		p, err := graph.ParsePoint(s)
		return graph.PointValue(p), err
	case "Vector":
		return untypeVector(x, charge)
	case "Base64":
		s, err := text("Base64")
		if err != nil {
			return x, err
		}
		if err := charge.Add(len(s)); err != nil {
			return x, err
		}
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return x, fmt.Errorf("%q is not base64: %w", s, err)
		}
		return graph.BytesValue(b), nil
	case "List":
		if x.Kind() != graph.List {
			return x, errors.New("the _value of List must be an array")
		}
		list := x.List()
		for i, e := range list {
			u, err := untype(e, charge)
			if err != nil {
				return x, err
			}
			list[i] = u
		}
		return graph.ListValue(list), nil
	case "Map":
		if x.Kind() != graph.Map {
			return x, errors.New("the _value of Map must be an object")
		}
		entries := x.Map()
		for i, e := range entries {
			u, err := untype(e.Value, charge)
			if err != nil {
				return x, err
			}
			entries[i].Value = u
		}
		return graph.MapValue(entries), nil
	}
	if kind, ok := temporalKinds[typ.Str()]; ok {
		if err := charge.Add(temporalBytes); err != nil {
			return x, err
		}
		if x.Kind() != graph.String {
			return x, fmt.Errorf("the _value of %s must be a string", typ.Str())
		}
		return parseTemporal(kind, x.Str())
	}
	return x, fmt.Errorf("$type %s is not a type of parameters", typ.Str())
}

// temporalBytes is about the memory of a temporal value outside of its graph.Value.
const temporalBytes = 48

// temporalKinds are the temporal types of parameters.
var temporalKinds = map[string]graph.ValueKind{
	"Date": graph.Date, "Time": graph.Time, "LocalTime": graph.LocalTime, "OffsetDateTime": graph.DateTime, "ZonedDateTime": graph.DateTime,
	"LocalDateTime": graph.LocalDateTime, "Duration": graph.Duration,
}

func parseTemporal(kind graph.ValueKind, text string) (graph.Value, error) {
	v, err := graph.ParseTemporal(kind, text, temporal.UTC, time.Time{})
	return v, graph.TemporalError(err)
}

// untypeVector converts the _value of a Vector: {"coordinatesType": …, "coordinates": […]}. Coordinates are numbers, or numbers as strings.
func untypeVector(x graph.Value, charge *memory.Charge) (graph.Value, error) {
	const form = `the _value of Vector must be {"coordinatesType": …, "coordinates": […]}`
	if x.Kind() != graph.Map || x.Get("coordinatesType").Kind() != graph.String || x.Get("coordinates").Kind() != graph.List {
		return graph.Value{}, errors.New(form)
	}
	t, ok := graph.ParseCoordinateType(x.Get("coordinatesType").Str())
	if !ok {
		return graph.Value{}, fmt.Errorf("unknown coordinate type %q", x.Get("coordinatesType").Str())
	}
	if err := charge.Add(len(x.Get("coordinates").List()) * 32); err != nil { // a copy, and the vector
		return graph.Value{}, err
	}
	list := slices.Clone(x.Get("coordinates").List())
	for i, c := range list {
		if c.Kind() == graph.String {
			n, err := number([]byte(c.Str()))
			if err != nil {
				return n, fmt.Errorf("the coordinate at %d: %w", i, err)
			}
			list[i] = n
		}
	}
	v, err := graph.VectorOf(t, list)
	return graph.VectorValue(v), err
}
