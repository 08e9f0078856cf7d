package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/page"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
)

// fetched is the answer to a fetch, or a page of it.
type fetched struct {
	code     int
	items    []string
	next     string
	msg      string
	snapshot string
}

func (w *world) fetch(ctx context.Context, e int, key, body string, pg *page.Page) (f fetched) {
	var out bytes.Buffer
	code, err := w.engines[e].Fetch(ctx, query.FetchRequest{Method: "get", Body: []byte(body), Page: pg, Snapshot: &f.snapshot}, &out)
	require.NoError(w.t, err)
	var members map[string]json.RawMessage
	require.NoError(w.t, json.Unmarshal(out.Bytes(), &members), out.String())
	var items []json.RawMessage
	f.code, f.msg = code, string(members["msg"])
	if raw := members[key]; raw != nil && code == 200 {
		require.NoError(w.t, json.Unmarshal(raw, &items))
	}
	for _, i := range items {
		f.items = append(f.items, string(i))
	}
	if raw := members["nextPageToken"]; raw != nil {
		require.NoError(w.t, json.Unmarshal(raw, &f.next))
	}
	return f
}

// Pages of fetches, taken up by either engine under writers, are one page with all items and, where the order of the fetch is total, the one read.
func TestPagesOfFetches(t *testing.T) {
	for seed := range uint64(localtest.Seeds(3)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 9))
			w := open(t, seed, 8<<20)
			w.must("CREATE CONSTRAINT FOR (n:P) REQUIRE n.k IS UNIQUE", nil)
			if seed%2 == 0 {
				w.must("CREATE INDEX FOR (n:P) ON (n.w)", nil)
			}
			for range 200 {
				w.must(change(rng), nil)
			}
			for range 12 {
				fetch := []struct{ key, body, all string }{
					{"P[]", `{"P[]": {"P": {}}}`, ``},
					{"P[]", `{"P[]": {"P": {"@order": "w-,k"}}}`, ``},
					{"P[]", `{"P[]": {"P": {"@order": "w", "@column": "k,w"}}}`, ``},
					{"P[]", `{"P[]": {"P": {"w>": 1}, "count": 17}}`, ``},
					{"P[]", `{"P[]": {"P": {"k>": 0, "@order": "k-"}, "count": 9, "page": 2}}`, `{"P[]": {"P": {"k>": 0, "@order": "k-"}, "count": 9, "page": 2}}`},
					{"[]", `{"[]": {"P": {"@order": "w,v"}}}`, ``},
					{"[]", `{"[]": {"P": {"@column": "w;count(*):c", "@group": "w"}}}`, `{"[]": {"count": 0, "P": {"@column": "w;count(*):c", "@group": "w"}}}`},
				}[rng.IntN(7)]
				var all []string
				var snapshot, token string
				for {
					f := w.fetch(t.Context(), rng.IntN(2), fetch.key, fetch.body, &page.Page{Size: 1 + rng.IntN(9), Token: token})
					require.Equal(t, 200, f.code, "%s: %s", fetch.body, f.msg)
					if token == "" {
						snapshot = f.snapshot
					}
					require.Equal(t, snapshot, f.snapshot)
					all = append(all, f.items...)
					if token = f.next; token == "" {
						break
					}
					w.must(change(rng), nil)
				}
				ctx, err := asof.With(t.Context(), "at", snapshot)
				require.NoError(t, err)
				require.Equal(t, w.fetch(ctx, 0, fetch.key, fetch.body, &page.Page{Size: page.MaxSize}).items, all, fetch.body)
				if fetch.all != "" { // its own order is total
					require.Equal(t, w.fetch(ctx, 0, fetch.key, fetch.all, nil).items, all, fetch.body)
				}
			}
		})
	}
}

func TestFetchesWithoutPages(t *testing.T) {
	w := keyed(t)
	fails := func(want, body string, pg *page.Page) {
		t.Helper()
		f := w.fetch(t.Context(), 0, "P[]", body, pg)
		require.NotEqual(t, 200, f.code)
		require.Contains(t, f.msg, want)
	}
	fails("one array", `{"P": {"k": 1}}`, &page.Page{Size: 3})
	fails("one array", `{"P[]": {"P": {}}, "Q[]": {"Q": {}}}`, &page.Page{Size: 3})
	first := w.fetch(t.Context(), 0, "P[]", `{"P[]": {"P": {}}}`, &page.Page{Size: 3})
	require.Len(t, first.items, 3)
	fails("another request", `{"P[]": {"P": {} }}`, &page.Page{Size: 3, Token: first.next})
	fails("was changed", `{"P[]": {"P": {}}}`, &page.Page{Size: 3, Token: first.next + "A"})
	_, err := w.engines[0].Fetch(t.Context(), query.FetchRequest{Method: "post", Body: []byte(`{"P": {"k": 99}}`), Page: &page.Page{Size: 3}}, &bytes.Buffer{})
	require.NoError(t, err)
	require.Empty(t, w.must("MATCH (n:P {k: 99}) RETURN n", nil).rows)
}
