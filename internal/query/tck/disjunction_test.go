package tck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
)

// disjunctions are statements whose branches indexes find; %d is a random value.
var disjunctions = []string{
	"MATCH (a:A)-[:T*0..]->(b:B) WHERE a.x = %d OR b.x = %d RETURN a.id, b.id",
	"MATCH (a:A)-[:T*0..]->(b:B) WHERE a.x = null OR b.id = %d OR a.id = %d RETURN a.id, b.id",
	"MATCH (a:A)-[:T*1..2]->(b:B) WHERE a.x = %d OR b.x = %d RETURN count(DISTINCT b) AS n, max(b.x) AS x",
	"MATCH (a:A)-[r:U]-(b:B) WHERE (a.x = %d OR b.x = %d AND a.id > 3 OR a.x = %d) AND a.id <> b.id RETURN r.w, a.id",
	"MATCH p = (a:A)-[:T]->(m)<-[:U]-(b:B) WHERE a.x = %d AND NOT m.x = 1 OR b.id IN [%d, null] RETURN p",
	"MATCH (a:A) WHERE a.x = %d AND a.id > 1 OR a.id = %d RETURN a, a.x AS x",
	"MATCH (a:A)-[:T]->(b) WHERE a.x = %d AND b.x < 9 OR a.id = %d OPTIONAL MATCH (b)-[s:U]->(c:A) WHERE c.x > a.x RETURN a.id, s, c.id",
	"MATCH (a:A)-[:T*0..]->(b:B) WHERE a.x = %d OR b.x = %d WITH collect(a.id) AS ids MATCH (c:A)-[:U]->(d) WHERE c.id IN ids RETURN c.id, d.id",
}

// A union of the branches of a disjunction returns each row as often as the disjunction.
func TestDisjunctions(t *testing.T) {
	seeds := 24
	if testing.Short() {
		seeds = 6
	}
	fired := map[string]int{}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		c := &fuzzCase{seen: &twins{engines: map[string]*engine{}}}
		const vertices, values = 60, 12
		var setup []string
		for i := range vertices {
			x := strconv.Itoa(r.IntN(values))
			if r.IntN(6) == 0 {
				x = "null"
			}
			setup = append(setup, fmt.Sprintf("(v%d%s {id: %d, x: %s})", i, []string{":A", ":B", ":A:B", ""}[r.IntN(4)], i, x))
			if i > 0 { // a tree
				setup = append(setup, fmt.Sprintf("(v%d)-[:T]->(v%d)", i, r.IntN(i)))
			}
			setup = append(setup, fmt.Sprintf("(v%d)-[:U {w: %d}]->(v%d)", i, i, r.IntN(i+1)))
		}
		c.setup = "CREATE " + strings.Join(setup, ", ")
		for _, label := range []string{"A", "B"} {
			c.index = append(c.index, graph.Index{Label: label, Props: []string{"x"}, Indexed: true}, graph.Index{Label: label, Props: []string{"id"}, Unique: true, Indexed: true})
		}
		batches := []int{1, 3, 1024}
		c.settings = []fuzzSetting{
			{setting: setting{shards: 1, batch: batches[seed%3], parallel: seed%2 == 0}},
			{setting: setting{shards: 3, batch: batches[r.IntN(3)]}},
			{setting: setting{shards: 1, batch: batches[r.IntN(3)], disable: []string{"OrExpansion"}}},
		}
		for _, form := range disjunctions {
			c.text = form
			for strings.Contains(c.text, "%d") {
				c.text = strings.Replace(c.text, "%d", strconv.Itoa(r.IntN(values)), 1)
			}
			want, ok := c.right()
			if !ok {
				t.Fatalf("no right answer: %s", c.text)
			}
			for _, s := range c.settings {
				if got := c.got(s); got != want {
					t.Fatalf("seed %d, %+v: %s\n%s\nwant\n%s\ngot\n%s", seed, s, c.setup, c.text, want, got)
				}
			}
			if expands(t, c.seen.engines[c.settings[0].graph()], c.text) {
				fired[form]++
			}
		}
	}
	for _, form := range disjunctions {
		if fired[form] == 0 {
			t.Errorf("never a union: %s", form)
		}
	}
}

// expands reports whether the plan of a statement is a union of branches.
func expands(t *testing.T, e *engine, text string) (fired bool) {
	q, _, err := cypher.Compile(text, cypher.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := e.g.Begin(context.Background(), shard.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	optimize.Plan(q, optimize.Env{Counts: tx.Statistics(), Indexes: e.g.Indexes(), Features: e.g.Features(), Fired: func(rule string) { fired = fired || rule == "OrExpansion" }})
	return fired
}
