package mapping

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/record"
)

// typedNames are the types of typed JSON, as notation.TypedJSON writes it, that properties can have; vectors are apart.
var typedNames = map[string]graph.ValueKind{
	"Boolean": graph.Bool, "Integer": graph.Int, "Float": graph.Float, "String": graph.String, "Base64": graph.Bytes, "Point": graph.PointKind,
	"Date": graph.Date, "LocalTime": graph.LocalTime, "Time": graph.Time, "LocalDateTime": graph.LocalDateTime, "OffsetDateTime": graph.DateTime,
	"ZonedDateTime": graph.DateTime, "Duration": graph.Duration,
}

// The members of typed values, and those of typed vectors.
var (
	typedKeys  = keysOf("$type", "_value")
	vectorKeys = keysOf("coordinatesType", "coordinates")
)

func keysOf(names ...string) *record.Keys {
	k := &record.Keys{}
	for _, name := range names {
		k.Add(name)
	}
	return k
}

// members returns the members of an object by these keys.
func members(cell record.Cell, keys *record.Keys) (cells []record.Cell, ok bool) {
	l := record.NewLines(keys, record.Dialect{JSON: true})
	l.Reset(cell.Text)
	cells, fault, ok := l.Next()
	return cells, ok && fault == nil
}

// parts returns the name and the value of {"$type": …, "_value": …}, the form of values whose type JSON does not have.
func parts(cell record.Cell) (name string, value record.Cell, ok bool) {
	cells, ok := members(cell, typedKeys)
	if !ok || cells[0].Kind != record.String {
		return "", value, false
	}
	return string(cells[0].Text), cells[1], true
}

// isText reports whether the value of a typed value is a text, a number or a boolean.
func isText(value record.Cell) bool {
	return value.Kind != record.Missing && value.Kind != record.Null && value.Kind < record.Array
}

// typed converts a typed value by the type that it names.
func typed(cell record.Cell) (v graph.Value, ok bool) {
	name, value, ok := parts(cell)
	if !ok {
		return v, false
	}
	if name == "Vector" {
		return typedVector(value)
	}
	kind, known := typedNames[name]
	if !known || !isText(value) {
		return v, false
	}
	return (&Conv{Type: Type{Kind: kind}}).scalar(value)
}

// typedVector converts {"coordinatesType": …, "coordinates": […]}.
func typedVector(cell record.Cell) (v graph.Value, ok bool) {
	if cell.Kind != record.Object {
		return v, false
	}
	parts, ok := members(cell, vectorKeys)
	if !ok || parts[0].Kind != record.String || parts[1].Kind != record.Array {
		return v, false
	}
	t, known := graph.ParseCoordinateType(string(parts[0].Text))
	if !known {
		return v, false
	}
	return (&Conv{Type: Type{Kind: graph.VectorKind, Coordinates: t}}).vector(parts[1], &Scratch{})
}
