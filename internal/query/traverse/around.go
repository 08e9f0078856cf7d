package traverse

import (
	"maps"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Subgraph asks for the vertices within Max hops of the starts and the edges among them, layer by layer.
type Subgraph struct {
	From Selector
	Hops []Hop // one for each hop, or one for all
	Max  uint32
}

// Key is what the plan of the subgraph depends on.
func (s *Subgraph) Key() string {
	c := *s
	c.From = c.From.shape()
	return key("subgraph", c)
}

// Text describes the subgraph for the list of running requests.
func (s *Subgraph) Text() string { return strings.TrimPrefix(s.Key(), "\x00") }

// Params returns the parameters of the plan.
func (s *Subgraph) Params(params map[string]graph.Value) map[string]graph.Value {
	return oneParam(&s.From, params)
}

func oneParam(from *Selector, params map[string]graph.Value) map[string]graph.Value {
	out := make(map[string]graph.Value, len(params)+1)
	maps.Copy(out, params)
	from.addParams(fromParam, out)
	return out
}

// Bind creates the plan. Its columns are step, v and e: first the vertices of each layer, then the edges of each layer.
func (s *Subgraph) Bind(opts cypher.Options) (*plan.Query, error) {
	t := &Traversal{From: s.From, Hops: s.Hops, Max: s.Max}
	b := &binder{t: t}
	if err := b.bounds(); err != nil {
		return nil, err
	}
	for i := range s.Hops {
		if s.Hops[i].capped() {
			return nil, invalid("hops", "a subgraph leaves out no edges that satisfy its conditions")
		}
	}
	if err := s.From.check("from"); err != nil {
		return nil, err
	}
	var err error
	if b.q, b.start, err = s.From.plan("from", fromParam, opts); err != nil {
		return nil, err
	}
	b.em = cypher.Embed(b.q, opts)
	b.min = 0
	if err := b.traverse(); err != nil {
		return nil, err
	}
	n, _ := b.q.Root.(*plan.Traverse)
	n.Mode, n.Ends = plan.ModeLayers, false
	return b.q, b.em.Return("h AS step, v, e", cypher.Variable{Name: "h", Col: b.hop}, cypher.Variable{Name: "v", Col: b.vertex},
		cypher.Variable{Name: "e", Col: b.edge})
}

// Vertices asks for vertices, each once, in the order of their ids.
type Vertices struct {
	From       Selector
	Properties []string // the requested properties; none: whole vertices
}

// Key is what the plan of the vertices depends on.
func (v *Vertices) Key() string {
	c := *v
	c.From = c.From.shape()
	return key("vertices", c)
}

// Text describes the vertices for the list of running requests.
func (v *Vertices) Text() string { return strings.TrimPrefix(v.Key(), "\x00") }

// Params returns the parameters of the plan.
func (v *Vertices) Params(params map[string]graph.Value) map[string]graph.Value {
	return oneParam(&v.From, params)
}

// Bind creates the plan. Its column is v or, where properties are named, its columns are the id, the labels, and each
// property.
func (v *Vertices) Bind(opts cypher.Options) (*plan.Query, error) {
	if err := v.From.check("from"); err != nil {
		return nil, err
	}
	q, start, err := v.From.plan("from", fromParam, opts)
	if err != nil {
		return nil, err
	}
	found := q.NewCol("v", graph.VertexKind)
	q.Root = &plan.Distinct{Input: &plan.Project{Input: q.Root, Items: []plan.Item{{Col: found, Expr: &plan.ColRef{Col: start}}}}, Cols: []plan.Col{found}}
	text := "v"
	if len(v.Properties) > 0 {
		text = "elementId(v) AS id, labels(v) AS labels"
		for _, p := range v.Properties {
			text += ", v." + ast.Quote(p) + " AS " + ast.Quote("property "+p)
		}
	}
	return q, inField("properties", cypher.Embed(q, opts).Return(text+" ORDER BY id(v)", cypher.Variable{Name: "v", Col: found}))
}

// Edges asks for edges: those of a hop from From to To (nil: any vertex), or those with element ids IDs.
type Edges struct {
	From, To *Selector
	Hop      Hop
	IDs      []string
}

// Key is what the plan of the edges depends on.
func (e *Edges) Key() string {
	c := *e
	for _, s := range []**Selector{&c.From, &c.To} {
		if *s != nil {
			shape := (*s).shape()
			*s = &shape
		}
	}
	c.IDs = c.IDs[:min(1, len(c.IDs))]
	if len(c.IDs) > 0 {
		c.IDs = []string{""}
	}
	return key("edges", c)
}

// Text describes the edges for the list of running requests.
func (e *Edges) Text() string { return strings.TrimPrefix(e.Key(), "\x00") }

// Params returns the parameters of the plan.
func (e *Edges) Params(params map[string]graph.Value) map[string]graph.Value {
	out := maps.Clone(params)
	if out == nil {
		out = map[string]graph.Value{}
	}
	if e.From != nil {
		e.From.addParams(fromParam, out)
	}
	if e.To != nil {
		e.To.addParams(toParam, out)
	}
	if len(e.IDs) > 0 {
		var list []graph.Value
		for _, id := range e.IDs {
			if edge, ok := graph.ParseEdgeElementID(id); ok {
				list = append(list, graph.MapValue([]graph.MapEntry{
					{Key: "source", Value: graph.StringValue(string(graph.AppendVertexElementID(nil, edge.Src)))},
					{Key: "id", Value: graph.StringValue(id)},
				}))
			}
		}
		out[fromParam] = graph.ListValue(list)
	}
	return out
}

// Bind creates the plan, whose column is e.
func (e *Edges) Bind(opts cypher.Options) (*plan.Query, error) {
	if len(e.IDs) > 0 {
		if e.From != nil || e.To != nil || e.Hop.testsEdges() {
			return nil, invalid("elementIds", "cannot be combined with from and to, or with conditions on edges")
		}
		q, _, err := cypher.Compile("UNWIND $"+ast.Quote(fromParam)+" AS x MATCH (s) WHERE elementId(s) = x.source "+
			"MATCH (s)-[e]->() WHERE elementId(e) = x.id RETURN DISTINCT e", opts)
		return q, err
	}
	if e.From == nil {
		return nil, invalid("from", "is required, or element ids are")
	}
	if e.Hop.capped() && e.To != nil {
		return nil, invalid("hop", "has no caps where both ends are named")
	}
	if e.To == nil {
		t := &Traversal{From: *e.From, Hops: []Hop{e.Hop}, Mode: plan.ModeFrontier, Returns: "edges", Distinct: true}
		return t.Bind(opts)
	}
	q, err := pair(e.From, e.To, opts)
	if err != nil {
		return nil, err
	}
	b := &binder{em: cypher.Embed(q, opts)}
	edge := q.NewCol("e", graph.EdgeKind)
	where, err := b.condition(&e.Hop, q.Out[1], edge)
	if err != nil {
		return nil, err
	}
	q.Root = &plan.Expand{
		Input: q.Root, From: q.Out[0], Edge: edge, To: q.Out[1], Types: e.Hop.Types, Dir: e.Hop.Direction, Into: true,
		Where: slices.Clip(where),
	}
	return q, b.em.Return("DISTINCT e", cypher.Variable{Name: "e", Col: edge})
}
