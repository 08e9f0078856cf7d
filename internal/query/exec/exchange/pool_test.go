package exchange

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// slots is the CPU slot of a run that always has cores for three workers.
type slots struct {
	wanted bool // by others, except for the last one
	ended  atomic.Int32
}

func (s *slots) Yield(context.Context) error { return nil }

func (s *slots) Helpers(int) []runtime.Helper {
	return []runtime.Helper{&slot{s, s.wanted}, &slot{s, s.wanted}, &slot{s, false}}
}

type slot struct {
	*slots
	wanted bool
}

func (s *slot) Contended() bool { return s.wanted }
func (s *slot) Release()        { s.ended.Add(1) }

// Workers compute each entry once, though others want their cores, and the run has what they visited.
func TestPartsComputeAll(t *testing.T) {
	s, r := newPoolRun()
	s.wanted = true
	p := NewPool(r, func() {})
	for round := range 3 {
		computed := make([]atomic.Int32, 1000)
		ok, err := p.Parts(context.Background(), len(computed), func(_ int, own *runtime.Run) func(lo, hi int) error {
			return func(lo, hi int) error {
				for i := lo; i < hi; i++ {
					computed[i].Add(1)
				}
				return own.Visit(hi - lo)
			}
		})
		require.True(t, ok)
		require.NoError(t, err)
		for i := range computed {
			require.EqualValues(t, 1, computed[i].Load(), i)
		}
		require.EqualValues(t, (round+1)*len(computed), r.Edges)
		require.EqualValues(t, 3*(round+1), s.ended.Load())
	}
	r.Env.Slot = nil
	ok, err := p.Parts(context.Background(), 1, nil)
	require.False(t, ok)
	require.NoError(t, err)
}

// The error or panic of one worker reaches the run; workers that wait for it are woken, and their error is not the run's.
func TestPartsFail(t *testing.T) {
	for _, panics := range []bool{false, true} {
		s, r := newPoolRun()
		woken := make(chan struct{}, 3)
		p := NewPool(r, func() { woken <- struct{}{} })
		broken := errors.New("broken")
		run := func() error {
			ok, err := p.Parts(context.Background(), 1000, func(i int, _ *runtime.Run) func(lo, hi int) error {
				return func(int, int) error {
					if i < 2 {
						<-woken
						return ErrFailed
					}
					if panics {
						panic(broken)
					}
					return broken
				}
			})
			require.False(t, ok)
			return err
		}
		if panics {
			require.PanicsWithValue(t, broken, func() { _ = run() })
		} else {
			require.ErrorIs(t, run(), broken)
		}
		require.True(t, p.Failed())
		require.EqualValues(t, 3, s.ended.Load())
	}
}

func newPoolRun() (*slots, *runtime.Run) {
	s, r := new(slots), new(runtime.Run)
	r.Init(&runtime.Program{Query: &plan.Query{}, Root: &runtime.Stage{}}, nil)
	r.Env = runtime.Env{Slot: s, Fn: new(fn.Context)}
	return s, r
}
