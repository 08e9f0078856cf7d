package request

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/watch"
)

// TestTopBounds counts more operations than the limit.
func TestTopBounds(t *testing.T) {
	c := NewTop(time.Now())
	for i := range maxOperations + 10 {
		c.Add(&watch.Ended{Kind: watch.StatementKind, Statement: "RETURN x" + strings.Repeat("x", i), Elapsed: time.Duration(i) * time.Millisecond})
	}
	res := c.Take(c.since.Add(time.Second))
	require.Len(t, res.Operations, maxOperations+1)
	require.Equal(t, others, res.Operations[0].Text)
	require.Equal(t, uint64(10), res.Operations[0].Calls)
	require.Empty(t, c.Take(c.since.Add(time.Second)).Operations)
	o := &operation{calls: 200, most: time.Second}
	o.classes[latencyClass(time.Millisecond)], o.classes[latencyClass(time.Second)] = 198, 2
	require.InEpsilon(t, time.Millisecond, o.p99(), .1)
}
