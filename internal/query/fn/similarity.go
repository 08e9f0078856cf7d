package fn

import (
	"math"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
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
	name, entity, vector := args[0].Str(), args[1], args[3]
	kind, what := graph.VertexKind, "a Node"
	if strings.HasSuffix(name, "setRelationshipVectorProperty") {
		kind, what = graph.EdgeKind, "a Relationship"
	}
	switch {
	case !entity.IsNull() && entity.Kind() != kind:
		return null, badArgument(name, entity, what)
	case args[2].Kind() != graph.String:
		return null, badArgument(name, args[2], "the name of a property")
	case vector.Kind() != graph.List:
		return null, CallFailed("%s: the vector must be a list of numbers, not %s", name, Describe(vector))
	}
	list := vector.List()
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
				if !new(Probe).Set(by, b) {
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

// Probe is a vector that a similarity compares with many others.
type Probe struct {
	by     graph.Similarity
	coords []float64
	length float64 // by the Euclidean norm
}

// Set makes the probe a vector, copied from a list. It reports whether the list is a vector for the similarity: one or more numbers,
// each finite as a 32-bit float, or, for the cosine, of finite length above 0.
func (p *Probe) Set(by graph.Similarity, list []graph.Value) bool {
	p.by, p.coords = by, p.coords[:0]
	for i := range list {
		if !list[i].IsNumber() {
			return false
		}
		p.coords = append(p.coords, list[i].Number())
	}
	if by == graph.Euclidean {
		return len(list) > 0 && !slices.ContainsFunc(p.coords, func(x float64) bool { return !small(x) })
	}
	square, _ := p.sums(list)
	p.length = math.Sqrt(square)
	return positive(p.length)
}

// Dimensions returns the number of the probe's coordinates.
func (p *Probe) Dimensions() int { return len(p.coords) }

// Score returns the similarity of the probe and a list of as many values, rounded to a 32-bit float as Neo4j's scores are. ok is
// false if the list is no vector for the similarity.
func (p *Probe) Score(list []graph.Value) (score float64, ok bool) {
	if p.by == graph.Euclidean {
		d, ok := p.squareDistance(list)
		return float64(float32(1 / (1 + d))), ok
	}
	square, dot := p.sums(list)
	length := math.Sqrt(square)
	if !positive(length) {
		return 0, false
	}
	cos := dot / p.length / length
	return float64(float32(min(max((1+cos)/2, 0), 1))), true
}

func positive(length float64) bool { return length > 0 && length <= math.MaxFloat64 }

// sums returns the square of a list's length and its dot product with the probe; NaN if one of the values is no number. Four sums of
// each kind run side by side, so that an addition need not wait for the one before.
func (p *Probe) sums(list []graph.Value) (square, dot float64) {
	q := p.coords[:len(list)]
	var s0, s1, s2, s3, d0, d1, d2, d3 float64
	for len(list) >= 4 && len(q) >= 4 {
		a, b, c, d := coordinate(&list[0]), coordinate(&list[1]), coordinate(&list[2]), coordinate(&list[3])
		s0 += a * a
		s1 += b * b
		s2 += c * c
		s3 += d * d
		d0 += a * q[0]
		d1 += b * q[1]
		d2 += c * q[2]
		d3 += d * q[3]
		list, q = list[4:], q[4:]
	}
	for i := range list {
		x := coordinate(&list[i])
		s0 += x * x
		d0 += x * q[i]
	}
	return s0 + s1 + s2 + s3, d0 + d1 + d2 + d3
}

// squareDistance returns the square of the distance of a list and the probe; ok is false if the list is no vector.
func (p *Probe) squareDistance(list []graph.Value) (square float64, ok bool) {
	q := p.coords[:len(list)]
	var s0, s1, s2, s3 float64
	for len(list) >= 4 && len(q) >= 4 {
		a, b, c, d := coordinate(&list[0]), coordinate(&list[1]), coordinate(&list[2]), coordinate(&list[3])
		if !small(a) || !small(b) || !small(c) || !small(d) {
			return 0, false
		}
		a, b, c, d = a-q[0], b-q[1], c-q[2], d-q[3]
		s0 += a * a
		s1 += b * b
		s2 += c * c
		s3 += d * d
		list, q = list[4:], q[4:]
	}
	for i := range list {
		x := coordinate(&list[i])
		if !small(x) {
			return 0, false
		}
		x -= q[i]
		s0 += x * x
	}
	return s0 + s1 + s2 + s3, true
}

// small reports whether a number is finite as a 32-bit float; NaN is not.
func small(x float64) bool { return -math.MaxFloat32 <= x && x <= math.MaxFloat32 }

// coordinate returns a number; NaN for what is none.
func coordinate(v *graph.Value) float64 {
	switch v.Kind() {
	case graph.Float:
		return v.Float()
	case graph.Int:
		return float64(v.Int())
	}
	return math.NaN()
}
