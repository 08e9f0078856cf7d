package lazy

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

type (
	lazyKey     struct{}
	ownerKey    struct{}
	testContext = Context[ownerKey, int]
)

// TestContext checks that a request's context behaves like one of package context, before and after a caller asks for its
// channel or derives another from it.
func TestContext(t *testing.T) {
	why := errors.New("why")
	for _, asked := range []bool{false, true} {
		begin := func() (c *testContext, parent context.CancelCauseFunc) {
			ctx, parent := context.WithCancelCause(context.WithValue(context.Background(), lazyKey{}, 7))
			t.Cleanup(func() { parent(nil) })
			c = &testContext{Context: ctx}
			if asked {
				select {
				case <-c.Done():
					t.Fatal("it has not ended")
				default:
				}
			}
			require.NoError(t, c.Err())
			require.NoError(t, context.Cause(c))
			return c, parent
		}
		requireEnded := func(c *testContext, cause error) {
			require.ErrorIs(t, c.Err(), context.Canceled)
			require.ErrorIs(t, context.Cause(c), cause)
			require.Equal(t, 7, c.Value(lazyKey{}))
			<-c.Done()
			below, cancel := context.WithCancel(c)
			defer cancel()
			require.Error(t, below.Err())
			require.ErrorIs(t, context.Cause(below), cause)
		}
		c, _ := begin()
		c.Cancel(why)
		c.End()
		requireEnded(c, why)

		c, parent := begin()
		parent(why)
		c.End()
		requireEnded(c, why)

		c, _ = begin()
		c.End()
		requireEnded(c, context.Canceled)

		c, _ = begin()
		below, cancel := context.WithCancel(c)
		c.Cancel(why)
		<-below.Done()
		require.ErrorIs(t, context.Cause(below), why)
		cancel()
	}
}

// TestContextRaces ends contexts while others ask for their channels: all of them are notified.
func TestContextRaces(t *testing.T) {
	for range 1000 {
		c := &testContext{Context: context.Background()}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { <-c.Done() })
		}
		wg.Go(c.End)
		wg.Wait()
		require.ErrorIs(t, c.Err(), context.Canceled)
	}
}
