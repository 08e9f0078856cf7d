package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/flame"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/summary"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/telemetry"
)

const (
	usualInterval    = time.Second
	shortestInterval = 100 * time.Millisecond
	longestInterval  = time.Minute
	usualProfile     = 10 * time.Second
	longestProfile   = 2 * time.Minute
)

// operations adds the routes for monitoring a server and ending requests.
func (h *Handler) operations() {
	h.handle("GET /v1/queries", h.running)
	h.handle("DELETE /v1/queries/{id}", h.kill)
	h.handle("GET /v1/slowlog", h.admins("SlowLog", h.slowLog))
	h.handle("GET /v1/top", h.admins("Top", h.top))
	h.handle("GET /v1/shards", h.admins("Shards", h.shards))
	h.handle("GET /v1/members", h.admins("Members", h.members))
	h.handle("POST /v1/members", h.admins("AddMember", h.addMember))
	h.handle("DELETE /v1/members/{process}", h.admins("RemoveMember", h.removeMember))
	h.handle("POST /v1/members/{process}/replace", h.admins("ReplaceMember", h.replaceMember))
	h.handle("POST /v1/shards/{shard}/replicas/{from}/move/{to}", h.admins("MoveReplica", h.moveReplica))
	h.handle("POST /v1/shards/{shard}/lead/{process}", h.admins("TransferLead", h.transferLead))
	h.handle("GET /v1/profile", h.admins("Profile", h.profile))
	metrics := promhttp.HandlerFor(h.host.Registry, promhttp.HandlerOpts{DisableCompression: true}) // the handler compresses all responses
	h.handle("GET /v1/metrics", h.admins("Metrics", metrics.ServeHTTP))
}

// admins restricts f to admins of all graphs. The audit log records refusals, profiles and changes, but not the other requests, which pages
// repeat continuously.
func (h *Handler) admins(name string, f http.HandlerFunc) http.HandlerFunc {
	recorded := slices.Contains([]string{"Profile", "AddMember", "RemoveMember", "ReplaceMember", "MoveReplica", "TransferLead"}, name)
	return func(w http.ResponseWriter, r *http.Request) {
		if h.host.Auth == nil {
			f(w, r)
			return
		}
		err := access.CheckEvery(r.Context(), access.Admin)
		if err != nil || recorded {
			h.host.Audit.Record(r.Context(), "admin", "", name, wire.Outcome(err))
		}
		if err != nil {
			wire.Fail(w, err)
			return
		}
		f(w, r)
	}
}

type runningJSON struct {
	ID         uint64    `json:"id"`
	Graph      string    `json:"graph"`
	Statement  string    `json:"statement"`
	Caller     string    `json:"caller,omitempty"`
	Start      time.Time `json:"start"`
	ElapsedMs  float64   `json:"elapsedMs"`
	Rows       int64     `json:"rows"`
	Memory     int64     `json:"memory"`
	Operator   string    `json:"operator,omitempty"` // the operator with the most memory
	Connection string    `json:"connection,omitempty"`
	Client     string    `json:"client,omitempty"`
	Agent      string    `json:"agent,omitempty"`
}

// running lists running requests: all for an admin, otherwise the caller's own.
func (h *Handler) running(w http.ResponseWriter, r *http.Request) {
	out := []runningJSON{}
	for _, q := range h.e.Running(r.Context()) {
		operator, held := q.Held()
		out = append(out, runningJSON{
			q.ID, q.Graph, q.Statement, q.Caller.Name, q.Start, milliseconds(time.Since(q.Start)), q.Rows(), held, operator,
			q.Session().ID, q.Session().Address, q.Session().Agent,
		})
	}
	writeJSON(w, map[string]any{"queries": out})
}

// kill ends a request.
func (h *Handler) kill(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil || !h.e.Kill(r.Context(), id) {
		wire.Fail(w, graph.RequestError(graph.KindNotFound, "NoSuchQuery", "no running request %q that the caller may end", r.PathValue("id")))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type slowJSON struct {
	Graph       string          `json:"graph"`
	Statement   string          `json:"statement"`
	Fingerprint string          `json:"fingerprint"`
	Start       time.Time       `json:"start"`
	ElapsedMs   float64         `json:"elapsedMs"`
	Rows        int64           `json:"rows"`
	Visits      int64           `json:"visits"`
	Bytes       int64           `json:"bytes"`
	CPUMs       float64         `json:"cpuMs"`
	QueueMs     float64         `json:"queueMs"`
	Estimate    *float64        `json:"estimate,omitempty"`
	Error       string          `json:"error,omitempty"`
	Plan        json.RawMessage `json:"plan,omitempty"`
}

// slowLog lists the slowest requests, slowest first.
func (h *Handler) slowLog(w http.ResponseWriter, r *http.Request) {
	limit, err := number(r, "limit", 100, 1, 1<<20)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	out := []slowJSON{}
	for _, q := range h.e.SlowLog().All() {
		if len(out) == int(limit) {
			break
		}
		s := slowJSON{Graph: q.Graph, Statement: q.Statement, Fingerprint: q.Fingerprint, Start: q.Start, ElapsedMs: milliseconds(q.Elapsed), Rows: q.Rows}
		s.Visits, s.Bytes, s.CPUMs, s.QueueMs = q.Took.Visits, q.Took.Bytes, milliseconds(q.Took.CPU), milliseconds(q.Took.Queue)
		if q.Took.Estimate >= 0 {
			s.Estimate = &q.Took.Estimate
		}
		if q.Err != nil {
			s.Error = q.Err.Error()
		}
		if q.Plan != nil {
			s.Plan = summary.AppendPlan(nil, q.Plan)
		}
		out = append(out, s)
	}
	writeJSON(w, map[string]any{"queries": out})
}

type operationJSON struct {
	Kind        string  `json:"kind"`
	Graph       string  `json:"graph,omitempty"`
	Fingerprint string  `json:"fingerprint,omitempty"`
	Text        string  `json:"text"`
	Calls       uint64  `json:"calls"`
	Errors      uint64  `json:"errors"`
	Rows        int64   `json:"rows"`
	Rate        float64 `json:"rate"`
	MeanMs      float64 `json:"meanMs"`
	P99Ms       float64 `json:"p99Ms"`
	Share       float64 `json:"share"`
}

// top counts operations for an interval and returns the counts.
func (h *Handler) top(w http.ResponseWriter, r *http.Request) {
	ms, err := number(r, "intervalMs", usualInterval.Milliseconds(), shortestInterval.Milliseconds(), longestInterval.Milliseconds())
	if err != nil {
		wire.Fail(w, err)
		return
	}
	t := request.NewTop(time.Now())
	remove := h.e.Watch().Add(&watch.Watcher{Ended: t.Add})
	defer remove()
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return // the client is gone
	case <-h.host.Drained.Done():
		wire.Fail(w, wire.Draining())
		return
	}
	if err := access.CheckEvery(r.Context(), access.Admin); err != nil { // it may have changed meanwhile
		wire.Fail(w, err)
		return
	}
	i := t.Take(time.Now())
	out := []operationJSON{}
	for _, o := range i.Operations {
		out = append(out, operationJSON{
			o.Kind, o.Graph, o.Fingerprint, o.Text, o.Calls, o.Errors, o.Rows, o.Rate, milliseconds(o.Mean), milliseconds(o.P99), o.Share,
		})
	}
	writeJSON(w, map[string]any{"end": i.End, "intervalMs": milliseconds(i.Length), "operations": out})
}

type shardJSON struct {
	Shard              int     `json:"shard"`
	DiskBytes          uint64  `json:"diskBytes"`
	ReadAmplification  int     `json:"readAmplification"`
	WriteAmplification float64 `json:"writeAmplification"`
	TopologyBytes      int64   `json:"topologyCacheBytes"`
	TopologyHits       uint64  `json:"topologyCacheHits"`
	TopologyMisses     uint64  `json:"topologyCacheMisses"`
	BlockReadBytes     uint64  `json:"blockReadBytes"`
	BlockFoundBytes    uint64  `json:"blockFoundBytes"`
}

// shards returns the shapes of a graph's shards.
func (h *Handler) shards(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("graph")
	if _, err := h.e.Schema(r.Context(), name); err != nil { // fails if the graph does not exist
		wire.Fail(w, err)
		return
	}
	if name == "" {
		name = query.DefaultGraph
	}
	out := []shardJSON{}
	if h.host.Store != nil {
		shapes, err := telemetry.Shapes(r.Context(), h.host.Store, name)
		if err != nil {
			wire.Fail(w, err)
			return
		}
		for i := range shapes {
			s := &shapes[i]
			g, v := &s.Graph, &s.Values
			out = append(out, shardJSON{
				s.Shard, g.DiskBytes + v.DiskBytes, g.ReadAmplification, g.WriteAmplification(),
				int64(s.Cache.Used), s.Topology.Hits, s.Topology.Misses + s.Topology.Stale, g.BlockRead + v.BlockRead, g.BlockFound + v.BlockFound,
			})
		}
	}
	writeJSON(w, map[string]any{"shards": out})
}

// profile takes a CPU profile and returns its stacks as a tree, optionally for one statement by its fingerprint.
func (h *Handler) profile(w http.ResponseWriter, r *http.Request) {
	seconds, err := number(r, "seconds", int64(usualProfile.Seconds()), 1, int64(longestProfile.Seconds()))
	if err != nil {
		wire.Fail(w, err)
		return
	}
	defer h.host.Profiles.Yield()()
	defer h.e.LabelProfiles()()
	p, err := request.CPUProfile(r.Context(), time.Duration(seconds)*time.Second)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	if err := access.CheckEvery(r.Context(), access.Admin); err != nil { // it may have changed meanwhile
		wire.Fail(w, err)
		return
	}
	tree := flame.Of(p, r.URL.Query().Get("statement"))
	writeJSON(w, map[string]any{"unit": "nanoseconds", "seconds": seconds, "tree": tree})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// number reads a query parameter.
func number(r *http.Request, name string, usual, least, most int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, wire.RequestError(name + ": must be a whole number from " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10))
	}
	return n, nil
}
