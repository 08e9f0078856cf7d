package expr

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// recordShapes caches the sorted names of each combination of properties, so that records share their keys.
type recordShapes struct {
	byKind map[shapeKey][]*recordShape
	last   shapeKey
	shape  *recordShape // of the last record
}

// shapeKey is the label set of a vertex or the type of an edge, whose records tend to have the same properties.
type shapeKey struct {
	labels graph.LabelSet
	typ    graph.TypeID
}

type recordShape struct {
	props []graph.PropID
	keys  []string // sorted
	order []int    // parallel to keys: the place of the property in the record
}

// shapesKept bounds the cached shapes of one shapeKey; a look-up compares with all of them.
const shapesKept = 16

// of returns the shape of a record with these properties.
func (s *recordShapes) of(g graph.Catalog, kind shapeKey, props []graph.Property) *recordShape {
	if s.shape != nil && s.last == kind && s.shape.fits(props) {
		return s.shape
	}
	s.last = kind
	for _, shape := range s.byKind[kind] {
		if shape.fits(props) {
			s.shape = shape
			return shape
		}
	}
	s.shape = newShape(g, props)
	if s.byKind == nil {
		s.byKind = map[shapeKey][]*recordShape{}
	}
	if len(s.byKind[kind]) < shapesKept {
		s.byKind[kind] = append(s.byKind[kind], s.shape)
	}
	return s.shape
}

func (s *recordShape) fits(props []graph.Property) bool {
	if len(props) != len(s.props) {
		return false
	}
	for i := range props {
		if props[i].ID != s.props[i] {
			return false
		}
	}
	return true
}

func newShape(g graph.Catalog, props []graph.Property) *recordShape {
	s := &recordShape{keys: make([]string, len(props)), order: make([]int, len(props))}
	names := make([]string, len(props))
	for i, p := range props {
		s.props = append(s.props, p.ID)
		names[i] = g.PropName(p.ID)
		s.order[i] = i
	}
	slices.SortFunc(s.order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	for k, i := range s.order {
		s.keys[k] = names[i]
	}
	return s
}
