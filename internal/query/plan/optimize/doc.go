// Package optimize turns the plan that a binder made into the plan that runs.
//
//	logical rules      on Match nodes: conditions move into patterns, counts become products of degrees, …  (rules.go)
//	      ▼
//	match              for each Match, by cost: where to start, by which index, and in which order to expand  (match.go, access.go)
//	      ▼
//	build              nodes for the cheapest order, with each condition as early as it can be tested  (build.go)
//	      ▼
//	physical rules     on scans and expansions: order by an index, count from counters, frontiers, groups, …  (rules.go)
//
// A rule looks at one node whose inputs are already rewritten and returns its replacement, or nil. Each has a name, by which EXPLAIN's
// tests turn it off, and a sentence that says why it is correct and where it would not be. Costs come from plan.Statistics: the counters
// that every commit maintains. One graph and one request give one plan: nothing iterates over a map.
package optimize
