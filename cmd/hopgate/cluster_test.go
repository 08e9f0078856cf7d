package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startCluster starts shards and gateways, with more arguments for each, and waits until the gateways are ready.
func startCluster(t *testing.T, shards, gateways int, more ...string) (ss, gs []*process) {
	dirs := make([]string, shards)
	for i := range dirs {
		dirs[i] = t.TempDir()
	}
	return startClusterIn(t, dirs, gateways, more...)
}

// startClusterIn is startCluster with the data directories of the shards.
func startClusterIn(t *testing.T, dirs []string, gateways int, more ...string) (ss, gs []*process) {
	addresses := make([]string, len(dirs))
	for i := range addresses {
		addresses[i] = freeAddress(t)
	}
	return startNamed(t, dirs, addresses, gateways, func(int) []string { return addresses }, more...)
}

// startNamed is startClusterIn with the addresses of the shards, and those by which each process, the gateways last, reaches them.
func startNamed(t *testing.T, dirs, addresses []string, gateways int, names func(no int) []string, more ...string) (ss, gs []*process) {
	for i, a := range addresses {
		admin := freeAddress(t)
		ss = append(ss, &process{t: t, grpc: a, admin: admin, args: append([]string{
			"shard", "--data-dir", dirs[i], "--join", strings.Join(names(i), ","), "--peer", names(i)[i], "--grpc", a,
			"--admin", admin, "--memory", "256MiB",
		}, more...)})
	}
	for i := range gateways {
		p := &process{t: t, http: freeAddress(t), grpc: freeAddress(t)}
		p.args = append([]string{
			"gateway", "--join", strings.Join(names(len(dirs)+i), ","), "--http", p.http, "--grpc", p.grpc, "--admin", "127.0.0.1:0",
			"--memory", "256MiB", "--query-timeout", "5m", "--tx-idle-timeout", "5m", // a machine may stand still for some time
		}, more...)
		if slices.Contains(more, "--tls-cert") {
			p.http = "https://" + p.http
		}
		gs = append(gs, p)
	}
	for _, p := range append(append([]*process(nil), ss...), gs...) {
		p.start()
	}
	for _, g := range gs {
		eventually(t, func() bool { _, err := ask(g.http, "RETURN 1"); return err == nil }, 20*time.Millisecond)
	}
	return ss, gs
}

// ask runs a statement and returns the raw data of the answer.
func ask(address, statement string) (string, error) {
	var answer struct{ Data json.RawMessage }
	err := post(address, statement, &answer)
	return string(answer.Data), err
}

// post runs a statement and reads the answer.
func post(address, statement string, into any) error {
	body, err := json.Marshal(map[string]string{"statement": statement})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v1/query", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	whole, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var answer struct{ Errors json.RawMessage }
	if err := json.Unmarshal(whole, &answer); err != nil {
		return err
	}
	if len(answer.Errors) > 2 || res.StatusCode >= 300 {
		return fmt.Errorf("%d %s", res.StatusCode, answer.Errors)
	}
	return json.Unmarshal(whole, into)
}

// profiled is an operator of PROFILE on a gateway.
type profiled struct {
	Operator                                    string
	WireRequests, WireSent, WireReceived, Edges int
	WirePerEdge                                 float64
	Children                                    []*profiled
}

func (p *profiled) first() *profiled {
	if len(p.Children) == 0 {
		return nil
	}
	return p.Children[0]
}

// profile returns what the operators of a statement did.
func profile(address, statement string) (plan profiled, err error) {
	var answer struct{ Plan profiled }
	err = post(address, "PROFILE "+statement, &answer)
	return answer.Plan, err
}

// clusterStatements are run in their order by a cluster and by a server of one process.
var clusterStatements = []string{
	"CREATE CONSTRAINT keys FOR (p:Person) REQUIRE p.id IS UNIQUE",
	"UNWIND range(0, 299) AS i CREATE (:Person {id: i, name: 'p' + i, even: i % 2 = 0, text: CASE WHEN i % 50 = 0 THEN reduce(s = '', x IN range(1, 300) | s + 'abcdefgh') END})",
	"MATCH (a:Person), (b:Person) WHERE b.id = (a.id * 7 + 3) % 300 OR b.id = (a.id * 11 + 5) % 300 CREATE (a)-[:KNOWS {since: a.id + b.id}]->(b)",
	"CREATE INDEX names FOR (p:Person) ON (p.name)",
	"MATCH (p:Person {id: 7})-[:KNOWS]->(q) RETURN q.id ORDER BY q.id",
	"MATCH (p:Person {id: 7})-[:KNOWS*1..3]->(q) RETURN count(DISTINCT q), count(*)",
	"MATCH (p:Person)<-[k:KNOWS]-(q) WHERE k.since > 400 RETURN p.id, q.id, k.since ORDER BY p.id, q.id LIMIT 50",
	"MATCH (p:Person) WHERE p.name STARTS WITH 'p29' RETURN p.name, p.even ORDER BY p.name",
	"MATCH (p:Person) WHERE p.text IS NOT NULL RETURN p.id, size(p.text) ORDER BY p.id",
	"MATCH (p:Person {id: 3}) SET p.name = 'three', p:Odd REMOVE p.even RETURN p.name, labels(p), p.even",
	"MATCH (p:Person {id: 5}) DETACH DELETE p",
	"MATCH (n) RETURN count(n)",
	"MATCH ()-[k:KNOWS]->() RETURN count(k), sum(k.since)",
	"MATCH (p:Odd) RETURN properties(p)",
	"MERGE (p:Person {id: 5}) ON CREATE SET p.name = 'again' RETURN p.name",
	"MATCH (a:Person {id: 1}), (b:Person {id: 200}) MATCH path = shortestPath((a)-[:KNOWS*..9]-(b)) RETURN length(path)",
	"MATCH (p:Person) RETURN p.even, count(*) AS n ORDER BY n",
	"MATCH (p:Person) SET p.at = point({longitude: p.id * 1.2 - 180, latitude: p.id % 60 - 30})",
	"CREATE POINT INDEX places FOR (p:Person) ON (p.at)",
	"MATCH (p:Person) WHERE point.distance(p.at, point({longitude: 0, latitude: 0})) < 1500000 RETURN p.id ORDER BY p.id",
	"MATCH (p:Person) WHERE point.withinBBox(p.at, point({longitude: 150, latitude: -20}), point({longitude: -150, latitude: 20})) RETURN p.id ORDER BY p.id",
	"MATCH (p:Person {at: point({longitude: -180, latitude: -30})}) RETURN p.id",
	"SHOW POINT INDEXES YIELD name, state, options, createStatement",
	"CREATE VECTOR INDEX likes FOR (p:Person) ON p.v OPTIONS {indexConfig: {`vector.dimensions`: 3, `vector.similarity_function`: 'euclidean'}}",
	"CREATE VECTOR INDEX ties FOR ()-[k:KNOWS]-() ON k.v",
	"SHOW VECTOR INDEXES YIELD name, state, options, createStatement",
	"MATCH (p:Person) WHERE p.id % 3 > 0 CALL db.create.setNodeVectorProperty(p, 'v', [p.id, p.id % 7, p.id % 11])",
	"MATCH (p:Person)-[k:KNOWS]->(q) WHERE k.since % 2 = 0 CALL db.create.setRelationshipVectorProperty(k, 'v', [p.id, q.id, 1]) RETURN count(*)",
	"CALL db.index.vector.queryNodes('likes', 1000, [100, 2, 3.5]) YIELD node, score RETURN node.id AS id, score ORDER BY score DESC, id LIMIT 20",
	"CALL db.index.vector.queryRelationships('ties', 1000, [7, 100, 2]) YIELD relationship AS k, score RETURN startNode(k).id AS src, endNode(k).id AS dst, score ORDER BY score DESC, src, dst LIMIT 20",
	"CALL db.index.vector.queryNodes('likes', 3, [99.75, 1.5, 3.25]) YIELD node, score RETURN node.id AS id, score",
	"MATCH (p:Person) WITH p, vector.similarity.cosine(p.v, [1, 2, 3]) AS score WHERE score > 0.99 RETURN p.id AS id, score ORDER BY score DESC, id LIMIT 20",
	"MATCH (p:Person {id: 7})-[:KNOWS*1..2]->(q) WHERE q.v IS NOT NULL RETURN q.id AS id, vector.similarity.cosine(q.v, [1, 2, 3]) AS score ORDER BY score DESC, id LIMIT 3",
	"CREATE FULLTEXT INDEX texts FOR (p:Person|Odd) ON EACH [p.name, p.story] OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}}",
	"CREATE FULLTEXT INDEX how FOR ()-[k:KNOWS]-() ON EACH [k.how]",
	"SHOW FULLTEXT INDEXES YIELD name, state, labelsOrTypes, options, createStatement",
	"MATCH (p:Person) SET p.story = CASE p.id % 3 WHEN 0 THEN 'graphs and queries' WHEN 1 THEN ['shards of graphs', 'commits'] END",
	"CALL db.index.fulltext.queryNodes('texts', 'graph AND query') YIELD node, score RETURN count(node), round(min(score), 4), round(max(score), 4)",
	"CALL db.index.fulltext.queryNodes('texts', 'three~ OR shard^2', {limit: 1000}) YIELD node, score RETURN node.id AS id, round(score, 4) AS score ORDER BY score DESC, id LIMIT 20",
	"MATCH (p:Person {id: 9}) SET p.story = 'unheard of' WITH p CALL db.index.fulltext.queryNodes('texts', 'unheard OR p9*') YIELD node RETURN node.id AS id ORDER BY id",
	"MATCH (p:Person)-[k:KNOWS]->(q) WHERE k.since % 5 = 0 SET k.how = 'by chance ' + q.name RETURN count(*)",
	`CALL db.index.fulltext.queryRelationships('how', '"by chance p7" OR p8') YIELD relationship AS k RETURN startNode(k).id AS src, endNode(k).id AS dst, k.how ORDER BY src, dst`,
	"CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()",
}

// A cluster answers as a server of one process does, through either gateway.
func TestCluster(t *testing.T) {
	_, gs := startCluster(t, 3, 2)
	one := start(t, t.TempDir())
	for i, s := range clusterStatements {
		want, err := ask(one.addrs.HTTP, s)
		require.NoError(t, err, s)
		got, err := ask(gs[i%2].http, s)
		require.NoError(t, err, s)
		require.JSONEq(t, want, got, s)
	}
	plan, err := profile(gs[0].http, "MATCH (p:Person {id: 7})-[:KNOWS]->()-[:KNOWS]->(q) RETURN q.id")
	require.NoError(t, err)
	edges, requests, along := 0, 0, 0
	for op := &plan; op != nil; op = op.first() {
		edges, requests = edges+op.Edges, requests+op.WireRequests
		require.Equal(t, op.WireRequests > 0, op.WireSent > 0 && op.WireReceived > 0, op.Operator)
		require.Equal(t, op.Edges > 0 && op.WireRequests > 0, op.WirePerEdge > 0, op.Operator)
		if op.Edges > 0 && op.WireRequests == 0 {
			along++
		}
	}
	require.Equal(t, 2+4, edges) // everybody knows two
	require.Positive(t, along)   // the first hop came along with the look-up, the second if it goes on in the same shard
	require.GreaterOrEqual(t, requests, 2)
	plan, err = profile(gs[0].http, "MATCH (p:Person) WHERE point.distance(p.at, point({longitude: 0, latitude: 0})) < 1500000 RETURN count(p)")
	require.NoError(t, err)
	op := &plan
	for op.Operator != "PointIndexSeek" {
		op = op.first()
		require.NotNil(t, op)
	}
	// The seven spans of the area travel together: one request for the places, one for the points, to each of three shards. A slow
	// one may be repeated.
	require.Positive(t, op.WireRequests)
	require.LessOrEqual(t, op.WireRequests, 12)
	plan, err = profile(one.addrs.HTTP, "MATCH (p:Person {id: 7}) RETURN p.name")
	require.NoError(t, err)
	require.Zero(t, plan.WireRequests)
	_, err = ask(gs[0].http, "CREATE (:Person {id: 8})")
	require.ErrorContains(t, err, "ConstraintValidationFailed")
}
