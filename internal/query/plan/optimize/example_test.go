package optimize_test

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
)

// Compile a statement to a logical plan, then rewrite it by the rules.
func ExamplePlan() {
	q, _, err := cypher.Compile("MATCH (p:Person)-[:KNOWS]->(f) WHERE p.age > 30 RETURN count(DISTINCT f) AS friends", cypher.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan.Format(q))
	optimize.Plan(q, optimize.Env{Fired: func(rule string) { fmt.Println("rule:", rule) }})
	fmt.Print(plan.Format(q))
	// Output:
	// Projection friends
	//   Aggregation count(DISTINCT f) AS friends
	//     Match (p:Person)-[_3:KNOWS]->(f) WHERE p.age > 30
	//       Unit
	// rule: PushPredicates
	// rule: FrontierCount
	// Projection friends
	//   FrontierCount (p)-[:KNOWS]->(_) AS friends
	//     Filter p.age > 30
	//       LabelScan (p:Person)
	//         Unit
}
