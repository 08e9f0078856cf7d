package traverse

import (
	"maps"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Paths asks for the shortest paths from each vertex of From to each vertex of To.
type Paths struct {
	From, To Selector
	Hop      Hop
	MaxHops  uint32 // 0: no bound
	All      bool   // all paths of the least length or weight
	K        uint32 // so many paths without repeated vertices; 0 is 1
	Weight   string // a property of the edges, or an expression over e; "": every edge weighs 1
}

// Key is what the plan of the paths depends on.
func (p *Paths) Key() string {
	c := *p
	c.From, c.To = c.From.shape(), c.To.shape()
	return key("path", c)
}

// Text describes the paths for the list of running requests.
func (p *Paths) Text() string { return strings.TrimPrefix(p.Key(), "\x00") }

// Params returns the parameters of the plan.
func (p *Paths) Params(params map[string]graph.Value) map[string]graph.Value {
	return pairParams(&p.From, &p.To, params)
}

// Bind creates the plan, whose columns are path and weight.
func (p *Paths) Bind(opts cypher.Options) (*plan.Query, error) {
	switch {
	case p.Hop.capped():
		return nil, invalid("hop", "the search for paths leaves out no edges that satisfy its condition")
	case p.K > 1 && p.All:
		return nil, invalid("k", "cannot stand beside all")
	case p.K > maxPaths:
		return nil, invalid("k", "must be at most %d, is %d", maxPaths, p.K)
	}
	q, err := pair(&p.From, &p.To, opts)
	if err != nil {
		return nil, err
	}
	em := cypher.Embed(q, opts)
	edge, vertex := q.NewCol("e", graph.EdgeKind), q.NewCol("v", graph.VertexKind)
	path, weight := q.NewCol("path", graph.PathKind), q.NewCol("weight", graph.Null)
	ends := q.Out
	b := &binder{em: em}
	where, err := b.condition(&p.Hop, vertex, edge)
	if err != nil {
		return nil, err
	}
	if p.Weight == "" && p.K <= 1 && !plan.Reads(where...).Has(vertex) {
		n := &plan.ShortestPath{
			Input: q.Root, From: ends[0], To: ends[1], Path: path, Types: p.Hop.Types, Dir: p.Hop.Direction, Min: intConst(0),
			All: p.All, EdgeVar: edge, Where: where,
		}
		if p.MaxHops > 0 {
			n.Max = intConst(int(p.MaxHops))
		}
		q.Root = n
		return q, em.Return("path, length(path) AS weight", cypher.Variable{Name: "path", Col: path})
	}
	n := &plan.CheapestPaths{
		Input: q.Root, From: ends[0], To: ends[1], Path: path, Sum: weight, Types: p.Hop.Types, Dir: p.Hop.Direction,
		MaxHops: int(p.MaxHops), K: int(max(p.K, 1)), All: p.All, EdgeVar: edge, VertexVar: vertex, Where: where,
	}
	if p.Weight != "" {
		text := p.Weight
		if isName(text) {
			text = "e." + text
		}
		if n.Weight, err = em.Expr(text, cypher.Variable{Name: "e", Col: edge}); err != nil {
			return nil, inField("weight", err)
		}
	}
	q.Root = n
	return q, em.Return("path, weight", cypher.Variable{Name: "path", Col: path}, cypher.Variable{Name: "weight", Col: weight})
}

// maxPaths bounds the paths between two vertices.
const maxPaths = 1000

// isName reports whether a weight is the name of a property.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && s != "e"
}

func pairParams(from, to *Selector, params map[string]graph.Value) map[string]graph.Value {
	out := make(map[string]graph.Value, len(params)+2)
	maps.Copy(out, params)
	from.addParams(fromParam, out)
	to.addParams(toParam, out)
	return out
}

// pair creates the plan that joins each vertex of from, in column 0, with each of to.
func pair(from, to *Selector, opts cypher.Options) (*plan.Query, error) {
	if err := from.check("from"); err != nil {
		return nil, err
	}
	if err := to.check("to"); err != nil {
		return nil, err
	}
	first, err := from.clauses("from", "`from vertex`", fromParam, "", opts)
	if err != nil {
		return nil, err
	}
	second, err := to.clauses("to", "`to vertex`", toParam, "`from vertex`, ", opts)
	if err != nil {
		return nil, err
	}
	q, _, err := cypher.Compile(first+second+"RETURN DISTINCT `from vertex`, `to vertex`", opts)
	return q, inField("from", err)
}
