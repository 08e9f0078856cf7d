package bolt

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// Backend is what one connection asks of the server. One goroutine calls it at a time.
type Backend interface {
	// Hello notes what the client says of itself.
	Hello(c Client) error
	// Logon finds who the client is; all that is asked until Logoff is asked by them.
	Logon(ctx context.Context, auth Auth) error
	Logoff()
	// Run runs a statement in a transaction of its own. One that writes has been committed when it returns.
	Run(ctx context.Context, s *Statement) (Result, error)
	Begin(ctx context.Context, c *Context) (Tx, error)
	Route(ctx context.Context, r *RouteRequest) (*Table, error)
	// Telemetry counts a way in which the client's program uses its driver: 0 to 3.
	Telemetry(api int)
	// Failure gives an error the form in which clients see it.
	Failure(err error) *Failure
	// Sent counts rows that were sent.
	Sent(rows int)
	// Count tells of a message that was answered: with 70 (success), 7E (ignored) or 7F (failure), after a time.
	Count(t Tag, answer byte, took time.Duration)
}

// Client is what a client says of itself.
type Client struct {
	Agent   string // user_agent
	Product string // bolt_agent's product, or ""
	Routed  bool   // whether it came by a routing table
	Address string // that the client believes to reach, if it is routed
}

// Auth is how a client says who it is.
type Auth struct {
	Scheme, Principal, Credentials string
}

// Context is what a statement or a transaction brings with it.
type Context struct {
	Graph       string // db; "" if the client named none
	Named       bool   // whether the client named one
	ReadOnly    bool
	Timeout     time.Duration // if HasTimeout; 0 is none
	HasTimeout  bool
	Metadata    graph.Value // a map or null
	Bookmarks   []string
	Impersonate string
	Filter      Filter // of notifications
}

// Statement is a statement of RUN.
type Statement struct {
	Context
	Text   string
	Params map[string]graph.Value
}

// RouteRequest is a message ROUTE.
type RouteRequest struct {
	Graph       string
	Address     string // that the client believes to reach, or ""
	Bookmarks   []string
	Impersonate string
}

// Table is a routing table: every address serves every role.
type Table struct {
	Graph     string
	TTL       time.Duration
	Addresses []string
}

// Tx is an explicit transaction.
type Tx interface {
	// Graph is the graph's name, as clients know it.
	Graph() string
	// Run runs a statement. One result at a time is read from the graph: the caller holds the others.
	Run(ctx context.Context, s *Statement) (Result, error)
	// Commit gives a bookmark.
	Commit(ctx context.Context) (string, error)
	Rollback()
	// Done is closed when the transaction must end, whatever the reason, which Err gives then.
	Done() <-chan struct{}
	Err() error
}

// Result is the answer to a statement.
type Result interface {
	// Graph is the graph's name, as clients know it.
	Graph() string
	Columns() []string
	// Next gives the next rows, until the next call, or nil at the end.
	Next() (*graph.Batch, error)
	// Sending says that the caller may wait for its client.
	Sending()
	// Wait says that nobody asks for rows until the next call of Next.
	Wait()
	// Hold takes the rows that are left into memory: those of b, the batch that Next gave last or nil, from a row on, and those
	// behind them. b is not valid any more.
	Hold(b *graph.Batch, from int) error
	// Whole reports whether a client that wants no rows must have them made even so.
	Whole() bool
	// Done is closed when the result must end.
	Done() <-chan struct{}
	// Summary says what there is to say at the end.
	Summary() *Summary
	Close()
}

// Summary ends a result.
type Summary struct {
	query.Summary
	Type     string // r, w, rw or s
	Bookmark string // of a statement in a transaction of its own
	Planner  string // the plan's printed form
}

// Failure is an error as clients see it.
type Failure struct {
	Code, Message       string
	Status, Description string
	Class               string // CLIENT_ERROR, TRANSIENT_ERROR or DATABASE_ERROR
	Pos                 graph.Pos
	Cause               *Failure
}
