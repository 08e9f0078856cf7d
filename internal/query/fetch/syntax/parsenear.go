package syntax

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// near is @near: the rows whose property is a vector of as many dimensions, the most similar first.
type near struct {
	N        *Node
	Property string
	By       graph.Similarity
	Vector   []graph.Value
}

// parseNear reads {"property": "embedding", "vector": [0.1, 0.2], "similarity": "cosine"}; the similarity may be left out.
func (t *Table) parseNear(m *Node) error {
	if m.Kind != JSONObject {
		return Illegal(m, "must be an object with property and vector, was %s", m.What())
	}
	t.Near = &near{N: m}
	for _, e := range m.Members {
		switch e.Key {
		case "property":
			if e.Kind != JSONString || !IsName(e.Str()) {
				return Illegal(e, "must be the name of a property, was %s", e.What())
			}
			t.Near.Property = e.Str()
		case "vector":
			if e.Kind != JSONList {
				return Illegal(e, "must be a list of numbers, was %s", e.What())
			}
			for _, x := range e.Elems {
				if x.Kind != JSONNumber {
					return Illegal(e, "must be a list of numbers, and has %s", x.What())
				}
				t.Near.Vector = append(t.Near.Vector, x.Scalar)
			}
		case "similarity":
			var ok bool
			if e.Kind == JSONString {
				t.Near.By, ok = graph.ParseSimilarity(e.Str())
			}
			if !ok {
				return Illegal(e, "must be cosine or euclidean, was %s", e.What())
			}
		default:
			return Illegal(e, "@near has property, vector and similarity")
		}
	}
	switch {
	case t.Near.Property == "":
		return Illegal(m, "@near needs a property")
	case !new(vector.Probe).Set(t.Near.By, graph.ListValue(t.Near.Vector)):
		return Illegal(m, "@near needs a vector for the similarity %s: finite numbers and, for cosine, not zeros alone", t.Near.By)
	}
	return nil
}
