package fresh

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// Answer is the complete answer to a read, whose values do not depend on its transaction.
type Answer struct {
	Columns  []string
	Batches  []*graph.Batch
	Counters exec.Counters
	Hops     []exec.HopCount
}

// Own returns batches with the rows of the answer whose lengths the caller may change, but not their values.
func (a *Answer) Own() []*graph.Batch {
	out := make([]*graph.Batch, len(a.Batches))
	for i, b := range a.Batches {
		own := *b
		out[i] = &own
	}
	return out
}

// answerBytes is about what an answer takes beside its values.
const answerBytes = 512

// BytesOf returns about how much memory the values of a batch take.
func BytesOf(b *graph.Batch) (n int) {
	for i := range b.Cols {
		for _, v := range b.Cols[i].Vals {
			n += memory.ValueSize(v)
		}
	}
	return n
}
