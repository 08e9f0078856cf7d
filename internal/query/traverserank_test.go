package query_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/traverse"
)

// newRanked makes a user who knows others with vectors, and returns what runs a traversal; refused is a part of the error that it must give.
func newRanked(t *testing.T) func(tr *traverse.Traversal, refused string) [][]graph.Value {
	store := oracle.New(2)
	require.NoError(t, store.CreateGraph(t.Context(), query.DefaultGraph))
	e := query.New(store, query.Options{})
	run := func(res *query.Result, err error) (rows [][]graph.Value) {
		require.NoError(t, err)
		defer res.Close()
		for {
			b, err := res.Next()
			require.NoError(t, err)
			if b == nil {
				return rows
			}
			for i := range b.N {
				var row []graph.Value
				for c := range b.Cols {
					row = append(row, b.Cols[c].Value(i).Clone())
				}
				rows = append(rows, row)
			}
		}
	}
	run(e.Query(t.Context(), query.Request{Statement: "CREATE (u:User {id: 1}) WITH u UNWIND [[2, [1, 0]], [3, [1, 1]], [4, [0, 1]], [5, [1]], [6, 'x']] AS r " +
		"CREATE (u)-[:KNOWS]->(:User {id: r[0], v: r[1]})"}))
	return func(tr *traverse.Traversal, refused string) [][]graph.Value {
		res, err := e.Traverse(t.Context(), query.TypedRequest{Typed: tr})
		if refused != "" {
			require.ErrorContains(t, err, refused)
			return nil
		}
		return run(res, err)
	}
}

// TestTraverseRank orders what a traversal finds by vectors, and refuses what has no order.
func TestTraverseRank(t *testing.T) {
	n := newRanked(t)
	ask := func(returns string, limit uint64, vector ...float64) [][]graph.Value {
		rank, err := traverse.NewRank("v", "", vector)
		require.NoError(t, err)
		return n(&traverse.Traversal{
			From: traverse.Selector{Label: "User", Property: "id", Values: []graph.Value{graph.IntValue(1)}},
			Hops: []traverse.Hop{{Types: []string{"KNOWS"}}}, Max: 1, Returns: returns, Limit: limit, Rank: rank,
		}, "")
	}
	require.Equal(t, [][]graph.Value{{graph.IntValue(2), graph.FloatValue(1)}, {graph.IntValue(3), graph.FloatValue(0.8535534143447876)}, {graph.IntValue(4), graph.FloatValue(0.5)}},
		ask("v.id, score", 0, 1, 0))
	require.Equal(t, [][]graph.Value{{graph.IntValue(4)}}, ask("v.id", 1, 0, 1))
	require.Empty(t, ask("v.id", 0, 1, 0, 0))
	rank, err := traverse.NewRank("v", "euclidean", []float64{0, 0})
	require.NoError(t, err)
	for field, tr := range map[string]*traverse.Traversal{"count": {Returns: "count"}, "byHop": {ByHop: true}} {
		tr.From = traverse.Selector{Label: "User", Property: "id", Values: []graph.Value{graph.IntValue(1)}}
		tr.Hops, tr.Max, tr.Rank = []traverse.Hop{{}}, 1, rank
		n(tr, field)
	}
	for _, bad := range []func() (*traverse.Rank, error){
		func() (*traverse.Rank, error) { return traverse.NewRank("v", "dot", []float64{1}) },
		func() (*traverse.Rank, error) { return traverse.NewRank("", "", []float64{1}) },
		func() (*traverse.Rank, error) { return traverse.NewRank("v", "", []float64{0}) },
		func() (*traverse.Rank, error) { return traverse.NewRank("v", "", nil) },
	} {
		_, err := bad()
		require.Equal(t, graph.KindInvalid, graph.AsError(err).Kind)
	}
}
