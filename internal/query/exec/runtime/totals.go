package runtime

import (
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
)

// Totals are what the operators of all runs have done and have asked the shards for. A run adds to them when it is closed.
type Totals struct {
	requests [NumRequests]atomic.Uint64
	mu       sync.Mutex
	byName   map[string]*OperatorTotal
}

// OperatorTotal is what the operators of one kind have done.
type OperatorTotal struct {
	Rows, Batches, Spilled atomic.Uint64 // given, and bytes written to disk
}

// Operators gives a copy of the totals by the names of plan nodes.
func (t *Totals) Operators() map[string]*OperatorTotal {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]*OperatorTotal, len(t.byName))
	maps.Copy(out, t.byName)
	return out
}

// Requests gives how many requests the shards were sent, by their names.
func (t *Totals) Requests() map[string]uint64 {
	out := make(map[string]uint64, NumRequests)
	for i, name := range requestNames {
		out[name] = t.requests[i].Load()
	}
	return out
}

// operators gives the totals of a plan's stages.
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

// AddTotals adds what a run has done to the totals, if anybody wants to know.
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

// stageTotals are where the stages of a plan count.
type stageTotals struct {
	t      *Totals
	stages []*OperatorTotal
}
