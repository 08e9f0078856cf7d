package changes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// Selectors choose events: those that one of them takes, or all if there is none.
type Selectors struct{ all []selector }

// selector takes the events that meet all its conditions.
type selector struct {
	nodes, edges bool
	op           Op // or 0
	changes      []string
	element      endSelector // elementId, labels and key of the element itself
	edgeType     string
	start, end   endSelector
	executing    *string
	authorized   *string
	said         []graph.MapEntry
}

// endSelector are the conditions on a vertex.
type endSelector struct {
	elementID string
	labels    []string
	key       []graph.MapEntry
}

// selectorFields are the names of a selector's fields by what it selects.
var selectorFields = map[string][]string{
	"e": {"select", "operation", "changesTo", "elementId"},
	"n": {"select", "operation", "changesTo", "elementId", "labels", "key"},
	"r": {"select", "operation", "changesTo", "elementId", "type", "key", "start", "end"},
	// An end of an edge.
	"": {"select", "elementId", "labels", "key"},
}

var metadataFields = []string{"executingUser", "authenticatedUser", "txMetadata"}

// ParseSelectors reads a list of maps, as db.cdc.query takes them; null is an empty list. Errors name the field, such as
// selectors[0].start.labels.
func ParseSelectors(v graph.Value) (Selectors, error) {
	var out Selectors
	if v.IsNull() {
		return out, nil
	}
	if v.Kind() != graph.List {
		return out, errSelector("selectors", "a list of maps is needed, not %s", an(v))
	}
	for i, m := range v.List() {
		place := fmt.Sprintf("selectors[%d]", i)
		if m.Kind() != graph.Map {
			return out, errSelector(place, "a map is needed, not %s", an(m))
		}
		s, err := parseSelector(place, m.Clone())
		if err != nil {
			return out, err
		}
		out.all = append(out.all, s)
	}
	return out, nil
}

// ParseSelectorsJSON reads the JSON of ParseSelectors; an empty text is an empty list.
func ParseSelectorsJSON(b []byte) (Selectors, error) {
	if len(b) == 0 {
		return Selectors{}, nil
	}
	v, err := readJSON(b)
	if err != nil {
		return Selectors{}, errSelector("selectors", "not JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	return ParseSelectors(v)
}

func an(v graph.Value) string {
	if v.IsNull() {
		return "null"
	}
	return "the " + v.Kind().String()
}

func parseSelector(place string, m graph.Value) (s selector, err error) {
	sel := m.Get("select")
	if sel.Kind() != graph.String || sel.Str() != "e" && sel.Str() != "n" && sel.Str() != "r" {
		return s, errSelector(place+".select", `use "e" for all, "n" for nodes or "r" for relationships`)
	}
	what := sel.Str()
	s.nodes, s.edges = what != "r", what != "n"
	fields := append(slices.Clone(selectorFields[what]), metadataFields...)
	if err := s.element.parse(place, m, fields); err != nil {
		return s, err
	}
	for _, f := range m.Map() {
		at, v := place+"."+f.Key, f.Value
		if v.IsNull() {
			continue
		}
		switch f.Key {
		case "operation":
			ops := []Op{Create, Update, Delete, Read}
			i := slices.IndexFunc(ops, func(op Op) bool { return v.Kind() == graph.String && v.Str() == string(op) })
			if i < 0 {
				return s, errSelector(at, `use "c" for what was created, "u" for updated, "d" for deleted or "r" for what a snapshot has`)
			}
			s.op = ops[i]
		case "changesTo":
			s.changes, err = stringsOf(at, v)
		case "type":
			s.edgeType, err = stringOf(at, v)
		case "start":
			err = s.start.parseEnd(at, v)
		case "end":
			err = s.end.parseEnd(at, v)
		case "executingUser", "authenticatedUser":
			var user string
			user, err = stringOf(at, v)
			if f.Key == "executingUser" {
				s.executing = &user
			} else {
				s.authorized = &user
			}
		case "txMetadata":
			if v.Kind() != graph.Map {
				return s, errSelector(at, "a map is needed, not %s", an(v))
			}
			s.said = v.Map()
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// parseEnd reads the map of an edge's end.
func (s *endSelector) parseEnd(place string, v graph.Value) error {
	if v.Kind() != graph.Map {
		return errSelector(place, "a map is needed, not %s", an(v))
	}
	if sel := v.Get("select"); !sel.IsNull() && (sel.Kind() != graph.String || sel.Str() != "n") {
		return errSelector(place+".select", `an end of a relationship is a node: use "n"`)
	}
	return s.parse(place, v, selectorFields[""])
}

// parse reads the conditions on an element, and checks that the map has no other fields than some.
func (s *endSelector) parse(place string, m graph.Value, fields []string) (err error) {
	for _, f := range m.Map() {
		at, v := place+"."+f.Key, f.Value
		if !slices.Contains(fields, f.Key) {
			return errSelector(at, "there is no such field here; use %s", strings.Join(fields, ", "))
		}
		if v.IsNull() {
			continue
		}
		switch f.Key {
		case "elementId":
			s.elementID, err = stringOf(at, v)
		case "labels":
			s.labels, err = stringsOf(at, v)
		case "key":
			if v.Kind() != graph.Map {
				return errSelector(at, "a map is needed, not %s", an(v))
			}
			s.key = v.Map()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func stringOf(place string, v graph.Value) (string, error) {
	if v.Kind() != graph.String {
		return "", errSelector(place, "a string is needed, not %s", an(v))
	}
	return v.Str(), nil
}

func stringsOf(place string, v graph.Value) (out []string, err error) {
	if v.Kind() != graph.List {
		return nil, errSelector(place, "a list of strings is needed, not %s", an(v))
	}
	for i, e := range v.List() {
		s, err := stringOf(fmt.Sprintf("%s[%d]", place, i), e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// take reports whether a selector takes an event.
func (s *Selectors) take(e *Event) bool {
	if len(s.all) == 0 {
		return true
	}
	for i := range s.all {
		if s.all[i].takes(e) {
			return true
		}
	}
	return false
}

func (s *selector) takes(e *Event) bool {
	c, g := &e.Change, e.tx.s.g
	switch {
	case e.Op == Gap: // nothing more is known of its changes
		counts := c.Counts
		return s.nodes && counts[0]+counts[1]+counts[2] > 0 || s.edges && counts[3]+counts[4]+counts[5] > 0
	case c.IsEdge && !s.edges, !c.IsEdge && !s.nodes:
		return false
	case s.op != 0 && s.op != e.Op && (s.op != Create || e.Op != Read):
		return false
	case s.edgeType != "" && s.edgeType != g.TypeName(c.Edge.Type):
		return false
	case s.element.elementID != "" && string(e.AppendElementID(nil)) != s.element.elementID:
		return false
	case len(s.element.labels) > 0 && !hasLabels(g, c.Before.Labels, s.element.labels) && !hasLabels(g, c.After.Labels, s.element.labels):
		return false
	case !hasKey(g, c.Keys, s.element.key):
		return false
	case c.IsEdge && (!s.start.takes(g, c.Edge.Src, &c.Src) || !s.end.takes(g, c.Edge.Dst, &c.Dst)):
		return false
	case s.executing != nil && *s.executing != e.tx.origin.User, s.authorized != nil && *s.authorized != e.tx.origin.User:
		return false
	}
	for _, name := range s.changes {
		if id, ok := g.Prop(name); !ok || !changed(c, id) {
			return false
		}
	}
	if len(s.said) > 0 {
		said := e.tx.metadata()
		for _, m := range s.said {
			if !fn.Equivalent(said.Get(m.Key), m.Value) {
				return false
			}
		}
	}
	return true
}

func (s *endSelector) takes(g graph.Catalog, v graph.VertexID, end *changelog.End) bool {
	return (s.elementID == "" || string(graph.AppendVertexElementID(nil, v)) == s.elementID) && hasLabels(g, end.Labels, s.labels) && hasKey(g, end.Keys, s.key)
}

// hasLabels reports whether a set has all of some labels.
func hasLabels(g graph.Catalog, set graph.LabelSet, names []string) bool {
	if len(names) == 0 {
		return true
	}
	has := g.Labels(set)
	for _, name := range names {
		if id, ok := g.Label(name); !ok || !slices.Contains(has, id) {
			return false
		}
	}
	return true
}

// hasKey reports whether the values of an element's keys have all entries of a map.
func hasKey(g graph.Catalog, props []graph.Property, key []graph.MapEntry) bool {
	for _, k := range key {
		if id, ok := g.Prop(k.Key); !ok || fn.Equal(value(props, id), k.Value) != fn.True {
			return false
		}
	}
	return true
}

// changed reports whether a change sets or removes a property.
func changed(c *changelog.Change, id graph.PropID) bool {
	before, after := value(c.Before.Props, id), value(c.After.Props, id)
	return before.Kind() != after.Kind() || !fn.Equivalent(before, after)
}
