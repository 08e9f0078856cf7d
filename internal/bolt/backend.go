package bolt

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// Backend is the server as one connection sees it. Its methods are not called concurrently.
type Backend interface {
	// Hello records the client's description of itself.
	Hello(c Client) error
	// Logon authenticates the client; the identity applies until Logoff.
	Logon(ctx context.Context, auth Auth) error
	Logoff()
	// Run runs an auto-commit statement. A writing statement is committed when Run returns.
	Run(ctx context.Context, s *Statement) (Result, error)
	Begin(ctx context.Context, c *Context) (Tx, error)
	Route(ctx context.Context, r *RouteRequest) (*Table, error)
	// Telemetry counts how the client's program uses its driver: API 0 to 3.
	Telemetry(api int)
	// Failure converts an error to the form that clients see.
	Failure(err error) *Failure
	// Sent counts rows sent.
	Sent(rows int)
	// Count counts an answered message: with 70 (success), 7E (ignored) or 7F (failure), after a time.
	Count(t Tag, answer byte, took time.Duration)
}

// Client is a client's description of itself.
type Client struct {
	Agent   string // user_agent
	Product string // bolt_agent's product, or ""
	Routed  bool   // whether it used a routing table
	Address string // the address that the client believes to reach, if routed
}

// Auth holds a client's credentials.
type Auth struct {
	Scheme, Principal, Credentials string
}

// Context holds the settings of a statement or a transaction.
type Context struct {
	Graph       string // db; "" if the client named none
	Named       bool   // whether the client named one
	ReadOnly    bool
	Timeout     time.Duration // if HasTimeout; 0 is none
	HasTimeout  bool
	Metadata    graph.Value // a map or null
	Bookmarks   []string
	Impersonate string
	Filter      Filter // for notifications
}

// Statement is a statement of RUN.
type Statement struct {
	Context
	Text   string
	Params map[string]graph.Value
}

// RouteRequest is a ROUTE message.
type RouteRequest struct {
	Graph       string
	Address     string // the address that the client believes to reach, or ""
	Bookmarks   []string
	Impersonate string
}

// Table is a routing table in which every address has every role.
type Table struct {
	Graph     string
	TTL       time.Duration
	Addresses []string
}

// Tx is an explicit transaction.
type Tx interface {
	// Graph returns the graph's name, as clients know it.
	Graph() string
	// Run runs a statement. Only one result may read from the graph at a time: the caller holds the others.
	Run(ctx context.Context, s *Statement) (Result, error)
	// Commit returns a bookmark.
	Commit(ctx context.Context) (string, error)
	Rollback()
	// Done is closed when the transaction must end; Err returns the reason then.
	Done() <-chan struct{}
	Err() error
}

// Result is the result of a statement.
type Result interface {
	// Graph returns the graph's name, as clients know it.
	Graph() string
	Columns() []string
	// Next returns the next rows, valid until the next call, or nil at the end.
	Next() (*graph.Batch, error)
	// Sending announces that the caller may wait for its client.
	Sending()
	// Sent counts bytes of rows that the client gets.
	Sent(bytes int)
	// Wait announces that the client wants no rows until the next call of Next.
	Wait()
	// Hold loads the remaining rows into memory: those of b (the batch that Next returned last, or nil) from a row on, and all later ones.
	// It invalidates b.
	Hold(b *graph.Batch, from int) error
	// Whole reports whether all rows must be produced even if the client discards them.
	Whole() bool
	// Done is closed when the result must end.
	Done() <-chan struct{}
	// Summary returns the summary at the end.
	Summary() *Summary
	Close()
}

// Summary ends a result.
type Summary struct {
	query.Summary
	Bookmark string // of an auto-commit statement
	Planner  string // the printed plan
}

// Failure is an error as clients see it.
type Failure struct {
	Code, Message       string
	Status, Description string
	Class               string // CLIENT_ERROR, TRANSIENT_ERROR or DATABASE_ERROR
	Pos                 graph.Pos
	Cause               *Failure
}
