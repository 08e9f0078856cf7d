package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// countStore gives a count from the store's counters, once for each row of the frame.
type countStore struct {
	r     *run
	node  *plan.CountStore
	cols  int
	frame *frame
	done  bool
	out   batch
}

func (c *compiler) countStore(n *plan.CountStore, need plan.ColSet) *stage {
	s := &stage{node: n, cols: kept(nil, need, n.Out)}
	s.build = func(r *run, _ []operator) operator {
		return &countStore{r: r, node: n, cols: len(s.cols), frame: r.frame}
	}
	return s
}

func (s *countStore) open(context.Context) error {
	s.done = false
	return nil
}

func (s *countStore) next(context.Context) (*batch, error) {
	n := s.frame.rows()
	if s.done || n == 0 {
		return nil, nil
	}
	s.done = true
	s.out.reset(s.cols)
	s.out.N = n
	if s.frame != nil {
		s.out.row = allRows(n)
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
	c := s.r.tx.Counts()
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

func (s *countStore) close() {}
