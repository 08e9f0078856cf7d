package fn

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

var vectorFunctions = []Function{
	similarity(graph.Cosine, "How alike two vectors are by their angle, from 0 for opposite ones to 1: (1 + cos) / 2."),
	similarity(graph.Euclidean, "How alike two vectors are by their distance d, from near 0 for distant ones to 1 for equal ones: 1 / (1 + d²)."),
	nearness(graph.Cosine),
	nearness(graph.Euclidean),
	{
		Name: "search.rrf", MinArgs: 1, MaxArgs: 2, Deterministic: true, Result: List | Null, Elem: Map,
		Signature: "search.rrf(lists :: LIST<LIST<ANY>> [, k :: FLOAT]) :: LIST<MAP>",
		Description: "Ranked lists as one, by reciprocal rank fusion: maps of each item, its score, which is the sum of 1 / (k + rank) over the lists, " +
			"and its ranks, in descending order of the scores. k is 60.",
		Eval: strict(fuseRanks),
	},
	{
		Name: "cypher.fuse", MinArgs: 1, MaxArgs: 1, Deterministic: true, Internal: true, Result: List, Elem: List,
		Signature:   "cypher.fuse(rows :: LIST<LIST<ANY>>) :: LIST<LIST<ANY>>",
		Description: "Rows whose first two elements are scores or null, with the first replaced by the sum of 1 / (60 + rank) by each; rows with neither are left out.",
		Eval:        fuseScores,
	},
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

// fuseRanks joins ranked lists by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). Of an item that a list has more than
// once, the first rank counts; null has none. Items of equal scores are in the order in which they first occur.
func fuseRanks(ctx *Context, args []graph.Value) (graph.Value, error) {
	const name = "search.rrf"
	lists, err := listArg(name, args[0])
	if err != nil {
		return null, err
	}
	k := 60.0
	if len(args) > 1 {
		if !args[1].IsNumber() || !(args[1].Number() >= 0) || args[1].Number() > math.MaxFloat64 {
			return null, badArgument(name, args[1], "a number from 0 on")
		}
		k = args[1].Number()
	}
	type item struct {
		value graph.Value
		score float64
		ranks []graph.Value
	}
	var items []item
	at := map[uint64][]int{}
	for n := range lists {
		if lists[n].IsNull() {
			continue
		}
		list, err := listArg(name, lists[n])
		if err != nil {
			return null, err
		}
		for rank, v := range list {
			if rank&0xfff == 0 {
				if err := ctx.alive(); err != nil {
					return null, err
				}
			}
			if v.IsNull() {
				continue
			}
			h := Hash(v)
			i := slices.IndexFunc(at[h], func(i int) bool { return Equivalent(items[i].value, v) })
			if i >= 0 {
				i = at[h][i]
			} else {
				i = len(items)
				at[h] = append(at[h], i)
				items = append(items, item{value: v, ranks: make([]graph.Value, len(lists))})
			}
			if items[i].ranks[n].IsNull() {
				items[i].ranks[n] = graph.IntValue(int64(rank + 1))
				items[i].score += 1 / (k + float64(rank+1))
			}
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(b.score, a.score) })
	out := make([]graph.Value, len(items))
	for i := range items {
		out[i] = graph.MapValue([]graph.MapEntry{
			{Key: "item", Value: items[i].value}, {Key: "score", Value: graph.FloatValue(items[i].score)}, {Key: "ranks", Value: graph.ListValue(items[i].ranks)},
		})
	}
	return graph.ListValue(out), nil
}

// fuseScores joins the ranks of rows by their first two elements by reciprocal rank fusion, as fuseRanks does. The scores are floats, or
// null where a row is not ranked. Rows of equal scores rank in their order.
func fuseScores(ctx *Context, args []graph.Value) (graph.Value, error) {
	rows := args[0].List()
	fused := make([]float64, len(rows))
	order := make([]int32, 0, len(rows))
	for by := range 2 {
		if err := ctx.alive(); err != nil {
			return null, err
		}
		order = order[:0]
		for i := range rows {
			if !rows[i].List()[by].IsNull() {
				order = append(order, int32(i))
			}
		}
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(rows[b].List()[by].Float(), rows[a].List()[by].Float()) })
		for rank, i := range order {
			fused[i] += 1 / (60 + float64(rank+1))
		}
	}
	out := make([]graph.Value, 0, len(rows))
	for i := range rows {
		if fused[i] > 0 {
			row := slices.Clone(rows[i].List())
			row[0] = graph.FloatValue(fused[i])
			out = append(out, graph.ListValue(row))
		}
	}
	return graph.ListValue(out), nil
}

// nearness is a similarity that is null for what is no vector of the dimensions of the second one.
func nearness(by graph.Similarity) Function {
	name := "cypher.near." + by.String()
	return Function{
		Name: name, MinArgs: 2, MaxArgs: 2, Deterministic: true, Internal: true, Result: Float | Null,
		Signature:   name + "(value :: ANY, vector :: LIST<INTEGER | FLOAT>) :: FLOAT",
		Description: "How alike two vectors are; null if the value is no vector of as many dimensions.",
		Eval: func(ctx *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.List || args[1].Kind() != graph.List || len(args[0].List()) != len(args[1].List()) || !ctx.probe.Set(by, args[1].List()) {
				return null, nil
			}
			if score, ok := ctx.probe.Score(args[0].List()); ok {
				return graph.FloatValue(score), nil
			}
			return null, nil
		},
	}
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
