package workload

import (
	"fmt"
	"strconv"
)

// Workload is a sequence of requests to measure.
type Workload struct {
	Name, About string
	// Setup fills a separate graph with vertices 0 to Keys-1. Without it, the requests read a graph with the people of graphctl generate
	// social.
	Setup    []string
	Requests []Request
}

// Keys is the number of vertices that a Setup creates.
const Keys = 10_000

var keys = strconv.Itoa(Keys)

// Request is a statement with the parameters id and to, the ids of two vertices, or a JSON-array fetch.
type Request struct {
	Name      string
	Statement string
	Fetch     string // %d is the id of a person
}

// Body returns a fetch for the person with an id.
func (r *Request) Body(id int64) []byte { return fmt.Appendf(nil, r.Fetch, id) }

// All lists the workloads of graphctl bench.
var All = []*Workload{Hops, Fetches, Commits}

// Hops are reads from a random person.
var Hops = &Workload{Name: "hops", About: "look-ups, hops and shortest paths from people at random", Requests: []Request{
	{Name: "key", Statement: "MATCH (p:Person {id: $id}) RETURN p.firstName"},
	{Name: "hop1", Statement: "MATCH (p:Person {id: $id})-[:KNOWS]->(q) RETURN count(DISTINCT q)"},
	{Name: "hop1-names", Statement: "MATCH (p:Person {id: $id})-[:KNOWS]->(q) RETURN q.id, q.firstName, q.lastName"},
	{Name: "hop2", Statement: "MATCH (p:Person {id: $id})-[:KNOWS*1..2]->(q) RETURN count(DISTINCT q)"},
	{Name: "hop3", Statement: "MATCH (p:Person {id: $id})-[:KNOWS*1..3]->(q) RETURN count(DISTINCT q)"},
	{Name: "shortest", Statement: "MATCH (a:Person {id: $id}), (b:Person {id: $to}), p = shortestPath((a)-[:KNOWS*]-(b)) RETURN length(p)"},
	{Name: "hop3-properties", Statement: "MATCH (p:Person {id: $id})-[:KNOWS*1..3]->(q) WITH DISTINCT q RETURN q.id, q.firstName, q.birthday"},
}}

// Fetches are JSON-array fetches.
var Fetches = &Workload{Name: "fetch", About: "JSON-array fetches of people and their friends", Requests: []Request{
	{Name: "person", Fetch: `{"Person": {"id": %d}}`},
	{Name: "list", Fetch: `{"Person[]": {"count": 100, "Person": {"id>=": %d, "@column": "id,firstName,lastName"}}}`},
	{Name: "friends", Fetch: `{"Person": {"id": %d, "@column": "id,firstName"},
		"friends[]": {"count": 20, "hop": ">KNOWS", "start@": "Person/id", "Person:f": {"@column": "id,firstName,lastName"}}}`},
}}

// Commits are durable writes.
var Commits = &Workload{
	Name: "commit", About: "durable commits of vertices and edges, in a graph that is made for them and dropped at the end",
	Setup: []string{
		"CREATE CONSTRAINT n_id FOR (n:N) REQUIRE n.id IS UNIQUE",
		"UNWIND range(1, " + keys + ") AS i CREATE (:N {id: i - 1})",
	},
	Requests: []Request{
		{Name: "vertex", Statement: "CREATE (:M {id: $id, name: 'Ada', age: $to})"},
		{Name: "edge", Statement: "MATCH (a:N {id: $id}), (b:N {id: $to}) CREATE (a)-[:E]->(b)"},
		{Name: "edges-100", Statement: "UNWIND range($id, $id + 99) AS i MATCH (a:N {id: i % " + keys + "}), (b:N {id: i * 7919 % " + keys + "}) CREATE (a)-[:E]->(b)"},
	},
}
