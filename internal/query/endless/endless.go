// Package endless has requests that keep one operator, or one function, at work for longer than anybody waits, so that
// tests and benchmarks can see how soon each of them ends when it is cancelled.
package endless

import (
	"fmt"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/traverse"
)

// Request is a statement, or one of the typed requests.
type Request struct {
	// Operator is the type of package plan that the current request keeps, or has in its plan if it is one that is never at
	// work for long; "" where it is no operator.
	Operator string
	// What names the operator or phase that is busy; it distinguishes requests of one operator.
	What      string
	Statement string
	Typed     Typed
}

// Typed is query.Typed, which this package is below of.
type Typed interface {
	Key() string
	Bind(opts cypher.Options) (*plan.Query, error)
	Params(params map[string]graph.Value) map[string]graph.Value
	Text() string
}

// Name names the request.
func (r *Request) Name() string { return strings.TrimSpace(r.Operator + " " + r.What) }

// World returns the statements that build the graph of the requests: a dense one of 30 vertices labelled N, one of 400 labelled D
// whose edges have weights, a vertex labelled Hub with edges to n vertices labelled Leaf, and n vertices labelled V, with indexes.
func World(n int) []string {
	return []string{
		"CREATE INDEX FOR (a:N) ON (a.k)",
		"CREATE INDEX FOR (a:V) ON (a.k)",
		"CREATE INDEX FOR ()-[r:W]-() ON (r.w)",
		"UNWIND range(1, 30) AS x CREATE (:N {k: x})",
		"MATCH (a:N), (b:N) WHERE a <> b CREATE (a)-[:R {k: a.k}]->(b)",
		"UNWIND range(1, 400) AS x CREATE (:D {k: x})",
		"MATCH (a:D), (b:D) WHERE (a.k * 7 + b.k * 13) % 10 = 0 CREATE (a)-[:W {w: 1 + a.k * b.k % 17}]->(b)",
		"MATCH (a:D)-[:W]->(b) CREATE (a)-[:U]->(b)",
		fmt.Sprintf("CREATE (h:Hub {k: 0}) WITH h UNWIND range(1, %d) AS x CREATE (h)-[:H {k: x}]->(:Leaf {k: x})", n),
		fmt.Sprintf("UNWIND range(1, %d) AS x CREATE (:V {k: x, text: 'some text ' + x})", n),
	}
}

// File is the file that requests load, by its name and text.
func File() (name, text string) {
	return "endless.csv", strings.Repeat("1,some text,\"and \"\"more\"\"\"\n", 50_000)
}

const (
	again = "UNWIND range(1, 1000000000) AS x "
	many  = "UNWIND range(1, 1000000000000) AS x "
	// long is a string of a mebibyte, and list a list of a million numbers.
	long = "WITH reduce(s = 'ab', i IN range(1, 19) | s + s) AS s "
	list = "WITH [y IN range(1, 1000000) | y * 7919 % 1000003] AS l "
)

// Requests are all endless requests. None ends within minutes.
var Requests = append(append(operators, functions()...), phases()...)

var operators = []Request{
	{Operator: "Unit", Statement: again + "RETURN sum(x)"},
	{Operator: "Argument", Statement: again + "CALL { WITH x UNWIND range(1, 1000) AS y RETURN sum(y + x) AS s } RETURN sum(s)"},
	{Operator: "Scan", Statement: again + "MATCH (a:V) WHERE a.k + x < 0 RETURN x"},
	{Operator: "Scan", What: "of labels", Statement: again + "MATCH (a:V|N|Leaf) RETURN sum(x)"},
	{Operator: "Seek", Statement: again + "MATCH (a:N {k: x % 30}) RETURN sum(a.k)"},
	{Operator: "Seek", What: "of a list", Statement: again + "MATCH (a:V) WHERE a.k IN range(1, 1000) RETURN sum(a.k)"},
	{Operator: "SeekRange", Statement: again + "MATCH (a:V) WHERE a.k > x % 3 RETURN sum(a.k)"},
	{Operator: "SeekEdges", Statement: again + "MATCH (a)-[r:W {w: 3}]->(b) WHERE r.w < x - x RETURN r"},
	{Operator: "SeekEdgeRange", Statement: again + "MATCH ()-[r:W]->() WHERE r.w > 15 RETURN sum(r.w + x)"},
	{Operator: "SeekID", Statement: "MATCH (n:N {k: 1}) WITH id(n) AS i " + again + "MATCH (a) WHERE id(a) = i + x - x RETURN sum(a.k)"},
	{Operator: "Expand", Statement: "MATCH (a:N)-->(b)-->(c)-->(d)-->(e)-->(f)-->(g)-->(h)-->(i) WHERE a.k + i.k < 0 RETURN a.k"},
	{Operator: "Expand", What: "of a hub", Statement: again + "MATCH (h:Hub)-[r:H]->(v) WHERE r.k + v.k + x < 0 RETURN x"},
	{Operator: "Expand", What: "into", Statement: again + "MATCH (a:D), (b:D) MATCH (a)-[r]->(b) WHERE r.w < x - x RETURN r"},
	{Operator: "Intersect", Statement: again + "MATCH (a:D)-[:W]->(b)-[:W]->(c)-[:W]->(a) WHERE a.k + b.k + c.k < x - x RETURN a"},
	{Operator: "VarExpand", Statement: "MATCH p = (a:N)-[*1..15]->(b) WHERE length(p) < 0 RETURN p"},
	{Operator: "VarExpand", What: "trails", Statement: "MATCH (a)-[r*1..15]->(b) RETURN sum(size(r))"},
	{Operator: "VarExpand", What: "ends", Statement: again + "MATCH (a:D)-[*1..6]->(b) WITH DISTINCT x, a, b WHERE b.k < x - x RETURN b"},
	{Operator: "VarExpand", What: "edge conditions", Statement: "MATCH (a:D)-[r*1..12 {w: 3}]->(b) WHERE size(r) < 0 RETURN a"},
	{Operator: "FindPaths", Statement: "MATCH p = (a:D) ((u)-[r]->(v)-[q]->(w) WHERE u.k <> v.k + w.k){1,12} (b:D) WHERE length(p) < 0 RETURN p"},
	{Operator: "FindPaths", What: "shortest", Statement: again + "MATCH p = SHORTEST 5 (a:D)-[r]->{1,20}(b:D) WHERE length(p) < x - x RETURN p"},
	{Operator: "FindPaths", What: "groups", Statement: again + "MATCH p = SHORTEST 3 GROUPS (a:D {k: 1})-[r]->{1,20}(b:D) WHERE length(p) < x - x RETURN p"},
	{Operator: "ShortestPath", Statement: again + "MATCH (a:D), (b:D) WHERE a <> b MATCH p = shortestPath((a)-[*..9]->(b)) WHERE length(p) > 5 RETURN p"},
	{Operator: "ShortestPath", What: "all", Statement: again + "MATCH (a:D), (b:D) WHERE a <> b MATCH p = allShortestPaths((a)-[*..9]->(b)) WHERE length(p) > 5 RETURN p"},
	{Operator: "ShortestPath", What: "where", Statement: "MATCH (a:N), (b:N) WHERE a <> b MATCH p = shortestPath((a)-[*..20]->(b)) WHERE reduce(s = 0, n IN nodes(p) | s + n.k) < 0 RETURN p"},
	{Operator: "CheapestPaths", Typed: &traverse.Paths{
		From: all("D"), To: all("D"), K: 1000, Weight: "w", Hop: traverse.Hop{Types: []string{"W"}},
	}},
	{Operator: "CheapestPaths", What: "all", Typed: &traverse.Paths{From: all("D"), To: all("D"), All: true, Weight: "e.w % 2", Hop: traverse.Hop{Types: []string{"W"}}}},
	traversal(plan.ModeFrontier), traversal(plan.ModeWalk), traversal(plan.ModeTrail), traversal(plan.ModeAcyclic),
	{Operator: "Filter", Statement: many + "WITH x WHERE x < 0 RETURN x"},
	{Operator: "Project", Statement: many + "WITH x, x * 2 + 1 AS y, toString(x) AS z RETURN sum(size(z) + y)"},
	{Operator: "Aggregate", Statement: many + "RETURN x % 10, sum(x), max(x)"},
	{Operator: "Aggregate", What: "collect", Statement: many + "RETURN collect(x % 10)[0]"},
	{Operator: "Aggregate", What: "percentile", Statement: again + "CALL { WITH x UNWIND range(1, 50000) AS y RETURN percentileCont(y * 7919 % 50021, 0.5) AS p } RETURN sum(p)"},
	{Operator: "Aggregate", What: "distinct", Statement: many + "RETURN count(DISTINCT x % 1000)"},
	{Operator: "Distinct", Statement: many + "WITH DISTINCT x % 10 AS y RETURN y"},
	{Operator: "Sort", Statement: many + "RETURN x ORDER BY -x LIMIT 1000"},
	{Operator: "Sort", What: "of all", Statement: many + "RETURN x ORDER BY x % 7"},
	{Operator: "Sort", What: "in a subquery", Statement: again + "CALL { WITH x UNWIND range(1, 100000) AS y WITH y ORDER BY y * 7919 % 100003 + x RETURN collect(y)[0] AS l } RETURN sum(l)"},
	{Operator: "Slice", Statement: "UNWIND range(1, 1000000000000) AS x RETURN x SKIP 1000000000000"},
	{Operator: "Unwind", Statement: "UNWIND range(1, 1000) AS a UNWIND range(1, 1000) AS b UNWIND range(1, 1000) AS c UNWIND range(1, 1000) AS d RETURN count(*)"},
	{Operator: "Unwind", What: "of lists", Statement: "WITH [x IN range(1, 1000) | x] AS l UNWIND l AS a UNWIND l AS b UNWIND l AS c UNWIND l AS d RETURN count(a + d)"},
	{Operator: "Unwind", What: "of nothing", Statement: many + "UNWIND [] AS y RETURN y"},
	{Operator: "Apply", Statement: again + "CALL { WITH x MATCH (a:D), (b:D), (c:D) WHERE a.k + b.k + c.k < x - x RETURN a } RETURN x"},
	{Operator: "Filter", What: "by exists", Statement: again + "WITH x WHERE EXISTS { MATCH (a:N), (b:N), (c:N), (d:N) WHERE a.k + b.k + c.k + d.k < x - x } RETURN x"},
	{Operator: "Project", What: "of a pattern comprehension", Statement: again + "MATCH (a:N) WITH x, [(a)-->(b)-->(c) WHERE b.k + c.k < 0 | c] AS l WHERE size(l) > 0 RETURN x"},
	{Operator: "Apply", What: "optional", Statement: again + "OPTIONAL MATCH (a:D)-->(b)-->(c) WHERE a.k + c.k < x - x RETURN sum(a.k)"},
	{Operator: "Aggregate", What: "of a count subquery", Statement: again + "RETURN sum(COUNT { MATCH (a:D)-->(b:D) WHERE a.k < b.k + x })"},
	{Operator: "Transactions", Statement: again + "CALL { WITH x CREATE (:M {k: x}) } IN TRANSACTIONS OF 10 ROWS"},
	{Operator: "Transactions", What: "of reads", Statement: again + "CALL { WITH x MATCH (a:N)-->(b)-->(c) WHERE c.k < x - x RETURN a } IN TRANSACTIONS OF 10 ROWS RETURN count(a)"},
	{Operator: "Transactions", What: "that fail", Statement: again + "CALL { WITH x RETURN 1 / (x - x) AS y } IN TRANSACTIONS OF 1 ROWS ON ERROR CONTINUE RETURN count(y)"},
	{Operator: "HashJoin", Statement: again + "MATCH (a:V), (b:V) WHERE a.text = b.text AND a.k + b.k < x - x RETURN a"},
	{Operator: "HashJoin", What: "of one key", Statement: "UNWIND range(1, 100000) AS x WITH x, x % 1 AS k MATCH (a:V) WITH a, k MATCH (b:V) WHERE b.c = a.c AND b.k + a.k < k RETURN b"},
	{Operator: "Product", Typed: product{}},
	{Operator: "Scan", What: "of all pairs", Statement: "MATCH (a:V), (b:V), (c:V) WHERE a.k + b.k + c.k < 0 RETURN a.k"},
	{Operator: "Union", Statement: many + "WITH x WHERE x < 0 RETURN x UNION " + many + "WITH x WHERE x < 0 RETURN x"},
	{Operator: "Union", What: "of distinct rows", Statement: many + "RETURN x % 10 AS x UNION " + many + "RETURN x % 10 AS x"},
	{Operator: "Eager", Statement: many + "MATCH (a:N {k: x % 30}) SET a.k = a.k CREATE (:M) WITH a MATCH (b:N) SET b.k = b.k"},
	{Operator: "Create", Statement: again + "CREATE (:M {k: x})"},
	{Operator: "Create", What: "edges", Statement: again + "MATCH (a:N {k: 1}), (b:N {k: 2}) CREATE (a)-[:T {k: x}]->(b)"},
	{Operator: "Merge", Statement: again + "MERGE (a:M {k: x % 10})"},
	{Operator: "Merge", What: "edges", Statement: again + "MATCH (a:D), (b:D) MERGE (a)-[r:T]->(b) ON MATCH SET r.k = x"},
	{Operator: "Set", Statement: again + "MATCH (a:N {k: 1}) SET a.v = x"},
	{Operator: "Set", What: "labels", Statement: again + "MATCH (a:V) SET a:X REMOVE a:X"},
	{Operator: "Delete", Statement: again + "CREATE (m:M {k: x}) DELETE m"},
	{Operator: "Delete", What: "of edges", Statement: again + "MATCH (a:N)-[r:R]->(b:N) DELETE r CREATE (a)-[:R]->(b)"},
	{Operator: "Foreach", Statement: "MATCH (a:N) FOREACH (x IN range(1, 1000000) | SET a.k = a.k + 1)"},
	{Operator: "Foreach", What: "in another", Statement: again + "MATCH (a:N {k: 1}) FOREACH (y IN range(1, 1000) | FOREACH (z IN range(1, 1000) | SET a.v = y + z))"},
	{Operator: "CallProc", Statement: again + "CALL db.labels() YIELD label RETURN count(label)"},
	{Operator: "CallProc", What: "of the schema", Statement: again + "CALL db.schema.nodeTypeProperties() YIELD nodeType RETURN count(nodeType)"},
	{Operator: "CallProc", What: "of an algorithm", Statement: again + "CALL algo.pageRank({maxIterations: 1000000}) YIELD rank RETURN sum(rank)"},
	{Operator: "CallProc", What: "of a subgraph", Statement: again + "MATCH (a:D) CALL apoc.path.subgraphAll(a, {}) YIELD relationships RETURN sum(size(relationships))"},
	{Operator: "CallProc", What: "of paths", Statement: "MATCH (a:N) CALL apoc.path.expandConfig(a, {bfs: false, maxLevel: 15}) YIELD path WITH path WHERE length(path) < 0 RETURN path"},
	{Operator: "LoadCSV", Statement: again + "LOAD CSV FROM 'file:///endless.csv' AS line RETURN count(line[0])"},
	{Operator: "Drain", Statement: again + "CALL { WITH x CREATE (m:M {k: x}) DELETE m }"},
	{Operator: "CountStore", Statement: "MATCH (n:D) WITH count(*) AS c " + again + "RETURN sum(c + x)"},
	{Operator: "BlockAggregate", Statement: "MATCH ()-[r:U]->() WITH max(r.k) AS c " + again + "RETURN sum(c + x)"},
	{Operator: "BlockAggregate", What: "of groups", Statement: "MATCH (a:D) WITH a.k AS k, count(*) AS c " + again + "RETURN sum(c + x)"},
	{Operator: "EdgeGroups", Statement: "MATCH (a:D)-[:W]->(b:D) WITH a.k AS k, b.k AS l, count(*) AS c " + again + "RETURN sum(c + x)"},
	{Operator: "Fallback", Statement: "MATCH (a:D)-[:W]->(b:D) WITH a.k + b.k AS k, count(*) AS c " + again + "RETURN sum(c + x)"},
	{Operator: "MultiplicityCount", Statement: again + "MATCH (a:D)-[:W]->(b)-[:U]->(c) RETURN count(*)"},
	{Operator: "PathMultiplicity", Statement: again + "MATCH (a:D)-[:W]->(b)-[:U]->(c) RETURN a.k, count(*)"},
	{Operator: "PairMultiplicity", Statement: "MATCH (b)<-[:W]-(a:D)-[:W]->(c) WHERE b <> c WITH count(*) AS c " + again + "RETURN sum(c + x)"},
	{Operator: "FrontierCount", Statement: again + "CALL { MATCH (a:D)-[:W]->()-[:W]->()-[:W]->(b) RETURN count(DISTINCT b) AS c } RETURN sum(c + x)"},
	{Operator: "FrontierCount", What: "of trails", Statement: again + "CALL { MATCH (a:D)-[:W*1..9]->(b) RETURN count(DISTINCT b) AS c } RETURN sum(c + x)"},
}

// all selects the vertices with a label.
func all(label string) traverse.Selector {
	return traverse.Selector{Statement: "MATCH (n:" + label + ") RETURN n"}
}

// traversal walks the dense graph for 15 hops by one of the modes.
func traversal(mode plan.TraverseMode) Request {
	hops := make([]traverse.Hop, 1000)
	for i := range hops {
		hops[i].Where = "v.k > 0"
	}
	t := &traverse.Traversal{From: all("N"), Hops: hops, Mode: mode, Returns: "paths"}
	if mode == plan.ModeFrontier {
		t.From, t.Returns = all("D"), "edges"
	}
	if mode <= plan.ModeWalk { // openCypher's operators do these without limits
		t.Hops[0].MaxDegree = 1000
	}
	return Request{Operator: "Traverse", What: mode.String(), Typed: t}
}

// functions are expressions with one long call, or with large intermediate values for a small result.
func functions() []Request {
	var out []Request
	one := func(with, name, expr string) {
		out = append(out, Request{What: name, Statement: with + again + "WITH " + expr + " AS v, x WHERE v = x RETURN x"})
	}
	for _, f := range []string{
		"size(s)", "size(toUpper(s))", "size(toLower(s + 'é'))", "size(trim(s))", "size(trim(s, 'ab'))", "size(reverse(s))", "size(left(s, 1000000))", "size(right(s, 10))",
		"size(substring(s, 1000000))", "size(replace(s, 'a', 'bb'))", "size(replace(s, 'ab', ''))", "size(split(s, 'a'))", "size(split(s, ['x', 'a', 'y']))", "size(s + x)",
		"size(lpad(s, 2000000, 'xy'))", "size(normalize(s + 'é'))", "s CONTAINS 'ba' + x", "s STARTS WITH s", "s ENDS WITH s + x", "s = s + x",
		"s < s + x", "s IN [s + x]", "toInteger(s)", "toFloat(s)", "size(toString(s))",
		"s =~ '(a|b)*(a|c)*(a|d)*e'", "s =~ '.*x'", "size(lpad('', 1000000, 'x'))",
		"size([c IN split(s, '') WHERE c = 'x'])",
	} {
		one(long, f, f)
	}
	for _, f := range []string{
		"size(l)", "size(reverse(l))", "l[x % 1000000]", "size(l[1..900000])", "size(l + x)", "size(x + l)", "-x IN l", "l = l + x",
		"l < l + x", "size(coll.sort(l))", "size(coll.distinct(l))", "coll.indexOf(l, -x)", "size(coll.flatten([l, l]))",
		"size(coll.insert(l, 5, x))", "size(coll.remove(l, 5))", "coll.max(l)", "coll.min(l)", "size(toStringList(l))",
		"size([y IN l WHERE y < 0])", "any(y IN l WHERE y < 0)", "reduce(t = 0, y IN l | t + y)",
		"all(y IN l WHERE y > -x)", "size(range(1, 1000000))", "size(toString(size(l)))", "CASE x WHEN l THEN 1 WHEN l + x THEN 2 ELSE 3 END",
		"valueType(l)", "l IS :: LIST<STRING>", "size(toIntegerList(l))", "isEmpty(l)", "[l, x] = [l, -x]",
	} {
		one(list, f, f)
	}
	return out
}

// phases are phases of a statement outside operators, or one long step of an operator.
func phases() []Request {
	return []Request{
		{What: "text of a query", Statement: "RETURN " + strings.Repeat("1 + ", 2_000_000) + "1"},
		{What: "seek of a long list", Statement: list + again + "MATCH (a:V) WHERE a.k IN l RETURN sum(a.k)"},
		{What: "sort by a list", Statement: list + again + "WITH l, x ORDER BY l, -x LIMIT 10 RETURN x"},
		{What: "group by a list", Statement: list + again + "RETURN l, sum(x)"},
		{What: "distinct lists", Statement: list + again + "WITH DISTINCT l, x % 10 AS y RETURN y"},
		{What: "largest list", Statement: list + again + "RETURN max([l, x])"},
		{What: "lists that are kept", Statement: list + again + "WITH l, x ORDER BY x RETURN l"},
		{What: "cases of a list", Statement: list + again + "WITH CASE l WHEN [x] THEN 1 WHEN l THEN 2 END AS v RETURN sum(v)"},
		{What: "properties of a text", Statement: long + "MATCH (a:N {k: 1}) " + again + "SET a.v = s + x"},
		{What: "statistics", Statement: again + "CALL { WITH x UNWIND range(1, 100000) AS y RETURN stDev(y) AS d } RETURN sum(d)"},
		{What: "planning", Statement: "MATCH " + chain(660) + " RETURN a0.k"},
		{What: "reduce", Statement: "RETURN reduce(s = 0, x IN range(1, 10000000) | s + reduce(t = 0, y IN range(1, 100000) | t + y % 7))"},
		{What: "growing text", Statement: "RETURN reduce(s = '', x IN range(1, 1000000) | right(s + toString(x) + reverse(s), 100000))"},
		{What: "nested comprehension", Statement: again + "RETURN sum(size([y IN range(1, 1000) WHERE size([z IN range(1, 1000) WHERE z = -y]) > 0]))"},
		{What: "nested quantifier", Statement: again + "RETURN sum(size([y IN range(1, 1000) WHERE any(z IN range(1, 1000) WHERE z = -y)]))"},
		{What: "long regular expression", Statement: "WITH reduce(s = 'a', x IN range(1, 26) | s + s) AS s RETURN s =~ '(a|b)*(a|c)*(a|d)*e'"},
		{What: "split by absent delimiters", Statement: "WITH reduce(s = 'a', x IN range(1, 23) | s + s) AS s RETURN size(split(s, ['x', 'a', 'y']))"},
	}
}

// chain is a pattern of so many edges, each with a pattern of its own.
func chain(n int) string {
	edges := make([]string, n)
	for i := range edges {
		edges[i] = fmt.Sprintf("(a%d)-->(a%d)", i, i+1)
	}
	return strings.Join(edges, ", ")
}

// product is a request whose plan has a Product, which openCypher has no use for.
type product struct{}

func (product) Key() string  { return "product" }
func (product) Text() string { return "product" }

func (product) Params(params map[string]graph.Value) map[string]graph.Value { return params }

func (product) Bind(cypher.Options) (*plan.Query, error) {
	q := &plan.Query{Names: []string{"x"}}
	x, y := q.NewCol("x", graph.Null), q.NewCol("y", graph.Null)
	constant := func(n int64) plan.Expr { return &plan.Const{Value: graph.IntValue(n)} }
	numbers := func(c plan.Col, n int64) plan.Node {
		return &plan.Unwind{Input: &plan.Unit{}, Out: c, List: &plan.Call{Func: "range", Args: []plan.Expr{constant(1), constant(n)}}}
	}
	q.Root = &plan.Filter{
		Input: &plan.Product{Left: numbers(x, 1_000_000_000), Right: numbers(y, 100_000), RightCols: []plan.Col{y}},
		Preds: []plan.Expr{&plan.Op{Op: plan.Lt, Args: []plan.Expr{&plan.ColRef{Col: y}, constant(0)}}},
	}
	q.Out = []plan.Col{x}
	return q, nil
}
