// Package syntax parses JSON-array fetches to trees, and holds the rules of who may fetch what. It knows no graph and no plan:
//
//	body ─ ParseJSON ─ Node ─ Parse ─ Request ─ fetch (binds and runs)
//	                  (JSON)          (objects, tables, arrays, conditions, joins, hops, writes)
//
// Every part of the tree has the Node that it comes from, so an Error says where in the request its cause is.
package syntax
