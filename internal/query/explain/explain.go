// Package explain shows plans as EXPLAIN and PROFILE do.
package explain

import (
	"time"

	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Node is an operator as EXPLAIN and PROFILE show it.
type Node struct {
	Operator, Args string
	Variables      []string // in its rows
	// Estimate is the planner's estimate of rows; negative if there is none.
	Estimate float64
	Children []*Node
	// Quote is that of the whole plan, in the root of EXPLAIN's; nil: there is none.
	Quote *Quote
	// Profiled says that the following fields are set: the operator's work without its inputs.
	Profiled      bool
	Rows, Batches int64
	Time          time.Duration
	Requests      int64 // shard requests
	Bytes         int64 // of their answers
	Memory        int64 // peak memory
	Spilled       int64 // bytes written to disk
	Compared      int64 // vectors compared with another one
	Candidates    int64 // vertices that an HNSW graph gave to be ranked
	// Metered says that the following are counted; see exec.Stat.
	Metered             bool
	Hits, Misses, Large int64
	// Wired says that the following are counted; see exec.Stat.
	Wired                        bool
	Calls, Sent, Received, Edges int64
}

// WirePerEdge returns the bytes sent and received for each edge; ok is false if there were no edges, or all came with the
// request of another operator.
func (n *Node) WirePerEdge() (bytes float64, ok bool) {
	return float64(n.Sent+n.Received) / float64(max(n.Edges, 1)), n.Edges > 0 && n.Calls > 0
}

// Tree returns the operators of a prepared plan, with their counters if stats is not nil. With search, which tells how a call searches vectors,
// that follows its arguments.
func Tree(p *exec.Prepared, stats []exec.Stat, search func(*plan.CallProc) string) *Node {
	var tree func(op *exec.Operator) *Node
	tree = func(op *exec.Operator) *Node {
		n := &Node{Operator: op.Name, Args: op.Args, Variables: op.Columns, Estimate: op.Estimate}
		if stats != nil {
			st := &stats[op.ID]
			n.Profiled, n.Rows, n.Batches, n.Time, n.Requests = true, st.Rows, st.Batches, st.Time, st.Requests
			n.Bytes, n.Memory, n.Spilled = st.Bytes, st.Memory, st.Spilled
			n.Compared, n.Candidates = st.Compared, st.Candidates
			n.Metered, n.Hits, n.Misses, n.Large = st.Metered, st.Hits, st.Misses, st.Large
			n.Wired, n.Calls, n.Sent, n.Received, n.Edges = st.Wired, st.Calls, st.Sent, st.Received, st.Edges
		}
		if c, ok := op.Node.(*plan.CallProc); ok && search != nil {
			if how := search(c); how != "" {
				n.Args += " (" + how + ")"
			}
		}
		for _, c := range op.Inputs {
			n.Children = append(n.Children, tree(c))
		}
		for _, c := range op.Subplans {
			n.Children = append(n.Children, tree(c))
		}
		return n
	}
	return tree(p.Explain())
}
