package loader_test

import (
	"context"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/oracle"
)

// Load two people and the edge between them. The keys are the values of Person.id.
func ExampleSession_Apply() {
	ctx := context.Background()
	store := oracle.New(1)
	if err := store.CreateGraph(ctx, "default"); err != nil {
		fmt.Println(err)
		return
	}
	s, err := loader.New(store).Begin(ctx, loader.Open{
		Stream: "people",
		Spaces: []loader.Space{{Name: "Person", Label: "Person", Property: "id"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	keys := []graph.Value{graph.IntValue(1), graph.IntValue(2)}
	people := &loader.Batch{Seq: 1, Vertices: []loader.VertexRows{{
		Labels: []string{"Person"}, Keys: keys, Props: []loader.PropertyColumn{{Name: "id", Values: keys}},
	}}}
	knows := &loader.Batch{Seq: 2, Edges: []loader.EdgeRows{{Type: "KNOWS", Src: keys[:1], Dst: keys[1:]}}}
	for _, b := range []*loader.Batch{people, knows, knows} { // the repeated batch counts once
		acks, err := s.Apply(ctx, []*loader.Batch{b})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(acks[0].Seq, acks[0].Counts.Vertices.Created, acks[0].Counts.Edges.Created)
	}
	// Output:
	// 1 2 0
	// 2 0 1
	// 2 0 0
}
