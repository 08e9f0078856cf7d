package tck

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// fetch writes a random JSON-array fetch and its method.
func (g *grammar) fetch() (method, body string) {
	label := func() string { return g.pick("A", "B", "C") }
	object := func(more ...string) string {
		parts := more
		for _, p := range []string{
			`"x": ` + g.pick("0", "1", "2"), `"x{}": [0, 1]`, `"x>": ` + g.pick("0", "1"), `"s~": "a"`, `"id<": 4`, `"l<>": 2`, `"@column": "` + g.pick("id", "id,x", "x,s", "s;length(s):n") + `"`,
			`"@order": "` + g.pick("id+", "id-", "x+,id+") + `"`,
		} {
			if g.chance(20) {
				parts = append(parts, p)
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	a, b := label(), g.pick("A:o", "B:o", "C:o")
	if g.chance(15) {
		return "head", fmt.Sprintf(`{"%s": %s}`, a, object())
	}
	ref := g.pick("x", "id")
	count := g.pick("0", "1", "3")
	switch g.r.IntN(9) {
	case 0: // the first row decides about the second table
		return "get", fmt.Sprintf(`{"%s": %s, "%s": %s}`, a, object(), b, object(fmt.Sprintf(`"%s@": "/%s/%s"`, ref, a, ref)))
	case 1: // and that about an array
		return "get", fmt.Sprintf(`{"%s": %s, "%s[]": {"count": %s, "%s": %s}}`, a, object(), b, count, b, object(fmt.Sprintf(`"%s@": "%s/%s"`, ref, a, ref)))
	case 2:
		return "get", fmt.Sprintf(`{"[]": {"count": %s, "%s": %s, "%s": %s}}`, count, a, object(), b, object(fmt.Sprintf(`"%s@": "/%s/%s"`, ref, a, ref)))
	case 3:
		return "get", fmt.Sprintf(`{"[]": {"count": %s, "join": "%s/%s", "%s": %s, "%s": {"%s@": "/%s/%s"}}}`, count, g.pick("&", "<"), b, a, object(), b, ref, a, ref)
	case 4:
		return "get", fmt.Sprintf(`{"%s[]": {"count": %s, "%s": %s}, "sub": {"%s@": "[]/%s/id"}}`, a, count, a, object(), ref, a)
	case 5:
		return "get", fmt.Sprintf(`{"%s[]": {"count": %s, "%s": %s}}`, a, count, a, object(fmt.Sprintf(`"%s{}@": {"from": "%s", "%s": {"@column": "%s"}}`, ref, g.pick("B", "C"), g.pick("B", "C"), ref)))
	case 6:
		return "get", fmt.Sprintf(`{"%s": %s, "%s[]": {"hop": "%s", "start@": "%s/id", "depth": "%s", "count": %s, "%s": %s}}`,
			a, object(), b, g.pick(">T", "<T", ">U", ">T/<U"), a, g.pick("1", "1..2"), count, b, object())
	case 7:
		return "get", fmt.Sprintf(`{"%s[]": {"query": 2, "count": %s, "%s": %s}, "total@": "/%s[]/total", "info@": "/%s[]/info"}`, a, count, a, object(), a, a)
	}
	return "get", fmt.Sprintf(`{"%s[]": {"count": %s, "%s": %s}}`, a, count, a, object())
}

// TestFreshFetch commits random changes between random fetches. Whenever a fetch would not be run, because its client has the answer, it must give
// that answer if it is run.
func TestFreshFetch(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 12
	}
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		seeds = n
	}
	var n fetchCounts
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { freshFetchSeed(t, seed, &n) })
	}
	t.Logf("%+v", n)
	if seeds >= 4 {
		require.Greater(t, n.tagged, n.asked/2)
		require.Greater(t, n.same, n.asked/10)
		require.Greater(t, n.other, n.asked/50)
		require.Greater(t, n.rows, n.asked/4)
	}
}

// fetchCounts count fetches: those without an error, with a tag, unmodified, with a new answer, and with rows.
type fetchCounts struct{ asked, tagged, same, other, rows int }

// took is the part of an answer that differs from time to time.
var took = regexp.MustCompile(`,"time":\d+}$`)

func freshFetchSeed(t *testing.T, seed uint64, n *fetchCounts) {
	r := rand.New(rand.NewPCG(seed, 53))
	disk, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 1 + int(seed%3)})
	require.NoError(t, err)
	defer disk.Close()
	store := restricted.NewStore(disk)
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	opt := query.Options{PlanCacheSize: 100}
	if seed%5 == 4 { // what the caller sees depends on a vertex of its own
		opt.FetchRules, err = syntax.ParseRules([]byte("contacts: {label: C, property: l}\nlabels: {A: {owner: x, get: [LOGIN, OWNER, CIRCLE], columns: {s: {read: [OWNER]}}}, " +
			"B: {get: [UNKNOWN], columns: {d: {read: []}}}, C: {get: [LOGIN]}}\nedges: {T: {get: [LOGIN]}, U: {get: [LOGIN]}}"))
		require.NoError(t, err)
		opt.FetchCaller = func(context.Context, string) syntax.Caller {
			return syntax.Caller{Known: true, ID: graph.IntValue(int64(seed % 3))}
		}
	}
	e := &engine{g: g, whole: query.New(store, opt), store: store}
	_, err = e.run((&grammar{r: r}).graph()+", (:C {id: 0, l: [1]}), (:C {id: 1, l: [2]}), (:A {id: 30, x: 1}), (:B {id: 31, x: 1}), (:A)-[:T]->(:B)-[:U]->(:C)", nil)
	require.NoError(t, err)
	if seed%4 >= 2 {
		require.NoError(t, e.rule(true))
	}
	type ask struct{ method, body, tag, answer string }
	asks := []*ask{
		{method: "get", body: `{"A[]": {"count": 0, "A": {}}}`},
		{method: "get", body: `{"B": {"id": 31}}`},
		{method: "head", body: `{"C": {}}`},
		{method: "get", body: `{"A": {"@role": "CIRCLE", "@order": "id-"}}`},
	}
	for range 16 {
		method, body := (&grammar{r: r}).fetch()
		asks = append(asks, &ask{method: method, body: body})
	}
	run := func(a *ask, c *fresh.Condition) (string, bool) {
		var out bytes.Buffer
		code, err := e.whole.Fetch(e.context(), query.FetchRequest{Method: a.method, Body: []byte(a.body), Condition: c}, &out)
		require.NoError(t, err)
		return took.ReplaceAllString(out.String(), ""), code == syntax.CodeOK
	}
	for range 16 {
		change := small[r.IntN(len(small))]
		switch k := r.IntN(20); {
		case k < 5 && g.Size() < 200:
			change = (&grammar{r: r}).update()
		case k == 5:
			loadOne(t, g, int64(r.IntN(3)))
			change = "RETURN 1"
		case k == 6:
			change = "MATCH (c:C) WHERE c.id < 3 SET c.l = [" + strconv.Itoa(r.IntN(3)) + "]"
		}
		if res, err := e.whole.Query(t.Context(), query.Request{Statement: change}); err == nil {
			res.Close()
		}
		for _, a := range asks {
			c := &fresh.Condition{None: a.tag, Format: "json"}
			got, ok := run(a, c)
			want, ok2 := run(a, nil)
			require.Equal(t, ok, ok2, "%s\n%s\n%s", a.body, got, want)
			if !ok {
				require.Empty(t, c.Tag, a.body)
				require.Equal(t, want, got)
				continue
			}
			n.asked++
			if strings.Contains(want, `"id":`) {
				n.rows++
			}
			if c.Unmodified {
				n.same++
				n.tagged++
				require.Empty(t, got)
				require.Equal(t, a.answer, want, "%s\nafter\n%s", a.body, change)
				continue
			}
			require.Equal(t, want, got, a.body)
			if c.Tag != "" {
				n.tagged++
			}
			if a.tag != "" && got != a.answer {
				n.other++
			}
			a.tag, a.answer = c.Tag, got
		}
	}
}
