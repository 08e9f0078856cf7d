package parse

import (
	"errors"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// seeds are statements that between them have every construct.
var seeds = []string{
	"EXPLAIN MATCH p = (a:A&!B|%)-[r:T|:U*1..3 {k: $x} WHERE r.p]->(b $y) USING INDEX a:A(k) WHERE a.x =~ 'y' RETURN DISTINCT *, p AS q ORDER BY q DESC SKIP 1 LIMIT 2",
	"MATCH ALL SHORTEST ((a)-->(b) WHERE a.x){2,}(c)<-[]-{,3}(d)-->*(e) OPTIONAL MATCH (x) RETURN [y IN xs WHERE y:A | y.k], [p = (a)--(b) WHERE a.x | p]",
	"CALL (a, b) { WITH 1 AS x RETURN x UNION ALL RETURN 2 AS x } IN 2 CONCURRENT TRANSACTIONS OF 10 ROWS ON ERROR BREAK REPORT STATUS AS s FINISH",
	"CALL db.labels() YIELD label AS l WHERE l STARTS WITH 'a' RETURN l, CASE x WHEN > 5, IS NULL THEN 1 WHEN 2 THEN 3 ELSE 4 END, -9223372036854775808",
	"UNWIND [0x1F, 0o17, .5, 1e9] AS n MERGE (a)-[r:T]->(b) ON CREATE SET a.x = 1, a += {y: 2} ON MATCH SET a:A:B REMOVE a.x, a:A DETACH DELETE a, b",
	"FOREACH (x IN [1] | CREATE (n {`a b`: x}) SET n[x] = 'a\\u00e9\\n') RETURN n {.a, .*, b: 1, c}, reduce(s = 0, x IN l | s + x), all(x IN l WHERE x)",
	"LOAD CSV WITH HEADERS FROM 'f' AS row FIELDTERMINATOR ';' RETURN EXISTS { (a)-->(b) WHERE a.x }, COUNT { MATCH (a) RETURN a }, count(DISTINCT x), count(*)",
	"RETURN a IS NOT :: LIST<INTEGER NOT NULL> | STRING, a[1..], a[..2][3].b, NOT a < b <= c XOR (n)-->(m) AND shortestPath((a)-[*]-(b)) IS NULL",
	"RETURN normalize(a, NFKD), a IS NOT NFC NORMALIZED, CASE a WHEN IS NORMALIZED THEN 1 END",
	"USE g MATCH REPEATABLE ELEMENTS (a)-->(b) LET x = a.x, `y z` = 1 FILTER WHERE x > 1 ORDER BY x DESC SKIP 1 OFFSET 2 LIMIT 3 MATCH DIFFERENT RELATIONSHIPS (c) RETURN ALL x",
	"CREATE VECTOR INDEX i FOR (n:A) ON n.v WITH [n.a, n.b] OPTIONS {x: 1}",
	"CREATE FULLTEXT INDEX i IF NOT EXISTS FOR (n:A|B) ON EACH [n.a, n.b] OPTIONS {x: 1}",
	"CREATE CONSTRAINT c FOR ()-[r:T]-() REQUIRE (r.a, r.b) IS RELATIONSHIP KEY",
	"SHOW RANGE INDEXES YIELD name AS n ORDER BY n WHERE n = 'x' RETURN n", "DROP INDEX ON :A(b)", "TERMINATE TRANSACTION 'a', 'b';",
	"GRANT MATCH {*} ON GRAPH g FOR (p:A|B) WHERE p.t = $claims.t AND NOT (p.x < -1 OR p.y IS NULL) WITH CHECK TO r, PUBLIC",
	"REVOKE DENY READ {a, b} ON HOME GRAPH RELATIONSHIPS T FROM r", "GRANT SET LABEL A, B ON GRAPH g TO r", "DENY TRAVERSE ON GRAPH g FOR ()-[:T {a: 1}]-() TO r",
	"SHOW ROLE a, $b PRIVILEGES AS REVOKE COMMANDS YIELD * WHERE command = 'x'", "SHOW USER a PRIVILEGES",
	"RETURN // comment\n /* another */ `odd``name`, $`p q`, $1 ^ 2 ^ -3 - -4 % 5 || '6'",
}

// FuzzParse checks that no text makes the parser panic, that every error is a positioned syntax error, and that what parses
// prints to forms that parse to the same tree.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Statement(text)
		if err != nil {
			var e *graph.Error
			if !errors.As(err, &e) || e.Type != "SyntaxError" || e.Detail == "" || e.Pos.Line == 0 {
				t.Fatalf("odd error %#v", err)
			}
			Caret(text, e.Pos)
			return
		}
		ast.Inspect(s, func(n ast.Node) bool {
			if n.Position().Line == 0 {
				t.Fatalf("%T has no place", n)
			}
			return true
		})
		roundTrip(t, text, s)
	})
}
