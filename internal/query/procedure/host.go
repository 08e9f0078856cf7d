package procedure

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/charge"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/shard"
)

// Host is what procedures ask of the engine that runs them.
type Host interface {
	Store() shard.Store
	// Server describes the server to its clients.
	Server() Server
	// Graph returns the name of the graph of the transaction at hand.
	Graph(ctx context.Context) string
	// Transactions returns the transactions that the caller may see, the oldest first.
	Transactions(ctx context.Context) []Transaction
	// Terminate ends a transaction that the caller may end, and returns the name of its owner.
	Terminate(ctx context.Context, id string) (caller string, ok bool)
	// Metadata is what the client has said of the transaction at hand, a map or null; SetMetadata replaces it.
	Metadata(ctx context.Context) graph.Value
	SetMetadata(ctx context.Context, m graph.Value)
	// Connections returns the connections of the protocols that keep any.
	Connections(ctx context.Context) []Connection
	// Define changes the definitions of a graph at once, for an admin of it, in a statement of its own that changes nothing else.
	Define(ctx context.Context, g shard.Graph, c definition.Change) error
	// Authenticates reports whether callers are asked who they are.
	Authenticates() bool
	// Fetch runs a JSON-array fetch that reads in the transaction of a call, and returns its answer without the code.
	Fetch(ctx context.Context, c *exec.Call, method, body string) (graph.Value, error)
	// CallOperation calls a trusted operation that reads, as a function of arguments, in the transaction of a call.
	CallOperation(ctx context.Context, c *exec.Call, name string, args []graph.Value) (graph.Value, error)
	// Operations returns the trusted operations of the store.
	Operations() Operations
	// Quotas returns the quotas of the store.
	Quotas() *charge.Gate
}

// Server is what the server is to its clients.
type Server struct {
	Version string // its own
	Neo4j   string // of Neo4j, as far as its clients are to know
	Bolt    string // host:port of the Bolt listener, or ""
}

// Transaction is a row of SHOW TRANSACTIONS.
type Transaction struct {
	ID, Graph, Statement              string
	Start, StatementStart             time.Time
	Caller                            string
	Connection, Address, Agent, Proto string
	Metadata                          graph.Value
	Bytes                             int64 // that its operators hold
}

// Connection is a row of dbms.listConnections.
type Connection struct {
	ID, Protocol, Caller, Agent, Server, Client string
	Owner                                       access.Subject // Caller is its name
	Since                                       time.Time
}
