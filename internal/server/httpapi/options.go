package httpapi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/server/mcpapi"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// Options configure the HTTP API.
type Options struct {
	MaxRequestBytes int64                 // of a request body; default 64 MiB
	Memory          *request.Memory       // shared by large bodies; default nil, no limit
	TxIdle          time.Duration         // idle time after which an explicit transaction rolls back; default 30 s
	TestProcedures  bool                  // enables PUT /v1/test/procedures
	Auth            *access.Authenticator // default nil, no authentication
	Web             *access.Web           // which web pages may send requests; default nil, only the server's own
	Rates           *access.Rates         // default nil, no limits
	Audit           *access.Audit         // records requests of admins; default nil
	Store           telemetry.Storage     // the shards of GET /v1/shards; default nil, none
	Metrics         prometheus.Gatherer   // the metrics of GET /v1/metrics; default none
	Profiles        *telemetry.Profiles   // the continuous profiles; default nil, none
	Agents          *mcpapi.Handler       // answers the Model Context Protocol; default: a handler of its own
	Drained         <-chan struct{}       // closed when the server drains; default nil, never
}

// EnsureDefaults fills in unset options.
func (o *Options) EnsureDefaults() {
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = 64 << 20
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	if o.TxIdle == 0 {
		o.TxIdle = 30 * time.Second
	}
}
