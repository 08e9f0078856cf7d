package runtime

import (
	"context"
	"runtime/pprof"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// labelling labels a run's goroutine for the profiler.
type labelling struct {
	ops []context.Context // by stage
	now context.Context
}

// label starts to label the goroutine with the current operators.
func (r *Run) label(none context.Context) {
	l := &labelling{ops: make([]context.Context, len(r.Program.Stages)), now: none}
	for i, s := range r.Program.Stages {
		name, _ := plan.Describe(r.Program.Query, s.Node)
		l.ops[i] = pprof.WithLabels( //nolint:fatcontext // Each is made of none.
			none, pprof.Labels("operator", name))
	}
	r.labels = l
}

// enter labels the goroutine with a stage until the returned function is called.
func (l *labelling) enter(stage int) func() {
	outer := l.now
	l.now = l.ops[stage]
	pprof.SetGoroutineLabels(l.now)
	return func() {
		l.now = outer
		pprof.SetGoroutineLabels(outer)
	}
}
