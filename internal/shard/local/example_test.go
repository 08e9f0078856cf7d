package local_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// Open a store in a directory, create a graph in it, and read the graph's counters.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "hopgate")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := local.Open(local.Options{Dir: dir, Shards: 2, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	ctx := context.Background()
	if err := store.CreateGraph(ctx, "people"); err != nil {
		fmt.Println(err)
		return
	}
	g, err := store.Graph("people")
	if err != nil {
		fmt.Println(err)
		return
	}
	tx, err := g.Begin(ctx, shard.Read)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tx.Rollback()
	fmt.Println(store.Graphs(), tx.Counts().Vertices)
	// Output: [default people] 0
}
