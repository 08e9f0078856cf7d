package query

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFetchSearch compares fetches with @search, alone and beside @near, with statements that call the index and join the ranks.
func TestFetchSearch(t *testing.T) {
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		r := rand.New(rand.NewPCG(3, 4))
		words := []string{"graph", "query", "planner", "shard", "vector", "index", "search"}
		must(t, e, "CREATE FULLTEXT INDEX texts FOR (d:Doc|Other) ON EACH [d.text]")
		must(t, e, "UNWIND range(0, 4) AS i CREATE (:Author {id: i})")
		for i := range 150 {
			text := make([]string, 1+r.IntN(12))
			for k := range text {
				text[k] = words[r.IntN(len(words))]
			}
			vector := fmt.Sprintf(", v: [%v, %v, %v]", r.NormFloat64(), r.NormFloat64(), r.NormFloat64())
			if i%5 == 0 {
				vector = ""
			}
			must(t, e, fmt.Sprintf("MATCH (a:Author {id: %d}) CREATE (a)-[:WROTE]->(:%s {id: %d, lang: '%s', text: '%s'%s})", r.IntN(5), []string{"Doc", "Other"}[i%7/6], i,
				[]string{"en", "de"}[r.IntN(2)], strings.Join(text, " "), vector))
		}
		// fetch returns the ids in their order with their scores.
		fetch := func(body string) []string {
			var out bytes.Buffer
			_, err := e.Fetch(context.Background(), FetchRequest{Method: "get", Body: []byte(body)}, &out)
			require.NoError(t, err, body)
			var answer struct {
				Docs []struct {
					ID    int
					Score float64 `json:"@score"`
				} `json:"Doc[]"`
			}
			require.NoError(t, json.Unmarshal(out.Bytes(), &answer))
			rows := []string{}
			for _, d := range answer.Docs {
				rows = append(rows, fmt.Sprintf("[%d, %.9f]", d.ID, d.Score))
			}
			return rows
		}
		const ranked = ` WITH id, round(score, 9) AS score, score AS exact ORDER BY exact DESC, id RETURN id, score`
		same := func(want, have []string) {
			t.Helper()
			require.NotEmpty(t, want)
			for i := range want { // equal scores have no order, so the lines are compared without theirs
				var id int
				var score float64
				_, err := fmt.Sscanf(want[i], "[%d, %g]", &id, &score)
				require.NoError(t, err)
				want[i] = fmt.Sprintf("[%d, %.9f]", id, score)
			}
			require.ElementsMatch(t, want, have)
			for i := range have[1:] {
				require.GreaterOrEqual(t, strings.Fields(have[i])[1], strings.Fields(have[i+1])[1])
			}
		}
		for _, q := range []string{"graph", "graph AND planner", "vec* -index", `\"query planner\"~2`, "shard^3 search"} {
			call := fmt.Sprintf(`CALL db.index.fulltext.queryNodes('texts', "%s") YIELD node, score `, q)
			search := fmt.Sprintf(`"@search": {"index": "texts", "query": "%s"}`, q)
			same(must(t, e, call+"WITH node, score WHERE node:Doc AND node.lang = 'en' WITH node.id AS id, score"+ranked),
				fetch(fmt.Sprintf(`{"Doc[]": {"count": 0, "Doc": {"lang": "en", %s, "@column": "id,@score"}}}`, search)))
			same(must(t, e, call+"MATCH (:Author {id: 2})-[:WROTE]->(node:Doc) WITH node.id AS id, score"+ranked),
				fetch(fmt.Sprintf(`{"Doc[]": {"count": 0, "hop": ">WROTE", "start": {"Author": 2}, "Doc": {%s, "@column": "id,@score"}}}`, search)))
			both := func(scope string) string {
				return "CALL () { " + call + scope + " WITH node, score ORDER BY score DESC, id(node) RETURN collect(node.id) AS found } CALL () { " + scope + " WITH node WHERE node.v IS NOT NULL " +
					"WITH node, vector.similarity.cosine(node.v, [1, 0.5, 0.2]) AS s ORDER BY s DESC, id(node) RETURN collect(node.id) AS near } " +
					"UNWIND search.rrf([near, found]) AS hit WITH hit.item AS id, hit.score AS score" + ranked
			}
			near := search + `, "@near": {"property": "v", "vector": [1, 0.5, 0.2]}`
			same(must(t, e, both("MATCH (node:Doc {lang: 'en'})")),
				fetch(fmt.Sprintf(`{"Doc[]": {"count": 0, "Doc": {"lang": "en", %s, "@column": "id,@score"}}}`, near)))
			same(must(t, e, both("MATCH (:Author {id: 2})-[:WROTE]->(node:Doc)")),
				fetch(fmt.Sprintf(`{"Doc[]": {"count": 0, "hop": ">WROTE", "start": {"Author": 2}, "Doc": {%s, "@column": "id,@score"}}}`, near)))
		}
	})
}
