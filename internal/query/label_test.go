package query

import (
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/watch"
)

// While somebody takes a profile, goroutines carry the graph, the statement and the current operator.
func TestLabels(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		labels := func() string {
			var b strings.Builder
			require.NoError(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
			return b.String()
		}
		defer e.LabelProfiles()()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = rowsOf(e.Query(ctx, Request{Statement: slow}))
		}()
		digits, shape := watch.Fingerprint(watch.StatementKind, slow)
		require.Eventually(t, func() bool {
			text := labels()
			return strings.Contains(text, `"graph":"default"`) && strings.Contains(text, `"statement":"`+digits) && strings.Contains(text, `"operator":"Unwind"`) && strings.Contains(text, `"text":`+strconv.Quote(shape))
		}, patience, time.Millisecond)
		cancel()
		<-done
		_, err := e.rows(Request{Statement: "RETURN 1"})
		require.NoError(t, err)
		require.NotContains(t, labels(), `"graph":"default"`)
	})
}
