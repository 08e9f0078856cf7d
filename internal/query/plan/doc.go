// Package plan is the logical plan of a request: a tree of nodes and expressions over numbered columns, independent of text, bytes and
// shards. Every kind of request becomes one, and everything that runs comes from one:
//
//	cypher    fetch    traverse      bind a request to a Query
//	   └────────┼─────────┘
//	            ▼
//	      Query{Root, Cols, Out}     Match nodes hold patterns
//	            ▼
//	      plan/optimize              replaces each Match by scans, seeks and expansions, and rewrites the rest
//	            ▼
//	      Query, with Estimates ───► Format: what EXPLAIN and PROFILE show
//	            ▼
//	      exec.Compile               one Stage for each node
//
// A column means the same everywhere in a plan, so nodes move without renaming. A node adds its columns to those of its input unless its
// comment says otherwise:
//
//	Projection  m.name AS name          out: name
//	  ExpandAll (n)-[:KNOWS]->(m)       columns n, m
//	    NodeByLabelScan (n:Person)      column n
//	      Argument                      one row of no columns
//
// A plan holds no state of an execution and is immutable once optimized; many executions share it. Labels, types and properties are names
// that each execution resolves, since a name that is unknown now may exist at the next run.
//
// A node type is one struct with four methods, which is all that this package asks of an operator:
//
//	inputs      its inputs and subplans, which rules read and replace
//	exprs       its expressions
//	describe    the name and the arguments that EXPLAIN shows
//	rows        an estimate of its rows, from those of its input and from Statistics
//
// The nodes are in node_source.go, node_adjacency.go, node_search.go, node_relational.go, node_groups.go, node_write.go, findpaths.go,
// transactions.go and traverse.go; the expressions in expr.go; what both print in format.go, formatexpr.go and formatseek.go. Statistics
// estimates shares of rows, and estimate.go walks a plan with it.
package plan
