package mcpapi

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/version"
)

// Path is where the HTTP listener serves MCP.
const Path = "/mcp"

// accepted are the media types that the protocol has clients accept.
const accepted = "application/json, text/event-stream"

// Handler answers messages of MCP.
type Handler struct {
	e    *query.Engine
	most int64 // bytes of a message
	http *mcp.StreamableHTTPHandler
}

// New returns a handler for messages of at most maxBytes.
func New(e *query.Engine, maxBytes int64) *Handler {
	h := &Handler{e: e, most: maxBytes}
	h.http = mcp.NewStreamableHTTPHandler(h.server, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBytes,
		DisableLocalhostProtection: true, // access.Web checks hosts and origins
	})
	return h
}

// sessionKey is the key of the session in the context of a request.
type sessionKey struct{}

// ServeHTTP answers one message of a caller that has been authenticated. The query string chooses the graph, the profile and the budget; see
// newSession.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s, err := h.newSession(r.Context(), r.URL.Query())
	if err != nil {
		wire.Fail(w, err)
		return
	}
	a, err := h.answer(s, r)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // a client that is gone needs no answer
}

// answer has the SDK answer a message. What it refuses as no message at all is an error.
func (h *Handler) answer(s *session, r *http.Request) (*answer, error) {
	r = r.Clone(context.WithValue(r.Context(), sessionKey{}, s))
	r.Header.Set("Accept", accepted) // answers are JSON, whatever a client without an SDK asks for
	a := &answer{header: http.Header{}, status: http.StatusOK}
	h.http.ServeHTTP(a, r)
	switch {
	case a.status == http.StatusRequestEntityTooLarge:
		return nil, wire.TooLarge(fmt.Sprintf("the message is larger than %d bytes, the limit max-request", h.most))
	case a.status >= http.StatusBadRequest && !strings.HasPrefix(a.header.Get("Content-Type"), "application/json"):
		return nil, wire.RequestError("message: " + strings.TrimSpace(a.body.String()))
	}
	return a, nil
}

// server returns the server of one request: its tools are those that the caller may use.
func (h *Handler) server(r *http.Request) *mcp.Server {
	s, ok := r.Context().Value(sessionKey{}).(*session)
	if !ok {
		return nil
	}
	return s.server()
}

// Message answers one JSON-RPC message; the answer to a notification is empty. Options are those of the query string of HTTP.
func (h *Handler) Message(ctx context.Context, message []byte, options url.Values) ([]byte, error) {
	s, err := h.newSession(ctx, options)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, Path, bytes.NewReader(message))
	if err != nil {
		return nil, graph.InternalError("mcp", err)
	}
	r.Header.Set("Content-Type", "application/json")
	copyHeaders(r.Header, message)
	a, err := h.answer(s, r)
	if err != nil {
		return nil, err
	}
	return a.body.Bytes(), nil
}

// answer collects the answer to a message.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *answer) Flush()                      {}

// A profile is a set of tools.
const (
	profileReader = "reader" // reads by statements and searches
	profileRAG    = "rag"    // searches and samples, without statements
	profileAdmin  = "admin"  // everything that the caller may do
)

// session is the caller of one message.
type session struct {
	h       *Handler
	ctx     context.Context //nolint:containedctx // the request's: the protocol's own has neither its caller nor its end
	graph   string
	profile string
	tokens  int  // of an answer, unless a call says otherwise
	reads   bool // whether the caller may read by statements of its own
	writes  bool // whether the caller may write by such statements
}

// newSession returns a session by its options: graph names the graph, profile is reader, rag or admin (by default, reader for
// callers that may read alone and admin for others), and tokens bounds answers.
func (h *Handler) newSession(ctx context.Context, options url.Values) (*session, error) {
	s := &session{h: h, ctx: ctx, graph: options.Get("graph"), profile: options.Get("profile"), tokens: defaultTokens}
	if s.graph == "" {
		s.graph = query.DefaultGraph
	}
	if text := options.Get("tokens"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < leastTokens || n > mostTokens {
			return nil, wire.RequestError(fmt.Sprintf("tokens: must be a whole number from %d to %d, was %q", leastTokens, mostTokens, text))
		}
		s.tokens = n
	}
	for name := range options {
		if !slices.Contains([]string{"graph", "profile", "tokens"}, name) {
			return nil, wire.RequestError(fmt.Sprintf("%s: is not an option of %s; those are graph, profile and tokens", name, Path))
		}
	}
	if err := access.Check(ctx, s.graph, access.Operations); err != nil {
		return nil, err
	}
	s.reads = access.Check(ctx, s.graph, access.Reader) == nil
	s.writes = access.Check(ctx, s.graph, access.Writer) == nil
	switch s.profile {
	case "":
		s.profile = profileAdmin
		if s.reads && !s.writes {
			s.profile = profileReader
		}
	case profileReader, profileRAG, profileAdmin:
	default:
		return nil, wire.RequestError(fmt.Sprintf("profile: must be reader, rag or admin, was %q", s.profile))
	}
	return s, nil
}

// instructions tell an agent how to begin.
const instructions = "A property graph, queried by openCypher. Call get-schema first: use the labels, types, directions and property names that it " +
	"lists, exactly as written. Pass values as params, never in the text. End statements with ORDER BY and LIMIT where they could return " +
	"many rows. Answers are cut at a number of tokens and say so; a cursor continues them. An error names the line and column: mend the " +
	"statement and call again."

// server returns the server of a session.
func (s *session) server() *mcp.Server {
	m := mcp.NewServer(&mcp.Implementation{Name: "hopgate", Title: "Hopgate graph " + s.graph, Version: version.Number}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
		},
	})
	m.AddReceivingMiddleware(s.operationsBefore(m))
	if s.reads {
		s.addTools(m)
		s.addResources(m)
	}
	return m
}

// reading describes tools that read only.
func reading(title string) *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}
}

// addTools adds the tools of the session's profile.
func (s *session) addTools(m *mcp.Server) {
	add(m, &mcp.Tool{
		Name: "get-schema", Annotations: reading("Get the schema"),
		Description: "Labels, relationship types and directions, properties with their types, and counts. Call it before writing a statement.",
	}, s.schema)
	add(m, &mcp.Tool{
		Name: "sample", Annotations: reading("Sample nodes or relationships"),
		Description: "A few nodes of a label, or relationships of a type, to see what values look like.",
	}, s.sample)
	add(m, &mcp.Tool{
		Name: "hybrid-search", Annotations: reading("Search by text and vector"),
		Description: "The nodes that match a text, a vector or both, best first, with their neighbours up to some hops. It uses the full-text and " +
			"vector indexes of the graph.",
	}, s.search)
	if s.profile == profileRAG {
		return
	}
	add(m, &mcp.Tool{
		Name: "read-cypher", Annotations: reading("Run a reading statement"),
		Description: "Run one openCypher statement that only reads; the server refuses one that writes.",
	}, s.readCypher)
	add(m, &mcp.Tool{
		Name: "explain", Annotations: reading("Explain a statement"),
		Description: "The plan of a statement with the rows that each operator is expected to produce, without running it.",
	}, s.explain)
	if s.profile != profileAdmin || !s.writes {
		return
	}
	yes, no := true, false
	add(m, &mcp.Tool{
		Name: "write-cypher", Annotations: &mcp.ToolAnnotations{Title: "Run a writing statement", DestructiveHint: &yes, OpenWorldHint: &no},
		Description: "Run one openCypher statement that may create, change or delete. It has committed when the answer arrives, and tells what it changed.",
	}, s.writeCypher)
}

// add adds a tool by a function that returns a text. An error is an answer that the agent sees, and can act upon. The SDK's own AddTool passes
// arguments through floats, which would change large integers.
func add[In any](m *mcp.Server, t *mcp.Tool, f func(In) (string, error)) {
	in := inputs[t.Name]
	t.InputSchema = in.Schema()
	m.AddTool(t, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args In
		if err := in.decode(req.Params.Arguments, &args); err != nil {
			return failed(err), nil
		}
		return answered(f(args)), nil
	})
}

// answered returns a text, or an error, as the answer of a tool.
func answered(text string, err error) *mcp.CallToolResult {
	if err != nil {
		return failed(err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// failed returns an error with its code and place as the answer of a tool.
func failed(err error) *mcp.CallToolResult {
	e := graph.AsError(err)
	code, _, _ := wire.Classify(e)
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: code + ": " + e.Error()}}}
}
