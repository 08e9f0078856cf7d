package mapping

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Type is the type to which a cell is converted.
type Type struct {
	Kind graph.ValueKind // Null: the type of the JSON value, or string
	List bool            // of Kind
	// Coordinates is the coordinate type of vectors.
	Coordinates graph.CoordinateType
}

var types = map[string]graph.ValueKind{
	"int": graph.Int, "integer": graph.Int, "long": graph.Int, "short": graph.Int, "byte": graph.Int,
	"float": graph.Float, "double": graph.Float, "number": graph.Float,
	"boolean": graph.Bool, "bool": graph.Bool,
	"string": graph.String, "char": graph.String,
	"date": graph.Date, "localtime": graph.LocalTime, "time": graph.Time,
	"point": graph.PointKind, "bytes": graph.Bytes,
	"any": graph.Null, "localdatetime": graph.LocalDateTime, "datetime": graph.DateTime, "duration": graph.Duration,
}

// ParseType parses a type name of neo4j-admin import or of mapping files.
func ParseType(name string) (Type, bool) {
	base, list := strings.CutSuffix(strings.ToLower(strings.TrimSpace(name)), "[]")
	if of, ok := strings.CutPrefix(base, "vector<"); ok {
		of, closed := strings.CutSuffix(of, ">")
		c, ok := graph.ParseCoordinateType(of)
		return Type{Kind: graph.VectorKind, Coordinates: c}, ok && closed && !list
	}
	k, ok := types[base]
	return Type{Kind: k, List: list}, ok
}

// VectorType returns the name of the type of vectors, for example vector<float32>.
func VectorType(c graph.CoordinateType) string { return "vector<" + strings.ToLower(c.String()) + ">" }

// String returns the name of the type.
func (t Type) String() string {
	if t.Kind == graph.VectorKind {
		return VectorType(t.Coordinates)
	}
	name := "value"
	for _, n := range []string{
		"int", "float", "boolean", "string", "date", "localtime", "time", "localdatetime", "datetime", "duration", "point", "bytes",
	} {
		if types[n] == t.Kind {
			name = n
		}
	}
	if t.List {
		name += "[]"
	}
	return name
}

// dated reports whether dateFormat applies to values of the type.
func (t Type) dated() bool {
	switch t.Kind {
	case graph.Int, graph.Date, graph.Time, graph.LocalTime, graph.DateTime, graph.LocalDateTime:
		return true
	}
	return false
}
