package graph_test

import (
	"errors"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
)

// Build a value and read it by its kind.
func ExampleValue() {
	v := graph.MapValue([]graph.MapEntry{
		{Key: "age", Value: graph.IntValue(41)},
		{Key: "names", Value: graph.ListValue([]graph.Value{graph.StringValue("Ann"), graph.StringValue("Anna")})},
	})
	fmt.Println(v.Kind(), v.Get("age").Int(), v.Get("names").List()[1].Str(), v.Get("height").IsNull())
	// Output: Map 41 Anna true
}

// Keep a set of vertices of several shards as a bitmap.
func ExampleVertexSet() {
	var s graph.VertexSet
	for _, local := range []uint64{7, 3, 7} {
		fmt.Println(s.Add(graph.MakeVertexID(1, local)))
	}
	fmt.Println(s.Len(), s.Has(graph.MakeVertexID(0, 3)))
	// Output:
	// true
	// true
	// false
	// 2 false
}

// Every error has a kind, which the transports map to their codes.
func ExampleAsError() {
	err := fmt.Errorf("read: %w", graph.BudgetError("the result has more than %d rows", 10))
	fmt.Println(graph.AsError(err).Kind == graph.KindBudget)
	fmt.Println(graph.AsError(errors.New("unexpected")).Kind == graph.KindInternal)
	// Output:
	// true
	// true
}
