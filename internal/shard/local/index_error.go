package local

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
)

// cannotCreate says why a constraint cannot be made.
func cannotCreate(d *indexDef, format string, args ...any) error {
	return &graph.Error{
		Kind: graph.KindExists, Code: "Neo.DatabaseError.Schema.ConstraintCreationFailed", Type: "ConstraintVerificationFailed",
		Phase: graph.PhaseRuntime, Detail: "ConstraintCreationFailed",
		Msg: fmt.Sprintf("the constraint %s cannot be made: ", d.Name) + fmt.Sprintf(format, args...),
	}
}

// clash says that two owners have the values of which there may be one.
func clash(d *indexDef, vals []graph.Value, a, b storage.Owner) error {
	if a.Vertex > b.Vertex || a.Vertex == b.Vertex && a.Edge > b.Edge {
		a, b = b, a
	}
	return cannotCreate(d, "%s and %s both have %s and %s", who(a), who(b), d.over(), d.tuple(vals))
}

// lacks says that an owner has not got a required property.
func lacks(d *indexDef, prop string, o storage.Owner) error {
	return cannotCreate(d, "%s with %s has no property %s", who(o), d.over(), prop)
}

func who(o storage.Owner) string {
	if o.IsEdge {
		return fmt.Sprintf("edge %d", uint64(o.Edge))
	}
	return fmt.Sprintf("vertex %d", uint64(o.Vertex))
}

// over names what the index is over.
func (d *indexDef) over() string {
	if d.Type != "" {
		return "the type " + d.Type
	}
	return "the label " + d.Label
}

// tuple prints indexed values with their names.
func (d *indexDef) tuple(vals []graph.Value) string {
	var b strings.Builder
	for i, v := range vals {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(d.Props[i] + " = " + show(v))
	}
	return b.String()
}

// show prints an indexed value for a message, cut to a readable length.
func show(v graph.Value) string {
	const longest = 100
	if v.Kind() == graph.String {
		s := v.Str()
		if len(s) > longest {
			s = strings.ToValidUTF8(s[:longest], "") + "…"
		}
		return strconv.Quote(s)
	}
	text := appendShown(nil, v)
	if len(text) > longest {
		return strings.ToValidUTF8(string(text[:longest]), "") + "…"
	}
	return string(text)
}

func appendShown(dst []byte, v graph.Value) []byte {
	switch v.Kind() {
	case graph.Null:
		return append(dst, "null"...)
	case graph.Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case graph.Float:
		return strconv.AppendFloat(dst, v.Float(), 'g', -1, 64)
	case graph.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case graph.String:
		return strconv.AppendQuote(dst, v.Str())
	case graph.Date, graph.LocalTime, graph.Time, graph.LocalDateTime, graph.DateTime, graph.Duration, graph.PointKind:
		return graph.AppendTemporal(dst, v)
	case graph.List:
		dst = append(dst, '[')
		for i, e := range v.List() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendShown(dst, e)
		}
		return append(dst, ']')
	}
	return append(dst, v.Kind().String()...)
}
