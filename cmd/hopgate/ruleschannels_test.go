package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/stretchr/testify/require"
)

// tenants makes a graph in which a caller with the role agent sees the tenant of its claim; with others, there is a second tenant, which has a
// label, a type, properties and values of its own.
func tenants(t *testing.T, s *server, others bool) {
	for _, statement := range []string{
		"CREATE CONSTRAINT mail FOR (p:Person) REQUIRE p.mail IS UNIQUE", "CREATE INDEX age FOR (p:Person) ON (p.age)", "CREATE INDEX secret FOR (v:Vault) ON (v.code)",
		"CREATE FULLTEXT INDEX words FOR (p:Person) ON EACH [p.bio]",
		"CREATE (:Vault {code: 1, hint: 'x', tenant: 0})-[:OPENS {since: 1}]->(:Vault) WITH 1 AS one MATCH (v:Vault) DETACH DELETE v",
		"UNWIND range(1, 20) AS i CREATE (:Person {tenant: 1, id: i, mail: 'a' + i, age: 20 + i, bio: 'likes tea', wage: 1000})",
		"MATCH (a:Person), (b:Person) WHERE b.id = a.id + 1 CREATE (a)-[:KNOWS {since: a.id}]->(b)",
	} {
		s.as(t, rootToken, statement)
	}
	if others {
		for _, statement := range []string{
			"UNWIND range(100, 150) AS i CREATE (:Person {tenant: 2, id: i, mail: 'b' + i, age: i, bio: 'tea and coffee', code: i, hint: 'h' + i})",
			"UNWIND range(100, 150) AS i CREATE (:Vault {tenant: 2, id: i, code: i, hint: 'h' + i})",
			"MATCH (p:Person {tenant: 2}), (v:Vault {id: p.id}) CREATE (p)-[:KNOWS {since: 5}]->(v)",
			"MATCH (a:Vault), (b:Vault) WHERE b.id = a.id + 1 CREATE (a)-[:OPENS {since: a.id}]->(b), (a)-[:KNOWS {since: 0}]->(b)",
			"MATCH (a:Person {id: 1}), (b:Vault {id: 100}) CREATE (a)-[:KNOWS {since: 77}]->(b), (b)-[:OPENS {since: 78}]->(a)",
			"MATCH (p:Person) SET p.wage = 1000 + p.id",
		} {
			s.as(t, rootToken, statement)
		}
	}
	for _, statement := range []string{
		"GRANT TRAVERSE ON HOME GRAPH FOR (p:Person) WHERE p.tenant = $claims.tenant TO agent",
		"GRANT READ {tenant, id, mail, age, bio} ON HOME GRAPH NODES Person TO agent",
		"GRANT MATCH {*} ON HOME GRAPH RELATIONSHIPS KNOWS TO agent",
		"GRANT WRITE ON HOME GRAPH TO agent",
	} {
		s.as(t, rootToken, statement)
	}
}

// as runs a statement as the caller with a token.
func (s *server) as(t *testing.T, token, statement string) {
	require.NotContains(t, s.askAs(token, "/v1/query", fmt.Sprintf(`{"statement": %q}`, statement)), `"errors"`, statement)
}

// bobToken is the token of a caller with the rights of ann, whose requests may be expected to take 30 units.
const bobToken = "token of bob"

// probes are requests by which a caller looks for what it may not see.
var probes = []struct{ path, body string }{
	// Counts, of all kinds.
	{"", "MATCH (n) RETURN count(*)"},
	{"", "MATCH ()-[r]->() RETURN count(r)"},
	{"", "MATCH (p:Person) RETURN count(p), sum(p.age), max(p.mail), min(p.wage)"},
	{"", "MATCH (p:Person {id: 1})--(q) RETURN count(q)"},
	{"", "MATCH (p:Person) RETURN p.id, COUNT { (p)--() } AS n ORDER BY p.id"},
	{"", "MATCH (p:Person {id: 1})-[:KNOWS*1..4]-(q) RETURN count(*), count(DISTINCT q)"},
	{"", "MATCH (n:Vault) RETURN n"},
	{"", "MATCH ()-[r:OPENS]-() RETURN r"},
	{"", "MATCH p = shortestPath((:Person {id: 1})-[*]-(:Person {id: 9})) RETURN length(p)"},
	{"", "CALL algo.pageRank() YIELD node, rank RETURN node.id, round(rank * 1000) ORDER BY node.id"},
	{"", "CALL algo.wcc() YIELD node, component RETURN count(DISTINCT component)"},
	{"", "CALL db.index.fulltext.queryNodes('words', 'coffee') YIELD node RETURN node.id"},
	{"", "CALL db.index.fulltext.queryNodes('words', 'tea') YIELD node RETURN node.id ORDER BY node.id"},
	// The schema and its statistics.
	{"", "CALL db.labels() YIELD label RETURN label ORDER BY label"},
	{"", "CALL db.relationshipTypes() YIELD relationshipType AS t RETURN t ORDER BY t"},
	{"", "CALL db.propertyKeys() YIELD propertyKey AS k RETURN k ORDER BY k"},
	{"", "CALL db.schema.nodeTypeProperties()"},
	{"", "CALL db.schema.relTypeProperties()"},
	{"", "CALL db.schema.visualization()"},
	{"", "CALL apoc.meta.stats()"},
	{"", "CALL apoc.meta.schema()"},
	{"", "SHOW INDEXES YIELD name, labelsOrTypes, properties, populationPercent RETURN *"},
	{"", "SHOW CONSTRAINTS YIELD name, labelsOrTypes RETURN *"},
	{"", "SHOW PRIVILEGES"},
	{"", "SHOW USER PRIVILEGES YIELD action, segment, role RETURN *"},
	{"schema", ""},
	{"queries", ""},
	{"slowlog", ""},
	{"top?intervalMs=1", ""},
	{"shards", ""},
	{"metrics", ""},
	{"profile?seconds=1", ""},
	// Plans, with their estimates and counts.
	{"", "EXPLAIN MATCH (p:Person)-[:KNOWS]->(q) WHERE p.age > 30 RETURN q"},
	{"", "EXPLAIN MATCH (v:Vault {code: 100}) RETURN v"},
	{"", "PROFILE MATCH (n) RETURN count(n)"},
	{"", "PROFILE MATCH (p:Person {mail: 'b100'}) RETURN p"},
	{"", "PROFILE MATCH (p:Person {id: 1})-[r]-(q) RETURN q.id"},
	{"", "PROFILE MATCH (p:Person) WHERE p.age > 90 RETURN p"},
	// What is not there and what is hidden differ in nothing.
	{"", "MATCH (n:Vault) RETURN n.code"},
	{"", "MATCH (p:Person) WHERE p.hint IS NOT NULL RETURN p"},
	{"", "MATCH (p:Person) RETURN p.wage AS wage ORDER BY wage LIMIT 2"},
	{"", "MATCH (p:Person {id: 1}) RETURN properties(p), keys(p), labels(p), exists { (p)-->(:Vault) } AS e"},
	{"", "MATCH (n) WHERE n:Vault OR n.hint = 'h100' RETURN n"},
	{"", "MATCH (p:Person) USING INDEX p:Person(age) WHERE p.age = 120 RETURN p"},
	// Fetches and typed requests.
	{"get", `{"Person[]": {"Person": {"@column": "id,mail", "@order": "id-"}, "count": 3}, "total@": "/Person[]/total"}`},
	{"get", `{"Vault[]": {"Vault": {}}}`},
	{"get", `{"Nowhere[]": {"Nowhere": {}}}`},
	{"head", `{"Person": {"age>": 50}}`},
	{"get", `{"Person": {"mail": "b100"}}`},
	{"get", `{"Person": {"@column": "wage", "id": 1}}`},
	{"v1/traverse", `{"from": {"label": "Person", "property": "id", "value": 1}, "direction": "both", "hops": "1..3", "return": "count"}`},
	{"v1/traverse", `{"from": {"label": "Person", "property": "id", "value": 1}, "direction": "both", "skipSupernodes": 1, "return": "v.id"}`},
	{"v1/traverse", `{"from": {"label": "Person", "property": "id", "value": 1}, "direction": "both", "maxDegree": 1, "return": "v.id"}`},
	{"v1/traverse", `{"from": {"label": "Person", "property": "id", "value": 1}, "direction": "both", "hops": "1..2", "budget": {"maxVisits": 3, "partial": true}, "return": "v.id"}`},
	{"v1/traverse", `{"from": {"label": "Vault", "property": "code", "value": 100}, "direction": "both", "return": "v.id"}`},
	{"v1/subgraph", `{"from": {"label": "Person", "property": "id", "value": 1}, "direction": "both", "hops": 2}`},
	{"v1/path", `{"from": {"label": "Person", "property": "id", "value": 1}, "to": {"label": "Person", "property": "id", "value": 100}, "direction": "both"}`},
	// Writes that meet what is hidden.
	{"", "MATCH (p:Person {tenant: 2}) SET p.age = 1"},
	{"", "MATCH (v:Vault) DETACH DELETE v"},
}

var (
	elementIDs = regexp.MustCompile(`"(elementId|ElementId|StartElementId|EndElementId|_element_id|startNodeElementId|endNodeElementId|id)":"[^"]*"|"(Id|StartId|EndId)":\d+`)
	costTimes  = regexp.MustCompile(`, (bytes|cpu|queue)=[\d.]+`) // element ids differ in length
	times      = regexp.MustCompile(`"(time|time_ms|ms|us|started|elapsedMs|timeUs|cpuUs|bookmarks?)":("[^"]*"|\[[^]]*\]|[\d.]+)`)
)

// boltAnswer runs a statement over Bolt and returns its rows, or its error.
func boltAnswer(t *testing.T, d neo4j.Driver, statement string) string {
	res, err := neo4j.ExecuteQuery(t.Context(), d, statement, nil, neo4j.EagerResultTransformer)
	if err != nil {
		return err.Error()
	}
	var rows []any
	for _, r := range res.Records {
		rows = append(rows, r.Values)
	}
	text, err := json.Marshal(rows)
	require.NoError(t, err)
	return string(text)
}

// costly returns an answer with what its request took, without times.
func costly(t *testing.T, s *server, path, body string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.addrs.HTTP+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+annToken)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text) + costTimes.ReplaceAllString(res.Header.Get("Hopgate-Cost")+res.Trailer.Get("Hopgate-Cost"), "")
}

// What a caller gets by any of the probes is what it gets from a graph without what is hidden from it.
func TestRulesChannels(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	writeTokens(t, file, map[string]string{"root": "role: admin", "ann": "roles: [agent], claims: {tenant: 1}", "bob": `roles: [agent], claims: {tenant: 1}, limits: "cost=30"`})
	var all [2]*server
	var drivers, bobs [2]neo4j.Driver
	for i := range all {
		all[i] = start(t, filepath.Join(t.TempDir(), "data"), "--tokens-file", file, "--bolt", "127.0.0.1:0")
		tenants(t, all[i], i == 1)
		var err error
		drivers[i], err = neo4j.NewDriver("bolt://"+all[i].addrs.Bolt, neo4j.BearerAuth(annToken))
		require.NoError(t, err)
		t.Cleanup(func() { _ = drivers[i].Close(context.Background()) })
		bobs[i], err = neo4j.NewDriver("bolt://"+all[i].addrs.Bolt, neo4j.BearerAuth(bobToken))
		require.NoError(t, err)
		t.Cleanup(func() { _ = bobs[i].Close(context.Background()) })
	}
	for _, p := range probes {
		var got [2]string
		for i, s := range all {
			switch {
			case p.path == "":
				got[i] = costly(t, s, "/v1/query", fmt.Sprintf(`{"statement": %q}`, p.body)) + boltAnswer(t, drivers[i], p.body)
			case p.body != "":
				got[i] = costly(t, s, "/"+p.path, p.body)
			default:
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.addrs.HTTP+"/v1/"+p.path, nil)
				require.NoError(t, err)
				req.Header.Set("Authorization", "Bearer "+annToken)
				res, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				text, err := io.ReadAll(res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				got[i] = fmt.Sprint(res.StatusCode, string(text))
			}
			got[i] = times.ReplaceAllString(elementIDs.ReplaceAllString(got[i], ""), `"$1":0`)
		}
		require.NotContains(t, got[1], "SyntaxError")
		require.NotContains(t, got[1], "InvalidRequest")
		if got[0] != got[1] {
			t.Errorf("%s %s\n%s\n%s", p.path, p.body, got[0], got[1])
		}
	}

	// A ceiling of its own is refused, and one of its token tells what it is, not what was expected; no answer has an estimate.
	const people = `{"statement": "MATCH (p:Person) RETURN p.id"%s}`
	for i, s := range all {
		answer := costly(t, s, "/v1/query", fmt.Sprintf(people, ""))
		require.Contains(t, answer, "visits=20, rows=20")
		require.NotContains(t, answer, "estimate")
		require.Contains(t, costly(t, s, "/v1/query", fmt.Sprintf(people, `, "maxCost": 1000000`)), "maxCost: access rules hide a part of the graph")
		require.Contains(t, s.askAs(rootToken, "/v1/query", fmt.Sprintf(people, `, "maxCost": 1`)), fmt.Sprintf("to take %d units, more than 1,", 2*[]int{20, 71}[i]))
		for _, refused := range []string{
			s.askAs(bobToken, "/v1/query", fmt.Sprintf(people, "")), s.askAs(bobToken, "/get", `{"Person[]": {"count": 0, "Person": {}}}`), boltAnswer(t, bobs[i], "MATCH (p:Person) RETURN p.id"),
			s.askAs(bobToken, "/v1/query", `{"statement": "CALL apoc.cypher.run('MATCH (p:Person) RETURN p.id', {}) YIELD value RETURN value"}`),
		} {
			require.Contains(t, refused, "the request is expected to take more than 30 units, its limit cost of")
		}
		for _, path := range []string{"slowlog", "queries"} { // an admin sees the requests of all
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.addrs.HTTP+"/v1/"+path, nil)
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+bobToken)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.NotContains(t, string(text), "estimate", path)
		}
	}

	// The commit log has what rules hide, so that who is under a rule gets none of it.
	for _, s := range all {
		for token, want := range map[string]int{annToken: http.StatusForbidden, rootToken: http.StatusOK} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.addrs.HTTP+"/v1/changes?from=earliest&wait=0s", http.NoBody)
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, want, res.StatusCode, "%s", text)
			require.Equal(t, want == http.StatusOK, strings.Contains(string(text), `"event"`), "%s", text)
		}
	}

	// A constraint tells that a value is taken, and nothing of who has it. An element id finds nothing.
	hidden := all[1].askAs(rootToken, "/v1/query", `{"statement": "MATCH (v:Vault {code: 100})-[r:OPENS]->() RETURN elementId(v), elementId(r) LIMIT 1"}`)
	ids := regexp.MustCompile(`\[\["([^"]+)","([^"]+)"\]\]`).FindStringSubmatch(hidden)
	require.Len(t, ids, 3, hidden)
	for _, statement := range []string{"CREATE (:Person {tenant: 1, mail: 'b100'})", "MERGE (p:Person {mail: 'b100'}) RETURN p.id"} {
		answer := all[1].askAs(annToken, "/v1/query", fmt.Sprintf(`{"statement": %q}`, statement))
		require.Contains(t, answer, "ConstraintValidationFailed")
		require.NotContains(t, answer, ids[1])
		require.NotContains(t, answer, "Vault")
		require.NotContains(t, answer, "h100")
	}
	for _, statement := range []string{
		"MATCH (n) WHERE elementId(n) = '" + ids[1] + "' RETURN n", "MATCH ()-[r]->() WHERE elementId(r) = '" + ids[2] + "' RETURN r",
		"MATCH (n) WHERE elementId(n) IN ['" + ids[1] + "'] DETACH DELETE n", "UNWIND ['" + ids[1] + "'] AS id MATCH (n)--() WHERE elementId(n) = id RETURN n",
	} {
		require.Contains(t, all[1].askAs(annToken, "/v1/query", fmt.Sprintf(`{"statement": %q}`, statement)), `"values":[]`, statement)
	}
	require.Contains(t, all[1].askAs(rootToken, "/v1/query", `{"statement": "MATCH (v:Vault) RETURN count(v)"}`), "[[51]]")
}
