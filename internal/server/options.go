package server

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/server/boltapi"
	"github.com/hopgate/hopgate/internal/server/grpcapi"
	"github.com/hopgate/hopgate/internal/server/httpapi"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// Options configure the server.
type Options struct {
	// Transports are what the server speaks, besides HTTP to administrators; default nil, all that there are with the defaults of their
	// settings.
	Transports []request.Transport
	// MaxRequestBytes bounds the body of a request and a message of a load; default 64 MiB.
	MaxRequestBytes int64
	// LargeBytes bounds the total size of bodies and messages over 64 KiB in memory; a larger one waits until it is the only one. Default
	// 0, no limit.
	LargeBytes int64
	// QueueTimeout bounds how long a large request waits for that memory; default 0, no limit.
	QueueTimeout time.Duration
	// TxIdle is how long an explicit transaction may be idle before the server rolls it back; default 30 s.
	TxIdle time.Duration
	// Ready returns why the process must not get requests although it answers a query, or nil; default nil, no reason.
	Ready func() error
	// Warnings say what is wrong with the settings; GET /readyz?verbose lists them. Default nil, nothing.
	Warnings []string
	// Waits reports whether requests wait for shards that are away, of which there are no other copies: a process that was ready stays so
	// meanwhile, as another one could do no more; default nil, no.
	Waits func() bool
	// Profiles are the continuous profiles of the server; default nil, none.
	Profiles *telemetry.Profiles
	// Tuning is what admins can change at run time; default nil, only contention profiles.
	Tuning *admin.Tuning
	// Auth identifies callers by their tokens; default nil, no authentication.
	Auth *access.Authenticator
	// Web decides which web pages may use the listeners; default nil, only the server's own.
	Web *access.Web
	// Rates bound requests and bytes per second by caller and graph; default nil, no limits.
	Rates *access.Rates
	// Audit records the requests of admins; default nil.
	Audit *access.Audit
	// TLS applies to the HTTP and gRPC listeners, AdminTLS to the admin listener; default nil, plain connections.
	TLS, AdminTLS *tls.Config
	// Logger receives the server's log records; default slog.Default().
	Logger *slog.Logger
}

// EnsureDefaults fills in unset options.
func (o *Options) EnsureDefaults() {
	if o.Transports == nil {
		o.Transports = all()
	}
	if o.Tuning == nil {
		o.Tuning = &admin.Tuning{}
	}
}

// all returns all transports, with the defaults of their settings.
func all() []request.Transport {
	return []request.Transport{
		httpapi.Transport(httpapi.Options{}), grpcapi.Transport(grpcapi.Options{}), boltapi.Transport(boltapi.Options{}),
	}
}
