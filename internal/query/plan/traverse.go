package plan

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Traverse goes hop by hop from the vertices in From of all input rows together, and returns rows of its own for Min to
// len(Hops) hops. Its columns are Start, Vertex, Edge, Hop and Path; a row of no hop has a null edge. Nulls in From are
// skipped.
type Traverse struct {
	Input Node
	From  Col
	Mode  TraverseMode
	Hops  []TraverseHop
	Min   int
	// Start is the first vertex of a path, Vertex the last, Edge the last edge, Hop the number of edges and Path the whole
	// path. Start and Path are defined only if Mode distinguishes paths.
	Start, Vertex, Edge, Hop, Path Col
	// Ends makes each row of a frontier a vertex of the set, not an edge to it.
	Ends bool
	// Seed chooses the edges of a Sample.
	Seed int64
}

// TraverseMode says which elements a path may repeat, and what a row is.
type TraverseMode uint8

// The modes.
const (
	ModeFrontier TraverseMode = iota // a set of vertices at each hop; a row is an edge that leads to the next set
	ModeWalk                         // a row is a walk
	ModeTrail                        // a walk that repeats no edge
	ModeAcyclic                      // a walk that repeats no vertex
	ModeNearest                      // a row is a vertex at its least distance from any start
	ModeLayers                       // as Nearest, and then the edges from each layer to vertices of any layer, each once
)

// String names the mode.
func (m TraverseMode) String() string {
	return [...]string{"frontier", "walk", "trail", "acyclic", "nearest", "layers"}[m]
}

// TraverseHop is one hop of a Traverse. Where reads only the columns Edge and Vertex of the node. Of the edges that satisfy it, at
// most MaxDegree count per vertex, the first by type, direction and far end; of these, at most Sample, chosen by the seed; in total,
// at most Limit. A vertex with more than Skip edges of the types is not expanded. 0 is no limit.
type TraverseHop struct {
	Types                          []string
	Dir                            graph.Direction
	Where                          []Expr
	Skip, MaxDegree, Sample, Limit int
}

// CheapestPaths joins each row with the K cheapest paths from From to To that repeat no vertex, the cheapest first, or
// with all of the least weight. Weight is over EdgeVar; nil: each edge weighs 1. A weight that is no number or is
// negative is an error.
type CheapestPaths struct {
	Input     Node
	From, To  Col
	Path, Sum Col // the path, and its weight
	Types     []string
	Dir       graph.Direction
	MaxHops   int // 0: no bound
	K         int
	All       bool
	EdgeVar   Col
	VertexVar Col
	Where     []Expr // on every edge, through EdgeVar, and on the vertex that it leads to, through VertexVar
	Weight    Expr
}

func (n *Traverse) inputs(f func(*Node)) { f(&n.Input) }

func (n *Traverse) exprs(f exprVisitor) {
	for i := range n.Hops {
		f.all(n.Hops[i].Where)
	}
}

func (n *Traverse) describe(f *formatter) (name, args string) {
	return "Traverse", f.traverse(n)
}

func (*Traverse) rows(_ *Estimator, in float64) float64 {
	return in * guessElems
}
func (n *CheapestPaths) inputs(f func(*Node)) { f(&n.Input) }

func (n *CheapestPaths) exprs(f exprVisitor) {
	f.all(n.Where)
	f.one(&n.Weight)
}

func (n *CheapestPaths) describe(f *formatter) (name, args string) {
	return "CheapestPaths", f.cheapest(n)
}

func (*CheapestPaths) rows(_ *Estimator, in float64) float64 {
	return in * guessElems
}

// traverse describes a Traverse: its mode, its hops, and the least number of hops of a row.
func (f *formatter) traverse(n *Traverse) string {
	var b strings.Builder
	b.WriteString(strings.ToUpper(n.Mode.String()))
	if n.Ends {
		b.WriteString(" OF VERTICES")
	}
	b.WriteString(" (" + f.col(n.From) + ")")
	for i := range n.Hops {
		h := &n.Hops[i]
		b.WriteString(f.edge(0, h.Types, "", h.Dir) + "()" + f.extra(h.Where, nil))
		for _, c := range []struct {
			name string
			n    int
		}{{"SKIP OVER", h.Skip}, {"DEGREE", h.MaxDegree}, {"SAMPLE", h.Sample}, {"LIMIT", h.Limit}} {
			if c.n > 0 {
				b.WriteString(" " + c.name + " " + strconv.Itoa(c.n))
			}
		}
	}
	if n.Min < len(n.Hops) {
		b.WriteString(" FROM HOP " + strconv.Itoa(n.Min))
	}
	return b.String()
}

func (f *formatter) cheapest(n *CheapestPaths) string {
	length := "*"
	if n.MaxHops > 0 {
		length += "1.." + strconv.Itoa(n.MaxHops)
	}
	s := "(" + f.col(n.From) + ")" + f.edge(0, n.Types, length, n.Dir) + "(" + f.col(n.To) + ")" + f.extra(n.Where, nil)
	if n.Weight != nil {
		s += " BY " + f.exprs([]Expr{n.Weight}, "")
	}
	if n.All {
		return s + " ALL"
	}
	return s + " K " + strconv.Itoa(n.K)
}
