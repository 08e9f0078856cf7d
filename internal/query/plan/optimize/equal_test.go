package optimize_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
)

// TestEquivalentForms requires equivalent statements to have one plan, operator by operator and with the same estimates.
func TestEquivalentForms(t *testing.T) {
	for name, forms := range map[string][]string{
		"map or WHERE": {
			`MATCH (p:Person {id: 1})-[:KNOWS]->(q) RETURN q.name`,
			`MATCH (p:Person)-[:KNOWS]->(q) WHERE p.id = 1 RETURN q.name`,
			`MATCH (p:Person WHERE p.id = 1)-[:KNOWS]->(q) RETURN q.name`,
			`MATCH (p)-[:KNOWS]->(q) WHERE 1 = p.id AND p:Person RETURN q.name`,
		},
		"literal or parameter": {
			`MATCH (p:Person {id: 1})-[:KNOWS]->(q) RETURN q.name`,
			`MATCH (p:Person {id: $id})-[:KNOWS]->(q) RETURN q.name`,
		},
		"limits by parameter": {
			`MATCH (p:Person) RETURN p.name AS name ORDER BY name SKIP 2 LIMIT 10`,
			`MATCH (p:Person) RETURN p.name AS name ORDER BY name SKIP $skip LIMIT $limit`,
		},
		"either way round": {
			`MATCH (t:Tag {name: 'x'})<-[:HAS_TAG]-(m:Post)-[:HAS_CREATOR]->(p:Person) RETURN p.name, m.id`,
			`MATCH (p:Person)<-[:HAS_CREATOR]-(m:Post)-[:HAS_TAG]->(t:Tag {name: 'x'}) RETURN p.name, m.id`,
		},
		"comma or two clauses": {
			`MATCH (p:Person {id: 1})-[:KNOWS]->(q), (q)-[:LIVES_IN]->(c:City) RETURN c.name`,
			`MATCH (p:Person {id: 1})-[:KNOWS]->(q) MATCH (q)-[:LIVES_IN]->(c:City) RETURN c.name`,
			`MATCH (q)-[:LIVES_IN]->(c:City) MATCH (q)<-[:KNOWS]-(p:Person {id: 1}) RETURN c.name`,
			`MATCH (p:Person {id: 1})-[:KNOWS]->(q)-[:LIVES_IN]->(c:City) RETURN c.name`,
		},
		"WITH *": {
			`MATCH (p:Person {id: 1})-[:KNOWS]->(q) MATCH (q)-[:LIVES_IN]->(c:City) RETURN c.name`,
			`MATCH (p:Person {id: 1})-[:KNOWS]->(q) WITH * MATCH (q)-[:LIVES_IN]->(c:City) RETURN c.name`,
			`MATCH (q)-[:LIVES_IN]->(c:City) WITH * MATCH (q)<-[:KNOWS]-(p:Person) WHERE p.id = 1 RETURN c.name`,
			`MATCH (q)-[:LIVES_IN]->(c:City) WITH q, c MATCH (q)<-[:KNOWS]-(p) WITH p, c WHERE p:Person AND p.id = 1 RETURN c.name`,
		},
		"predicate or EXISTS": {
			`MATCH (a:Person {id: 1}), (b:Person {id: 2}) WHERE (a)-[:KNOWS]->(b) RETURN a.name`,
			`MATCH (a:Person {id: 1}), (b:Person {id: 2}) WHERE EXISTS { (a)-[:KNOWS]->(b) } RETURN a.name`,
			`MATCH (a:Person {id: 1}), (b:Person {id: 2}) WHERE EXISTS { MATCH (a)-[:KNOWS]->(b) } RETURN a.name`,
		},
		"bounds": {
			`MATCH (p:Person) WHERE p.age >= 18 AND p.age < 65 RETURN p.name`,
			`MATCH (p:Person) WHERE 18 <= p.age < 65 RETURN p.name`,
			`MATCH (p:Person) WHERE p.age >= 18 WITH p WHERE p.age < 65 RETURN p.name`,
		},
		"IN of one": {
			`MATCH (p:Person) WHERE p.id = 1 RETURN p.name`,
			`MATCH (p:Person) WHERE p.id IN [1] RETURN p.name`,
			`MATCH (p:Person) WHERE p.id IN [$id] RETURN p.name`,
		},
		"order of conditions": {
			`MATCH (p:Person)-[:KNOWS]->(q) WHERE p.age > 3 AND q.age > 5 AND p.age < 9 RETURN q.name`,
			`MATCH (p:Person)-[:KNOWS]->(q) WHERE q.age > 5 AND p.age < 9 AND p.age > 3 RETURN q.name`,
		},
		"turned comparisons": {
			`MATCH (p:Person) WHERE p.age > 3 RETURN p.name`,
			`MATCH (p:Person) WHERE 3 < p.age RETURN p.name`,
		},
		"label forms": {
			`MATCH (p:Person&Admin)-[:KNOWS]->(q) RETURN q.name`,
			`MATCH (p:Person:Admin)-[:KNOWS]->(q) RETURN q.name`,
			`MATCH (p:Person)-[:KNOWS]->(q) WHERE p:Admin RETURN q.name`,
		},
		"edge conditions": {
			`MATCH (p:Person {id: 1})-[k:KNOWS {since: 3}]->(q) RETURN q.name`,
			`MATCH (p:Person {id: 1})-[k:KNOWS]->(q) WHERE k.since = 3 RETURN q.name`,
			`MATCH (p:Person {id: 1})-[k:KNOWS WHERE k.since = 3]->(q) RETURN q.name`,
		},
		"count of rows": {
			`MATCH (p:Person)-[:LIVES_IN]->(c:City) RETURN count(*) AS n`,
			`MATCH (p:Person)-[:LIVES_IN]->(c:City) RETURN count(p) AS n`,
			`MATCH (p:Person)-[e:LIVES_IN]->(c:City) RETURN count(e) AS n`,
			`MATCH (c:City)<-[:LIVES_IN]-(p:Person) RETURN count(c) AS n`,
		},
		"distinct ends": {
			`MATCH (p:Person {id: 1})-[:KNOWS]->(a) WITH DISTINCT a RETURN count(*) AS n`,
			`MATCH (p:Person {id: 1})-[:KNOWS]->(a) RETURN count(DISTINCT a) AS n`,
		},
		"order before or after WITH": {
			`MATCH (p:Person) RETURN p.name AS name ORDER BY p.age LIMIT 3`,
			`MATCH (p:Person) WITH p ORDER BY p.age LIMIT 3 RETURN p.name AS name`,
		},
		"conditions after WITH": {
			`MATCH (p:Person)-[:KNOWS]->(q:Person) WHERE q.age > 5 AND p.id = 1 RETURN q.name`,
			`MATCH (p:Person)-[:KNOWS]->(q:Person) WITH p, q WHERE p.id = 1 AND q.age > 5 RETURN q.name`,
			`MATCH (q:Person)<-[:KNOWS]-(p:Person) WHERE p.id = 1 WITH q WHERE q.age > 5 RETURN q.name`,
		},
		"choice of types": {
			`MATCH (p:Person {id: 1})-[:KNOWS|LIVES_IN]->(q) RETURN q.name`,
			`MATCH (p:Person {id: 1})-[:LIVES_IN|KNOWS]->(q) RETURN q.name`,
		},
		"named or not": {
			`MATCH (p:Person {id: 1})-[:KNOWS]->()-[:LIVES_IN]->(c) RETURN c.name`,
			`MATCH (p:Person {id: 1})-[k:KNOWS]->(q)-[l:LIVES_IN]->(c) RETURN c.name`,
		},
		"quantified or variable length": {
			`MATCH (p:Person {id: 1})-[:KNOWS*1..3]->(q) RETURN DISTINCT q.name`,
			`MATCH (p:Person {id: 1})-[:KNOWS]->{1,3}(q) RETURN DISTINCT q.name`,
			`MATCH (p:Person {id: 1}) ((a)-[:KNOWS]->(b)){1,3} (q) RETURN DISTINCT q.name`,
		},
		"not equal": {
			`MATCH (p:Person)-[:KNOWS]->(q) WHERE p.name <> q.name RETURN q.name`,
			`MATCH (p:Person)-[:KNOWS]->(q) WHERE NOT p.name = q.name RETURN q.name`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			for i, form := range forms {
				q, _, err := cypher.Compile(form, cypher.Options{})
				require.NoError(t, err)
				optimize.Plan(q, social())
				got := shape(q, q.Root, "")
				if i == 0 {
					want = got
				}
				require.Equal(t, want, got, form)
			}
		})
	}
}

// shape is a plan without the names of its columns and the values of its expressions; projections that only pass columns on
// cost nothing and are left out.
func shape(q *plan.Query, n plan.Node, indent string) string {
	name, _ := plan.Describe(q, n)
	s := ""
	if p, ok := n.(*plan.Project); !ok || !passing(p) {
		s = fmt.Sprintf("%s%s %.4g\n", indent, name, q.Estimates[n])
		indent += " "
	}
	for _, c := range plan.Children(n) {
		s += shape(q, c, indent)
	}
	return s
}

func passing(p *plan.Project) bool {
	for _, it := range p.Items {
		if ref, ok := it.Expr.(*plan.ColRef); !ok || ref.Col != it.Col {
			return false
		}
	}
	return true
}
