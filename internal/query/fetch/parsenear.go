package fetch

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// near is @near: the rows whose property is a vector of as many dimensions, the most similar first.
type near struct {
	n        *node
	property string
	by       graph.Similarity
	vector   []graph.Value
}

// parseNear reads {"property": "embedding", "vector": [0.1, 0.2], "similarity": "cosine"}; the similarity may be left out.
func (t *table) parseNear(m *node) error {
	if m.kind != kObject {
		return illegal(m, "must be an object with property and vector, was %s", m.what())
	}
	t.near = &near{n: m}
	for _, e := range m.members {
		switch e.key {
		case "property":
			if e.kind != kString || !isName(e.str()) {
				return illegal(e, "must be the name of a property, was %s", e.what())
			}
			t.near.property = e.str()
		case "vector":
			if e.kind != kList {
				return illegal(e, "must be a list of numbers, was %s", e.what())
			}
			for _, x := range e.elems {
				if x.kind != kNumber {
					return illegal(e, "must be a list of numbers, and has %s", x.what())
				}
				t.near.vector = append(t.near.vector, x.scalar)
			}
		case "similarity":
			var ok bool
			if e.kind == kString {
				t.near.by, ok = graph.ParseSimilarity(e.str())
			}
			if !ok {
				return illegal(e, "must be cosine or euclidean, was %s", e.what())
			}
		default:
			return illegal(e, "@near has property, vector and similarity")
		}
	}
	switch {
	case t.near.property == "":
		return illegal(m, "@near needs a property")
	case !new(vector.Probe).Set(t.near.by, graph.ListValue(t.near.vector)):
		return illegal(m, "@near needs a vector for the similarity %s: finite numbers and, for cosine, not zeros alone", t.near.by)
	}
	return nil
}
