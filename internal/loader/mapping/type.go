package mapping

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Type is what a cell is read as.
type Type struct {
	Kind graph.ValueKind // Null: as a JSON value is written, else a string
	List bool            // of Kind
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

// ParseType reads a type's name, as neo4j-admin import and mapping files have it.
func ParseType(name string) (Type, bool) {
	base, list := strings.CutSuffix(strings.ToLower(strings.TrimSpace(name)), "[]")
	k, ok := types[base]
	return Type{Kind: k, List: list}, ok
}

// String gives the type's name.
func (t Type) String() string {
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

// dated reports whether values of the type may be written as dates or times.
func (t Type) dated() bool {
	switch t.Kind {
	case graph.Int, graph.Date, graph.Time, graph.LocalTime, graph.DateTime, graph.LocalDateTime:
		return true
	}
	return false
}
