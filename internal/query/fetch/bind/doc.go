// Package bind turns the tree of a fetch into a Program: plans with parameters, and the form of the answer that their rows fill.
//
//	Request ─► members of the answer     bind.go, bindarray.go
//	   └─► rows of a table or an array   bindselect.go, source.go; joins in bindjoin.go, hops in bindhop.go, subqueries in bindsub.go
//	         └─► conditions on them      bindcond.go, bindexpr.go; @near and @search in near.go and search.go
//	   └─► references to other members   reference.go: a column of the same plan, or a slot that an earlier Query fills
//
// Values of the request become parameters wherever the plan does not depend on them, so that all requests of one shape share a Program.
package bind
