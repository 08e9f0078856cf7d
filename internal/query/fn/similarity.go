package fn

import (
	"math"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

var vectorFunctions = []Function{
	similarity(graph.Cosine, "How alike two vectors are by their angle, from 0 for opposite ones to 1: (1 + cos) / 2."),
	similarity(graph.Euclidean, "How alike two vectors are by their distance d, from near 0 for distant ones to 1 for equal ones: 1 / (1 + d²)."),
	{
		Name: "cypher.vectorProperty", MinArgs: 4, MaxArgs: 4, Deterministic: true, Internal: true, Result: List, Elem: Float,
		Signature:   "cypher.vectorProperty(procedure :: STRING, entity :: NODE | RELATIONSHIP, key :: STRING, vector :: LIST<INTEGER | FLOAT>) :: LIST<FLOAT>",
		Description: "The vector that a procedure sets a property of a node or relationship to.",
		Eval:        vectorProperty,
	},
}

// vectorProperty checks the arguments of a procedure that sets a property to a vector, and returns its coordinates as floats.
func vectorProperty(_ *Context, args []graph.Value) (graph.Value, error) {
	name, entity, coords := args[0].Str(), args[1], args[3]
	kind, what := graph.VertexKind, "a Node"
	if strings.HasSuffix(name, "setRelationshipVectorProperty") {
		kind, what = graph.EdgeKind, "a Relationship"
	}
	switch {
	case !entity.IsNull() && entity.Kind() != kind:
		return null, badArgument(name, entity, what)
	case args[2].Kind() != graph.String:
		return null, badArgument(name, args[2], "the name of a property")
	case coords.Kind() != graph.List:
		return null, CallFailed("%s: the vector must be a list of numbers, not %s", name, Describe(coords))
	}
	list := coords.List()
	if len(list) == 0 || len(list) > graph.MaxDimensions {
		return null, CallFailed("%s: a vector has from 1 to %d dimensions, not %d", name, graph.MaxDimensions, len(list))
	}
	floats := make([]graph.Value, len(list))
	for i := range list {
		x := coordinate(&list[i])
		if !small(x) {
			return null, CallFailed("%s: the coordinates of a vector are finite numbers, and that at %d is not", name, i)
		}
		floats[i] = graph.FloatValue(x)
	}
	return graph.ListValue(floats), nil
}

func similarity(by graph.Similarity, description string) Function {
	name := "vector.similarity." + by.String()
	return Function{
		Name: name, MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Args: []Kinds{List, List}, Result: Float | Null,
		Signature:   name + "(a :: LIST<INTEGER | FLOAT>, b :: LIST<INTEGER | FLOAT>) :: FLOAT",
		Description: description,
		Eval: strict(func(ctx *Context, args []graph.Value) (graph.Value, error) {
			a, err := listArg(name, args[0])
			if err != nil {
				return null, err
			}
			b, err := listArg(name, args[1])
			if err != nil {
				return null, err
			}
			if !ctx.probe.Set(by, a) {
				return null, noVector(name, "a")
			}
			if len(a) != len(b) {
				if !new(vector.Probe).Set(by, b) {
					return null, noVector(name, "b")
				}
				return null, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "%s(): a has %d dimensions and b has %d", name, len(a), len(b))
			}
			score, ok := ctx.probe.Score(b)
			if !ok {
				return null, noVector(name, "b")
			}
			return graph.FloatValue(score), nil
		}),
	}
}

func noVector(name, argument string) error {
	return graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "%s(): %s is not a valid vector for this similarity function", name, argument)
}

// small reports whether a number is finite as a 32-bit float; NaN is not.
func small(x float64) bool { return -math.MaxFloat32 <= x && x <= math.MaxFloat32 }

// coordinate returns a number, or NaN for any other value.
func coordinate(v *graph.Value) float64 {
	switch v.Kind() {
	case graph.Float:
		return v.Float()
	case graph.Int:
		return float64(v.Int())
	}
	return math.NaN()
}
