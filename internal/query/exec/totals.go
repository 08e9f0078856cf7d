package exec

import (
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
)

// Totals are what the operators of all runs have done and have asked the shards for. A run adds to them when it is closed.
type Totals struct {
	requests [numRequests]atomic.Uint64
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
	out := make(map[string]uint64, numRequests)
	for i, name := range requestNames {
		out[name] = t.requests[i].Load()
	}
	return out
}

// operators gives the totals of a plan's stages.
func (t *Totals) operators(stages []*stage) []*OperatorTotal {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]*OperatorTotal{}
	}
	out := make([]*OperatorTotal, len(stages))
	for i, s := range stages {
		name := reflect.TypeOf(s.node).Elem().Name()
		if t.byName[name] == nil {
			t.byName[name] = &OperatorTotal{}
		}
		out[i] = t.byName[name]
	}
	return out
}

// total adds what a run has done to the totals, if anybody wants to know.
func (r *run) total() {
	t := r.env.Totals
	if t == nil {
		return
	}
	of := r.p.totals.Load()
	if of == nil || of.t != t {
		of = &stageTotals{t, t.operators(r.p.stages)}
		r.p.totals.Store(of)
	}
	for i := range r.stats {
		if st := &r.stats[i]; st.Batches > 0 {
			of.stages[i].Rows.Add(uint64(st.Rows))
			of.stages[i].Batches.Add(uint64(st.Batches))
			if st.Spilled > 0 {
				of.stages[i].Spilled.Add(uint64(st.Spilled))
			}
		}
	}
	for i, n := range r.tally.n {
		if n > 0 {
			t.requests[i].Add(uint64(n))
			r.tally.n[i] = 0
		}
	}
}

// stageTotals are where the stages of a plan count.
type stageTotals struct {
	t      *Totals
	stages []*OperatorTotal
}
