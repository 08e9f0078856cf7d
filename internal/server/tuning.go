package server

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync"

	"github.com/felixge/fgprof"

	"github.com/hopgate/hopgate/internal/query"
)

// Tuning is what can be set while the server runs, by GET and PUT /debug/settings: the level of the log, and how much of
// contention is profiled.
type Tuning struct {
	Level *slog.LevelVar // nil: the level cannot be set

	mu     sync.Mutex
	values settings
}

// settings are the values of Tuning in JSON; what is not there stays as it is.
type settings struct {
	LogLevel      *slog.Level `json:"logLevel,omitempty"`
	MutexFraction *int        `json:"mutexFraction,omitempty"` // one in so many events of contention
	BlockNanos    *int        `json:"blockNanos,omitempty"`    // one event for so much waiting
}

// Set puts values in force.
func (t *Tuning) Set(mutexFraction, blockNanos int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(settings{MutexFraction: &mutexFraction, BlockNanos: &blockNanos})
}

// set puts values in force. t.mu is held.
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
			fail(w, requestError("settings: "+err.Error()))
			return
		}
		if s.MutexFraction != nil && *s.MutexFraction < 0 || s.BlockNanos != nil && *s.BlockNanos < 0 {
			fail(w, requestError("settings: must not be negative"))
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
		panic(err) // numbers and names can always be written
	}
	writeJSON(w, mediaPlain, http.StatusOK, append(text, '\n'))
}

// NewDebug makes the handler of profiles and settings below /debug/. e, whose requests label their profiles, may be nil.
func NewDebug(e *query.Engine, t *Tuning) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		if e != nil {
			defer e.LabelProfiles()()
		}
		pprof.Profile(w, r)
	})
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("/debug/fgprof", fgprof.Handler())
	mux.Handle("GET /debug/settings", t)
	mux.Handle("PUT /debug/settings", t)
	return mux
}
