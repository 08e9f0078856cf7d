package access

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

func TestParseLimits(t *testing.T) {
	whole := Limits{Queries: 10, Memory: 1000}
	for text, want := range map[string]Limits{
		"": {}, "queries=25%": {Queries: 3}, "queries=0, memory=50%": {Memory: 500},
		"queries=4,memory=1KiB,requests=0.5,bytes=2MB": {Queries: 4, Memory: 1024, Requests: 0.5, Bytes: 2e6},
	} {
		l, err := ParseLimits(text, whole)
		require.NoError(t, err, text)
		require.Equal(t, want, l, text)
	}
	for text, fault := range map[string]string{
		"rows=3": "rows: there is no such limit", "queries=-1": `queries: "-1" is not a number from 0`, "memory=120%": "memory: 120% is more than the whole",
		"bytes=x": `bytes: "x" is not a size`, "requests": `requests: "" is not a number`, "requests=nan": "not a number",
	} {
		_, err := ParseLimits(text, whole)
		require.ErrorContains(t, err, fault)
	}
}

// arrive sends a request of n bytes from a caller to a graph.
func arrive(r *Rates, id *Identity, graphName string, n int) error {
	ctx := context.Background()
	if id != nil {
		ctx = WithIdentity(ctx, id)
	}
	ctx, m, err := r.Arrive(ctx)
	if err == nil {
		err = EnterGraph(ctx, graphName)
	}
	m.Count(n)
	return err
}

func requireRetry(t *testing.T, err error, after time.Duration, says string) {
	t.Helper()
	require.ErrorContains(t, err, says)
	require.Equal(t, graph.KindBusy, graph.AsError(err).Kind)
	require.InDelta(t, after.Seconds(), graph.AsError(err).Retry.Seconds(), 1e-6)
}

// Callers and graphs have rates of their own, and a refusal includes the time until the next request may succeed.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(Limits{Requests: 2}, Limits{Requests: 4})
		ann, bob := &Identity{Name: "ann"}, &Identity{Name: "bob", Limits: &Limits{Requests: 10}}
		for range 2 {
			require.NoError(t, arrive(r, ann, "g", 0))
		}
		requireRetry(t, arrive(r, ann, "h", 0), time.Second/2, "ann has used up its limit of requests, 2 a second")
		require.NoError(t, arrive(r, bob, "g", 0))
		require.NoError(t, arrive(r, nil, "g", 0))
		requireRetry(t, arrive(r, bob, "g", 0), time.Second/4, `the graph "g" has used up its limit`)
		require.NoError(t, arrive(r, bob, "h", 0))
		require.Equal(t, uint64(2), r.Refused())
		time.Sleep(time.Second / 2)
		require.NoError(t, arrive(r, ann, "h", 0))
		require.Error(t, arrive(r, ann, "h", 0))
	})
}

// Bytes count as they arrive; a caller over the limit waits, or learns when to retry.
func TestRatesOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(Limits{Bytes: 100}, Limits{Bytes: 1000})
		ann := &Identity{Name: "ann"}
		require.NoError(t, arrive(r, ann, "g", 100))
		require.NoError(t, arrive(r, ann, "g", 250))
		requireRetry(t, arrive(r, ann, "g", 0), 2500*time.Millisecond, "limit of bytes, 100 a second")
		require.NoError(t, arrive(r, nil, "g", 1100))
		requireRetry(t, arrive(r, nil, "g", 0), 450*time.Millisecond, `the graph "g"`)
		require.NoError(t, arrive(r, nil, "h", 0))

		ctx, m, err := r.Arrive(WithIdentity(context.Background(), &Identity{Name: "bob"}))
		require.NoError(t, err)
		start := time.Now()
		for range 11 { // the first second's worth goes at once
			m.Wait(ctx)
			m.Count(100)
		}
		m.Wait(ctx)
		require.InDelta(t, 10, time.Since(start).Seconds(), 1e-3)
		m.Count(1000)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		start = time.Now()
		m.Wait(ended)
		require.Zero(t, time.Since(start))
	})
}

// Only callers without recent requests are forgotten.
func TestRatesForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(Limits{Requests: 1}, Limits{})
		for i := range 1024 {
			require.NoError(t, arrive(r, &Identity{Name: strconv.Itoa(i)}, "g", 0))
		}
		time.Sleep(time.Second)
		require.NoError(t, arrive(r, &Identity{Name: "7"}, "g", 0))
		require.NoError(t, arrive(r, &Identity{Name: "new"}, "g", 0))
		require.Len(t, r.buckets, 2)
		require.Error(t, arrive(r, &Identity{Name: "7"}, "g", 0))
	})
	var none *Rates
	require.NoError(t, arrive(none, &Identity{Name: "ann"}, "g", 5))
	require.Zero(t, none.Refused())
}

// A token's limits apply in addition.
func TestTokenLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	token, entry := NewToken("ann", Reader)
	limited := entry[:len(entry)-2] + `, limits: "queries=50%,requests=3"}` + "\n"
	write(t, path, "tokens:\n"+limited)
	a, err := New(Options{TokensFile: path, Whole: Limits{Queries: 8}}, quiet)
	require.NoError(t, err)
	ctx, err := a.Authenticate(context.Background(), "Bearer "+token)
	require.NoError(t, err)
	require.Equal(t, &Limits{Queries: 4, Requests: 3}, Caller(ctx).Limits)
	write(t, path, "tokens:\n"+entry[:len(entry)-2]+`, limits: "rows=1"}`)
	_, err = New(Options{TokensFile: path}, quiet)
	require.ErrorContains(t, err, "tokens[0].limits: rows: there is no such limit")
}
