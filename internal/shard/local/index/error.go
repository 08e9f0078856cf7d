package index

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
)

// CannotCreate reports why a constraint cannot be created.
func CannotCreate(d *Def, format string, args ...any) error {
	return &graph.Error{
		Kind: graph.KindExists, Code: "Neo.DatabaseError.Schema.ConstraintCreationFailed", Type: "ConstraintVerificationFailed",
		Phase: graph.PhaseRuntime, Detail: "ConstraintCreationFailed",
		Msg: fmt.Sprintf("the constraint %s cannot be made: ", d.Name) + fmt.Sprintf(format, args...),
	}
}

// Clash reports that two owners have values that must be unique.
func Clash(d *Def, vals []graph.Value, a, b graph.IndexOwner) error {
	if a.Vertex > b.Vertex || a.Vertex == b.Vertex && a.Edge > b.Edge {
		a, b = b, a
	}
	return CannotCreate(d, "%s and %s both have %s and %s", OwnerName(a), OwnerName(b), d.Over(), d.Tuple(vals))
}

// Lacks reports that an owner lacks a required property.
func Lacks(d *Def, prop string, o graph.IndexOwner) error {
	return CannotCreate(d, "%s with %s has no property %s", OwnerName(o), d.Over(), prop)
}

// OwnerName names an owner for a message.
func OwnerName(o graph.IndexOwner) string {
	if o.IsEdge {
		return fmt.Sprintf("edge %d", uint64(o.Edge))
	}
	return fmt.Sprintf("vertex %d", uint64(o.Vertex))
}

// Over names what the index is over.
func (d *Def) Over() string {
	if d.Type != "" {
		return "the type " + d.Type
	}
	return "the label " + d.Label
}

// Tuple prints indexed values with their names.
func (d *Def) Tuple(vals []graph.Value) string {
	var b strings.Builder
	for i, v := range vals {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(d.Props[i] + " = " + FormatValue(v))
	}
	return b.String()
}

// FormatValue prints an indexed value for a message, shortened to a readable length.
func FormatValue(v graph.Value) string {
	const longest = 100
	if v.Kind() == graph.String {
		s := v.Str()
		if len(s) > longest {
			s = strings.ToValidUTF8(s[:longest], "") + "…"
		}
		return strconv.Quote(s)
	}
	text := appendValue(nil, v)
	if len(text) > longest {
		return strings.ToValidUTF8(string(text[:longest]), "") + "…"
	}
	return string(text)
}

func appendValue(dst []byte, v graph.Value) []byte {
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
	case graph.Date, graph.LocalTime, graph.Time, graph.LocalDateTime, graph.DateTime, graph.Duration, graph.PointKind, graph.VectorKind:
		return graph.AppendTemporal(dst, v)
	case graph.List:
		dst = append(dst, '[')
		for i, e := range v.List() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	}
	return append(dst, v.Kind().String()...)
}

// MissingProp reports that a vertex lacks a required property.
func MissingProp(d *Def, p string) error {
	return graph.RequiredError("a vertex with the label %s must have the property %s (constraint %s)", d.Label, p, d.Name)
}

// MissingEdgeProp reports that an edge lacks a required property.
func MissingEdgeProp(d *Def, p string) error {
	return graph.RequiredError("an edge of the type %s must have the property %s (constraint %s)", d.Type, p, d.Name)
}

// DuplicateError reports that an element has, or would get, the values of another one. Object mappers match its first words.
func DuplicateError(d *Def, vals []graph.Value, has, gets string) error {
	over, props := "label `"+d.Label+"`", "property "
	if d.Type != "" {
		over = "type `" + d.Type + "`"
	}
	if len(vals) > 1 {
		props = "properties "
	}
	for i, v := range vals {
		if i > 0 {
			props += ", "
		}
		props += "`" + d.Props[i] + "` = " + FormatValue(v)
	}
	return graph.ConstraintError("%s already exists with %s and %s, so %s cannot have the same (constraint %s)", has, over, props, gets, d.Name)
}

// Unavailable reports that an index cannot be read yet.
func Unavailable(d *Def) error {
	return &graph.Error{
		Kind: graph.KindUnavailable, Code: "Neo.TransientError.General.DatabaseUnavailable", Type: "DatabaseError",
		Phase: graph.PhaseRuntime, Detail: "IndexOffline", Msg: "the index " + d.Name + " is being built",
	}
}

// ErrDropped ends a build, or a search, of an index that was dropped meanwhile.
var ErrDropped = fail.New(graph.KindNotFound, "Neo.ClientError.Schema.IndexNotFound", "IndexDropped", "the index or constraint was dropped while it was being built")
