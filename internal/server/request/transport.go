package request

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/feed"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// Transport is a way to speak to clients at a listener of its own: a server starts, drains and stops it without knowing which one it is.
// Its package has all that belongs to it, with its metrics and the statuses of errors.
type Transport struct {
	// Name is that of the setting with its address, of its listener in the log, and of its address in the ready file.
	Name string
	// Speaks names what it speaks, for clients that connect to the wrong port.
	Speaks string
	// IfFree disables it instead of failing if its address is in use.
	IfFree bool
	// New prepares it. It is called once, even if the transport is disabled, and in the order of the list.
	New func(h *Host) Listener
}

// Listener takes the connections of a transport.
type Listener interface {
	// Listen takes the listener, from which connections come once Serve accepts them.
	Listen(l net.Listener)
	// Serve answers requests until Drain, which it returns nil after.
	Serve() error
	// Drain refuses new requests; running ones may continue until ctx ends. It returns once there are none. It may be called without Listen.
	Drain(ctx context.Context)
}

// Host is what the transports of a server share, and what they tell the server and each other.
type Host struct {
	Engine   *query.Engine
	Loader   *loader.Loader
	Store    telemetry.Storage // only supplies the statistics of shards; default nil, none
	Registry *prometheus.Registry
	Monitor  *Monitor
	// MaxRequestBytes bounds a request; default 64 MiB. Memory is shared by large ones; default nil, no limit.
	MaxRequestBytes int64
	Memory          *Memory
	TxIdle          time.Duration         // idle time after which an explicit transaction rolls back; default 30 s
	Auth            *access.Authenticator // default nil, no authentication
	Web             *access.Web           // which web pages may send requests; default nil, only the server's own
	Rates           *access.Rates         // default nil, no limits
	Audit           *access.Audit         // records loads and the requests of admins; default nil
	Profiles        *telemetry.Profiles   // the continuous profiles; default nil, none
	TLS             *tls.Config           // default nil, plain connections
	Drained         context.Context       // ends when the server begins to drain; default: never
	Log             *slog.Logger          // default slog.Default()
	Feeds           *feed.Feeds           // the change streams of all transports

	// Address returns the address of the listener with a name once all listen, "" if there is none. Default: none.
	Address func(name string) string
	// Discovery describes the server to clients of HTTP; nil if no transport does.
	Discovery http.HandlerFunc
	// Guides return a listener of a port that speaks something else, which answers clients that take it for that of their transport.
	Guides []func(l net.Listener, name, speaks string) net.Listener
	// Goodbyes are said before any transport drains, while all of them still answer.
	Goodbyes []func(ctx context.Context)
	// Sweeps end requests that must end; they are called several times a second.
	Sweeps []func(now time.Time)
}

// EnsureDefaults fills in what is unset.
func (h *Host) EnsureDefaults() {
	if h.MaxRequestBytes == 0 {
		h.MaxRequestBytes = 64 << 20
	}
	if h.TxIdle == 0 {
		h.TxIdle = 30 * time.Second
	}
	if h.Drained == nil {
		h.Drained = context.Background()
	}
	if h.Log == nil {
		h.Log = slog.Default()
	}
	if h.Registry == nil {
		h.Registry = prometheus.NewRegistry()
	}
	if h.Monitor == nil {
		h.Monitor = NewMonitor(h.Registry, h.Engine.Watch(), h.Log)
	}
	if h.Feeds == nil {
		h.Feeds = feed.New(h.Drained, h.Engine, h.Registry)
		h.Sweeps = append(h.Sweeps, h.Feeds.Sweep)
	}
	if h.Address == nil {
		h.Address = func(string) string { return "" }
	}
}
