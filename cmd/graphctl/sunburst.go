package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

//go:embed sunburst.html
var sunburstHTML string

var sunburstTemplate = template.Must(template.New("sunburst").Parse(sunburstHTML))

// slice is one piece of a sunburst: an operator, with what it did by itself. Times are in microseconds.
type slice struct {
	Operator  string   `json:"op"`
	Arguments string   `json:"args"`
	Rows      uint64   `json:"rows"`
	Calls     uint64   `json:"calls"`
	Estimated float64  `json:"estimated"` // rows; negative where the planner expected nothing
	Requests  uint64   `json:"requests"`
	Bytes     uint64   `json:"bytes"`
	Memory    uint64   `json:"memory"`
	Hits      string   `json:"hits"` // of the cache; - where it is in another process
	Misses    string   `json:"misses"`
	Large     string   `json:"large"` // values fetched
	Wire      []string `json:"wire"`  // requests to other processes, bytes sent and received, edges, bytes an edge; - where there are none
	Time      float64  `json:"time"`
	Children  []*slice `json:"children"`
}

func sliceOf(n *pb.PlanNode) *slice {
	s := &slice{
		Operator: n.GetOperator(), Arguments: n.GetArguments(), Rows: n.GetRows(), Calls: n.GetBatches(), Requests: n.GetShardRequests(),
		Time: float64(n.GetTime().AsDuration().Nanoseconds()) / 1e3, Children: []*slice{},
	}
	s.Hits, s.Misses, s.Large = counted(n.CacheHits), counted(n.CacheMisses), counted(n.LargeValues)
	s.Wire = wireColumns(n)
	s.Estimated, s.Bytes, s.Memory = -1, n.GetBytes(), n.GetMemory()
	if n.EstimatedRows != nil {
		s.Estimated = n.GetEstimatedRows()
	}
	for _, c := range n.GetChildren() {
		s.Children = append(s.Children, sliceOf(c))
	}
	return s
}

// sunburstPage writes a page that needs nothing but itself: the operators of a profiled plan in rings around the result,
// each as wide as its share of the time, with what feeds it outside of it.
func sunburstPage(plan *pb.PlanNode, statement string) ([]byte, error) {
	tree, err := json.Marshal(sliceOf(plan)) // with <, > and & escaped, so that it can stand in a script
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = sunburstTemplate.Execute(&b, map[string]any{"Statement": statement, "Tree": template.JS(tree)}) //nolint:gosec // json.Marshal has made it, which escapes <, > and &.
	return b.Bytes(), err
}
