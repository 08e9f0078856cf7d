package runtime

import (
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/memory"
)

// Held publishes the memory that the operators of a run hold. It is safe for concurrent use.
type Held struct {
	bytes    atomic.Int64
	operator atomic.Pointer[string]
}

// Bytes is the sum over all operators.
func (h *Held) Bytes() int64 { return h.bytes.Load() }

// Operator is the one that allocated last; "" if none has.
func (h *Held) Operator() string {
	if name := h.operator.Load(); name != nil {
		return *name
	}
	return ""
}

// Clear resets Held at the end of a run.
func (h *Held) Clear() {
	h.bytes.Store(0)
	h.operator.Store(nil)
}

// Retained is the memory of rows that outlive their run until the client fetches them. The zero Retained is empty.
type Retained struct {
	Bytes int64
	Pools []*memory.Pool // of the run
	held  *Held          // the bytes that Charge has charged; nil: none
}

// retainedName replaces an operator's name if buffered results hold the most memory.
var retainedName = "Result"

// Charge counts the memory in h and in the pools until Release.
func (k *Retained) Charge(h *Held) {
	if k.Bytes == 0 {
		return
	}
	k.held = h
	h.bytes.Add(k.Bytes)
	h.operator.Store(&retainedName)
	for _, p := range k.Pools {
		p.Grow(k.Bytes)
	}
}

// Release undoes Charge.
func (k *Retained) Release() {
	if k.held == nil {
		return
	}
	k.held.bytes.Add(-k.Bytes)
	for _, p := range k.Pools {
		p.Give(k.Bytes)
	}
	*k = Retained{}
}

// underPressure reports whether a pool is more than half full.
func underPressure(pools []*memory.Pool) bool {
	for _, p := range pools {
		if p.Held() > p.Limit/2 {
			return true
		}
	}
	return false
}

// poolStep is the change of a run's memory, in bytes, from which it updates its pools, so that small runs do not contend.
const poolStep = 64 << 10

// publish updates Held and the pools; a is the account that has changed.
func (r *Run) publish(a *Account) {
	if h := r.Env.Held; h != nil {
		h.bytes.Store(r.bytes)
		h.operator.Store(&a.Name)
	}
	if d := r.bytes - r.pooled; d >= poolStep || d <= -poolStep {
		r.publishPools(d)
	}
}

// publishPools adds to the pools.
func (r *Run) publishPools(more int64) {
	if len(r.Env.Pools) == 0 || more == 0 {
		return
	}
	r.pooled += more
	for _, p := range r.Env.Pools {
		p.Grow(more)
	}
}
