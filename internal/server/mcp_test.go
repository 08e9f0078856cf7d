package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query"
)

// agent is a client of the Model Context Protocol.
type agent struct {
	*mcp.ClientSession
	t *testing.T
}

// connectAgent connects to a server; options are a query string.
func connectAgent(t *testing.T, r *running, options, token string) agent {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: "http://" + r.addrs.HTTP + "/mcp?" + options, HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true,
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return agent{s, t}
}

// withToken adds a token to requests.
type withToken string

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if w != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(w))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// call calls a tool and returns its text, and whether it is an error.
func (a agent) call(tool string, args any) (string, bool) {
	a.t.Helper()
	res, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(a.t, err)
	require.Len(a.t, res.Content, 1)
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// must calls a tool that must not fail.
func (a agent) must(tool string, args any) string {
	a.t.Helper()
	text, failed := a.call(tool, args)
	require.False(a.t, failed, text)
	return text
}

func (a agent) tools() (names []string) {
	a.t.Helper()
	res, err := a.ListTools(a.t.Context(), nil)
	require.NoError(a.t, err)
	for _, x := range res.Tools {
		names = append(names, x.Name)
	}
	return names
}

// acquaintances fills the default graph.
func acquaintances(t *testing.T, r *running) {
	t.Helper()
	for _, statement := range []string{
		"CREATE CONSTRAINT person_id FOR (p:Person) REQUIRE p.id IS UNIQUE",
		"CREATE FULLTEXT INDEX bios FOR (p:Person) ON EACH [p.bio]",
		"CREATE VECTOR INDEX faces FOR (p:Person) ON p.face OPTIONS {indexConfig: {`vector.dimensions`: 2}}",
		"UNWIND range(1, 300) AS i CREATE (:Person {id: i, bio: 'likes number ' + i, face: [cos(i), sin(i)]})",
		"MATCH (a:Person), (b:Person) WHERE b.id = a.id + 1 CREATE (a)-[:KNOWS {since: 2000 + a.id}]->(b)",
	} {
		res, err := r.engine.Query(context.Background(), query.Request{Statement: statement})
		require.NoError(t, err, statement)
		res.Close()
	}
}

func TestAgentTools(t *testing.T) {
	r := serveOver(t, newLocal(t), query.Options{}, Options{})
	acquaintances(t, r)
	a := connectAgent(t, r, "", "")
	require.ElementsMatch(t, []string{"get-schema", "sample", "hybrid-search", "read-cypher", "explain", "write-cypher"}, a.tools())
	require.ElementsMatch(t, []string{"get-schema", "sample", "hybrid-search", "read-cypher", "explain"}, connectAgent(t, r, "profile=reader", "").tools())
	require.ElementsMatch(t, []string{"get-schema", "sample", "hybrid-search"}, connectAgent(t, r, "profile=rag", "").tools())

	require.Equal(t, `graph default: 300 nodes, 299 relationships

Nodes (count):
(:Person {bio: STRING, face: LIST, id: INTEGER key}) 300

Relationships (count):
(:Person)-[:KNOWS]->(:Person) 299

Properties of relationships:
[:KNOWS {since: INTEGER}] 299

key: unique and indexed; indexed: a look-up by it is fast.
`, a.must("get-schema", nil))
	require.Contains(t, a.must("get-schema", map[string]any{"level": "full"}), "\nIndexes:\nFULLTEXT bios on Person(bio)\nVECTOR faces on Person(face)\nRANGE person_id on Person(id)\n")
	require.NotContains(t, a.must("get-schema", map[string]any{"level": "summary"}), "bio")

	text := a.must("read-cypher", map[string]any{"query": "MATCH (p:Person {id: $id}) RETURN p.id AS id, p.bio AS bio", "params": map[string]any{"id": 7}})
	require.JSONEq(t, `{"columns":["id","bio"],"rows":[[7,"likes number 7"]],"rowCount":1,"truncated":false}`, text)
	text = a.must("read-cypher", map[string]any{"query": "RETURN $n AS n", "params": json.RawMessage(`{"n": 9007199254740993}`)})
	require.Contains(t, text, "[[9007199254740993]]")
	require.Contains(t, a.must("sample", map[string]any{"label": "Person", "limit": 2}), `"rowCount":2`)
	require.Contains(t, a.must("sample", map[string]any{"type": "KNOWS", "limit": 1}), `"since":2001`)
	require.Contains(t, a.must("explain", map[string]any{"query": "MATCH (p:Person {id: 3}) RETURN p"}), "(about 1 rows)")

	text = a.must("hybrid-search", map[string]any{"text": "number 17", "vector": []float64{1, 0}, "hops": 1, "limit": 3})
	require.Contains(t, text, `"indexes: bios, faces"`)
	require.Contains(t, text, `"via":["KNOWS"]`)
	require.Contains(t, a.must("hybrid-search", map[string]any{"text": "17 OR (x", "limit": 1}), `"id":17`, "special characters are words")

	text = a.must("write-cypher", map[string]any{"query": "CREATE (n:Note {text: 'x'}) RETURN n.text AS t"})
	require.Contains(t, text, `"nodesCreated":1`)
	require.Contains(t, a.must("read-cypher", map[string]any{"query": "MATCH (n:Note) RETURN count(n) AS n"}), "[[1]]")
}

// TestAgentRefusals calls tools in ways that the server must refuse.
func TestAgentRefusals(t *testing.T) {
	r := serveOver(t, newLocal(t), query.Options{}, Options{})
	acquaintances(t, r)
	a := connectAgent(t, r, "", "")
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"read-cypher", map[string]any{"query": "CREATE (n)"}, "Neo.ClientError.Statement.AccessMode: "},
		{"read-cypher", map[string]any{"query": "CALL { CREATE (n) RETURN n } RETURN n"}, "Neo.ClientError.Statement.AccessMode: "},
		{"read-cypher", map[string]any{"query": "CREATE INDEX FOR (n:X) ON (n.y)"}, "Neo.ClientError.Statement.AccessMode: "},
		{"read-cypher", map[string]any{"query": "CALL apoc.periodic.iterate('RETURN 1 AS x', 'CREATE (n)', {})"}, "Neo.ClientError."},
		{"read-cypher", map[string]any{"query": "MATCH (n RETURN n"}, "line 1, column 10"},
		{"read-cypher", map[string]any{"query": " "}, "query: must be a statement"},
		{"read-cypher", map[string]any{"query": "RETURN $x AS x"}, "ParameterMissing"},
		{"read-cypher", map[string]any{"query": "RETURN 1 AS x", "cursor": "%"}, "cursor: "},
		{"read-cypher", map[string]any{"query": "RETURN 1 AS x", "maxTokens": 5}, "maxTokens"},
		{"read-cypher", map[string]any{"statement": "RETURN 1"}, "statement"},
		{"sample", map[string]any{}, "label, type: give one of them"},
		{"sample", map[string]any{"label": "Person", "limit": 1000}, "limit"},
		{"get-schema", map[string]any{"labels": []string{"Persn"}}, `labels: the graph has no label "Persn"`},
		{"hybrid-search", map[string]any{}, "text, vector: give one of them"},
		{"hybrid-search", map[string]any{"vector": []float64{1, 2, 3}}, "faces (vectors of 2 dimensions)"},
		{"hybrid-search", map[string]any{"text": "x", "indexes": []string{"nope"}}, `"nope"`},
		{"write-cypher", map[string]any{"query": "CREATE (n)", "cursor": "x"}, "cursor"},
	} {
		text, failed := a.call(c.tool, c.args)
		require.True(t, failed, "%s %v: %s", c.tool, c.args, text)
		require.Contains(t, text, c.want, "%s %v", c.tool, c.args)
	}
	require.Contains(t, a.must("read-cypher", map[string]any{"query": "MATCH (n) RETURN count(n) AS n"}), "[[300]]", "nothing was written")

	for options, want := range map[string]string{"profile=x": "profile: ", "tokens=1": "tokens: ", "budget=1": "budget: ", "graph=nope": "nope"} {
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + r.addrs.HTTP + "/mcp?" + options, DisableStandaloneSSE: true}, nil)
		if err == nil { // a graph that is not there shows by its first use
			_, err = s.ListTools(t.Context(), nil)
			if err == nil {
				res, failed := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "get-schema"})
				require.NoError(t, failed)
				require.True(t, res.IsError)
				require.Contains(t, res.Content[0].(*mcp.TextContent).Text, want)
			}
			_ = s.Close()
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addrs.HTTP+"/mcp", strings.NewReader("{}"))
	require.NoError(t, err)
	req.Header.Set("Origin", "https://evil.example")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	_ = res.Body.Close()
}

// TestAgentPages continues a truncated answer until all rows have come.
func TestAgentPages(t *testing.T) {
	r := serveOver(t, newLocal(t), query.Options{}, Options{})
	acquaintances(t, r)
	a := connectAgent(t, r, "tokens=500", "")
	var ids []int
	args := map[string]any{"query": "MATCH (p:Person) RETURN p.id AS id, p.bio AS bio ORDER BY id"}
	pages := 0
	for {
		var page struct {
			Rows      [][]any
			Truncated bool
			Cursor    string
			Notes     []string
		}
		text := a.must("read-cypher", args)
		require.Less(t, len(text), 500*4, "the answer keeps to its budget")
		require.NoError(t, json.Unmarshal([]byte(text), &page))
		require.Empty(t, page.Notes)
		for _, row := range page.Rows {
			ids = append(ids, int(row[0].(float64)))
		}
		pages++
		if !page.Truncated {
			break
		}
		args["cursor"] = page.Cursor
	}
	require.Greater(t, pages, 3)
	require.Len(t, ids, 300)
	for i, id := range ids {
		require.Equal(t, i+1, id)
	}
	args["query"] = "MATCH (p:Person) RETURN p.id AS id"
	text, failed := a.call("read-cypher", args)
	require.True(t, failed)
	require.Contains(t, text, "cursor: it is of another statement")
	delete(args, "cursor")
	require.Contains(t, a.must("read-cypher", args), "no ORDER BY")
	text, failed = a.call("read-cypher", map[string]any{"query": "UNWIND range(1, 60) AS x RETURN collect(toString(x) + 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') AS l"})
	require.True(t, failed)
	require.Contains(t, text, "return fewer properties")
	require.Contains(t, a.must("read-cypher", map[string]any{"query": "RETURN [x IN range(1, 1536) | x * 0.5] AS v"}), `"(1536 numbers)"`)
}

// TestAgentOverGRPC passes the messages that graphctl mcp does.
func TestAgentOverGRPC(t *testing.T) {
	r := serve(t)
	service := pb.NewGraphServiceClient(r.conn)
	send := func(message string) string {
		t.Helper()
		res, err := service.Agent(t.Context(), &pb.AgentRequest{Message: []byte(message), Profile: "reader"})
		require.NoError(t, err)
		return string(res.GetMessage())
	}
	require.Contains(t, send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`), `"serverInfo"`)
	require.Empty(t, send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	require.Contains(t, send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read-cypher","arguments":{"query":"RETURN 1 AS x"}}}`), `[[1]]`)
	require.Contains(t, send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write-cypher","arguments":{"query":"CREATE (n)"}}}`), `unknown tool`)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	require.Contains(t, send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"read-cypher","arguments":{"query":"RETURN 2 AS x"},`+meta+`}}`), `[[2]]`)
	require.Contains(t, send(`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"hopgate://dialect"}}`), `openCypher`)
	require.Contains(t, send(`{"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"answer-question","arguments":{"question":"who?"}}}`), `get-schema`)
	_, err := service.Agent(t.Context(), &pb.AgentRequest{Message: []byte("nonsense")})
	require.ErrorContains(t, err, "message: ")
}

// TestAgentRoles offers tools by the role of the token, and refuses callers without one.
func TestAgentRoles(t *testing.T) {
	g := serveGuarded(t)
	for role, want := range map[access.Role][]string{
		access.Reader: {"get-schema", "sample", "hybrid-search", "read-cypher", "explain"},
		access.Writer: {"get-schema", "sample", "hybrid-search", "read-cypher", "explain", "write-cypher"},
	} {
		require.ElementsMatch(t, want, connectAgent(t, g.running, "profile=admin", g.tokens[role]).tools(), role.String())
	}
	require.Empty(t, connectAgent(t, g.running, "", g.tokens[access.Fetcher]).tools())
	for role, status := range map[access.Role]int{access.None: http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.addrs.HTTP+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		res, err := (&http.Client{Transport: withToken(g.tokens[role])}).Do(req)
		require.NoError(t, err)
		require.Equal(t, status, res.StatusCode, role.String())
		_ = res.Body.Close()
	}
}

// TestAgentOperations offers trusted operations as tools with typed arguments.
func TestAgentOperations(t *testing.T) {
	g := serveGuarded(t)
	all, err := operation.Parse("ops.cypher", `
// name: doubled
// description: Twice a number.
// param: n :: INTEGER -- the number
// param: more :: INTEGER = 1
RETURN 2 * $n + $more AS n;

// name: note
// param: text :: STRING
CREATE (n:Note {text: $text}) RETURN n.text AS text;

// name: sample
RETURN 'mine' AS x`)
	require.NoError(t, err)
	_, err = g.engine.Operations.Put(context.Background(), "", all)
	require.NoError(t, err)

	own := connectAgent(t, g.running, "", g.tokens[access.Operations])
	require.ElementsMatch(t, []string{"doubled", "note", "op_sample"}, own.tools(), "a caller that may run operations alone")
	require.ElementsMatch(t, []string{"doubled", "op_sample"}, connectAgent(t, g.running, "profile=reader", g.tokens[access.Operations]).tools())
	require.Contains(t, connectAgent(t, g.running, "", g.tokens[access.Reader]).tools(), "doubled")
	require.Contains(t, own.must("doubled", map[string]any{"n": 20}), "[[41]]")
	require.Contains(t, own.must("op_sample", nil), `"mine"`)
	require.Contains(t, own.must("note", map[string]any{"text": "x"}), `"nodesCreated":1`)
	for _, args := range []map[string]any{nil, {"n": "x"}, {"n": 1, "m": 2}} {
		text, failed := own.call("doubled", args)
		require.True(t, failed, text)
		require.Contains(t, text, "doubled")
	}
	list, err := own.ListTools(t.Context(), nil)
	require.NoError(t, err)
	schema, err := json.Marshal(list.Tools[0].InputSchema)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["n"],"properties":{
		"n":{"type":"integer","description":"the number"},"more":{"type":"integer","default":1}}}`, string(schema))
	require.True(t, list.Tools[0].Annotations.ReadOnlyHint)
	require.False(t, list.Tools[1].Annotations.ReadOnlyHint)
}
