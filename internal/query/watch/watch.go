// Package watch tells watchers of the requests of an engine as they end, with their stages, and keeps the latest and the slowest of them.
package watch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fingerprint"
)

// Fingerprint identifies requests that differ only in their values; see fingerprint.Of.
func Fingerprint(kind Kind, statement string) (digits, text string) {
	return fingerprint.Of(string(kind), statement, kind == FetchKind)
}

// Kind is the kind of operation that a request is.
type Kind string

// The kinds of operations. A route may contain operations of the other kinds.
const (
	StatementKind Kind = "statement"
	FetchKind     Kind = "fetch"
	TraversalKind Kind = "traversal"
	RouteKind     Kind = "route"
)

// Ended describes an ended request.
type Ended struct {
	ID        uint64
	Kind      Kind
	Graph     string
	Statement string    // for a route, its name
	Start     time.Time // when it arrived, if known
	Elapsed   time.Duration
	Rows      int64
	Failed    bool
	Took      cost.Cost // nothing for a route
	Err       error
	Context   context.Context // of the request, for its values; nil for a route
	Stages    []*Stage        // nil unless a watcher wanted stages when it began
}

// Watcher is notified of requests as they end.
type Watcher struct {
	// Stages says that the watcher wants the stages of each request.
	Stages bool
	// Parameters says that the watcher wants the parameters of statements.
	Parameters bool
	// Ended is called by the goroutine of each request, concurrently, and must not block.
	Ended func(*Ended)
}

// Watch notifies watchers of requests and keeps the last ended ones. Without watchers it costs a request two atomic loads and a
// copy of a few words. Its zero value is ready; nil has no watchers.
type Watch struct {
	latest   latest
	watchers atomic.Pointer[[]*Watcher] // nil: none
	tracing  atomic.Int32               // number of watchers that want stages
	params   atomic.Int32               // number of watchers that want parameters
	mu       sync.Mutex                 // guards changes
}

// Add adds a watcher until the returned function is called.
func (w *Watch) Add(one *Watcher) (remove func()) {
	w.change(func(all []*Watcher) []*Watcher { return append(all, one) })
	if one.Stages {
		w.tracing.Add(1)
	}
	if one.Parameters {
		w.params.Add(1)
	}
	return sync.OnceFunc(func() {
		if one.Stages {
			w.tracing.Add(-1)
		}
		if one.Parameters {
			w.params.Add(-1)
		}
		w.change(func(all []*Watcher) []*Watcher {
			return slices.DeleteFunc(all, func(o *Watcher) bool { return o == one })
		})
	})
}

// change replaces the list of watchers.
func (w *Watch) change(f func([]*Watcher) []*Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*Watcher
	if old := w.watchers.Load(); old != nil {
		all = slices.Clone(*old)
	}
	if all = f(all); len(all) == 0 {
		w.watchers.Store(nil)
		return
	}
	w.watchers.Store(&all)
}

// Tracing reports whether a watcher wants the stages of requests.
func (w *Watch) Tracing() bool { return w != nil && w.tracing.Load() > 0 }

// Watched reports whether there are watchers.
func (w *Watch) Watched() bool { return w != nil && w.watchers.Load() != nil }

// Notify notifies all watchers of a request.
func (w *Watch) Notify(r *Ended) {
	if w == nil {
		return
	}
	if all := w.watchers.Load(); all != nil {
		for _, one := range *all {
			one.Ended(r)
		}
	}
}

type parametersKey struct{}

// WithParameters returns a context with the parameters of a statement, if a watcher wants them.
func (w *Watch) WithParameters(ctx context.Context, p map[string]graph.Value) context.Context {
	if w.params.Load() == 0 || len(p) == 0 {
		return ctx
	}
	return context.WithValue(ctx, parametersKey{}, p)
}

// Parameters returns the parameters of WithParameters, or nil.
func Parameters(ctx context.Context) map[string]graph.Value {
	p, _ := ctx.Value(parametersKey{}).(map[string]graph.Value)
	return p
}

type arrivalKey struct{}

// Arrived returns a context with the request's arrival time, if a watcher wants it.
func (w *Watch) Arrived(ctx context.Context, at time.Time) context.Context {
	if !w.Tracing() {
		return ctx
	}
	return context.WithValue(ctx, arrivalKey{}, at)
}

// Begin starts the trace of a request that began at start, if a watcher wants one; nil otherwise.
func (w *Watch) Begin(ctx context.Context, start time.Time) *Trace {
	if w.tracing.Load() == 0 {
		return nil
	}
	t := &Trace{arrival: start, current: "queue", mark: start}
	if at, ok := ctx.Value(arrivalKey{}).(time.Time); ok {
		t.arrival = at
		t.stages = append(t.stages, &Stage{Name: "decode", Time: start.Sub(at)})
	}
	return t
}

// End keeps an ended request and notifies watchers of it, with the stages of its trace, its error and the values of its context.
func (w *Watch) End(ctx context.Context, r Ended, t *Trace, err error) {
	r.Failed = err != nil
	w.latest.add(r)
	if !w.Watched() {
		return
	}
	told := r // on the heap only if somebody watches
	told.Err, told.Context = err, ctx
	if t != nil {
		told.Stages = t.end()
		told.Start, told.Elapsed = t.arrival, r.Elapsed+r.Start.Sub(t.arrival)
	}
	w.Notify(&told)
}
