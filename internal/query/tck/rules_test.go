package tck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hopgate/hopgate/internal/query/plan/optimize"
)

// counted are statements that rules change, most of them into counts; labels, types and directions are filled in at random.
var counted = []string{
	"MATCH (a%L)-[%E]->(b%L) RETURN count(*) AS n",
	"MATCH (a%L)-[%E]->(b%L)-[%E]->(c%L) RETURN count(*) AS n",
	"MATCH (a%L)-[:T]->(b%L)<-[:U]-(c%L)-[:V]-(d%L) RETURN count(*) AS n",
	"MATCH (a%L)-[:T]->(b), (b)-[:U]->(c%L), (b)<-[:V]-(d) RETURN count(b) AS n",
	"MATCH (a%L)-[%E]-(b)-[%E]-(c%L) WHERE a <> c RETURN count(*) AS n",
	"MATCH (a%L)-[:T]-(b)-[:T]-(c%L)-[:U]->(d) WHERE a <> c RETURN count(*) AS n",
	"MATCH (a)<-[:T]-(b)<-[:U]-(c)-[:T]->(d) WHERE a <> d RETURN count(*) AS n",
	"MATCH (a)<-[:T]-(b)<-[:U]-(c)-[:T]->(d) WHERE NOT (c)-[:T]->(a) AND a <> d RETURN count(*) AS n",
	"MATCH (a%L)-[:T]->(b) OPTIONAL MATCH (b)-[:U]->(c%L) OPTIONAL MATCH (b)<-[:V]-(d)-[:T]->(e) RETURN count(*) AS n",
	"MATCH (a%L)-[:T]->(b) OPTIONAL MATCH (b)-[:T]->(c) RETURN count(*) AS n",
	"MATCH (a {k: 1})-[%E]->(b%L)-[:U]->(c) WHERE b.k > 0 RETURN count(*) AS n",
	"MATCH (a%L)-[%E]->(b)-[%E]->(c)-[%E]->(a) RETURN count(*) AS n",
	"MATCH (a%L)-[%E]->(b) MATCH (b)-[%E]->(c%L) RETURN count(*) AS n",
	"MATCH (a%L)-[%E]->(b)-[%E]->(c%L) RETURN count(DISTINCT c) AS n",
	"MATCH (a%L)-[%E]-(b) WITH DISTINCT b MATCH (b)-[%E]-(c%L) RETURN count(DISTINCT c) AS n",
	"MATCH (a%L)-[%E*1..3]-(b) RETURN count(DISTINCT b) AS n",
	"MATCH (a%L)-[%E*2..3]->(b) RETURN count(DISTINCT b) AS n",
	"MATCH (a%L)-[%E*2]->(b%L) RETURN count(DISTINCT b) AS n",
	"MATCH (a%L)-[%E*3]-(b%L) RETURN count(DISTINCT b) AS n",
	"UNWIND [{k: 1}, {k: 2}] AS m MATCH (a%L {k: m.k}) MATCH (b%L) WHERE b.k = a.k RETURN count(*) AS n",
	"MATCH (a%L) RETURN count(a) AS n",
	"MATCH (a)-[r:T]->() RETURN count(r) AS n",
	"UNWIND [1, 2] AS k MATCH (a%L {k: k})-[:T]->(b)-[:U]->(c) RETURN count(*) AS n",
	"MATCH (a%L) RETURN a.k AS k, COUNT { (a)-[%E]->(b%L)-[:V]->(c) } AS n ORDER BY k, n",
	"MATCH (a%L)-[:T]-(b)-[:U]-(c%L) RETURN DISTINCT c.k AS k ORDER BY k",
	"MATCH (a)-[%E]-(b)-[:U]-(c)-[:V]-(d%L) RETURN DISTINCT d.k AS k ORDER BY k",
	"MATCH (a%L)-[:T]-(b)-[:U]-(c%L) RETURN c.k AS k, count(*) AS n ORDER BY k",
	"MATCH (a)-[:T]-(b)-[:U]-(c)-[:V]-(d%L) RETURN d.k AS k, count(b) AS n, count(DISTINCT c) AS m, max(c.k) AS x ORDER BY k",
	"MATCH (a)-[%E]-(b)-[:U]-(c%L) WHERE c.k > 0 WITH c, c.k AS k RETURN k, count(c) AS n ORDER BY k",
	"MATCH (a)-[:T]-(b)-[:U]-(c)-[:V]-(d) RETURN count(DISTINCT d.k) AS n, min(c.k) AS k",
	"MATCH (a%L)-[:T]-(b)-[:U]-(c) WHERE b.k IN [1] AND a.k <> c.k RETURN c.k AS k, count(*) AS n ORDER BY k",
	"MATCH (a%L)-[%E]-(b) WITH a.k AS k, a.k * 2 AS twice, b.k AS j RETURN k, twice ORDER BY k LIMIT 3",
	"MATCH (a)-[:T]->(b)-[:T]->(c)-[:U]-(a) RETURN a.k AS k, count(*) AS n ORDER BY k",
	"MATCH (a)-[:T]->(b)<-[:U]-(a), (b)-[:V]-(c%L)-[:T]-(a) RETURN count(*) AS n",
	"MATCH (a%L)-[:T]-(b)-[:U]-(c%L) RETURN a.k AS k, count(*) AS n, sum(a.k) AS s, avg(a.k) AS m, min(a.k) AS x ORDER BY k",
	"MATCH (a%L)-[:T]-(b)-[:U]-(c%L)-[:V]-(d) RETURN b.k AS k, count(d) AS n, sum(a.k + 0.5) AS s, collect(DISTINCT a.k) = [] AS e ORDER BY k",
	"MATCH (a)-[%E]-(b)-[:U]-(c)-[:V]-(d%L) RETURN d.k AS k, sum(c.k) AS s, avg(d.k) AS m, sum(DISTINCT c.k) AS t ORDER BY k",
	"MATCH (a)-[:T]-(b)-[:U]-(c)-[:V]-(d%L) WHERE a.k <> 2 RETURN d.k AS k, sum(d.k) AS s, sum(duration({days: d.k})) AS t, count(d.k) AS n ORDER BY k",
	"MATCH (a%L)-[:T]->(b) RETURN sum(a.k) AS s, count(a.k) AS n, avg(a.k) AS m",
	"OPTIONAL MATCH (a:C) MATCH (a)-[:T]->(b)-[:U]->(c) RETURN a.k AS k, count(*) AS n",
	"MATCH (a%L) OPTIONAL MATCH (a)-[:T]->(b) WITH a, b MATCH (b)-[:U]->(c) RETURN a.k AS k, count(c) AS n ORDER BY k",
}

// Rules must not change answers: each statement returns the same with every rule on, with each rule off and with all off.
func TestRules(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 12
	}
	fill := func(r *rand.Rand, s string) string {
		for strings.Contains(s, "%L") {
			s = strings.Replace(s, "%L", []string{"", ":A", ":B", ":A|B", ":!B"}[r.IntN(5)], 1)
		}
		for strings.Contains(s, "%E") {
			s = strings.Replace(s, "%E", []string{"", ":T", ":U", ":T|U", ":V"}[r.IntN(5)], 1)
		}
		return s
	}
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			e := newEngine(setting{shards: 1 + 2*(seed%2), batch: []int{1, 3, 1024}[seed%3]}, nil)
			n := 2 + r.IntN(6)
			var b strings.Builder
			b.WriteString("CREATE ")
			for i := range n {
				fmt.Fprintf(&b, "(v%d%s {k: %d}), ", i, []string{"", ":A", ":B", ":A:B"}[r.IntN(4)], r.IntN(3))
			}
			for range r.IntN(3 * n) {
				fmt.Fprintf(&b, "(v%d)-[:%s]->(v%d), ", r.IntN(n), []string{"T", "T", "U", "V"}[r.IntN(4)], r.IntN(n))
			}
			create := strings.TrimSuffix(b.String(), ", ")
			if _, err := e.run(create, nil); err != nil {
				t.Fatal(err)
			}
			for _, form := range counted {
				text := fill(r, form)
				var want string
				for i, off := range append([][]string{optimize.Rules(), nil}, each(optimize.Rules())...) {
					e.disable = off
					a, err := e.run(text, nil)
					if err != nil {
						t.Fatalf("%s\n%s\nwithout %v: %v", create, text, off, err)
					}
					got := fmt.Sprint(a.rows)
					if i == 0 {
						want = got
					}
					if got != want {
						t.Fatalf("%s\n%s\nwithout %v: %s, without any rule: %s", create, text, off, got, want)
					}
				}
			}
		})
	}
}

func each(names []string) (sets [][]string) {
	for _, n := range slices.Clone(names) {
		sets = append(sets, []string{n})
	}
	return sets
}
