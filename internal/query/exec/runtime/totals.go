package runtime

import (
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
)

// Totals count the work of the operators of all runs, and their requests to shards. A run adds to them when it closes.
type Totals struct {
	requests [NumRequests]atomic.Uint64
	mu       sync.Mutex
	byName   map[string]*OperatorTotal
}

// OperatorTotal counts the work of one kind of operators.
type OperatorTotal struct {
	Rows, Batches, Spilled atomic.Uint64 // rows and batches returned, and bytes written to disk
}

// Operators returns a copy of the totals by plan node.
func (t *Totals) Operators() map[string]*OperatorTotal {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]*OperatorTotal, len(t.byName))
	maps.Copy(out, t.byName)
	return out
}

// Requests returns the number of requests to shards by kind.
func (t *Totals) Requests() map[string]uint64 {
	out := make(map[string]uint64, NumRequests)
	for i, name := range requestNames {
		out[name] = t.requests[i].Load()
	}
	return out
}

// operators returns the totals of a plan's stages.
func (t *Totals) operators(stages []*Stage) []*OperatorTotal {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]*OperatorTotal{}
	}
	out := make([]*OperatorTotal, len(stages))
	for i, s := range stages {
		name := reflect.TypeOf(s.Node).Elem().Name()
		if t.byName[name] == nil {
			t.byName[name] = &OperatorTotal{}
		}
		out[i] = t.byName[name]
	}
	return out
}

// AddTotals adds the counters of a run to the totals, if there are any.
func (r *Run) AddTotals() {
	t := r.Env.Totals
	if t == nil {
		return
	}
	of := r.Program.totals.Load()
	if of == nil || of.t != t {
		of = &stageTotals{t, t.operators(r.Program.Stages)}
		r.Program.totals.Store(of)
	}
	for i := range r.Stats {
		if st := &r.Stats[i]; st.Batches > 0 {
			of.stages[i].Rows.Add(uint64(st.Rows))
			of.stages[i].Batches.Add(uint64(st.Batches))
			if st.Spilled > 0 {
				of.stages[i].Spilled.Add(uint64(st.Spilled))
			}
		}
	}
	for i, n := range r.Tally.n {
		if n > 0 {
			t.requests[i].Add(uint64(n))
			r.Tally.n[i] = 0
		}
	}
}

// stageTotals are the totals that the stages of a plan add to.
type stageTotals struct {
	t      *Totals
	stages []*OperatorTotal
}
