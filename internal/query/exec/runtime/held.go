package runtime

import "sync/atomic"

// Held is what the operators of a run hold now, for others to see while it goes on.
type Held struct {
	bytes    atomic.Int64
	operator atomic.Pointer[string]
}

// Bytes is the sum over all operators.
func (h *Held) Bytes() int64 { return h.bytes.Load() }

// Operator is the one that took memory last, "" before any did.
func (h *Held) Operator() string {
	if name := h.operator.Load(); name != nil {
		return *name
	}
	return ""
}

// Clear says that the run has ended and holds nothing.
func (h *Held) Clear() {
	h.bytes.Store(0)
	h.operator.Store(nil)
}

// Kept is the memory of rows that outlive their run, until their client asks for them. The zero Kept is none.
type Kept struct {
	Bytes int64
	Pools []*Pool // of the run
	held  *Held   // that it is charged to; nil: none yet
}

// keptName stands for an operator where rows in memory hold the most.
var keptName = "Result"

// Charge counts the memory in h and in the pools, until Release.
func (k *Kept) Charge(h *Held) {
	if k.Bytes == 0 {
		return
	}
	k.held = h
	h.bytes.Add(k.Bytes)
	h.operator.Store(&keptName)
	for _, p := range k.Pools {
		if p.held.Add(k.Bytes) > p.Limit {
			p.Relieve(p)
		}
	}
}

// Release gives back what Charge has counted.
func (k *Kept) Release() {
	if k.held == nil {
		return
	}
	k.held.bytes.Add(-k.Bytes)
	for _, p := range k.Pools {
		p.held.Add(-k.Bytes)
	}
	*k = Kept{}
}

// Pool bounds what all runs of a process, or of one owner, hold together. It is safe for concurrent use.
type Pool struct {
	Limit int64  // bytes
	Owner string // whose runs they are; "": all
	// Relieve is called by a run that holds more when all hold too much. It ends whom it will, by their contexts.
	Relieve func(*Pool)
	held    atomic.Int64
}

// Held is what all runs hold, give or take poolStep for each.
func (p *Pool) Held() int64 { return p.held.Load() }

// crowded reports whether half of what all runs may hold is held.
func crowded(pools []*Pool) bool {
	for _, p := range pools {
		if p.Held() > p.Limit/2 {
			return true
		}
	}
	return false
}

// poolStep is how many bytes a run may hold more or less than its pool knows of, so that small runs do not meet there.
const poolStep = 64 << 10

// tell lets others see what the run holds; a is the account that has changed.
func (r *Run) tell(a *Account) {
	if h := r.Env.Held; h != nil {
		h.bytes.Store(r.bytes)
		h.operator.Store(&a.Name)
	}
	if d := r.bytes - r.pooled; d >= poolStep || d <= -poolStep {
		r.tellPools(d)
	}
}

// tellPools adds to what all runs hold.
func (r *Run) tellPools(more int64) {
	if len(r.Env.Pools) == 0 || more == 0 {
		return
	}
	r.pooled += more
	for _, p := range r.Env.Pools {
		if p.held.Add(more) > p.Limit && more > 0 {
			p.Relieve(p)
		}
	}
}
