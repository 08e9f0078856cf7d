package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/felixge/fgprof"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// Tuning holds what GET and PUT /debug/settings show and change at run time: the log level and the rates of contention profiles.
type Tuning struct {
	Level *slog.LevelVar // nil: the level cannot be set

	mu     sync.Mutex
	values settings
}

// settings is the JSON form of Tuning. Absent members stay unchanged.
type settings struct {
	LogLevel      *slog.Level `json:"logLevel,omitempty"`
	MutexFraction *int        `json:"mutexFraction,omitempty"` // samples 1 of n contention events; 0 disables
	BlockNanos    *int        `json:"blockNanos,omitempty"`    // samples one event per so many nanoseconds of blocking; 0 disables
}

// Set applies values.
func (t *Tuning) Set(mutexFraction, blockNanos int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(settings{MutexFraction: &mutexFraction, BlockNanos: &blockNanos})
}

// set applies values. t.mu is held.
func (t *Tuning) set(s settings) {
	if s.LogLevel != nil && t.Level != nil {
		t.Level.Set(*s.LogLevel)
	}
	if s.MutexFraction != nil {
		runtime.SetMutexProfileFraction(*s.MutexFraction)
		t.values.MutexFraction = s.MutexFraction
	}
	if s.BlockNanos != nil {
		runtime.SetBlockProfileRate(*s.BlockNanos)
		t.values.BlockNanos = s.BlockNanos
	}
}

func (t *Tuning) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Method == http.MethodPut {
		var s settings
		d := json.NewDecoder(io.LimitReader(r.Body, 4096))
		d.DisallowUnknownFields()
		if err := d.Decode(&s); err != nil {
			wire.Fail(w, wire.RequestError("settings: "+err.Error()))
			return
		}
		if s.MutexFraction != nil && *s.MutexFraction < 0 || s.BlockNanos != nil && *s.BlockNanos < 0 {
			wire.Fail(w, wire.RequestError("settings: must not be negative"))
			return
		}
		t.set(s)
	}
	now := t.values
	if t.Level != nil {
		level := t.Level.Level()
		now.LogLevel = &level
	}
	text, err := json.Marshal(now)
	if err != nil {
		panic(err) // encoding numbers and names cannot fail
	}
	wire.WriteJSON(w, wire.MediaPlain, http.StatusOK, append(text, '\n'))
}

// listProfiles answers GET /debug/profiles.
func listProfiles(kept *telemetry.Profiles, w http.ResponseWriter) {
	list, err := kept.List()
	if err != nil {
		wire.Fail(w, err)
		return
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		panic(err) // encoding numbers and names cannot fail
	}
	wire.WriteJSON(w, wire.MediaPlain, http.StatusOK, append(text, '\n'))
}

// sendProfiles answers GET /debug/profiles/cpu and heap for the period from "from" to "until"; both are optional.
func sendProfiles(kept *telemetry.Profiles, w http.ResponseWriter, r *http.Request) {
	times := [2]time.Time{{}, time.Now()}
	for i, name := range []string{"from", "until"} {
		text := r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			wire.Fail(w, wire.RequestError(name+": must be a time such as 2026-01-02T15:04:05Z"))
			return
		}
		times[i] = at
	}
	var b bytes.Buffer
	if err := KeptProfile(kept, r.PathValue("kind"), times[0], times[1], &b); err != nil {
		wire.Fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+r.PathValue("kind")+`.pb.gz"`)
	_, _ = b.WriteTo(w)
}

// NewDebug returns the handler of profiles and settings below /debug/. e, whose requests label the profiles, and kept may be nil.
func NewDebug(e *query.Engine, t *Tuning, kept *telemetry.Profiles) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		defer kept.Yield()()
		if e != nil {
			defer e.LabelProfiles()()
		}
		pprof.Profile(w, r)
	})
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("/debug/fgprof", fgprof.Handler())
	mux.HandleFunc("GET /debug/profiles", func(w http.ResponseWriter, _ *http.Request) { listProfiles(kept, w) })
	mux.HandleFunc("GET /debug/profiles/{kind}", func(w http.ResponseWriter, r *http.Request) { sendProfiles(kept, w, r) })
	mux.Handle("GET /debug/settings", t)
	mux.Handle("PUT /debug/settings", t)
	return mux
}

// KeptProfile writes the kept profiles of a kind within a period, merged.
func KeptProfile(kept *telemetry.Profiles, kind string, from, until time.Time, b *bytes.Buffer) error {
	if kind != "cpu" && kind != "heap" {
		return wire.RequestError("kind: must be cpu or heap for what was kept, was " + strconv.Quote(kind))
	}
	err := kept.Between(kind, from, until, b)
	if errors.Is(err, telemetry.ErrNoProfile) {
		e := graph.RequestError(graph.KindNotFound, "NoProfile", "%s", err)
		e.Phase = graph.PhaseRuntime
		return e
	}
	return err
}
