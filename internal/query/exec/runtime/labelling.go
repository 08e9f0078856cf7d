package runtime

import (
	"context"
	"runtime/pprof"

	"github.com/hopgate/hopgate/internal/query/plan"
)

// labelling is how a run labels its goroutine while it is profiled.
type labelling struct {
	ops []context.Context // by stage
	now context.Context
}

// label begins to label the goroutine by the operators at work.
func (r *Run) label(none context.Context) {
	l := &labelling{ops: make([]context.Context, len(r.Program.Stages)), now: none}
	for i, s := range r.Program.Stages {
		name, _ := plan.Describe(r.Program.Query, s.Node)
		l.ops[i] = pprof.WithLabels( //nolint:fatcontext // Each is made of none.
			none, pprof.Labels("operator", name))
	}
	r.labels = l
}

// enter labels the goroutine with a stage until the function is called that it gives.
func (l *labelling) enter(stage int) func() {
	outer := l.now
	l.now = l.ops[stage]
	pprof.SetGoroutineLabels(l.now)
	return func() {
		l.now = outer
		pprof.SetGoroutineLabels(outer)
	}
}
