package tck

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// A value of a case is nil, bool, int64, float64, string, []any, map[string]any, *node, *rel or *path.
type node struct {
	labels []string // sorted
	props  map[string]any
}

type rel struct {
	typ   string
	props map[string]any
}

// path is node, rel, node, …; forward[i] is 1 where the i-th relationship points along the path, -1 where it points
// against it, and 0 where it is a loop, which does both.
type path struct {
	elements []any
	forward  []int
}

// reader reads the cases' notation of values.
type reader struct {
	text string
	at   int
	err  error
}

func parseValue(text string) (any, error) {
	r := &reader{text: text}
	v := r.value()
	r.space()
	if r.at != len(r.text) {
		r.fail()
	}
	return v, r.err
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("not a value at %d: %s", r.at, r.text)
	}
	r.at = len(r.text)
}

func (r *reader) space() {
	for r.at < len(r.text) && strings.ContainsRune(" \t\r\n", rune(r.text[r.at])) {
		r.at++
	}
}

func (r *reader) peek(token string) bool {
	r.space()
	return strings.HasPrefix(r.text[r.at:], token)
}

func (r *reader) take(token string) bool {
	ok := r.peek(token)
	if ok {
		r.at += len(token)
	}
	return ok
}

func (r *reader) need(token string) {
	if !r.take(token) {
		r.fail()
	}
}

func (r *reader) name() string {
	if r.take("`") {
		name, _, _ := strings.Cut(r.text[r.at:], "`")
		r.at += len(name) + 1
		return name
	}
	start := r.at
	for r.at < len(r.text) && !strings.ContainsRune(" \t\r\n:{}()[],`'\"", rune(r.text[r.at])) {
		r.at++
	}
	if start == r.at {
		r.fail()
	}
	return r.text[start:r.at]
}

var words = []struct {
	word  string
	value any
}{
	{"null", nil},
	{"true", true},
	{"false", false},
	{"NaN", math.NaN()},
	{"Infinity", math.Inf(1)},
	{"-Infinity", math.Inf(-1)},
	{"Inf", math.Inf(1)},
	{"-Inf", math.Inf(-1)},
}

func (r *reader) value() any {
	switch {
	case r.peek("'"):
		return r.str()
	case r.peek("["):
		return r.bracket()
	case r.peek("{"):
		return r.props()
	case r.peek("("):
		return r.node()
	case r.take("<"):
		return r.path()
	}
	for _, w := range words {
		if r.take(w.word) {
			return w.value
		}
	}
	start := r.at
	for r.at < len(r.text) && strings.ContainsRune("+-0123456789.eE", rune(r.text[r.at])) {
		r.at++
	}
	text := r.text[start:r.at]
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.fail()
	}
	return f
}

func (r *reader) str() string {
	r.need("'")
	var b strings.Builder
	for r.at < len(r.text) {
		c := r.text[r.at]
		r.at++
		switch {
		case c == '\'':
			return b.String()
		case c == '\\' && r.at < len(r.text) && (r.text[r.at] == '\\' || r.text[r.at] == '\''):
			c = r.text[r.at]
			r.at++
		}
		b.WriteByte(c)
	}
	r.fail()
	return ""
}

func (r *reader) props() map[string]any {
	out := map[string]any{}
	if !r.take("{") {
		return out
	}
	for r.err == nil && !r.take("}") {
		r.space()
		key := r.name()
		r.need(":")
		out[key] = r.value()
		if !r.take(",") && !r.peek("}") {
			r.fail()
		}
	}
	return out
}

func (r *reader) node() *node {
	r.need("(")
	n := &node{labels: []string{}}
	for r.take(":") {
		n.labels = append(n.labels, r.name())
	}
	sort.Strings(n.labels)
	n.props = r.props()
	r.need(")")
	return n
}

func (r *reader) bracket() any {
	r.need("[")
	if r.take(":") {
		e := &rel{typ: r.name(), props: r.props()}
		r.need("]")
		return e
	}
	out := []any{}
	for r.err == nil && !r.take("]") {
		out = append(out, r.value())
		if !r.take(",") && !r.peek("]") {
			r.fail()
		}
	}
	return out
}

func (r *reader) path() *path {
	p := &path{elements: []any{r.node()}}
	for r.err == nil && !r.take(">") {
		forward := 1
		if r.take("<-") {
			forward = -1
		} else {
			r.need("-")
		}
		e := r.bracket()
		if forward > 0 {
			r.need("->")
		} else {
			r.need("-")
		}
		p.elements, p.forward = append(p.elements, e, r.node()), append(p.forward, forward)
	}
	return p
}

// graphValue turns a parameter or a cell of a procedure into a value of the engine.
func graphValue(v any) graph.Value {
	switch v := v.(type) {
	case bool:
		return graph.BoolValue(v)
	case int64:
		return graph.IntValue(v)
	case float64:
		return graph.FloatValue(v)
	case string:
		return graph.StringValue(v)
	case []any:
		l := make([]graph.Value, len(v))
		for i, e := range v {
			l[i] = graphValue(e)
		}
		return graph.ListValue(l)
	case map[string]any:
		m := make([]graph.MapEntry, 0, len(v))
		for k, e := range v {
			m = append(m, graph.MapEntry{Key: k, Value: graphValue(e)})
		}
		return graph.MapValue(m)
	}
	return graph.Value{}
}

// caseValue turns a value of the engine into one of a case.
func caseValue(v graph.Value) any {
	switch v.Kind() {
	case graph.Null:
		return nil
	case graph.Bool:
		return v.Bool()
	case graph.Int:
		return v.Int()
	case graph.Float:
		return v.Float()
	case graph.String:
		return strings.Clone(v.Str())
	case graph.VectorKind:
		return string(v.Vector().Append(nil))
	case graph.List:
		out := make([]any, 0, len(v.List()))
		for _, e := range v.List() {
			out = append(out, caseValue(e))
		}
		return out
	case graph.Map:
		out := map[string]any{}
		for _, e := range v.Map() {
			out[strings.Clone(e.Key)] = caseValue(e.Value)
		}
		return out
	case graph.VertexKind:
		n := &node{labels: []string{}, props: props(v.Record())}
		if r := v.Record(); r != nil {
			n.labels = append(n.labels, r.Labels...)
			sort.Strings(n.labels)
		}
		return n
	case graph.EdgeKind:
		e := &rel{props: props(v.Edge().Record)}
		if r := v.Edge().Record; r != nil {
			e.typ = r.Type
		}
		return e
	case graph.PathKind:
		p := v.Path()
		out := &path{elements: []any{caseValue(p.Vertices[0])}}
		for i, e := range p.Edges {
			out.elements = append(out.elements, caseValue(e), caseValue(p.Vertices[i+1]))
			forward := -1
			switch x := e.Edge(); {
			case x.Src == x.Dst:
				forward = 0
			case x.Src == p.Vertices[i].Vertex():
				forward = 1
			}
			out.forward = append(out.forward, forward)
		}
		return out
	}
	f, _ := fn.Lookup("toString")
	s, err := f.Eval(&fn.Context{}, []graph.Value{v})
	if err != nil {
		return err.Error()
	}
	return strings.Clone(s.Str())
}

func props(r *graph.Record) map[string]any {
	out := map[string]any{}
	if r != nil {
		for i, k := range r.Keys {
			out[strings.Clone(k)] = caseValue(r.Values[i])
		}
	}
	return out
}

// same reports whether got is the value that a case wants; with bags, lists are compared without their order.
func same(want, got any, bags bool) bool {
	switch w := want.(type) {
	case float64:
		g, ok := got.(float64)
		return ok && (w == g || math.IsNaN(w) && math.IsNaN(g) || math.Abs(w-g) <= 1e-14*max(math.Abs(w), math.Abs(g)))
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		if bags {
			return sameBag(w, g, func(a, b any) bool { return same(a, b, true) })
		}
		return slices.EqualFunc(w, g, func(a, b any) bool { return same(a, b, bags) })
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for k, v := range w {
			if x, ok := g[k]; !ok || !same(v, x, bags) {
				return false
			}
		}
		return true
	case *node:
		g, ok := got.(*node)
		return ok && slices.Equal(w.labels, g.labels) && same(w.props, g.props, bags)
	case *rel:
		g, ok := got.(*rel)
		return ok && w.typ == g.typ && same(w.props, g.props, bags)
	case *path:
		g, ok := got.(*path)
		return ok && len(w.elements) == len(g.elements) &&
			slices.EqualFunc(w.forward, g.forward, func(a, b int) bool { return a == b || b == 0 }) &&
			slices.EqualFunc(w.elements, g.elements, func(a, b any) bool { return same(a, b, bags) })
	}
	return reflect.DeepEqual(want, got)
}

// sameBag reports whether two lists can be paired off.
func sameBag[T any](want, got []T, equal func(a, b T) bool) bool {
	if len(want) != len(got) {
		return false
	}
	used := make([]bool, len(got))
next:
	for _, w := range want {
		for i, g := range got {
			if !used[i] && equal(w, g) {
				used[i] = true
				continue next
			}
		}
		return false
	}
	return true
}

// show writes a value for a failure message.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "'" + v + "'"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = show(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for i, k := range keys {
			keys[i] = k + ": " + show(v[k])
		}
		return "{" + strings.Join(keys, ", ") + "}"
	case *node:
		return "(" + strings.Join(v.labels, ":") + show(v.props) + ")"
	case *rel:
		return "[:" + v.typ + show(v.props) + "]"
	case *path:
		var b strings.Builder
		for i, e := range v.elements {
			if i%2 == 1 {
				b.WriteString([]string{"<-", "-", "->"}[v.forward[i/2]+1])
			}
			b.WriteString(show(e))
		}
		return "<" + b.String() + ">"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64) + "f"
	}
	return fmt.Sprint(v)
}
