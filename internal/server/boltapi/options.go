package boltapi

import (
	"time"

	"github.com/hopgate/hopgate/internal/access"
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
	// TxIdle is how long a transaction or a result waits for its client; default 5 min.
	TxIdle time.Duration
	// PlainToo takes plain connections besides those over TLS; default false.
	PlainToo bool
	// IfFree disables the listener instead of failing if its address is in use; default false.
	IfFree bool
	// Web decides which web pages may open WebSockets while authentication is off; default nil, only those of this machine.
	Web *access.Web
}

// EnsureDefaults sets unset options to their defaults.
func (o *Options) EnsureDefaults() {
	if o.MaxConnections == 0 {
		o.MaxConnections = 4096
	}
	if o.TxIdle == 0 {
		o.TxIdle = 5 * time.Minute
	}
}
