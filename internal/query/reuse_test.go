package query

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fresh"
)

// countOf reads the one number of an answer.
func countOf(t *testing.T, e *Engine, ctx context.Context, text string) (int64, error) { //nolint:revive // As the tests call it.
	res, err := e.Query(ctx, Request{Statement: text})
	if err != nil {
		return 0, err
	}
	defer res.Close()
	b, err := res.Next()
	if err != nil {
		return 0, err
	}
	require.Equal(t, 1, b.N)
	n := b.Cols[0].Value(0).Int()
	b, err = res.Next()
	require.Nil(t, b)
	return n, err
}

func run(t *testing.T, e *Engine, text string) {
	res, err := e.Query(context.Background(), Request{Statement: text})
	require.NoError(t, err)
	for b, err := res.Next(); b != nil; b, err = res.Next() {
		require.NoError(t, err)
	}
	res.Close()
}

// Identical reads beside writers share answers, and each sees at least what was acknowledged before it began and nothing that has not begun when
// it ends.
func TestReuseLinearizable(t *testing.T) {
	for _, cache := range []int64{0, 1 << 20} {
		e := New(stores["local"](t), Options{ResponseCache: cache})
		run(t, e, "CREATE (:Counter {n: 0})")
		run(t, e, "UNWIND range(1, 2000) AS i CREATE (:Other {i: i})")
		var begun, done atomic.Int64
		var wg sync.WaitGroup
		stop := make(chan struct{})
		wg.Go(func() {
			for range 100 {
				begun.Add(1)
				run(t, e, "MATCH (c:Counter) SET c.n = c.n + 1")
				done.Add(1)
			}
			close(stop)
		})
		for range 8 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					least := done.Load()
					n, err := countOf(t, e, t.Context(), "MATCH (o:Other) WITH count(o.i) AS some MATCH (c:Counter) WHERE some > 0 RETURN c.n")
					most := begun.Load()
					require.NoError(t, err)
					require.GreaterOrEqual(t, n, least)
					require.LessOrEqual(t, n, most)
				}
			})
		}
		wg.Wait()
		require.Positive(t, e.Reused.Shared.Load()+e.Reused.Hits.Load())
	}
}

// Many identical reads at once run a few times, and one whose client goes away does not take the others with it.
func TestReuseTogether(t *testing.T) {
	e := New(stores["local"](t), Options{})
	run(t, e, "UNWIND range(1, 3000) AS i CREATE (:A {i: i})")
	const text = "MATCH (a:A), (b:A) WHERE a.i < b.i AND b.i < 900 RETURN count(*)"
	want, err := countOf(t, e, t.Context(), text)
	require.NoError(t, err)
	var wg sync.WaitGroup
	var lost atomic.Int64
	for i := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		if i%3 == 0 {
			cancel()
		}
		wg.Go(func() {
			defer cancel()
			n, err := countOf(t, e, ctx, text)
			if ctx.Err() != nil && err != nil {
				lost.Add(1)
				return
			}
			require.NoError(t, err)
			require.Equal(t, want, n)
		})
	}
	wg.Wait()
	require.Greater(t, e.Reused.Shared.Load(), uint64(100))
	require.Positive(t, lost.Load())
}

// A large answer is not shared, and is whole for everybody.
func TestReuseLarge(t *testing.T) {
	e := New(stores["local"](t), Options{ResponseCache: 1 << 30})
	const text = "UNWIND range(1, 60000) AS i RETURN i, 'text ' + toString(i)"
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			res, err := e.Query(t.Context(), Request{Statement: text})
			require.NoError(t, err)
			defer res.Close()
			n := int64(0)
			for {
				b, err := res.Next()
				require.NoError(t, err)
				if b == nil {
					break
				}
				for i := range b.N {
					n++
					require.Equal(t, n, b.Cols[0].Value(i).Int())
				}
			}
			require.EqualValues(t, 60000, n)
			require.EqualValues(t, 60000, res.Summary().Rows)
		})
	}
	wg.Wait()
	require.Zero(t, e.Reused.Hits.Load()+e.Reused.Shared.Load())
}

// Requests get what they ask for: rows up to a limit, a tag for each form, and none where an answer depends on more than the graph.
func TestReuseConditions(t *testing.T) {
	e := New(stores["local"](t), Options{ResponseCache: 1 << 20})
	run(t, e, "UNWIND range(1, 5) AS i CREATE (:A {i: i})")
	ask := func(text string, c *fresh.Condition, most int64) (rows int64, truncated bool) {
		res, err := e.Query(t.Context(), Request{Statement: text, Condition: c, MaxRows: most, Params: map[string]graph.Value{"x": graph.IntValue(1)}})
		require.NoError(t, err)
		defer res.Close()
		for {
			b, err := res.Next()
			require.NoError(t, err)
			if b == nil {
				return res.Summary().Rows, res.Summary().Truncated
			}
		}
	}
	const text = "MATCH (a:A) RETURN a"
	for range 2 {
		rows, truncated := ask(text, nil, 3)
		require.EqualValues(t, 3, rows)
		require.True(t, truncated)
		rows, truncated = ask(text, nil, 0)
		require.EqualValues(t, 5, rows)
		require.False(t, truncated)
	}
	require.EqualValues(t, 2, e.Reused.Hits.Load())
	first := &fresh.Condition{Format: "a"}
	ask(text, first, 0)
	require.NotEmpty(t, first.Tag)
	again := &fresh.Condition{Format: "a", None: `"x", ` + first.Tag}
	rows, _ := ask(text, again, 0)
	require.Zero(t, rows)
	require.True(t, again.Unmodified)
	other := &fresh.Condition{Format: "b", None: first.Tag}
	rows, _ = ask(text, other, 0)
	require.EqualValues(t, 5, rows)
	run(t, e, "CREATE (:B {i: 1})")
	rows, _ = ask(text, again, 0)
	require.Zero(t, rows, "no A has changed")
	run(t, e, "MATCH (a:A {i: 1}) SET a.i = 9")
	rows, _ = ask(text, again, 0)
	require.EqualValues(t, 5, rows)
	require.NotEqual(t, first.Tag, again.Tag)
	for _, text := range []string{"RETURN datetime() AS d", "RETURN randomUUID() AS r", "CALL db.labels() YIELD label RETURN label", "SHOW INDEXES", "MATCH (n:A) SET n.i = 1 RETURN n", "EXPLAIN MATCH (n) RETURN n"} {
		c := &fresh.Condition{}
		ask(text, c, 0)
		require.Empty(t, c.Tag, text)
	}
}

// Fetches with conditions beside a writer: an answer that a client keeps, as it is told that it is right, has at least what was acknowledged
// before the request.
func TestReuseFetchesLinearizable(t *testing.T) {
	e := New(stores["local"](t), Options{PlanCacheSize: 10})
	run(t, e, "CREATE (:Counter {id: 1, n: 0}), (:Other {id: 1})")
	number := regexp.MustCompile(`"n":(\d+)`)
	var begun, done, same atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		defer close(stop)
		for range 60 {
			begun.Add(1)
			run(t, e, "MATCH (c:Counter) SET c.n = c.n + 1")
			done.Add(1)
			for range 3 {
				run(t, e, "CREATE (:Third {id: 1})")
			}
		}
	})
	for range 6 {
		wg.Go(func() {
			n, c := int64(0), &fresh.Condition{Format: "json"}
			for {
				select {
				case <-stop:
					return
				default:
				}
				least := done.Load()
				var out bytes.Buffer
				code, err := e.Fetch(t.Context(), FetchRequest{Method: "get", Body: []byte(`{"Other": {}, "Counter": {"id@": "Other/id"}}`), Condition: c}, &out)
				most := begun.Load()
				require.NoError(t, err)
				require.Equal(t, syntax.CodeOK, code)
				if c.Unmodified {
					same.Add(1)
					require.Empty(t, out.String())
				} else {
					n, err = strconv.ParseInt(number.FindStringSubmatch(out.String())[1], 10, 64)
					require.NoError(t, err)
				}
				require.GreaterOrEqual(t, n, least)
				require.LessOrEqual(t, n, most)
				c.None = c.Tag
			}
		})
	}
	wg.Wait()
	require.Positive(t, same.Load())
	require.EqualValues(t, same.Load(), e.Reused.Unmodified.Load())
}
