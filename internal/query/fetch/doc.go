// Package fetch binds JSON-array fetches to plans, runs them, and writes rows back in the request's shape.
//
//	syntax.Request ─ shape ─ Cache ──(a miss)── bind ─► program
//	                           └──────(a hit)───────────► │
//	        rows of the Runner ◄── plans with parameters ─┘
//	                └─► writer ─► the answer, in the order of the request's keys
//
// A program is what requests of one shape share: those that differ only in values that become parameters. bind*.go make it, run.go runs
// a request that reads and write.go writes its rows; writes.go runs one that changes the graph, from the plans of writeplan.go.
package fetch
