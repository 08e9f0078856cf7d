// Package fetch runs JSON-array fetches: it finds or binds the program of a request, runs its plans, and writes their rows back in the
// request's shape.
//
//	syntax.Request ─ shape ─ Cache ──(a miss)── bind ─► Program
//	                           └──────(a hit)───────────► │
//	        rows of the Runner ◄── plans with parameters ─┘
//	                └─► writer ─► the answer, in the order of the request's keys
//
// A Program is what requests of one shape share: those that differ only in values that become parameters. run.go runs a request that
// reads, and write.go writes its rows; writes.go runs one that changes the graph, from the plans of writeplan.go.
package fetch
