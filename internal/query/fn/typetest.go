package fn

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Type is a set of values that IS :: tests for.
type Type struct {
	kinds        uint32 // bit k for each graph.ValueKind k
	nullable     bool
	element      *Type                // of lists, or nil for any
	property     bool                 // only values that a property can hold
	coordinates  graph.CoordinateType // of vectors, or 0 for any
	dimensions   int                  // of vectors, or 0 for any
	alternatives []*Type
}

const anyKind = 1<<graph.KindCount - 1

// namedTypes maps each name to its kinds of values, without null.
var namedTypes = map[string]uint32{
	"ANY": anyKind, "NOTHING": 0, "NULL": 0, "BOOLEAN": 1 << graph.Bool, "STRING": 1 << graph.String,
	"INTEGER": 1 << graph.Int, "FLOAT": 1 << graph.Float, "NUMBER": 1<<graph.Int | 1<<graph.Float, "DATE": 1 << graph.Date,
	"LOCAL TIME": 1 << graph.LocalTime, "ZONED TIME": 1 << graph.Time, "LOCAL DATETIME": 1 << graph.LocalDateTime,
	"ZONED DATETIME": 1 << graph.DateTime, "DURATION": 1 << graph.Duration, "POINT": 1 << graph.PointKind, "BYTES": 1 << graph.Bytes, "VECTOR": 1 << graph.VectorKind, "NODE": 1 << graph.VertexKind,
	"RELATIONSHIP": 1 << graph.EdgeKind, "MAP": 1 << graph.Map, "LIST": 1 << graph.List, "PATH": 1 << graph.PathKind,
	"PROPERTY VALUE": anyKind &^ (1<<graph.VertexKind | 1<<graph.EdgeKind | 1<<graph.PathKind | 1<<graph.Map),
}

// ParseType reads a type in normal form: capitals, one space between words, LIST<element>,
// VECTOR<coordinate type>(dimensions), NOT NULL and alternatives joined by " | ", as a whole or within ANY<…>.
func ParseType(text string) (*Type, error) {
	p := typeParser{rest: text}
	t, ok := p.alternatives()
	if !ok || p.rest != "" {
		return nil, graph.SyntaxError("UnexpectedSyntax", graph.Pos{}, "%q is not a type of values", text)
	}
	return t, nil
}

type typeParser struct{ rest string }

func (p *typeParser) take(token string) bool {
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

func (p *typeParser) alternatives() (*Type, bool) {
	t, ok := p.one()
	if !ok || !strings.HasPrefix(p.rest, " | ") {
		return t, ok
	}
	all := []*Type{t}
	for p.take(" | ") {
		if t, ok = p.one(); !ok {
			return nil, false
		}
		all = append(all, t)
	}
	return &Type{alternatives: all}, true
}

func (p *typeParser) one() (*Type, bool) {
	if p.take("ANY<") {
		t, ok := p.alternatives()
		return t, ok && p.take(">")
	}
	end := strings.IndexAny(p.rest, "<>|(")
	if end < 0 {
		end = len(p.rest)
	}
	name := strings.TrimRight(p.rest[:end], " ")
	name = strings.TrimSuffix(name, " NOT NULL")
	kinds, ok := namedTypes[name]
	if !ok {
		return nil, false
	}
	p.rest = p.rest[len(name):]
	t := &Type{kinds: kinds, nullable: name != "NOTHING", property: name == "PROPERTY VALUE"}
	if name == "LIST" && p.take("<") {
		if t.element, ok = p.alternatives(); !ok || !p.take(">") {
			return nil, false
		}
	}
	if name == "VECTOR" && !p.vector(t) {
		return nil, false
	}
	if p.take(" NOT NULL") {
		t.nullable = false
	}
	return t, true
}

// vector reads the coordinate type and the dimensions of a vector, each of which may be missing.
func (p *typeParser) vector(t *Type) (ok bool) {
	if p.take("<") {
		name, rest, _ := strings.Cut(p.rest, ">")
		if t.coordinates, ok = graph.ParseCoordinateType(strings.TrimSuffix(name, " NOT NULL")); !ok {
			return false
		}
		p.rest = rest
	}
	if p.take("(") {
		digits, rest, closed := strings.Cut(p.rest, ")")
		n, err := strconv.Atoi(digits)
		if err != nil || !closed || graph.CheckDimensions(n, true) != nil {
			return false
		}
		t.dimensions, p.rest = n, rest
	}
	return true
}

// Matches reports whether the value has the type. Null has every type except those with NOT NULL, and NOTHING.
func (t *Type) Matches(v graph.Value) bool {
	for _, a := range t.alternatives {
		if a.Matches(v) {
			return true
		}
	}
	switch {
	case t.alternatives != nil:
		return false
	case v.IsNull():
		return t.nullable
	case t.kinds&(1<<v.Kind()) == 0:
		return false
	case v.Kind() == graph.VectorKind:
		x := v.Vector()
		return (t.coordinates == 0 || t.coordinates == x.Type) && (t.dimensions == 0 || t.dimensions == x.Dimensions())
	case v.Kind() == graph.List && t.property:
		return isPropertyList(v.List())
	case v.Kind() == graph.List && t.element != nil:
		for _, e := range v.List() {
			if !t.element.Matches(e) {
				return false
			}
		}
	}
	return true
}

// isPropertyList reports whether a property can hold the list: scalars of one kind, none of them null.
func isPropertyList(l []graph.Value) bool {
	for _, e := range l {
		k := e.Kind()
		if k != l[0].Kind() || k == graph.Null || k == graph.List || k == graph.VectorKind || namedTypes["PROPERTY VALUE"]&(1<<k) == 0 {
			return false
		}
	}
	return true
}
