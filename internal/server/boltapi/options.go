package boltapi

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/server/request"
)

// Options are the settings of the Bolt listener.
type Options struct {
	// Agent is the version of Neo4j that clients see; default query.Neo4jVersion.
	Agent string
	// Advertise is the address, host:port, at which clients reach the server; default "", the address that the client used.
	Advertise string
	// Gateways lists the addresses of all gateways for routing tables, separated by commas, or is srv:NAME; default "", only this
	// server.
	Gateways string
	// MaxConnections bounds the open connections; default 4,096.
	MaxConnections int
	// MaxRequestBytes bounds a message, and the messages of a connection that wait; default 64 MiB.
	MaxRequestBytes int64
	// Memory is the pool that large messages share with the requests of other transports; default nil, no limit.
	Memory *request.Memory
	// TxIdle is how long a transaction or a result waits for its client; default 5 min.
	TxIdle time.Duration
	// TLS is the listener's; default nil, plain connections. With PlainToo it takes both.
	TLS      *tls.Config
	PlainToo bool
	// Web decides which web pages may open WebSockets while authentication is off; default nil, only those of this machine.
	Web *access.Web
	// Auth identifies callers by their tokens; default nil, no authentication.
	Auth *access.Authenticator
	// Rates bound the requests and bytes a second of callers and graphs; default nil, nothing is bounded.
	Rates *access.Rates
	// Logger receives the listener's messages; default slog.Default().
	Logger *slog.Logger
}

// EnsureDefaults sets unset options to their defaults.
func (o *Options) EnsureDefaults() {
	if o.MaxConnections == 0 {
		o.MaxConnections = 4096
	}
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = 64 << 20
	}
	if o.TxIdle == 0 {
		o.TxIdle = 5 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}
