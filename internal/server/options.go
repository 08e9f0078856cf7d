package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/console"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/server/boltapi"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// Options are the server's settings.
type Options struct {
	// MaxRequestBytes bounds a request's body, and a message of a load; default 64 MiB.
	MaxRequestBytes int64
	// LargeBytes bounds the bodies and messages over 64 KiB of all requests that are in memory together; one that is larger has
	// that memory for itself. Default 0, no limit.
	LargeBytes int64
	// QueueTimeout bounds the wait of a request that is large for that memory; default 0, none.
	QueueTimeout time.Duration
	// TxIdle is the time after which an explicit transaction without a request is rolled back; default 30 s.
	TxIdle time.Duration
	// TestProcedures opens PUT /v1/test/procedures.
	TestProcedures bool
	// Console is what GET / shows a browser; default nil, there is no console.
	Console *console.Console
	// Config is the effective configuration, its secrets masked, as it stands in what DebugInfo gives.
	Config []byte
	// EvidenceDir holds what was kept of moments when memory was short; DebugInfo gives it too. Default "", there is none.
	EvidenceDir string
	// Profiles are those that the server takes all the time; default nil, it takes none.
	Profiles *telemetry.Profiles
	// Tuning is what admins can set while the server runs; default nil, the profiles of contention alone.
	Tuning *admin.Tuning
	// Auth tells callers by their tokens; default nil, nobody is asked who they are.
	Auth *access.Authenticator
	// Web says which web pages may use the listeners; default nil, their own alone.
	Web *access.Web
	// Rates bound the requests and bytes a second of callers and graphs; default nil, nothing is bounded.
	Rates *access.Rates
	// Audit takes what admins have asked for; default nil.
	Audit *access.Audit
	// TLS is for the HTTP and gRPC listeners, AdminTLS for the admin listener; default nil, plain connections.
	TLS, AdminTLS *tls.Config
	// Bolt has the settings of the Bolt listener that are not those of all.
	Bolt boltapi.Options
	// BoltIfFree says that there is no Bolt rather than an error if its address is taken; default false.
	BoltIfFree bool
	// Logger takes what the server has to say; default slog.Default().
	Logger *slog.Logger
}

// EnsureDefaults fills in what is not set.
func (o *Options) EnsureDefaults() {
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = 64 << 20
	}
	if o.TxIdle == 0 {
		o.TxIdle = 30 * time.Second
	}
	if o.Tuning == nil {
		o.Tuning = &admin.Tuning{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// Validate gives all faults of options whose defaults are filled in.
func (o *Options) Validate() error {
	if o.MaxRequestBytes < 1<<10 {
		return fmt.Errorf("max-request: must be at least 1KiB, is %d", o.MaxRequestBytes)
	}
	if o.TxIdle < 0 {
		return fmt.Errorf("tx-idle-timeout: must be above 0, is %v", o.TxIdle)
	}
	return nil
}
