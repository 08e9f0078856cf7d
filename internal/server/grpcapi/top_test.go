package grpcapi

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// TestTopBounds counts more operations than are told apart.
func TestTopBounds(t *testing.T) {
	c := &top{since: time.Now(), byKey: map[operationKey]*operation{}}
	for i := range maxOperations + 10 {
		c.add(&query.Ended{Kind: query.StatementKind, Statement: "RETURN x" + strings.Repeat("x", i), Elapsed: time.Duration(i) * time.Millisecond})
	}
	res := c.take(c.since.Add(time.Second))
	require.Len(t, res.GetOperations(), maxOperations+1)
	require.Equal(t, others, res.GetOperations()[0].GetText())
	require.Equal(t, uint64(10), res.GetOperations()[0].GetCalls())
	require.Empty(t, c.take(c.since.Add(time.Second)).GetOperations())
	o := &operation{calls: 200, most: time.Second}
	o.classes[latencyClass(time.Millisecond)], o.classes[latencyClass(time.Second)] = 198, 2
	require.InEpsilon(t, time.Millisecond, o.p99(), .1)
}
