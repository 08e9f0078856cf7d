package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hopgate/hopgate/internal/access"
)

// Health reports whether a server is ready for requests.
type Health struct {
	draining atomic.Bool
	// Probe runs a small query through all layers.
	Probe func(ctx context.Context) error
	// Warnings say what is wrong with the settings of a server that is ready nevertheless; GET /readyz?verbose lists them.
	Warnings []string
}

// Drain marks the server as not ready, permanently.
func (h *Health) Drain() { h.draining.Store(true) }

// New returns the handler of the admin listener. Probes and metrics are open to all clients. debug requires an admin if auth is set;
// otherwise web decides which pages may use it.
func New(health *Health, registry *prometheus.Registry, auth *access.Authenticator, web *access.Web, debug http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, "", nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		var warnings []string
		if r.URL.Query().Has("verbose") {
			warnings = health.Warnings
		}
		if health.draining.Load() {
			answerHealth(w, "draining", warnings)
			return
		}
		if err := health.Probe(r.Context()); err != nil {
			answerHealth(w, "probe query: "+err.Error(), warnings)
			return
		}
		answerHealth(w, "", warnings)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	mux.Handle("/debug/", guard(auth, web, debug))
	return mux
}

func answerHealth(w http.ResponseWriter, fault string, warnings []string) {
	w.Header().Set("Content-Type", "application/json")
	answer := struct {
		Reason   string   `json:"reason,omitempty"`
		Status   string   `json:"status"`
		Warnings []string `json:"warnings,omitempty"`
	}{fault, "ok", warnings}
	if fault != "" {
		answer.Status = "not ready"
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(answer)
}
