package parse_test

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
)

// Parse a statement, and print its normal form and the one with all parentheses.
func ExampleStatement() {
	s, err := parse.Statement("match (p:Person {id: 42})-[:KNOWS]->(f) where f.age > 30 and f.age + 1 < 50 return f.name")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ast.Format(s))
	fmt.Println(ast.FormatFull(s))
	// Output:
	// MATCH (p:Person {id: 42})-[:KNOWS]->(f) WHERE f.age > 30 AND f.age + 1 < 50
	// RETURN f.name
	// MATCH (p:Person {id: 42})-[:KNOWS]->(f) WHERE ((f.age > 30) AND ((f.age + 1) < 50))
	// RETURN f.name
}
