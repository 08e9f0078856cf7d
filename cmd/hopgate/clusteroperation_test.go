package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// callOperation calls a trusted operation and returns the status and the answer.
func callOperation(t *testing.T, address, name, params string) (status int, answer string) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+address+"/v1/op/"+name, strings.NewReader(params))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(out)
}

// What is put, changed, disabled and dropped through one gateway of a cluster holds at the next call through the other one, without a wait.
// A backup has the operations, and so has what is restored of it: a cluster and a single server.
func TestClusterOperations(t *testing.T) {
	_, gs := startCluster(t, 3, 2)
	file := filepath.Join(t.TempDir(), "people.cypher")
	put := func(g *process, text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		g.graphctl("operation", "put", file)
	}
	calls := func(address, params, want string, code int) {
		t.Helper()
		got, answer := callOperation(t, address, "people", params)
		require.Equal(t, code, got, answer)
		require.Contains(t, answer, want)
	}
	gs[0].graphctl("query", "UNWIND range(1, 9) AS i CREATE (:Person {id: i})")
	for round := range 5 {
		by, other := gs[round%2], gs[1-round%2]
		put(by, "// name: people\n// param: below :: INTEGER\nMATCH (p:Person) WHERE p.id < $below RETURN count(p) AS n")
		calls(other.http, `{"below": 5}`, `[[4]]`, http.StatusOK)
		calls(by.http, `{"below": 5}`, `[[4]]`, http.StatusOK)
		put(by, "// name: people\n// param: above :: INTEGER\nMATCH (p:Person) WHERE p.id > $above RETURN count(p) AS n")
		calls(other.http, `{"above": 4}`, `[[5]]`, http.StatusOK)
		calls(other.http, `{"below": 5}`, `$above is missing`, http.StatusBadRequest)
		other.graphctl("operation", "disable", "people")
		calls(by.http, `{"above": 4}`, "OperationDisabled", http.StatusForbidden)
		by.graphctl("operation", "enable", "people")
		calls(other.http, `{"above": 4}`, `[[5]]`, http.StatusOK)
		by.graphctl("operation", "drop", "people")
		calls(other.http, `{"above": 4}`, "NoSuchOperation", http.StatusNotFound)
	}

	put(gs[0], "// name: people\n// description: How many there are.\n// role: support\n// param: below :: INTEGER = 3\nMATCH (p:Person) WHERE p.id < $below RETURN count(p) AS n\n// name: off\nRETURN 1 AS one")
	gs[0].graphctl("operation", "disable", "off")
	shown := func(graphctl func(...string) string) string {
		return graphctl("operation", "list", "-o", "json") + graphctl("operation", "show", "people", "-o", "json")
	}
	want := shown(gs[1].graphctl)
	require.Contains(t, want, "disabled")
	dest := filepath.Join(t.TempDir(), "backups")
	gs[1].graphctl("backup", dest)

	single := filepath.Join(t.TempDir(), "single")
	o := run(t, nil, "graphctl", "restore", dest, "--data-dir", single)
	require.Zero(t, o.code, o.err)
	s := start(t, single)
	require.Equal(t, want, shown(s.graphctl))
	calls(s.addrs.HTTP, "{}", `[[2]]`, http.StatusOK)
	require.Zero(t, s.stop(syscall.SIGTERM))
	s = start(t, single)
	require.Equal(t, want, shown(s.graphctl), "it outlives a restart")

	_, back := startClusterIn(t, restored(t, dest, 3, "--replicas", "1"), 1, "--replicas", "1")
	require.Equal(t, want, shown(back[0].graphctl))
	calls(back[0].http, "{}", `[[2]]`, http.StatusOK)
}

const everyKind = `// name: friends
// param: id :: INTEGER
MATCH (:Person {id: $id})-[:KNOWS]->(p) RETURN p.name AS name ORDER BY name
// name: degree
// param: id :: INTEGER
MATCH (:Person {id: $id})-[:KNOWS]->(p) RETURN count(p) AS n
// name: meet
// param: a :: INTEGER
// param: b :: INTEGER
MATCH (a:Person {id: $a}), (b:Person {id: $b}) CREATE (a)-[:KNOWS]->(b) RETURN b.name AS name
// name: person
// route: get
// param: id :: INTEGER
{"Person": {"id": {"$param": "id"}, "@column": "id,name", "friends()": "friends(id)"}}
// name: near
// route: traverse
// param: id :: INTEGER
{"from": {"label": "Person", "property": "id", "value": {"$param": "id"}}, "edges": ["KNOWS"], "direction": "out", "hops": 1, "return": "v.name"}
// name: off
RETURN 'P1' AS name`

// ceilingExceeded is in each answer to a request that is expected to take more than its ceiling.
const ceilingExceeded = ", its limit maxCost"

// operationDoors are the APIs of a gateway. Each calls an operation under a ceiling of units, if it is not "", and returns the answer or the error
// with its code as bytes that have the texts in them as they are.
func operationDoors(t *testing.T, g *process, bolt string) map[string]func(name string, params map[string]int64, ceiling string) string {
	conn, err := grpc.NewClient(g.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	d, err := neo4j.NewDriver("bolt://"+bolt, neo4j.NoAuth())
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	return map[string]func(string, map[string]int64, string) string{
		"HTTP": func(name string, params map[string]int64, ceiling string) string {
			body, err := json.Marshal(params)
			require.NoError(t, err)
			return postUnder(t, g.http, "/v1/op/"+name, string(body), ceiling)
		},
		"gRPC": func(name string, params map[string]int64, ceiling string) (all string) {
			req := &pb.QueryRequest{Operation: name, Parameters: map[string]*pb.Value{}}
			for key, n := range params {
				req.Parameters[key] = &pb.Value{Kind: &pb.Value_Integer{Integer: n}}
			}
			ctx := t.Context()
			if ceiling != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "hopgate-max-cost", ceiling)
			}
			stream, err := pb.NewGraphServiceClient(conn).Query(ctx, req)
			require.NoError(t, err)
			for {
				part, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return all
				}
				var m proto.Message = part
				if err != nil {
					m = status.Convert(err).Proto()
				}
				raw, encodeErr := proto.Marshal(m)
				require.NoError(t, encodeErr)
				if all += string(raw); err != nil {
					return all
				}
			}
		},
		"Bolt": func(name string, params map[string]int64, ceiling string) string {
			if ceiling != "" {
				return ceilingExceeded // Bolt has no ceiling of a request
			}
			given := map[string]any{}
			for key, n := range params {
				given[key] = n
			}
			res, err := neo4j.ExecuteQuery(t.Context(), d, "CALL op."+name, given, neo4j.EagerResultTransformer)
			if e, ok := errors.AsType[*neo4j.Neo4jError](err); ok {
				return e.Code + " " + e.Msg
			}
			require.NoError(t, err)
			text, err := json.Marshal(res.Records)
			require.NoError(t, err)
			return string(text)
		},
	}
}

// postUnder posts a body under a ceiling of units, if it is not "", and returns the answer.
func postUnder(t *testing.T, address, path, body, ceiling string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if ceiling != "" {
		req.Header.Set("Hopgate-Max-Cost", ceiling)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(answer)
}

// Operations of each kind that are put through one gateway of a cluster are called, called as remote functions, refused by a ceiling, and refused
// once they are disabled, through each API of the other one.
func TestClusterOperationDoors(t *testing.T) {
	ss, _ := startCluster(t, 2, 0)
	join, bolt := ss[0].grpc+","+ss[1].grpc, freeAddress(t)
	gs := [2]*process{}
	for i, more := range [][]string{nil, {"--bolt", bolt}} {
		g := &process{t: t, http: freeAddress(t), grpc: freeAddress(t)}
		g.args = append([]string{
			"gateway", "--join", join, "--http", g.http, "--grpc", g.grpc, "--admin", "127.0.0.1:0", "--memory", "256MiB", "--query-timeout", "5m",
		}, more...)
		g.start()
		gs[i] = g
	}
	for _, g := range gs {
		eventually(t, func() bool { _, err := ask(g.http, "RETURN 1"); return err == nil }, 20*time.Millisecond)
	}
	by, other := gs[0], gs[1]
	by.graphctl("query", "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE")
	by.graphctl("query", "UNWIND range(1, 9) AS i CREATE (:Person {id: i, name: 'P' + toString(i)})")
	by.graphctl("query", "MATCH (a:Person {id: 1}), (b:Person) WHERE 1 < b.id < 7 CREATE (a)-[:KNOWS]->(b)")
	file := filepath.Join(t.TempDir(), "every.cypher")
	require.NoError(t, os.WriteFile(file, []byte(everyKind), 0o600))
	by.graphctl("operation", "put", file)
	doors := operationDoors(t, other, bolt)
	type params = map[string]int64

	asked := 0
	eventually(t, func() bool { // the counters reach the other gateway
		asked++
		statement := fmt.Sprintf(`{"statement": "MATCH (:Person {id: 1})-[:KNOWS]->(p) RETURN p.name AS n%d"}`, asked) // not in the plan cache
		return strings.Contains(postUnder(t, other.http, "/v1/query", statement, "3"), ceilingExceeded)
	}, 20*time.Millisecond)
	for door, call := range doors {
		require.Contains(t, call("meet", params{"a": 7, "b": 8}, ""), "P8", door)
		for _, name := range []string{"friends", "near", "person"} { // person by its remote function
			answer := call(name, params{"id": 1}, "")
			require.Contains(t, answer, "P2", "%s %s", door, name)
			require.Contains(t, answer, "P3", "%s %s", door, name)
		}
		require.Contains(t, call("friends", params{}, ""), "$id is missing", door)
		for _, name := range []string{"friends", "near", "person"} {
			require.Contains(t, call(name, params{"id": 1}, "3"), ceilingExceeded, "%s %s", door, name)
		}
		require.Contains(t, call("meet", params{"a": 7, "b": 9}, "1"), ceilingExceeded, door)
	}
	fetched := postUnder(t, other.http, "/get", `{"Person": {"id": 7, "@column": "id", "n()": "degree(id)"}}`, "")
	require.Contains(t, fetched, `{"Person":{"id":7,"n":3},"ok":true,"code":200`, "what was refused has changed nothing")

	by.graphctl("operation", "disable", "degree")
	by.graphctl("operation", "disable", "off")
	for door, call := range doors {
		require.Contains(t, call("off", nil, ""), "Neo.ClientError.Operation.Disabled", door)
		require.Contains(t, call("friends", params{"id": 1}, ""), "P2", door)
	}
	fetched = postUnder(t, other.http, "/get", `{"Person": {"id": 1, "@column": "id", "n()": "degree(id)"}}`, "")
	require.Contains(t, fetched, `\"Person/n()\": the operation degree is disabled`)
}
