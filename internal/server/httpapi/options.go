package httpapi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// Options are the settings of the HTTP API.
type Options struct {
	MaxRequestBytes int64                 // of a request's body; default 64 MiB
	Memory          *request.Memory       // that large bodies share; default nil, no limit
	TxIdle          time.Duration         // after which an explicit transaction without a request is rolled back; default 30 s
	TestProcedures  bool                  // whether PUT /v1/test/procedures is open
	Auth            *access.Authenticator // default nil, nobody is asked who they are
	Web             *access.Web           // which web pages may send requests; default nil, those of the server alone
	Rates           *access.Rates         // default nil, nothing is bounded
	Audit           *access.Audit         // takes what admins have asked for; default nil
	Store           telemetry.Storage     // whose shards GET /v1/shards shows; default nil, none
	Metrics         prometheus.Gatherer   // of GET /v1/metrics; default none
	Profiles        *telemetry.Profiles   // that the server takes all the time; default nil, none
	Drained         <-chan struct{}       // is closed when the server drains; default nil, never
}

// EnsureDefaults fills in what is not set.
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
