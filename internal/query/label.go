package query

import (
	"context"
	"runtime/pprof"
)

// LabelProfiles has the requests that begin from now on label their goroutines, until the function is called that it
// gives: with graph, statement (the fingerprint) and, while its rows are computed, operator. Profiles can be split by these.
func (e *Engine) LabelProfiles() (stop func()) {
	e.labelled.Add(1)
	return func() { e.labelled.Add(-1) }
}

// label labels the goroutine of a request, if anybody wants to know. unlabel ends that.
func (e *Engine) label(ctx context.Context, q *Running) {
	if e.labelled.Load() == 0 || q.quiet {
		return
	}
	digits, _ := Fingerprint(q.kind, q.Statement)
	q.labels = pprof.WithLabels(ctx, pprof.Labels("graph", q.Graph, "statement", digits))
	pprof.SetGoroutineLabels(q.labels)
}

func (q *Running) unlabel() {
	if q.labels != nil {
		pprof.SetGoroutineLabels(context.Background())
	}
}
