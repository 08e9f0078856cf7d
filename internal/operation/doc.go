// Package operation holds trusted operations: statements, fetches and traversals that an admin has given a name, typed parameters and the
// roles that may run them. It reads them from files and manifests, keeps them among the definitions of a graph, and checks the parameters of
// a call.
//
//	operations/*.cypher ── Parse ──────┐
//	manifest of ids ────── Manifest ───┴─ Operation ── Record ──► shard.Graph.Define
//	shard.Graph.Definitions ── All, Get, ByHash ── Operation ── Bind ──► parameters of the statement, which package query runs
//
// A file is a statement after comments that describe it, as GraphQL's trusted documents do beside theirs:
//
//	// name: friends
//	// description: The people whom a person knows, by name.
//	// role: support, analyst
//	// param: id :: INTEGER -- number of the person
//	// param: most :: INTEGER = 10 -- how many people
//	MATCH (:Person {id: $id})-[:KNOWS]-(p) RETURN p.name AS name ORDER BY name LIMIT $most
//
// Each line "// name:" begins an operation. A default is JSON. With a line "// route:", the operation is a fetch or a traversal, and the body of
// that route replaces the statement, and {"$param": "id"} replaces any value in it by a parameter:
//
//	// name: person
//	// route: get
//	// param: id :: INTEGER
//	{"Person": {"id": {"$param": "id"}}}
package operation
