package watch

import (
	"time"

	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/explain"
)

// Stage is a part of a request's work.
type Stage struct {
	// Name is decode, queue, plan, begin, execute, commit, encode, or an operator's.
	Name, Detail string
	// Time includes the stages below, except for operators, which exclude their inputs.
	Time     time.Duration
	Rows     int64
	Requests int64 // to shards
	Bytes    int64 // that they gave
	Stages   []*Stage
}

// maxTraced bounds the operators of a trace: a fetch runs as many plans as it has tables and rows above them.
const maxTraced = 256

// Trace records how a request spends its time. A nil Trace records nothing. Only one goroutine uses it at a time.
type Trace struct {
	arrival   time.Time
	current   string    // the current stage
	mark      time.Time // start of the current stage
	stages    []*Stage
	operators []*Stage // of executed plans
	kept      int      // operators, including those below them
	streams   bool     // rows are encoded while others are computed
	pulled    time.Duration
}

// Enter ends the current stage and begins another.
func (t *Trace) Enter(name string) {
	if t == nil {
		return
	}
	now := time.Now()
	t.close(now)
	t.current, t.mark = name, now
}

// close ends the current stage.
func (t *Trace) close(now time.Time) {
	s := &Stage{Name: t.current, Time: now.Sub(t.mark)}
	t.stages = append(t.stages, s)
	if t.current != "execute" {
		return
	}
	s.Stages, t.operators = t.operators, nil
	if t.streams {
		t.stages = append(t.stages, &Stage{Name: "encode", Time: max(0, s.Time-t.pulled)})
		s.Time = min(s.Time, t.pulled)
	}
}

// Stream says that from now on only Pull executes the request.
func (t *Trace) Stream() {
	if t != nil {
		t.streams, t.pulled = true, time.Since(t.mark)
	}
}

// Began returns the current time for Pull, or zero if nothing is traced.
func (t *Trace) Began() (at time.Time) {
	if t != nil {
		at = time.Now()
	}
	return at
}

// Pull adds the time since rows began to be computed.
func (t *Trace) Pull(began time.Time) {
	if t != nil {
		t.pulled += time.Since(began)
	}
}

// Executed records the work of a plan's operators.
func (t *Trace) Executed(p *exec.Prepared, rows *exec.Rows) {
	if t == nil || t.kept >= maxTraced {
		return
	}
	var tree func(n *explain.Node) *Stage
	tree = func(n *explain.Node) *Stage {
		t.kept++
		s := &Stage{Name: n.Operator, Detail: n.Args, Time: n.Time, Rows: n.Rows, Requests: n.Requests, Bytes: n.Bytes}
		for _, c := range n.Children {
			s.Stages = append(s.Stages, tree(c))
		}
		return s
	}
	t.operators = append(t.operators, tree(explain.Tree(p, rows.Stats(), nil)))
}

// end ends the last stage and returns all stages.
func (t *Trace) end() []*Stage {
	t.close(time.Now())
	return t.stages
}
