package httpapi

import (
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/server/request"
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
}

// EnsureDefaults fills in what is not set.
func (o *Options) EnsureDefaults() {
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = 64 << 20
	}
	if o.TxIdle == 0 {
		o.TxIdle = 30 * time.Second
	}
}
