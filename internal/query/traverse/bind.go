package traverse

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Key is what a traversal's plan depends on: two with the same key have the same plan.
func (t *Traversal) Key() string {
	c := *t
	c.From = c.From.shape()
	if c.Rank != nil {
		c.Rank = &Rank{Property: c.Rank.Property, Similarity: c.Rank.Similarity} // the vector is a parameter
	}
	return key("traverse", c)
}

// key writes the shape of a request.
func key(kind string, shape any) string {
	b, err := json.Marshal(shape)
	if err != nil {
		panic(err) // the shapes hold nothing that JSON has not
	}
	return "\x00" + kind + " " + string(b)
}

// Params returns the parameters of the plan: the user's and the starts.
func (t *Traversal) Params(params map[string]graph.Value) map[string]graph.Value {
	out := make(map[string]graph.Value, len(params)+1)
	maps.Copy(out, params)
	t.From.addParams(fromParam, out)
	if t.Rank != nil {
		out[rankParam] = t.Rank.Vector
	}
	return out
}

// binder builds the plan of a traversal.
type binder struct {
	t                            *Traversal
	q                            *plan.Query
	em                           *cypher.Embedding
	min, max                     int
	start, vertex, edge, hop, pa plan.Col
	score                        plan.Col // of Rank
}

// Bind creates the plan.
func (t *Traversal) Bind(opts cypher.Options) (*plan.Query, error) {
	b := &binder{t: t}
	if err := b.bounds(); err != nil {
		return nil, err
	}
	if err := t.From.check("from"); err != nil {
		return nil, err
	}
	var err error
	if b.q, b.start, err = t.From.plan("from", fromParam, opts); err != nil {
		return nil, err
	}
	b.em = cypher.Embed(b.q, opts)
	if t.Rank != nil && t.Returns == "count" {
		return nil, invalid("rank", "a count has no order")
	}
	if ok, err := b.frontierCount(); ok || err != nil {
		return b.q, err
	}
	if err := b.walk(); err != nil {
		return nil, err
	}
	if err := b.rank(); err != nil {
		return nil, err
	}
	if err := b.returns(); err != nil {
		return nil, err
	}
	if t.Limit > 0 {
		b.q.Root = &plan.Slice{Input: b.q.Root, Limit: &plan.Const{Value: graph.IntValue(int64(min(t.Limit, 1<<62)))}}
	}
	return b.q, nil
}

// bounds checks the hops and finds the least and the largest number of them.
func (b *binder) bounds() error {
	t := b.t
	if len(t.Hops) == 0 {
		return invalid("hops", "there must be at least one")
	}
	b.max = int(t.Max)
	if b.max == 0 {
		b.max = len(t.Hops)
	}
	b.min = b.max
	if t.Min != nil {
		b.min = int(*t.Min)
	}
	switch {
	case b.max > maxHops:
		return invalid("hops", "there must be at most %d, are %d", maxHops, b.max)
	case b.min > b.max:
		return invalid("hops", "the least number, %d, is above the largest, %d", b.min, b.max)
	case len(t.Hops) > 1 && len(t.Hops) != b.max:
		return invalid("hops", "there must be one for each of the %d hops, or one for all, are %d", b.max, len(t.Hops))
	}
	if t.Mode > plan.ModeNearest {
		return invalid("mode", "is unknown")
	}
	return nil
}

// hopAt returns hop i.
func (b *binder) hopAt(i int) *Hop { return &b.t.Hops[min(i, len(b.t.Hops)-1)] }

func (h *Hop) capped() bool {
	return h.SkipSupernodes > 0 || h.MaxDegree > 0 || h.Sample > 0 || h.Limit > 0
}

// testsEdges reports whether a hop has conditions on edges.
func (h *Hop) testsEdges() bool {
	return len(h.Types) > 0 || h.Direction != graph.Out || h.Where != "" || h.capped()
}

// frontierCount builds the plan of a number of vertices at one distance, if the request needs only that.
func (b *binder) frontierCount() (ok bool, err error) {
	t := b.t
	if t.Mode != plan.ModeFrontier || t.Returns != "count" || t.ByHop || t.Partial || t.Limit > 0 || b.min != b.max || b.max == 0 {
		return false, nil
	}
	n := &plan.FrontierCount{Input: b.q.Root, From: b.start}
	for i := range b.max {
		h := b.hopAt(i)
		if h.capped() {
			return false, nil
		}
		hop := plan.Hop{Types: h.Types, Dir: h.Direction}
		hop.To, hop.Edge = b.columns()
		if hop.Where, err = b.condition(h, hop.To, hop.Edge); err != nil {
			return false, err
		}
		if !plan.OfHop(hop.Where, hop.Edge, hop.To) {
			return false, nil
		}
		n.Hops = append(n.Hops, hop)
	}
	n.Out = b.q.NewCol("count", graph.Null)
	b.q.Root, b.q.Out, b.q.Names = n, []plan.Col{n.Out}, []string{"count"}
	return true, nil
}

// walk adds the hops on top of the starts: as openCypher's operators, if possible. These do not distinguish hops, as an answer that
// a budget may end must.
func (b *binder) walk() error {
	uniform, capped := len(b.t.Hops) == 1, false
	for i := range b.t.Hops {
		capped = capped || b.t.Hops[i].capped()
	}
	if !capped && !b.t.Partial {
		switch {
		case b.t.Mode == plan.ModeWalk && b.min == b.max && b.max > 0:
			return b.expand()
		case b.t.Mode == plan.ModeTrail && uniform && b.max > 0:
			ok, err := b.varExpand()
			if ok || err != nil {
				return err
			}
		}
	}
	return b.traverse()
}

// columns creates the columns of the vertex and the edge of hops.
func (b *binder) columns() (vertex, edge plan.Col) {
	return b.q.NewCol("v", graph.VertexKind), b.q.NewCol("e", graph.EdgeKind)
}

// condition binds the condition of a hop.
func (b *binder) condition(h *Hop, vertex, edge plan.Col) ([]plan.Expr, error) {
	for _, name := range h.Types {
		b.em.Mention(plan.Mention{Kind: plan.TypeKind, Name: name})
	}
	if h.Where == "" {
		return nil, nil
	}
	preds, err := b.em.Condition(h.Where, cypher.Variable{Name: "v", Col: vertex}, cypher.Variable{Name: "e", Col: edge})
	return preds, inField(h.Field+"where", err)
}

// expand builds walks of one length.
func (b *binder) expand() error {
	from := b.start
	path := []plan.Col{from}
	for i := range b.max {
		h := b.hopAt(i)
		vertex, edge := b.columns()
		where, err := b.condition(h, vertex, edge)
		if err != nil {
			return err
		}
		b.q.Root = &plan.Expand{
			Input: b.q.Root, From: from, Edge: edge, To: vertex, Types: h.Types, Dir: h.Direction, Where: where,
		}
		from, b.vertex, b.edge = vertex, vertex, edge
		path = append(path, edge, vertex)
	}
	b.hop, b.pa = b.q.NewCol("h", graph.Null), b.q.NewCol("p", graph.PathKind)
	b.q.Root = &plan.Project{Input: b.q.Root, Keep: true, Items: []plan.Item{
		{Col: b.hop, Expr: &plan.Const{Value: graph.IntValue(int64(b.max))}}, {Col: b.pa, Expr: &plan.MakePath{Cols: path}},
	}}
	return nil
}

// varExpand builds trails; it does not support conditions on vertices.
func (b *binder) varExpand() (ok bool, err error) {
	h := b.hopAt(0)
	vertex, edge := b.columns()
	where, err := b.condition(h, vertex, edge)
	if err != nil {
		return false, err
	}
	if plan.Reads(where...).Has(vertex) {
		return false, nil
	}
	b.vertex, b.edge, b.hop = vertex, b.q.NewCol("e", graph.EdgeKind), b.q.NewCol("h", graph.Null)
	b.pa = b.q.NewCol("p", graph.PathKind)
	edges := b.q.NewCol("edges", graph.List)
	b.q.Root = &plan.VarExpand{
		Input: b.q.Root, From: b.start, Edges: edges, To: vertex, Types: h.Types, Dir: h.Direction, EdgeVar: edge, Where: where,
		Min: intConst(b.min), Max: intConst(b.max),
	}
	list := func() plan.Expr { return &plan.ColRef{Col: edges} }
	b.q.Root = &plan.Project{Input: b.q.Root, Keep: true, Items: []plan.Item{
		{Col: b.edge, Expr: &plan.Op{Op: plan.Index, Args: []plan.Expr{list(), intConst(-1)}}},
		{Col: b.hop, Expr: &plan.Call{Func: "size", Args: []plan.Expr{list()}}},
		{Col: b.pa, Expr: &plan.MakePath{Cols: []plan.Col{b.start, edges, vertex}}},
	}}
	return true, nil
}

func intConst(n int) plan.Expr { return &plan.Const{Value: graph.IntValue(int64(n))} }

// traverse builds every traversal for which openCypher has no operator.
func (b *binder) traverse() error {
	t := b.t
	n := &plan.Traverse{Input: b.q.Root, From: b.start, Mode: t.Mode, Min: b.min, Seed: t.Seed, Ends: b.ofVertices()}
	n.Vertex, n.Edge = b.columns()
	n.Start, n.Hop = b.q.NewCol("s", graph.VertexKind), b.q.NewCol("h", graph.Null)
	n.Path = b.q.NewCol("p", graph.PathKind)
	var err error
	if n.Hops, err = b.hops(n.Vertex, n.Edge); err != nil {
		return err
	}
	b.vertex, b.edge, b.hop, b.pa, b.start = n.Vertex, n.Edge, n.Hop, n.Path, n.Start
	b.q.Root = n
	return nil
}

// hops binds the hops of a plan.Traverse.
func (b *binder) hops(vertex, edge plan.Col) ([]plan.TraverseHop, error) {
	hops := make([]plan.TraverseHop, 0, b.max)
	for i := range b.max {
		h := b.hopAt(i)
		where, err := b.condition(h, vertex, edge)
		if err != nil {
			return nil, err
		}
		hops = append(hops, plan.TraverseHop{
			Types: h.Types, Dir: h.Direction, Where: where, Skip: toInt(h.SkipSupernodes), MaxDegree: toInt(h.MaxDegree),
			Sample: toInt(h.Sample), Limit: toInt(h.Limit),
		})
	}
	return hops, nil
}

func toInt(n uint64) int { return int(min(n, 1<<31-1)) }

// ofVertices reports whether the rows of a frontier are its vertices.
func (b *binder) ofVertices() bool {
	return b.t.Mode == plan.ModeFrontier && slices.Contains([]string{"", "count", "ids", "vertices"}, b.t.Returns)
}

// returns puts the result on top.
func (b *binder) returns() error {
	t := b.t
	kept := t.Mode != plan.ModeFrontier && t.Mode != plan.ModeNearest // ways are kept apart
	// The vertices of a frontier appear once a hop.
	distinct := t.Distinct || b.ofVertices() && b.min < b.max && !t.ByHop
	var text, order string
	switch t.Returns {
	case "count":
		text = "count(*) AS count"
		if distinct {
			text = "count(DISTINCT v) AS count"
		}
		distinct = false
		if t.ByHop {
			order = " ORDER BY hop"
		}
	case "", "ids":
		text = "elementId(v) AS id"
	case "vertices":
		text = "v"
	case "edges":
		text = "e"
	case "paths":
		text = "p"
	default:
		text = t.Returns
	}
	before := ""
	if distinct {
		before = "DISTINCT "
	}
	if t.ByHop {
		before += "h AS hop, "
	}
	vars := []cypher.Variable{{Name: "v", Col: b.vertex}, {Name: "h", Col: b.hop}}
	if t.Rank != nil {
		vars = append(vars, cypher.Variable{Name: "score", Col: b.score})
	}
	if t.Mode != plan.ModeNearest {
		vars = append(vars, cypher.Variable{Name: "e", Col: b.edge})
	}
	if kept {
		vars = append(vars, cypher.Variable{Name: "s", Col: b.start}, cypher.Variable{Name: "p", Col: b.pa})
	} else if t.Returns == "paths" {
		return invalid("return", "mode %s keeps no paths; walk, trail and acyclic do", t.Mode)
	}
	if t.Mode == plan.ModeNearest && t.Returns == "edges" {
		return invalid("return", "mode nearest has vertices alone")
	}
	return inField("return", after("RETURN "+before, b.em.Return(before+text+order, vars...)))
}

// Text describes a traversal for the list of running requests.
func (t *Traversal) Text() string { return strings.TrimPrefix(t.Key(), "\x00") }
