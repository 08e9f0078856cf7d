package fn

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
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
		Name: "cypher.vectorProperty", MinArgs: 4, MaxArgs: 4, Deterministic: true, Internal: true, Result: List | Vector, Elem: Float,
		Signature:   "cypher.vectorProperty(procedure :: STRING, entity :: NODE | RELATIONSHIP, key :: STRING, vector :: LIST<INTEGER | FLOAT> | VECTOR) :: LIST<FLOAT> | VECTOR",
		Description: "The vector that a procedure sets a property of a node or relationship to.",
		Eval:        vectorProperty,
	},
}

// vectorProperty checks the arguments of a procedure that sets a property to a vector, and returns a Vector as it is, and the
// numbers of a List as floats.
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
	case coords.Kind() == graph.VectorKind:
		return coords, nil
	case coords.Kind() != graph.List:
		return null, CallFailed("%s: the vector must be a list of numbers or a Vector, not %s", name, notation.Describe(coords))
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
				if err := ctx.Alive(); err != nil {
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
		if err := ctx.Alive(); err != nil {
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
		Signature:   name + "(value :: ANY, vector :: LIST<INTEGER | FLOAT> | VECTOR) :: FLOAT",
		Description: "How alike two vectors are; null if the value is no vector of as many dimensions.",
		Eval: func(ctx *Context, args []graph.Value) (graph.Value, error) {
			probe := &ctx.vectors().probe
			if d := vector.Dimensions(args[0]); d < 0 || d != vector.Dimensions(args[1]) || !probe.Set(by, args[1]) {
				return null, nil
			}
			if score, ok := probe.Score(args[0]); ok {
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
		Args: []Kinds{List | Vector, List | Vector}, Result: Float | Null,
		Signature:   name + "(a :: LIST<INTEGER | FLOAT> | VECTOR, b :: LIST<INTEGER | FLOAT> | VECTOR) :: FLOAT",
		Description: description,
		Eval: strict(func(ctx *Context, args []graph.Value) (graph.Value, error) {
			a, b := args[0], args[1]
			for _, v := range args {
				if vector.Dimensions(v) < 0 {
					return null, badArgument(name, v, "a List or Vector")
				}
			}
			probe := &ctx.vectors().probe
			if !probe.Set(by, a) {
				return null, noVector(name, "a")
			}
			if vector.Dimensions(a) != vector.Dimensions(b) {
				if !new(vector.Probe).Set(by, b) {
					return null, noVector(name, "b")
				}
				return null, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "%s(): a has %d dimensions and b has %d", name, vector.Dimensions(a), vector.Dimensions(b))
			}
			score, ok := probe.Score(b)
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

// vectorTypeFunctions make and measure values of the type VECTOR, as Cypher 25 defines them.
var vectorTypeFunctions = []Function{
	{
		Name: "vector", MinArgs: 3, MaxArgs: 3, Deterministic: true,
		Args: []Kinds{List | String, Integer, String}, Result: Vector | Null,
		Signature: "vector(vectorValue :: STRING | LIST<INTEGER | FLOAT>, dimension :: INTEGER, coordinateType :: [INTEGER64, INTEGER32, INTEGER16, " +
			"INTEGER8, FLOAT64, FLOAT32]) :: VECTOR",
		Description: "A vector of so many coordinates of a type, from a list of numbers or its text; null if the list or the dimension is null.",
		Eval:        makeVector,
	},
	{
		Name: "vector_dimension_count", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Vector}, Result: Integer | Null,
		Signature: "vector_dimension_count(vector :: VECTOR) :: INTEGER", Description: "The number of coordinates of a vector.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.VectorKind {
				return null, badArgument("vector_dimension_count", args[0], "a Vector")
			}
			return graph.IntValue(int64(args[0].Vector().Dimensions())), nil
		}),
	},
	{
		Name: "vector_distance", MinArgs: 3, MaxArgs: 3, Deterministic: true,
		Args: []Kinds{Vector, Vector, String}, Result: Float | Null,
		Signature: "vector_distance(vector1 :: VECTOR, vector2 :: VECTOR, vectorDistanceMetric :: [EUCLIDEAN, EUCLIDEAN_SQUARED, MANHATTAN, COSINE, DOT, " +
			"HAMMING]) :: FLOAT",
		Description: "The distance of two vectors by a metric: less is nearer. COSINE is 1 - cos, DOT the negative dot product, HAMMING the number " +
			"of coordinates that differ.",
		Eval: strict(distance),
	},
	{
		Name: "vector_norm", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Args: []Kinds{Vector, String}, Result: Float | Null,
		Signature:   "vector_norm(vector :: VECTOR, vectorDistanceMetric :: [EUCLIDEAN, MANHATTAN]) :: FLOAT",
		Description: "The length of a vector by a metric.",
		Eval: strict(func(ctx *Context, args []graph.Value) (graph.Value, error) {
			const name = "vector_norm"
			if args[0].Kind() != graph.VectorKind {
				return null, badArgument(name, args[0], "a Vector")
			}
			if args[1].Kind() != graph.String {
				return null, badArgument(name, args[1], "EUCLIDEAN or MANHATTAN")
			}
			coords := &ctx.vectors().coords
			x := args[0].Vector().AppendFloat64(coords[0][:0])
			coords[0] = x
			sum := 0.0
			switch strings.ToUpper(args[1].Str()) {
			case "EUCLIDEAN":
				for _, c := range x {
					sum += c * c
				}
				return graph.FloatValue(math.Sqrt(sum)), nil
			case "MANHATTAN":
				for _, c := range x {
					sum += math.Abs(c)
				}
				return graph.FloatValue(sum), nil
			}
			return null, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "vector_norm(): the metrics are EUCLIDEAN and MANHATTAN, not %s", args[1].Str())
		}),
	},
}

func makeVector(_ *Context, args []graph.Value) (graph.Value, error) {
	const name = "vector"
	if args[0].IsNull() || args[1].IsNull() {
		return null, nil
	}
	dimensions, err := intArg(name, args[1])
	if err != nil {
		return null, err
	}
	if args[2].Kind() != graph.String {
		return null, badArgument(name, args[2], "a coordinate type")
	}
	fail := func(format string, values ...any) (graph.Value, error) {
		return null, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "vector(): "+format, values...)
	}
	t, ok := graph.ParseCoordinateType(args[2].Str())
	if !ok {
		return fail("unknown coordinate type %s; there are INTEGER64, INTEGER32, INTEGER16, INTEGER8, FLOAT64 and FLOAT32", args[2].Str())
	}
	var list []graph.Value
	switch args[0].Kind() {
	case graph.List:
		list = args[0].List()
	case graph.String:
		if list, ok = parseCoordinates(args[0].Str()); !ok {
			return fail("%s is not a list of numbers", notation.Describe(args[0]))
		}
	default:
		return null, badArgument(name, args[0], "a List or String")
	}
	if n := dimensions; n < 1 || n > graph.MaxDimensions {
		return fail("a vector has from 1 to %d dimensions, not %d", graph.MaxDimensions, n)
	} else if n != int64(len(list)) {
		return fail("there are %d coordinates for %d dimensions", len(list), n)
	}
	v, err := graph.VectorOf(t, list)
	if err != nil {
		return fail("%s", err.Error())
	}
	return graph.VectorValue(v), nil
}

// parseCoordinates reads numbers between brackets, with commas between them.
func parseCoordinates(text string) (list []graph.Value, ok bool) {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "[")
	if !ok {
		return nil, false
	}
	if inner, ok = strings.CutSuffix(inner, "]"); !ok {
		return nil, false
	}
	for part := range strings.SplitSeq(inner, ",") {
		part = strings.TrimSpace(part)
		if i, err := strconv.ParseInt(part, 10, 64); err == nil {
			list = append(list, graph.IntValue(i))
		} else if f, ok := parseFloat(part); ok {
			list = append(list, graph.FloatValue(f))
		} else {
			return nil, false
		}
	}
	return list, true
}

func distance(ctx *Context, args []graph.Value) (graph.Value, error) {
	const name = "vector_distance"
	coords := &ctx.vectors().coords
	for i := range coords {
		if args[i].Kind() != graph.VectorKind {
			return null, badArgument(name, args[i], "a Vector")
		}
		coords[i] = args[i].Vector().AppendFloat64(coords[i][:0])
	}
	if args[2].Kind() != graph.String {
		return null, badArgument(name, args[2], "a metric")
	}
	a, b := coords[0], coords[1]
	if len(a) != len(b) {
		return null, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "%s(): vector1 has %d dimensions and vector2 has %d", name, len(a), len(b))
	}
	var sum, aa, bb float64
	metric := strings.ToUpper(args[2].Str())
	switch metric {
	case "EUCLIDEAN", "EUCLIDEAN_SQUARED":
		for i := range a {
			d := a[i] - b[i]
			sum += d * d
		}
		if metric == "EUCLIDEAN" {
			sum = math.Sqrt(sum)
		}
	case "MANHATTAN":
		for i := range a {
			sum += math.Abs(a[i] - b[i])
		}
	case "DOT", "COSINE":
		for i := range a {
			sum, aa, bb = sum+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
		}
		if metric == "DOT" {
			return graph.FloatValue(0 - sum), nil
		}
		if aa == 0 || bb == 0 {
			return null, graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "%s(): a vector of length 0 has no cosine distance", name)
		}
		sum = 1 - min(max(sum/math.Sqrt(aa)/math.Sqrt(bb), -1), 1)
	case "HAMMING":
		for i := range a {
			if a[i] != b[i] {
				sum++
			}
		}
	default:
		return null, graph.RuntimeError("ArgumentError", "InvalidArgumentValue",
			"%s(): the metrics are EUCLIDEAN, EUCLIDEAN_SQUARED, MANHATTAN, COSINE, DOT and HAMMING, not %s", name, args[2].Str())
	}
	return graph.FloatValue(sum), nil
}
