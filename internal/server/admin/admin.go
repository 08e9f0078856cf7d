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
}

// Drain marks the server as not ready, permanently.
func (h *Health) Drain() { h.draining.Store(true) }

// New returns the handler of the admin listener. Probes and metrics are open to all clients. debug requires an admin if auth is set;
// otherwise web decides which pages may use it.
func New(health *Health, registry *prometheus.Registry, auth *access.Authenticator, web *access.Web, debug http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, "") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if health.draining.Load() {
			answerHealth(w, "draining")
			return
		}
		if err := health.Probe(r.Context()); err != nil {
			answerHealth(w, "probe query: "+err.Error())
			return
		}
		answerHealth(w, "")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	mux.Handle("/debug/", guard(auth, web, debug))
	return mux
}

func answerHealth(w http.ResponseWriter, fault string) {
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]string{"status": "ok"}
	if fault != "" {
		answer = map[string]string{"status": "not ready", "reason": fault}
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(answer)
}
