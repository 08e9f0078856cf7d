package exec

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

// tell lets others see what the run holds; a is the account that has changed.
func (r *run) tell(a *account) {
	if h := r.env.Held; h != nil {
		h.bytes.Store(r.bytes)
		h.operator.Store(&a.name)
	}
}
