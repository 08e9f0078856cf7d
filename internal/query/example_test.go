package query_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec/exectest"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// Run statements over the in-memory oracle, which tests use where no disk is needed.
func ExampleEngine_Query() {
	ctx := context.Background()
	store := oracle.New(1)
	if err := store.CreateGraph(ctx, query.DefaultGraph); err != nil {
		fmt.Println(err)
		return
	}
	e := query.New(store, query.Options{})
	show(e.Query(ctx, query.Request{Statement: "CREATE (:Person {name: 'Ann'})-[:KNOWS]->(:Person {name: 'Bob'})"}))
	show(e.Query(ctx, query.Request{
		Statement: "MATCH (:Person {name: $name})-[:KNOWS]->(f) RETURN f.name",
		Params:    map[string]graph.Value{"name": graph.StringValue("Ann")},
	}))
	// Output: 'Bob'
}

// Run statements over two shards in a directory.
func ExampleNew() {
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
	e := query.New(store, query.Options{})
	show(e.Query(context.Background(), query.Request{Statement: "UNWIND range(1, 5) AS i CREATE (:N {i: i})"}))
	show(e.Query(context.Background(), query.Request{Statement: "MATCH (n:N) RETURN sum(n.i)"}))
	// Output: 15
}

// show prints the rows of a result, one a line.
func show(res *query.Result, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Close()
	for {
		b, err := res.Next()
		if err != nil {
			fmt.Println(err)
		}
		if b == nil || err != nil {
			return
		}
		for i := range b.N {
			row := make([]graph.Value, len(b.Cols))
			for k := range row {
				row[k] = b.Cols[k].Value(i)
			}
			fmt.Println(exectest.ShowRow(row))
		}
	}
}
