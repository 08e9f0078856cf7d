package source

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
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

func (s *countStore) Next(context.Context) (*runtime.Batch, error) {
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
		v := graph.IntValue(int64(s.count()))
		for range n {
			s.out.Cols[0].Vals = append(s.out.Cols[0].Vals, v)
		}
	}
	return &s.out, nil
}

func (s *countStore) count() uint64 {
	c := s.r.Tx.Counts()
	switch {
	case s.node.Edges && s.node.Name == "":
		return c.Edges
	case s.node.Edges:
		return c.ByType[s.node.Name]
	case s.node.Name == "":
		return c.Vertices
	}
	return c.ByLabel[s.node.Name]
}

func (s *countStore) Close() {}
