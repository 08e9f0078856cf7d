package fn

import "github.com/hopgate/hopgate/internal/graph"

var vectorFunctions = []Function{
	similarity(graph.Cosine, "How alike two vectors are by their angle, from 0 for opposite ones to 1: (1 + cos) / 2."),
	similarity(graph.Euclidean, "How alike two vectors are by their distance d, from near 0 for distant ones to 1 for equal ones: 1 / (1 + d²)."),
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
