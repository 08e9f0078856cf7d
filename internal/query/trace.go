package query

import (
	"time"

	"github.com/hopgate/hopgate/internal/query/exec"
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

// trace records how a request spends its time. A nil trace records nothing. Only one goroutine uses it at a time.
type trace struct {
	arrival   time.Time
	current   string    // the current stage
	mark      time.Time // start of the current stage
	stages    []*Stage
	operators []*Stage // of executed plans
	kept      int      // operators, including those below them
	streams   bool     // rows are encoded while others are computed
	pulled    time.Duration
}

// enter ends the current stage and begins another.
func (t *trace) enter(name string) {
	if t == nil {
		return
	}
	now := time.Now()
	t.close(now)
	t.current, t.mark = name, now
}

// close ends the current stage.
func (t *trace) close(now time.Time) {
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

// stream says that from now on only pull executes the request.
func (t *trace) stream() {
	if t != nil {
		t.streams, t.pulled = true, time.Since(t.mark)
	}
}

// began returns the current time for pull, or zero if nothing is traced.
func (t *trace) began() (at time.Time) {
	if t != nil {
		at = time.Now()
	}
	return at
}

// pull adds the time since rows began to be computed.
func (t *trace) pull(began time.Time) {
	if t != nil {
		t.pulled += time.Since(began)
	}
}

// executed records the work of a plan's operators.
func (t *trace) executed(p *exec.Prepared, rows *exec.Rows) {
	if t == nil || t.kept >= maxTraced {
		return
	}
	var tree func(n *PlanNode) *Stage
	tree = func(n *PlanNode) *Stage {
		t.kept++
		s := &Stage{Name: n.Operator, Detail: n.Args, Time: n.Time, Rows: n.Rows, Requests: n.Requests, Bytes: n.Bytes}
		for _, c := range n.Children {
			s.Stages = append(s.Stages, tree(c))
		}
		return s
	}
	t.operators = append(t.operators, tree(explain(p, rows.Stats(), nil)))
}

// end ends the last stage and returns all stages.
func (t *trace) end() []*Stage {
	t.close(time.Now())
	return t.stages
}
