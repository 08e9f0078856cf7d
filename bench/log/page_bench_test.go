package log

import (
	"fmt"
	"testing"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/page"
)

// paged is the number of vertices that are read by pages.
const paged = 1_000_000

// read reads a page of a statement, or all of it, and returns its rows and the token of the next page.
func (w *world) read(b *testing.B, statement string, pg *page.Page) (rows int, next string) {
	b.Helper()
	req := query.Request{Statement: statement}
	req.SetPage(pg)
	res := must[*query.Result](b)(w.e.Query(b.Context(), req))
	defer res.Close()
	for {
		batch, err := res.Next()
		if err != nil {
			b.Fatal(err)
		}
		if batch == nil {
			return rows, res.Summary().NextPage
		}
		rows += batch.N
	}
}

// A page of 1,000 in the middle of a million rows, after 10,000 commits since the first page, in an order that an index has and in one that
// none has, beside the first page and one long read.
func BenchmarkPages(b *testing.B) {
	w := open(b, changelog.Diff, true)
	w.run(b, "CREATE CONSTRAINT FOR (n:M) REQUIRE n.id IS UNIQUE", nil)
	for from := 0; from < paged; from += 100_000 {
		w.run(b, fmt.Sprintf("UNWIND range(%d, %d) AS i CREATE (:M {id: i, at: i * 7919 %% %d})", from, from+99_999, paged), nil)
	}
	for _, order := range []struct{ name, text string }{
		{"index", "MATCH (n:M) RETURN n.id, n.at ORDER BY n.id"},
		{"none", "MATCH (n:M) RETURN n.id, n.at ORDER BY n.at, n.id"},
	} {
		token := ""
		for range paged / 2 / page.MaxSize {
			_, token = w.read(b, order.text, &page.Page{Size: page.MaxSize, Token: token})
		}
		for i := range 10_000 {
			w.run(b, fmt.Sprintf("MATCH (n:M {id: %d}) SET n.at = -1", i*100), nil)
		}
		for _, p := range []struct {
			name, token string
			size        int
		}{{"first", "", 1_000}, {"middle", token, 1_000}, {"whole", "", 0}} {
			b.Run("order="+order.name+"/page="+p.name, func(b *testing.B) {
				for b.Loop() {
					var pg *page.Page
					if p.size > 0 {
						pg = &page.Page{Size: p.size, Token: p.token}
					}
					if rows, _ := w.read(b, order.text, pg); rows != p.size && p.size > 0 || rows == 0 {
						b.Fatalf("%d rows", rows)
					}
				}
			})
		}
	}
}
