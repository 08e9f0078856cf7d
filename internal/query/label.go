package query

import (
	"context"
	"runtime/pprof"

	"github.com/hopgate/hopgate/internal/query/watch"
)

// maxLabel is how many characters of a statement's text a label holds.
const maxLabel = 240

// LabelProfiles labels the goroutines of requests that begin from now on, until the returned function is called: with graph,
// statement (the fingerprint), text (the shape, cut) and, while rows are computed, operator. Profiles can be split by these.
func (e *Engine) LabelProfiles() (stop func()) {
	e.labelled.Add(1)
	return func() { e.labelled.Add(-1) }
}

// label labels the goroutine of a request while a profile is taken; unlabel ends that.
func (e *Engine) label(ctx context.Context, q *Running) {
	if e.labelled.Load() == 0 || q.quiet {
		return
	}
	digits, text := watch.Fingerprint(q.kind, q.Statement)
	if r := []rune(text); len(r) > maxLabel {
		text = string(r[:maxLabel-1]) + "…"
	}
	labelled := pprof.WithLabels(ctx, pprof.Labels("graph", q.Graph, "statement", digits, "text", text))
	pprof.SetGoroutineLabels(labelled)
	q.labels = &labelled
}

func (q *Running) unlabel() {
	if q.labels != nil {
		pprof.SetGoroutineLabels(context.Background())
	}
}
