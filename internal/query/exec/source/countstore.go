package source

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// countStore returns a count from the store's counters, once for each row of the frame. BenchmarkRewrites/CountStore in
// bench/traversal compares it with an aggregate over a scan.
type countStore struct {
	r     *runtime.Run
	node  *plan.CountStore
	cols  int
	frame *runtime.Frame
	done  bool
	out   runtime.Batch
}

// CountStore compiles a CountStore.
func CountStore(c *compile.Compiler, n *plan.CountStore, need plan.ColSet) *runtime.Stage {
	s := &runtime.Stage{Node: n, Cols: compile.Kept(nil, need, n.Out)}
	s.Build = func(r *runtime.Run, _ []runtime.Operator) runtime.Operator {
		return &countStore{r: r, node: n, cols: len(s.Cols), frame: r.Frame}
	}
	return s
}

func (s *countStore) Open(context.Context) error {
	s.done = false
	return nil
}

func (s *countStore) Next(ctx context.Context) (*runtime.Batch, error) {
	n := s.frame.Rows()
	if s.done || n == 0 {
		return nil, nil
	}
	s.done = true
	s.out.Reset(s.cols)
	s.out.N = n
	if s.frame != nil {
		s.out.Row = runtime.AllRows(n)
	}
	if s.cols > 0 {
		count, err := s.count(ctx)
		if err != nil {
			return nil, err
		}
		v := graph.IntValue(int64(count))
		for range n {
			s.out.Cols[0].Vals = append(s.out.Cols[0].Vals, v)
		}
	}
	return &s.out, nil
}

// count returns the counter. The plan may be older than the rules of the graph, under which counters are not what the transaction sees.
func (s *countStore) count(ctx context.Context) (uint64, error) {
	c := s.r.Tx.Counts()
	if s.r.Tx.Features().Exact == nil {
		var err error
		if c, err = shard.CountExactly(ctx, s.r.Graph, s.r.Tx); err != nil {
			return 0, err
		}
	}
	switch {
	case s.node.Edges && s.node.Name == "":
		return c.Edges, nil
	case s.node.Edges:
		return c.ByType[s.node.Name], nil
	case s.node.Name == "":
		return c.Vertices, nil
	}
	return c.ByLabel[s.node.Name], nil
}

func (s *countStore) Close() {}
