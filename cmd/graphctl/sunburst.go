package main

import (
	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/console"
)

// planNode is an operator of a profiled plan in the form of the HTTP API.
type planNode struct {
	Operator      string      `json:"operator"`
	Arguments     string      `json:"arguments"`
	Estimated     *float64    `json:"estimatedRows,omitempty"`
	Rows          uint64      `json:"rows"`
	Batches       uint64      `json:"batches"`
	TimeUs        float64     `json:"timeUs"`
	Requests      uint64      `json:"shardRequests"`
	Bytes         uint64      `json:"bytes"`
	Memory        uint64      `json:"memory"`
	Spilled       uint64      `json:"spilled,omitempty"`
	Compared      uint64      `json:"compared,omitempty"`
	Candidates    uint64      `json:"candidates,omitempty"`
	Hits          *uint64     `json:"cacheHits,omitempty"` // absent if the cache is in another process
	Misses        *uint64     `json:"cacheMisses,omitempty"`
	Large         *uint64     `json:"largeValues,omitempty"`
	WireRequests  *uint64     `json:"wireRequests,omitempty"` // absent without other processes
	WireSent      *uint64     `json:"wireSent,omitempty"`
	WireReceived  *uint64     `json:"wireReceived,omitempty"`
	Edges         *uint64     `json:"edges,omitempty"`
	BytesEachEdge *float64    `json:"wirePerEdge,omitempty"`
	Children      []*planNode `json:"children"`
}

func planNodeOf(n *pb.PlanNode) *planNode {
	out := &planNode{
		Operator: n.GetOperator(), Arguments: n.GetArguments(), Estimated: n.EstimatedRows, Rows: n.GetRows(), Batches: n.GetBatches(),
		TimeUs: float64(n.GetTime().AsDuration().Nanoseconds()) / 1e3, Requests: n.GetShardRequests(), Bytes: n.GetBytes(), Memory: n.GetMemory(),
		Spilled: n.GetSpilled(), Compared: n.GetCompared(), Candidates: n.GetCandidates(), Hits: n.CacheHits, Misses: n.CacheMisses, Large: n.LargeValues,
		WireRequests: n.WireRequests, WireSent: n.WireSent, WireReceived: n.WireReceived, Edges: n.Edges, Children: []*planNode{},
	}
	if n.GetEdges() > 0 && n.GetWireRequests() > 0 {
		out.BytesEachEdge = new(float64(n.GetWireSent()+n.GetWireReceived()) / float64(n.GetEdges()))
	}
	for _, c := range n.GetChildren() {
		out.Children = append(out.Children, planNodeOf(c))
	}
	return out
}

// sunburstPage returns a self-contained page with the operators of a profiled plan, as a tree with figures and as rings around the result:
// each operator's width is its share of the time, and its inputs are outside of it.
func sunburstPage(plan *pb.PlanNode, statement string) ([]byte, error) {
	return console.PlanPage(statement, planNodeOf(plan))
}
