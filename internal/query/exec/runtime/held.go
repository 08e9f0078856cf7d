package runtime

import "sync/atomic"

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
	Pools []*Pool // of the run
	held  *Held   // the bytes that Charge has charged; nil: none
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
		if p.held.Add(k.Bytes) > p.Limit {
			p.Relieve(p)
		}
	}
}

// Release undoes Charge.
func (k *Retained) Release() {
	if k.held == nil {
		return
	}
	k.held.bytes.Add(-k.Bytes)
	for _, p := range k.Pools {
		p.held.Add(-k.Bytes)
	}
	*k = Retained{}
}

// Pool bounds the memory of all runs of a process or of one owner. It is safe for concurrent use.
type Pool struct {
	Limit int64  // bytes
	Owner string // of the runs; "": all owners
	// A run that grows calls Relieve when the pool exceeds its limit. Relieve cancels runs of its choice.
	Relieve func(*Pool)
	held    atomic.Int64
}

// Held is the memory of all runs, within poolStep for each.
func (p *Pool) Held() int64 { return p.held.Load() }

// Take adds memory that no run holds, if the pool has room for it.
func (p *Pool) Take(bytes int64) bool {
	if p.held.Add(bytes) > p.Limit {
		p.held.Add(-bytes)
		return false
	}
	return true
}

// Give returns memory that Take added.
func (p *Pool) Give(bytes int64) { p.held.Add(-bytes) }

// underPressure reports whether a pool is more than half full.
func underPressure(pools []*Pool) bool {
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
		if p.held.Add(more) > p.Limit && more > 0 {
			p.Relieve(p)
		}
	}
}
