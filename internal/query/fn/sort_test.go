package fn

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// countdown is a context that ends after a number of calls, and keeps counting.
type countdown struct {
	context.Context
	left, asked int
}

func (c *countdown) Err() error {
	c.asked++
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A sort polls its run, stops polling once the run has ended, and then returns no result.
func TestSortEnds(t *testing.T) {
	values := make([]graph.Value, 100_000)
	for i := range values {
		values[i] = graph.IntValue(int64(i) * 7919 % 100_003)
	}
	sorting := map[string]func(c *Context) error{
		"coll.sort": func(c *Context) error {
			f, ok := Lookup("coll.sort")
			require.True(t, ok)
			l, err := f.Eval(c, []graph.Value{graph.ListValue(values)})
			require.True(t, err != nil || slices.IsSortedFunc(l.List(), Order))
			return err
		},
		"percentileDisc": func(c *Context) error {
			p := &Percentile{}
			for _, v := range values {
				require.NoError(t, p.Add("p", v, graph.FloatValue(0)))
			}
			err := p.Sort(c)
			require.True(t, err != nil || p.discrete().Int() == 0)
			return err
		},
	}
	for name, sort := range sorting {
		run := &countdown{Context: context.Background(), left: 3}
		err := sort(&Context{Run: run})
		require.Equal(t, graph.KindDeadline, graph.AsError(err).Kind, name)
		require.Equal(t, 5, run.asked, name) // the last time for the cause
		run = &countdown{Context: context.Background(), left: 1 << 20}
		require.NoError(t, sort(&Context{Run: run}), name)
		require.Greater(t, run.asked, 100, name)
		require.NoError(t, sort(&Context{}), name)
	}
}
