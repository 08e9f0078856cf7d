package watch

import (
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/cost"
)

// TookKinds are the kinds of requests in Took, in their order.
var TookKinds = [...]Kind{StatementKind, TraversalKind, FetchKind}

// Took counts what requests took, by kind; CPU is in nanoseconds.
type Took [len(TookKinds)]struct{ Visits, Bytes, CPU atomic.Uint64 }

// Add adds a request. One of another kind counts as a statement.
func (t *Took) Add(kind Kind, took *cost.Cost) {
	of := 0
	for i, k := range TookKinds {
		if k == kind {
			of = i
		}
	}
	t[of].Visits.Add(uint64(took.Visits))
	t[of].Bytes.Add(uint64(took.Bytes))
	t[of].CPU.Add(uint64(took.CPU))
}
