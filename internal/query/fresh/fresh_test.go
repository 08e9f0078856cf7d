package fresh

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// Of finds what the answers of statements depend on; nil is more than the graph.
func TestOf(t *testing.T) {
	for text, want := range map[string]*Reads{
		"RETURN 1 AS x":               {},
		"MATCH (n:A) RETURN n.x AS x": {Labels: []string{"A"}, Props: []string{"x"}},
		"MATCH (n:A) RETURN n":        {Labels: []string{"A"}, Any: shard.AnyProp | shard.AnyLabel},
		"MATCH (n) RETURN n.x AS x":   {Props: []string{"x"}, Any: shard.AnyVertex},
		"MATCH (n:A)-[r:T]->(m) WHERE r.w > 1 AND m:B RETURN m.s AS s, count(*) AS c": {Labels: []string{"A", "B"}, Types: []string{"T"}, Props: []string{"s"}},
		"MATCH (n:A)--(m) RETURN id(m) AS i":                                          {Labels: []string{"A"}, Any: shard.AnyType},
		"MATCH (n:!A) RETURN count(n) AS c":                                           {Labels: []string{"A"}, Any: shard.AnyVertex},
		"MATCH (n:A) WITH collect(n) AS ns RETURN ns":                                 {Labels: []string{"A"}, Any: shard.AnyProp | shard.AnyLabel},
		"MATCH (n:A) WITH collect(n) AS ns RETURN size(ns) AS c":                      {Labels: []string{"A"}},
		"MATCH (n:A) WITH {a: n} AS m RETURN m.a AS a":                                {Labels: []string{"A"}, Props: []string{"a"}, Any: shard.AnyProp | shard.AnyLabel},
		"MATCH (n:A) UNWIND [n] AS m WITH m ORDER BY m.y RETURN m.x AS x":             {Labels: []string{"A"}, Props: []string{"x", "y"}, Any: shard.AnyProp | shard.AnyLabel},
		"MATCH (n:A) RETURN n[$key] AS x":                                             {Labels: []string{"A"}, Any: shard.AnyProp | shard.AnyLabel},
		"MATCH (n:A) RETURN labels(n) AS l":                                           {Labels: []string{"A"}, Any: shard.AnyLabel},
		"MATCH (n:A) RETURN properties(n) AS p":                                       {Labels: []string{"A"}, Any: shard.AnyLabel | shard.AnyProp},
		"MATCH (n:A) RETURN n {.x} AS p":                                              {Labels: []string{"A"}, Props: []string{"x"}},
		"MATCH (n:A) WHERE EXISTS { (n)-[:T]->(:B) } RETURN n.x AS x":                 {Labels: []string{"A", "B"}, Types: []string{"T"}, Props: []string{"x"}},
		"MATCH p = (:A)-[:T*0..2]->() RETURN [m IN nodes(p) | m.x] AS x":              {Labels: []string{"A"}, Types: []string{"T"}, Props: []string{"x"}, Any: shard.AnyVertex},
		"MATCH (n:A) WHERE n.d > date('2020-01-01') RETURN count(*) AS c":             {Labels: []string{"A"}, Props: []string{"d"}},
		"RETURN date() AS d":                                                          nil,
		"RETURN date($d) AS d":                                                        nil, // it may be a map with a zone alone
		"RETURN timestamp() AS t":                                                     nil,
		"RETURN rand() AS r":                                                          nil,
		"CREATE (:A)":                                                                 nil,
		"EXPLAIN MATCH (n) RETURN n":                                                  nil,
		"PROFILE MATCH (n) RETURN n":                                                  nil,
		"MATCH (n:A) RETURN vector.similarity.cosine(n.v, $v) AS s":                   nil,
	} {
		q, _, err := cypher.Compile(text, cypher.Options{})
		require.NoError(t, err, text)
		got := Of(q)
		require.Equal(t, want == nil, got == nil, text)
		if got == nil {
			continue
		}
		require.Equal(t, [3][]string{got.Labels, got.Types, got.Props}, [3][]string{want.Labels, want.Types, want.Props}, text)
		require.Equal(t, want.Any, got.Any, text)
	}
}

// The scores of fetches and traversals come from vector indexes, too.
func TestOfNear(t *testing.T) {
	for _, by := range []string{"cosine", "euclidean"} {
		require.Nil(t, Of(&plan.Query{Cols: make([]plan.ColInfo, 2), Root: &plan.Project{Input: &plan.Unit{}, Items: []plan.Item{
			{Col: 1, Expr: &plan.Call{Func: "cypher.near." + by, Args: []plan.Expr{&plan.Const{}, &plan.Const{}}}},
		}}}))
	}
}

// Everything that makes an answer makes its key.
func TestKey(t *testing.T) {
	q, _, err := cypher.Compile("RETURN 1 AS x", cypher.Options{})
	require.NoError(t, err)
	reads := Of(q)
	base := Request{Graph: "g", Text: "t", Params: map[string]graph.Value{"a": graph.IntValue(1), "b": graph.StringValue("x")}}
	seen := map[Key]bool{}
	add := func(v shard.Version, change func(r *Request)) {
		r := base
		r.Params = map[string]graph.Value{"a": graph.IntValue(1), "b": graph.StringValue("x")}
		if change != nil {
			change(&r)
		}
		k := reads.Key(q, &r, v)
		require.False(t, seen[k])
		seen[k] = true
	}
	add(shard.Version{}, nil)
	add(shard.Version{Opened: 1}, nil)
	add(shard.Version{Commit: 1}, nil)
	for _, change := range []func(r *Request){
		func(r *Request) { r.Graph = "h" }, func(r *Request) { r.Text = "u" }, func(r *Request) { r.Scope = "s" }, func(r *Request) { r.Catalog = 1 },
		func(r *Request) { r.Notices = 1 }, func(r *Request) { r.Limits[0] = 1 }, func(r *Request) { r.Limits[3] = 1 },
		func(r *Request) { r.Params["a"] = graph.FloatValue(1) }, func(r *Request) { r.Params["a"] = graph.StringValue("1") }, func(r *Request) { r.Params["a"] = graph.Value{} },
		func(r *Request) { delete(r.Params, "a") }, func(r *Request) { r.Params["c"] = graph.Value{} }, func(r *Request) { r.Graph, r.Text = "gt", "" },
	} {
		add(shard.Version{}, change)
	}
	other, _, err := cypher.Compile("RETURN 2 AS x", cypher.Options{})
	require.NoError(t, err)
	require.NotEqual(t, reads.Key(q, &base, shard.Version{}), Of(other).Key(other, &base, shard.Version{}))
	require.Equal(t, reads.Key(q, &base, shard.Version{}), Of(q).Key(q, &base, shard.Version{}))
	k := reads.Key(q, &base, shard.Version{})
	require.NotEqual(t, k.Tag("json"), k.Tag("lines"))
}

// The answer of several plans depends on what each reads, and on each plan.
func TestUnion(t *testing.T) {
	var all []*Reads
	var plans []*plan.Query
	add := func(text string) {
		q, _, err := cypher.Compile(text, cypher.Options{})
		require.NoError(t, err)
		all, plans = append(all, Of(q)), append(plans, q)
	}
	add("MATCH (n:B)-[:T]->(:A) WHERE n.x = 1 RETURN n.y AS y")
	add("MATCH (n:A) RETURN n.x AS x")
	add("MATCH (n) RETURN count(*) AS c")
	u := Union(all, plans)
	require.Equal(t, [3][]string{{"A", "B"}, {"T"}, {"x", "y"}}, [3][]string{u.Labels, u.Types, u.Props})
	require.Equal(t, shard.AnyVertex, u.Any)
	key := func(u *Reads) Key { return u.Key(nil, &Request{}, shard.Version{}) }
	require.Equal(t, key(u), key(Union(all, plans)))
	require.NotEqual(t, key(u), key(Union(all[:2], plans[:2])))
	require.NotEqual(t, key(u), key(Union([]*Reads{all[1], all[0], all[2]}, []*plan.Query{plans[1], plans[0], plans[2]})))
	require.NotEqual(t, key(Union(nil, nil)), key(Union(all[:1], plans[:1])))
	add("RETURN rand() AS r")
	require.Nil(t, Union(all, plans))
}

func TestMatches(t *testing.T) {
	for list, want := range map[string]bool{`"a"`: true, `"b", "a"`: true, `W/"a"`: true, `"b"`: false, ``: false, `*`: false, `a`: false, `"a`: false, `"", "a" `: true} {
		require.Equal(t, want, Matches(list, `"a"`), list)
	}
}

func FuzzMatches(f *testing.F) {
	f.Add(`"a", W/"b"`)
	f.Fuzz(func(t *testing.T, list string) {
		if Matches(list, `"a"`) {
			require.Contains(t, list, `"a"`)
		}
	})
}

// Requests with one key compute its answer once; one that fails is followed by another, and one that leaves fails nobody.
func TestFlights(t *testing.T) {
	a := NewAnswers[int](0)
	ctx := t.Context()
	const n = 100
	at := a.Enter(1)
	defer a.Leave(&at)
	require.False(t, a.Crowded(at))
	var computed, failed atomic.Int32
	var arrived, wg sync.WaitGroup
	arrived.Add(n)
	for range n {
		wg.Go(func() {
			at := a.Enter(1)
			defer a.Leave(&at)
			arrived.Done()
			arrived.Wait()
			require.True(t, a.Crowded(at))
			got, f, err := a.Join(ctx, Key{1}, at)
			require.NoError(t, err)
			switch {
			case f == nil:
				require.Equal(t, 7, *got)
			case failed.Add(1) <= 3:
				f.Fail()
			default:
				computed.Add(1)
				v := 7
				f.Done(&v, 1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, computed.Load())
	require.EqualValues(t, n-4, a.Shared.Load())
	require.Len(t, a.flights, 1, "one of its like runs")

	_, f, err := a.Join(ctx, Key{2}, at)
	require.NoError(t, err)
	limited, cancel := context.WithCancelCause(ctx)
	gone := errors.New("gone")
	cancel(gone)
	_, _, err = a.Join(limited, Key{2}, at)
	require.ErrorIs(t, err, gone)
	f.Large()
	got, f, err := a.Join(ctx, Key{2}, at)
	require.NoError(t, err)
	require.Nil(t, got)
	require.Nil(t, f, "it is known to be too large")
	a.Leave(&at)
	require.Empty(t, a.flights)
	require.Zero(t, a.held)
	a.Enter(1)
}

// The cache keeps what was used last within its bytes.
func TestCache(t *testing.T) {
	a := NewAnswers[int](100)
	at := a.Enter(1)
	defer a.Leave(&at)
	put := func(k byte, bytes int64) {
		_, f, err := a.Join(t.Context(), Key{k}, at)
		require.NoError(t, err)
		require.NotNil(t, f)
		v := int(k)
		f.Done(&v, bytes-answerBytes)
	}
	hit := func(k byte) bool {
		got, f, err := a.Join(t.Context(), Key{k}, at)
		require.NoError(t, err)
		if f != nil {
			f.Fail()
			return false
		}
		require.Equal(t, int(k), *got)
		return true
	}
	put(1, 40)
	put(2, 40)
	require.True(t, hit(1))
	put(3, 40)
	require.True(t, hit(1))
	require.True(t, hit(3))
	require.False(t, hit(2))
	put(4, 101)
	require.False(t, hit(4), "larger than the cache")
	require.EqualValues(t, 80, a.Bytes.Load())
	require.EqualValues(t, 1, a.Evictions.Load())
	require.EqualValues(t, 3, a.Hits.Load())
	require.EqualValues(t, 6, a.Misses.Load())
}

// BenchmarkAlone measures what a request pays that has none alike.
func BenchmarkAlone(b *testing.B) {
	a := NewAnswers[int](0)
	params := map[string]graph.Value{"id": graph.IntValue(1)}
	const text = "MATCH (p:Person {id: $id}) RETURN p.firstName AS name"
	for b.Loop() {
		at := a.Enter(Likeness("default", text, params))
		if a.Crowded(at) {
			b.Fatal("alone")
		}
		a.Leave(&at)
	}
}
