package exec

import (
	"context"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// isType is x IS :: type.
type isType struct {
	x    evaluator
	alts []valueType
	not  bool
	out  []graph.Value
}

// valueType is one alternative of a type.
type valueType struct {
	kind    graph.ValueKind
	any     bool // every value
	prop    bool // every value that a property may have
	never   bool // NOTHING, or NULL, which null alone has
	notNull bool
	elem    []valueType // of a list
}

var typeNames = map[string]graph.ValueKind{
	"BOOLEAN": graph.Bool, "INTEGER": graph.Int, "FLOAT": graph.Float, "STRING": graph.String, "LIST": graph.List,
	"MAP": graph.Map, "DATE": graph.Date, "LOCAL TIME": graph.LocalTime, "ZONED TIME": graph.Time,
	"LOCAL DATETIME": graph.LocalDateTime, "ZONED DATETIME": graph.DateTime, "DURATION": graph.Duration,
	"NODE": graph.VertexKind, "RELATIONSHIP": graph.EdgeKind, "PATH": graph.PathKind,
}

func (es *evaluators) isType(e *plan.IsType) evaluator {
	alts, rest, ok := parseType(e.Type)
	if !ok || rest != "" {
		es.r.fail(graph.SyntaxError("UnexpectedSyntax", graph.Pos{}, "there is no type %s", e.Type))
		return &constant{}
	}
	return &isType{x: es.add(e.X), alts: alts, not: e.Not}
}

// parseType reads alternatives in normal form and gives what follows them.
func parseType(s string) (alts []valueType, rest string, ok bool) {
	for {
		var t valueType
		if t, s, ok = parseOneType(s); !ok {
			return nil, s, false
		}
		if r, more := strings.CutPrefix(s, " NOT NULL"); more {
			t.notNull, s = true, r
		}
		alts = append(alts, t)
		r, more := strings.CutPrefix(s, " | ")
		if !more {
			return alts, s, true
		}
		s = r
	}
}

func parseOneType(s string) (t valueType, rest string, ok bool) {
	if r, found := strings.CutPrefix(s, "LIST<"); found {
		t.kind = graph.List
		if t.elem, rest, ok = parseType(r); !ok {
			return t, s, false
		}
		rest, ok = strings.CutPrefix(rest, ">")
		return t, rest, ok
	}
	best := ""
	for name := range typeNames {
		if strings.HasPrefix(s, name) && len(name) > len(best) {
			best = name
		}
	}
	t.kind = typeNames[best]
	for _, special := range []struct {
		name string
		t    valueType
	}{
		{"ANY", valueType{any: true}}, {"PROPERTY VALUE", valueType{prop: true}}, {"NOTHING", valueType{never: true, notNull: true}},
		{"NULL", valueType{never: true}},
	} {
		if strings.HasPrefix(s, special.name) && len(special.name) > len(best) {
			best, t = special.name, special.t
		}
	}
	return t, s[len(best):], best != ""
}

// hasType reports whether a value is of one of the types.
func hasType(v graph.Value, alts []valueType) bool {
	for i := range alts {
		if alts[i].has(v) {
			return true
		}
	}
	return false
}

func (t *valueType) has(v graph.Value) bool {
	if v.IsNull() {
		return !t.notNull
	}
	switch {
	case t.never:
		return false
	case t.any:
		return true
	case t.prop:
		return isProperty(v)
	case v.Kind() != t.kind:
		return false
	}
	if t.elem != nil {
		for _, e := range v.List() {
			if !hasType(e, t.elem) {
				return false
			}
		}
	}
	return true
}

// isProperty reports whether a value can be stored as a property: a simple value or a list of such.
func isProperty(v graph.Value) bool {
	switch v.Kind() {
	case graph.Map, graph.VertexKind, graph.EdgeKind, graph.PathKind:
		return false
	case graph.List:
		for _, e := range v.List() {
			if e.IsNull() || e.Kind() == graph.List || !isProperty(e) {
				return false
			}
		}
	}
	return true
}

func (t *isType) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	vs, err := t.x.eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	t.out = grown(t.out, b.N)
	for _, i := range s {
		t.out[i] = graph.BoolValue(hasType(vs[i], t.alts) != t.not)
	}
	return t.out, nil
}
