package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
)

const peopleOperations = `// name: friends
// description: The people whom a person knows.
// param: id :: INTEGER
// param: most :: INTEGER = 10
MATCH (:Person {id: $id})-[:KNOWS]->(p) RETURN p.name AS name ORDER BY name LIMIT $most
// name: meet
// param: a :: INTEGER
// param: b :: INTEGER
MATCH (a:Person {id: $a}), (b:Person {id: $b}) CREATE (a)-[:KNOWS]->(b) RETURN b.name AS name
// name: audit
// role: auditor
MATCH (p:Person) RETURN count(p) AS n
// name: old
RETURN 1 AS one`

// operationCall is a call of an operation by one with a role.
type operationCall struct {
	by     access.Role
	name   string
	params map[string]any
}

// doors are the ways to call an operation. Each returns the rows of the answer, or the code and the message of the error.
func (g *guarded) doors(t *testing.T) map[string]func(operationCall) (rows [][]any, code, message string) {
	hashes := map[string]string{}
	a, err := g.query(g.as(access.Admin), &pb.QueryRequest{Statement: "CALL db.operations.list() YIELD name, hash RETURN name, hash"})
	require.NoError(t, err)
	for _, row := range rowsOf(a.values[0]) {
		hashes[row[0].(string)] = row[1].(string)
	}
	hash := func(name string) string { return hashes[name] + strings.Repeat("0", 64-len(hashes[name])) }
	statuses := map[string]struct {
		http int
		grpc codes.Code
	}{
		"": {http.StatusOK, codes.OK},
		"Neo.ClientError.Statement.ParameterMissing": {http.StatusBadRequest, codes.InvalidArgument},
		"Neo.ClientError.Statement.ArgumentError":    {http.StatusBadRequest, codes.InvalidArgument},
		"Neo.ClientError.Operation.NotFound":         {http.StatusNotFound, codes.NotFound},
		"Neo.ClientError.Operation.Disabled":         {http.StatusForbidden, codes.PermissionDenied},
		"Neo.ClientError.Statement.AccessMode":       {http.StatusBadRequest, codes.InvalidArgument},
		"Neo.ClientError.Security.Forbidden":         {http.StatusForbidden, codes.PermissionDenied},
		"Neo.ClientError.Operation.NoStatement":      {http.StatusBadRequest, codes.InvalidArgument},
	}
	overHTTP := func(by access.Role, method, path string, body any) ([][]any, string, string) {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		got, answer := g.answer(t, by, method, "http://"+g.addrs.HTTP+path, string(text))
		a := &txAnswer{status: got}
		require.NoError(t, json.Unmarshal(answer, a), string(answer))
		want := statuses[a.code()].http
		if a.code() == "" && strings.Contains(path, "/tx") {
			want = http.StatusAccepted
		}
		require.Equal(t, want, got, string(answer))
		if a.code() != "" {
			return nil, a.code(), a.Errors[0].Message
		}
		rows, err := (&httpSession{}).rows(a, nil)
		require.NoError(t, err)
		return rows, "", ""
	}
	failed := func(err error) ([][]any, string, string) {
		i := info(t, err)
		require.Equal(t, statuses[i.GetReason()].grpc, status.Code(err), err)
		return nil, i.GetReason(), status.Convert(err).Message()
	}
	overGRPC := func(by access.Role, req *pb.QueryRequest, params map[string]any) (rows [][]any, code, message string) {
		req.Parameters = map[string]*pb.Value{}
		for name, v := range params {
			req.Parameters[name] = toValue(v)
		}
		a, err := g.query(g.as(by), req)
		if err != nil {
			return failed(err)
		}
		for _, b := range a.values {
			rows = append(rows, rowsOf(b)...)
		}
		return rows, "", ""
	}
	overBolt := func(by access.Role, explicit bool, statement string, params map[string]any) (rows [][]any, code, message string) {
		d, err := neo4j.NewDriver("bolt://"+g.addrs.Bolt, neo4j.BearerAuth(g.tokens[by]))
		require.NoError(t, err)
		defer func() { _ = d.Close(context.Background()) }()
		s := d.NewSession(t.Context(), neo4j.SessionConfig{})
		run := func() ([]*neo4j.Record, error) {
			if !explicit {
				res, err := s.Run(t.Context(), statement, params)
				if err != nil {
					return nil, err
				}
				return res.Collect(t.Context())
			}
			tx, err := s.BeginTransaction(t.Context())
			if err != nil {
				return nil, err
			}
			defer func() { _ = tx.Close(t.Context()) }()
			res, err := tx.Run(t.Context(), statement, params)
			if err != nil {
				return nil, err
			}
			all, err := res.Collect(t.Context())
			if err != nil {
				return nil, err
			}
			return all, tx.Commit(t.Context())
		}
		all, err := run()
		if e, ok := errors.AsType[*neo4j.Neo4jError](err); ok {
			return nil, e.Code, e.Msg
		}
		require.NoError(t, err)
		for _, r := range all {
			rows = append(rows, r.Values)
		}
		return rows, "", ""
	}
	type body = map[string]any
	return map[string]func(operationCall) ([][]any, string, string){
		"HTTP op": func(c operationCall) ([][]any, string, string) {
			return overHTTP(c.by, "POST", "/v1/op/"+c.name, c.params)
		},
		"HTTP name": func(c operationCall) ([][]any, string, string) {
			return overHTTP(c.by, "POST", "/v1/query", body{"operation": c.name, "parameters": c.params})
		},
		"HTTP hash": func(c operationCall) ([][]any, string, string) {
			return overHTTP(c.by, "POST", "/v1/query", body{"hash": hash(c.name), "parameters": c.params})
		},
		"HTTP statement": func(c operationCall) ([][]any, string, string) {
			return overHTTP(c.by, "POST", "/v1/query", body{"statement": "CALL op." + c.name, "parameters": c.params})
		},
		"HTTP transaction": func(c operationCall) ([][]any, string, string) {
			url := "http://" + g.addrs.HTTP + "/db/default/query/v2/tx"
			code, text := g.answer(t, c.by, "POST", url, "{}")
			if code != http.StatusAccepted {
				var a txAnswer
				require.NoError(t, json.Unmarshal(text, &a))
				return nil, a.code(), a.Errors[0].Message
			}
			var begun struct{ Transaction struct{ ID string } }
			require.NoError(t, json.Unmarshal(text, &begun))
			path := "/db/default/query/v2/tx/" + begun.Transaction.ID
			rows, failure, message := overHTTP(c.by, "POST", path, body{"statement": "CALL op." + c.name, "parameters": c.params})
			if failure == "" {
				_, failure, message = overHTTP(c.by, "POST", path+"/commit", body{})
			}
			return rows, failure, message
		},
		"gRPC name": func(c operationCall) ([][]any, string, string) {
			return overGRPC(c.by, &pb.QueryRequest{Operation: c.name}, c.params)
		},
		"gRPC hash": func(c operationCall) ([][]any, string, string) {
			return overGRPC(c.by, &pb.QueryRequest{OperationHash: hash(c.name)}, c.params)
		},
		"gRPC statement": func(c operationCall) ([][]any, string, string) {
			return overGRPC(c.by, &pb.QueryRequest{Statement: "CALL op." + c.name + " YIELD *"}, c.params)
		},
		"gRPC transaction": func(c operationCall) ([][]any, string, string) {
			ctx, cancel := context.WithCancel(g.as(c.by))
			defer cancel()
			x := g.transact(ctx, t)
			if err := x.begin(&pb.TransactBegin{}); err != nil {
				return failed(err)
			}
			rows, err := x.run("CALL op."+c.name, c.params)
			if err == nil {
				_, err = x.commit()
			}
			if err != nil {
				return failed(err)
			}
			return rows, "", ""
		},
		"Bolt statement": func(c operationCall) ([][]any, string, string) {
			return overBolt(c.by, false, "CALL op."+c.name, c.params)
		},
		"Bolt transaction": func(c operationCall) ([][]any, string, string) {
			return overBolt(c.by, true, "CALL op."+c.name, c.params)
		},
		// The parameters of these are arguments, so that one that the operation has not is one too many.
		"Bolt arguments": func(c operationCall) ([][]any, string, string) {
			return overBolt(c.by, false, withArguments(c), c.params)
		},
		"Bolt arguments in a transaction": func(c operationCall) ([][]any, string, string) {
			return overBolt(c.by, true, withArguments(c), c.params)
		},
		"HTTP query string": func(c operationCall) ([][]any, string, string) {
			values := url.Values{}
			for name, v := range c.params {
				text, err := json.Marshal(v)
				require.NoError(t, err)
				values.Set(name, strings.Trim(string(text), `"`))
			}
			return overHTTP(c.by, "GET", "/v1/op/"+c.name+"?"+values.Encode(), nil)
		},
	}
}

// withArguments returns CALL op.name($a, $b), with the parameters in the order of the operations' own.
func withArguments(c operationCall) string {
	names := slices.Sorted(maps.Keys(c.params))
	for i, name := range names {
		names[i] = "$" + name
	}
	return "CALL op." + c.name + "(" + strings.Join(names, ", ") + ") YIELD *"
}

// TestOperations calls operations over every transport: with what is right and what is wrong, by callers who may and who may not.
func TestOperations(t *testing.T) {
	g := serveGuarded(t)
	for _, req := range []*pb.QueryRequest{
		{Statement: "CREATE (a:Person {id: 1, name: 'Ann'})-[:KNOWS]->(:Person {id: 2, name: 'Bob'}), (a)-[:KNOWS]->(:Person {id: 3, name: 'Cid'})"},
		{Statement: "CALL db.operations.put($text)", Parameters: map[string]*pb.Value{"text": toValue(peopleOperations)}},
		{Statement: "CALL db.operations.disable('old')"},
	} {
		_, err := g.query(g.as(access.Admin), req)
		require.NoError(t, err)
	}
	type params = map[string]any
	const missing, wrong = "Neo.ClientError.Statement.ParameterMissing", "Neo.ClientError.Statement.ArgumentError"
	const forbidden, gone, disabled = "Neo.ClientError.Security.Forbidden", "Neo.ClientError.Operation.NotFound", "Neo.ClientError.Operation.Disabled"
	for door, call := range g.doors(t) {
		t.Run(door, func(t *testing.T) {
			explicit, arguments := strings.Contains(door, "transaction"), strings.Contains(door, "arguments")
			for _, c := range []struct {
				call          operationCall
				code, message string // the second: a part
				rows          [][]any
			}{
				{operationCall{access.Reader, "friends", params{"id": 1}}, "", "", [][]any{{"Bob"}, {"Cid"}}},
				{operationCall{access.Reader, "friends", params{"id": 1, "most": 1}}, "", "", [][]any{{"Bob"}}},
				{operationCall{access.Reader, "friends", params{}}, missing, "operation friends: $id is missing, of type INTEGER", nil},
				{operationCall{access.Reader, "friends", params{"id": "x"}}, wrong, "$id must be of type INTEGER", nil},
				{operationCall{access.Reader, "friends", params{"id": 1, "most": 2, "z": 3}}, wrong, "$z is not a parameter of the operation", nil},
				{operationCall{access.Reader, "friendz", params{}}, gone, "the graph default has no operation ", nil},
				{operationCall{access.Reader, "old", params{}}, disabled, "the operation old is disabled", nil},
				{operationCall{access.Reader, "audit", params{}}, forbidden, "reader lacks a role of the operation audit", nil},
				{operationCall{access.Admin, "audit", params{}}, "", "", [][]any{{int64(3)}}},
				{operationCall{access.Operations, "friends", params{"id": 1}}, "", "", [][]any{{"Bob"}, {"Cid"}}},
				{operationCall{access.Operations, "meet", params{"a": 2, "b": 1}}, "", "", [][]any{{"Ann"}}},
				{operationCall{access.Operations, "audit", params{}}, forbidden, "", nil},
				{operationCall{access.Reader, "meet", params{"a": 2, "b": 1}}, "", "", [][]any{{"Ann"}}},
			} {
				what := c.call.by.String() + " " + c.call.name
				switch {
				case explicit && c.call.by == access.Reader && c.call.name == "meet":
					c.code, c.message, c.rows = forbidden, "", nil // the caller's own role counts
				case c.call.name == "meet" && door == "HTTP query string":
					c.code, c.message, c.rows = "Neo.ClientError.Statement.AccessMode", "", nil
				case arguments && len(c.call.params) == 3:
					c.message = "operation friends has 2 parameters, not 3"
				}
				rows, code, message := call(c.call)
				require.Equal(t, c.code, code, "%s: %s", what, message)
				require.Contains(t, message, c.message, what)
				require.Equal(t, c.rows, rows, what)
			}
		})
	}
	a, err := g.query(g.as(access.Admin), &pb.QueryRequest{Statement: "MATCH (:Person {id: 2})-[k:KNOWS]->(:Person {id: 1}) RETURN count(k)"})
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(22)}}, rowsOf(a.values[0]),
		"two by each of the nine doors that are neither of transactions nor for reads, and one by each of the four of transactions")
	require.Equal(t, http.StatusForbidden, g.request(t, access.Operations, "POST", "http://"+g.addrs.HTTP+"/v1/query", `{"statement": "RETURN 1"}`))
}

// The description of the API has a route for each operation that the caller may run, with the types of its parameters.
func TestOperationsDescribed(t *testing.T) {
	g := serveGuarded(t)
	described := func(by access.Role) (paths map[string]map[string]json.RawMessage) {
		code, text := g.answer(t, by, "GET", "http://"+g.addrs.HTTP+"/openapi.json", "")
		require.Equal(t, http.StatusOK, code)
		var doc struct {
			Paths map[string]map[string]json.RawMessage
		}
		require.NoError(t, json.Unmarshal(text, &doc))
		return doc.Paths
	}
	own := func(by access.Role) (names []string) {
		for path := range described(by) {
			if name, ok := strings.CutPrefix(path, "/v1/op/"); ok && name != "{name}" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	require.Empty(t, own(access.Admin))
	for _, req := range []*pb.QueryRequest{
		{Statement: "CALL db.operations.put($text)", Parameters: map[string]*pb.Value{"text": toValue(peopleOperations)}},
		{Statement: "CALL db.operations.disable('old')"},
	} {
		_, err := g.query(g.as(access.Admin), req)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"audit", "friends", "meet"}, own(access.Admin))
	require.Equal(t, []string{"friends", "meet"}, own(access.Operations), "audit is for another role")
	paths := described(access.Operations)
	require.NotContains(t, paths["/v1/op/meet"], "get", "it writes")
	var friends struct {
		Summary, Description string
		Parameters           []struct {
			Name, In string
			Required bool
			Schema   struct{ Type string }
		}
	}
	require.NoError(t, json.Unmarshal(paths["/v1/op/friends"]["get"], &friends))
	require.Equal(t, "friends", friends.Summary)
	require.Equal(t, "The people whom a person knows.", friends.Description)
	require.Len(t, friends.Parameters, 2)
	require.Equal(t, "id", friends.Parameters[0].Name)
	require.Equal(t, "integer", friends.Parameters[0].Schema.Type)
	require.True(t, friends.Parameters[0].Required)
	require.False(t, friends.Parameters[1].Required)
	var post struct {
		RequestBody struct {
			Content map[string]struct {
				Schema struct {
					Required   []string
					Properties map[string]struct{ Type string }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(paths["/v1/op/meet"]["post"], &post))
	schema := post.RequestBody.Content["application/json"].Schema
	require.ElementsMatch(t, []string{"a", "b"}, schema.Required)
	require.Equal(t, "integer", schema.Properties["a"].Type)
}

const otherOperations = `// name: person
// route: get
// param: id :: INTEGER
{"Person": {"id": {"$param": "id"}, "@column": "id,name"}}
// name: born
// route: post
// param: id :: INTEGER
{"Person": {"id": {"$param": "id"}}}
// name: near
// route: traverse
// param: id :: INTEGER
// param: least :: INTEGER = 1
{"from": {"label": "Person", "property": "id", "value": {"$param": "id"}}, "edges": ["KNOWS"], "direction": "out", "hops": 1,
  "where": "v.id > $least", "parameters": {"least": {"$param": "least"}}}`

// TestOtherOperations calls operations that are fetches and traversals over every transport.
func TestOtherOperations(t *testing.T) {
	g := serveGuarded(t)
	for _, req := range []*pb.QueryRequest{
		{Statement: "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE"},
		{Statement: "CREATE (a:Person {id: 1, name: 'Ann'})-[:KNOWS]->(:Person {id: 2, name: 'Bob'}), (a)-[:KNOWS]->(:Person {id: 3, name: 'Cid'})"},
		{Statement: "CALL db.operations.put($text)", Parameters: map[string]*pb.Value{"text": toValue(otherOperations)}},
	} {
		_, err := g.query(g.as(access.Admin), req)
		require.NoError(t, err)
	}
	type params = map[string]any
	const ann = `{"Person": {"id": 1, "name": "Ann"}}`
	for door, call := range g.doors(t) {
		if strings.HasPrefix(door, "HTTP op") || door == "HTTP query string" {
			continue // a fetch answers there as /get does: below
		}
		t.Run(door, func(t *testing.T) {
			rows, code, message := call(operationCall{access.Operations, "person", params{"id": 1}})
			require.Empty(t, code, message)
			require.Len(t, rows, 1)
			if !strings.HasPrefix(door, "gRPC") { // whose maps rowsOf does not read
				text, err := json.Marshal(rows[0][0])
				require.NoError(t, err)
				require.JSONEq(t, ann, string(text))
			}
			_, code, message = call(operationCall{access.Operations, "born", params{"id": 9}})
			require.Equal(t, "Neo.ClientError.Operation.NoStatement", code, message)
			rows, code, message = call(operationCall{access.Operations, "near", params{"id": 1}})
			require.Empty(t, code, message)
			require.Len(t, rows, 2)
			_, code, message = call(operationCall{access.Operations, "near", params{"id": "x"}})
			require.Equal(t, "Neo.ClientError.Statement.ArgumentError", code, message)
		})
	}
	// By their routes.
	times := regexp.MustCompile(`,"time":[0-9]+`)
	get := func(by access.Role, method, path, body string) (int, string) {
		code, text := g.answer(t, by, method, "http://"+g.addrs.HTTP+path, body)
		return code, times.ReplaceAllString(string(text), "")
	}
	const answer = `{"Person":{"id":1,"name":"Ann"},"ok":true,"code":200,"msg":"success"}`
	a, err := g.query(g.as(access.Admin), &pb.QueryRequest{Statement: "CALL db.operations.list() YIELD name, hash WHERE name = 'person' RETURN hash"})
	require.NoError(t, err)
	hash := rowsOf(a.values[0])[0][0].(string)
	a, err = g.query(g.as(access.Operations), &pb.QueryRequest{Operation: "person", Parameters: map[string]*pb.Value{"id": toValue(1)}})
	require.NoError(t, err)
	require.Equal(t, []string{"value"}, a.fields)
	require.Contains(t, a.values[0].String(), "Ann")
	for _, c := range []struct {
		method, path, body string
		code               int
		answer             string // a part
	}{
		{"POST", "/v1/op/person", `{"id": 1}`, 200, answer},
		{"GET", "/v1/op/person?id=1", ``, 200, answer},
		{"POST", "/get?operation=person", `{"id": 1}`, 200, answer},
		{"POST", "/get?hash=" + hash, `{"id": 1}`, 200, answer},
		{"POST", "/get?operation=person", `{}`, 200, `"code":406,"msg":"operation person: $id is missing, of type INTEGER"`},
		{"POST", "/get?operation=near", `{"id": 1}`, 200, `the operation near is a traversal, not a fetch by get`},
		{"POST", "/gets?operation=person", `{"id": 1}`, 200, `is a fetch by get, not a fetch by gets`},
		{"POST", "/get/User?operation=person", `{"id": 1}`, 200, `its path no key`},
		{"POST", "/get?operation=no", `{}`, 200, `"code":404`},
		{"POST", "/v1/op/person", `{"id": "x"}`, 400, `Neo.ClientError.Statement.ArgumentError`},
		{"POST", "/v1/op/born", `{"id": 10}`, 200, `"count":1,"id":10`},
		{"GET", "/v1/op/born?id=11", ``, 400, `Neo.ClientError.Statement.AccessMode`},
		{"POST", "/v1/op/born", `{"id": 10}`, 409, `"code":409`},
		{"POST", "/post?operation=born", `{"id": 12}`, 200, `"count":1`},
		{"POST", "/v1/op/near", `{"id": 1, "least": 2}`, 200, `"values":[[`},
		{"POST", "/get", `{"Person": {}}`, 200, `"code":401`},
	} {
		code, text := get(access.Operations, c.method, c.path, c.body)
		require.Equal(t, c.code, code, c.path, text)
		require.Contains(t, text, c.answer, c.path)
	}
	fetch := func(req *pb.FetchRequest) (text string, code uint32, err error) {
		stream, err := pb.NewGraphServiceClient(g.conn).Fetch(g.as(access.Operations), req)
		require.NoError(t, err)
		for {
			part, err := stream.Recv()
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				return times.ReplaceAllString(text, ""), code, err
			}
			text, code = text+string(part.GetChunk()), part.GetCode()
		}
	}
	one := map[string]*pb.Value{"id": toValue(1)}
	for _, req := range []*pb.FetchRequest{{Operation: "person", Parameters: one}, {OperationHash: hash, Method: "get", Parameters: one}} {
		text, code, err := fetch(req)
		require.NoError(t, err)
		require.Equal(t, answer, text)
		require.Equal(t, uint32(200), code)
	}
	for want, req := range map[string]*pb.FetchRequest{
		"Neo.ClientError.Statement.ParameterMissing": {Operation: "person"},
		"Neo.ClientError.Operation.AnotherKind":      {Operation: "near", Parameters: one},
		"Neo.ClientError.Operation.NotFound":         {OperationHash: "0"},
		"Neo.ClientError.Request.Invalid":            {Operation: "person", Request: []byte("{}")},
	} {
		_, _, err := fetch(req)
		require.Equal(t, want, info(t, err).GetReason())
	}
	// A transaction of a caller of operations runs these alone.
	tx := g.transact(g.as(access.Operations), t)
	require.NoError(t, tx.begin(&pb.TransactBegin{}))
	_, err = tx.run("RETURN 1", nil)
	require.Equal(t, codes.PermissionDenied, status.Code(err))
}

const functionOperations = `// name: degree
// param: id :: INTEGER
MATCH (:Person {id: $id})-[:KNOWS]->(p) RETURN count(p) AS n
// name: pairs
// param: id :: INTEGER
MATCH (:Person {id: $id})-[:KNOWS]->(p) RETURN p.id AS id, p.name AS name ORDER BY id
// name: audit
// role: auditor
MATCH (p:Person) RETURN count(p) AS n
// name: touch
// param: id :: INTEGER
MATCH (p:Person {id: $id}) SET p.seen = true
// name: known
// route: get
// param: id :: INTEGER
{"Person": {"id": {"$param": "id"}, "@column": "id", "degree()": "degree(id)"}}`

// fetch runs a fetch and returns its answer without the time, and the error of the call, over each transport.
func (g *guarded) fetch(t *testing.T) map[string]func(by access.Role, method, body, ceiling string) string {
	times := regexp.MustCompile(`,"time":[0-9]+`)
	return map[string]func(by access.Role, method, body, ceiling string) string{
		"HTTP": func(by access.Role, method, body, ceiling string) string {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.addrs.HTTP+"/"+method, strings.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+g.tokens[by])
			if ceiling != "" {
				req.Header.Set("Hopgate-Max-Cost", ceiling)
			}
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			return times.ReplaceAllString(string(text), "")
		},
		"gRPC": func(by access.Role, method, body, ceiling string) (text string) {
			ctx := g.as(by)
			if ceiling != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "hopgate-max-cost", ceiling)
			}
			stream, err := pb.NewGraphServiceClient(g.conn).Fetch(ctx, &pb.FetchRequest{Method: method, Request: []byte(body)})
			require.NoError(t, err)
			for {
				part, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return times.ReplaceAllString(text, "")
				}
				require.NoError(t, err)
				text += string(part.GetChunk())
			}
		},
	}
}

// TestFunctionsOverTransports calls operations as remote functions over HTTP and gRPC. What fails names the path of its key.
func TestFunctionsOverTransports(t *testing.T) {
	g := serveGuarded(t)
	for _, req := range []*pb.QueryRequest{
		{Statement: "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE"},
		{Statement: "CREATE (a:Person {id: 1, name: 'Ann'})-[:KNOWS]->(:Person {id: 2, name: 'Bob'}), (a)-[:KNOWS]->(:Person {id: 3, name: 'Cid'})"},
		{Statement: "CALL db.operations.put($text)", Parameters: map[string]*pb.Value{"text": toValue(functionOperations)}},
		{Statement: "CALL db.operations.put('// name: old\nRETURN 1 AS one')"},
		{Statement: "CALL db.operations.disable('old')"},
	} {
		_, err := g.query(g.as(access.Admin), req)
		require.NoError(t, err)
	}
	for transport, fetch := range g.fetch(t) {
		for _, c := range []struct {
			by              access.Role
			body, ceiling   string
			answer, without string // parts
		}{
			{access.Reader, `{"Person": {"id": 1, "@column": "id", "n()": "degree(id)", "pairs()": "pairs(id)"}}`, "", `{"Person":{"id":1,"n":2,"pairs":[{"id":2,"name":"Bob"},{"id":3,"name":"Cid"}]},"ok":true,"code":200`, ""},
			{access.Reader, `{"Person[]": {"Person": {"@column": "id", "@order": "id+", "n()": "degree(id)"}}}`, "", `{"Person[]":[{"id":1,"n":2},{"id":2,"n":0},{"id":3,"n":0}],"ok":true`, ""},
			{access.Reader, `{"id": 1, "n()": "degree(id)"}`, "", `{"id":1,"n":2,"ok":true`, ""},
			{access.Reader, `{"Person[]": {"Person": {"@column": "id,name", "n()": "degree(name)"}}}`, "", `Person[]/Person/n()`, `"n":2`},
			{access.Reader, `{"Person": {"id": 1, "n()": "nothing(id)"}}`, "", `Person/n()`, `Ann`},
			{access.Reader, `{"Person": {"id": 1, "n()": "audit()"}}`, "", `Person/n()`, `Ann`},
			{access.Reader, `{"Person": {"id": 1, "n()": "touch(id)"}}`, "", `\"Person/n()\": the operation touch is no function`, `Ann`},
			{access.Reader, `{"Person": {"id": 1, "n()": "old()"}}`, "", `\"Person/n()\": the operation old is disabled`, `Ann`},
			{access.Reader, `{"Person": {"id": 1, "@column": "id", "n()": "degree(id)"}}`, "4", `\"Person/n()\": the request is expected to take`, `"n":2`},
			{access.Operations, `{"Person": {"id": 1, "n()": "degree(id)"}}`, "", `"code":401`, `Ann`},
		} {
			answer := fetch(c.by, "get", c.body, c.ceiling)
			require.Contains(t, answer, c.answer, "%s %s", transport, c.body)
			if c.without != "" {
				require.NotContains(t, answer, c.without, "%s %s", transport, c.body)
				require.NotContains(t, answer, `"code":200`, "%s %s", transport, c.body)
			}
		}
	}
	a, err := g.query(g.as(access.Admin), &pb.QueryRequest{Statement: "MATCH (p:Person) WHERE p.seen RETURN count(*)"})
	require.NoError(t, err)
	require.EqualValues(t, 0, rowsOf(a.values[0])[0][0], "what was refused has changed nothing")
}

// A ceiling bounds what an operation, and what runs within a statement, is expected to take.
func TestCeilingsWithin(t *testing.T) {
	g := serveGuarded(t)
	for _, req := range []*pb.QueryRequest{
		{Statement: "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE"},
		{Statement: "UNWIND range(1, 200) AS i CREATE (:Person {id: i})"},
		{Statement: "CALL db.operations.put($text)", Parameters: map[string]*pb.Value{
			"text": toValue("// name: all\nMATCH (p:Person) RETURN p.id AS id\n// name: list\n// route: get\n{\"Person[]\": {\"count\": 0, \"Person\": {}}}"),
		}},
	} {
		_, err := g.query(g.as(access.Admin), req)
		require.NoError(t, err)
	}
	for _, statement := range []string{
		"CALL op.all", "CALL op.list", "CALL db.operations.call('all', []) YIELD value RETURN size(value)",
		`CALL db.fetch.run('get', '{"Person[]": {"count": 0, "Person": {}}}') YIELD value RETURN size(keys(value))`,
		"CALL apoc.cypher.run('MATCH (p:Person) RETURN p.id', {}) YIELD value RETURN count(*)",
	} {
		for ceiling, refused := range map[string]bool{"50": true, "100000": false} {
			_, err := g.query(metadata.AppendToOutgoingContext(g.as(access.Writer), "hopgate-max-cost", ceiling), &pb.QueryRequest{Statement: statement})
			tx := g.transact(metadata.AppendToOutgoingContext(g.as(access.Writer), "hopgate-max-cost", ceiling), t)
			require.NoError(t, tx.begin(&pb.TransactBegin{}))
			_, within := tx.run(statement, nil)
			for _, err := range []error{err, within} {
				if !refused {
					require.NoError(t, err, statement)
					continue
				}
				require.Equal(t, codes.FailedPrecondition, status.Code(err), "%s: %v", statement, err)
				require.ErrorContains(t, err, "more than 50, its limit maxCost", statement)
			}
		}
	}
	for _, path := range []string{"/v1/op/all", "/v1/op/list", "/get?operation=list"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.addrs.HTTP+path, strings.NewReader("{}"))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+g.tokens[access.Operations])
		req.Header.Set("Hopgate-Max-Cost", "50")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Contains(t, string(text), "more than 50, its limit maxCost", path)
	}
}

// The description has the columns of an operation with the types that their values may have, and answers keep to it.
func TestOperationResultsDescribed(t *testing.T) {
	g := serveGuarded(t)
	const text = "// name: kinds\nMATCH (p:Person {id: 1})-[k:KNOWS]->() RETURN p, k, p.name AS name, count(*) AS n, 1.5 / 0 AS f, [1] AS l, p.id > 0 AS b, {a: 1} AS m, " +
		"date('2020-01-02') AS d, null AS z, point({x: 1, y: 2}) AS at LIMIT 1\n\n// name: nothing\nCREATE (:Person)"
	for _, statement := range []string{"CREATE (:Person {id: 1, name: 'Ann'})-[:KNOWS]->(:Person {id: 2})", "CALL db.operations.put($text)"} {
		_, err := g.query(g.as(access.Admin), &pb.QueryRequest{Statement: statement, Parameters: map[string]*pb.Value{"text": toValue(text)}})
		require.NoError(t, err)
	}
	code, body := g.answer(t, access.Admin, "GET", "http://"+g.addrs.HTTP+"/openapi.json", "")
	require.Equal(t, http.StatusOK, code)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("openapi.json", doc))
	schema := func(name string) *jsonschema.Schema {
		at, err := c.Compile("openapi.json#/paths/~1v1~1op~1" + name + "/post/responses/200/content/application~1json/schema")
		require.NoError(t, err)
		return at
	}
	for _, name := range []string{"kinds", "nothing"} {
		code, body = g.answer(t, access.Admin, "POST", "http://"+g.addrs.HTTP+"/v1/op/"+name, "{}")
		require.Equal(t, http.StatusOK, code, "%s", body)
		answer, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, schema(name).Validate(answer), "%s", body)
	}
	var rows struct {
		PrefixItems []struct {
			Title string
			Type  []string
		}
	}
	part := doc
	for _, key := range []string{"paths", "/v1/op/kinds", "post", "responses", "200", "content", "application/json", "schema", "properties", "data", "properties", "values", "items"} {
		part = part.(map[string]any)[key]
	}
	raw, err := json.Marshal(part)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &rows))
	var types []string
	for _, i := range rows.PrefixItems {
		types = append(types, i.Title+" "+strings.Join(i.Type, ","))
	}
	require.Equal(t, []string{
		"p object,null", "k object,null", "name ", "n integer,null", "f integer,number,string,null", "l array,null", "b boolean,null", "m object,null", "d string,null", "z ", "at ",
	}, types)
}
