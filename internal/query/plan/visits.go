package plan

import (
	"math"
	"strings"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
)

// list is the edges of a type at a vertex, in a direction from there.
type list struct {
	typ string
	dir graph.Direction
}

// visits estimates the vertices, edges and index entries that a node reads, and the changes that it makes, for in input rows, and notes by which lists it reaches vertices.
func (e *Estimator) visits(n Node, in float64) float64 {
	o := e.o
	switch n := n.(type) {
	case *Scan:
		if n.Rules != nil {
			return in * e.skew * n.Rules.Rows
		}
		return in * e.skew * o.scanned(n.Labels)
	case *Seek:
		if c, ok := n.Keys[0].(*ColRef); ok && n.Each && e.collected[c.Col] > 0 {
			e.skew *= e.collected[c.Col] / guessElems
			return in * e.skew * e.keys(&n.Index, n.Keys, n.Each)
		}
		return e.skew * max(in, in*e.keys(&n.Index, n.Keys, n.Each))
	case *SeekEdges:
		return e.skew * max(in, in*e.keys(&n.Index, n.Keys, n.Each))
	case *SeekRange:
		return in * e.skew * e.interval(n)
	case *SeekEdgeRange:
		r := SeekRange(*n)
		return in * e.skew * e.interval(&r)
	case *SeekID:
		return e.skew * n.rows(e, in)
	case *Filter:
		e.skew *= e.rarer(n.Preds)
	case *Project:
		for _, it := range n.Items {
			if c, ok := it.Expr.(*ColRef); ok {
				e.ends[it.Col], e.lists[it.Col], e.collected[it.Col] = e.likely(c.Col), e.lists[c.Col], e.collected[c.Col]
			}
		}
	case *Aggregate:
		e.aggregate(n, in)
	case *Unwind:
		if c, ok := n.List.(*ColRef); ok && e.collected[c.Col] > 0 {
			e.skew *= e.collected[c.Col] / guessElems
			e.ends[n.Out], e.lists[n.Out] = e.ends[c.Col], e.lists[c.Col]
		}
	case *BlockAggregate:
		if n.Type != "" {
			return float64(o.Counts.ByType[n.Type])
		}
		return o.scanned(n.Labels)
	case *EdgeGroups:
		return float64(o.Counts.ByType[n.Type])
	case *Expand:
		if e.byDegree[n] {
			return in * e.skew
		}
		plain, from := o.Fanout(n.Types, n.Dir, e.Labels[n.From], n.Labels), e.likely(n.From)
		skew := e.follow(n.From, n.To, n.Types, n.Dir)
		e.begin(n.Input, n.From, n.Types, n.Dir, o.Fanout(n.Types, n.Dir, from, nil))
		seen := e.sources(in, n.From) * o.Fanout(n.Types, n.Dir, from, nil) * skew
		if likely := o.Fanout(n.Types, n.Dir, from, n.Labels); plain > 0 && likely > plain {
			skew *= likely / plain
		}
		e.skew *= skew
		return seen
	case *Intersect:
		seen := 0.0
		for _, l := range n.Legs {
			seen += e.sources(in, l.From) * o.Fanout(l.Types, l.Dir, e.likely(l.From), nil)
		}
		return seen
	case *VarExpand:
		skew := max(1, e.follow(n.From, n.To, n.Types, n.Dir))
		e.begin(n.Input, n.From, n.Types, n.Dir, o.Fanout(n.Types, n.Dir, e.likely(n.From), nil))
		each := e.levels(n.Types, n.Dir, e.likely(n.From), skew, Bound(n.Max, guessHops))
		seen := in * e.skew * each
		if plain := e.o.VarFanout(n.Types, n.Dir, e.Labels[n.From], n.Labels, &Length{Min: n.Min, Max: n.Max}); n.Ends && !n.Into && plain > 0 {
			e.skew *= max(1, distinct(each, o.Vertices(e.likely(n.To)))/plain)
		}
		return seen
	case *ShortestPath:
		return in * e.skew * e.between(n.Types, n.Dir, e.likely(n.From), e.likely(n.To))
	case *CheapestPaths:
		return in * e.skew * o.ofTypes(n.Types, n.Dir)
	case *FindPaths:
		seen := 0.0
		for i := range n.Walk.Parts {
			for _, h := range n.Walk.Parts[i].Hops {
				seen += e.levels(h.Types, h.Dir, nil, 1, Bound(n.Walk.Parts[i].Max, guessHops))
			}
		}
		return in * e.skew * seen
	case *Traverse:
		return e.traversed(n, in)
	case *FrontierCount:
		return e.frontier(n, in)
	case *MultiplicityCount:
		seen := 0.0
		for i := range n.Multiplicities {
			seen += e.multiplied(&n.Multiplicities[i], in)
		}
		return seen
	case *PathMultiplicity:
		return e.multiplied(&n.Multiplicity, in)
	case *PairMultiplicity:
		seen := 0.0
		for i := range n.Ends {
			m := &n.Ends[i]
			for j := range m.Branches {
				b := &m.Branches[j]
				seen += e.sources(in, m.Col) * o.Fanout(b.Types, b.Dir, e.likely(m.Col), nil)
			}
		}
		return seen
	case *Create:
		return in * e.skew * float64(len(n.Vertices)+len(n.Edges))
	case *Set:
		return in * e.skew * float64(len(n.Items))
	case *Delete:
		return in * e.skew * (1 + float64(o.Counts.Edges)/o.Vertices(nil))
	case *CallProc:
		if strings.HasPrefix(n.Proc, "algo.") {
			return in * e.skew * float64(o.Counts.Vertices+o.Counts.Edges)
		}
		return in * e.skew * guessElems
	}
	return 0
}

// aggregate notes what an Aggregate collects, and how many rows it has.
func (e *Estimator) aggregate(n *Aggregate, in float64) {
	rows := in * e.skew
	var groups float64
	if len(n.Keys) > 0 {
		groups = max(1, rows*guessGroups)
		for _, k := range n.Keys {
			if c, ok := k.Expr.(*ColRef); ok {
				e.ends[k.Col] = e.likely(c.Col)
				if l := e.likely(c.Col); l != nil {
					groups = min(max(1, rows), distinct(rows, e.o.Vertices(l)))
				}
			}
		}
		e.skew = groups / max(1, in*guessGroups)
	} else {
		e.skew = 1
		groups = e.outer
	}
	for i := range n.Aggs {
		g := &n.Aggs[i]
		if g.Func != "collect" || len(g.Args) != 1 {
			continue
		}
		size := max(1, rows/max(1, groups))
		if c, ok := g.Args[0].(*ColRef); ok {
			if e.ends[g.Col] = e.likely(c.Col); g.Distinct {
				size = max(1, distinct(size, e.o.Vertices(e.ends[g.Col])))
			}
			e.lists[g.Col] = e.lists[c.Col]
		}
		e.collected[g.Col] = size
	}
}

// guessValues is a guess of the different values of a property without an index, with which Postgres begins, too.
const guessValues = 200

// rarer returns by how much fewer rows satisfy predicates that compare properties without an index for equality than Selectivity says.
func (e *Estimator) rarer(preds []Expr) float64 {
	factor := 1.0
	for _, p := range preds {
		op, ok := p.(*Op)
		if !ok || op.Op != Eq {
			continue
		}
		for _, x := range op.Args {
			if of, _ := e.o.propOfEntity(x); of != nil && e.o.equality(x, e.Labels) >= selEqual/2 {
				factor *= 1 / (guessValues * selEqual)
				break
			}
		}
	}
	return factor
}

// guessHops is a guess of the most edges of a path without a constant bound.
const guessHops = 6

// scanned is the number of vertices that a scan reads.
func (o *Statistics) scanned(l *LabelExpr) float64 {
	all := float64(o.Counts.Vertices)
	for _, name := range l.Names() {
		all = min(all, float64(o.Counts.ByLabel[name]))
	}
	return all
}

// ofTypes is the number of edges of the types, twice if both directions are followed.
func (o *Statistics) ofTypes(types []string, dir graph.Direction) float64 {
	if len(types) == 0 {
		types = o.TypeNames
	}
	all := 0.0
	for _, t := range types {
		all += float64(o.Counts.ByType[t])
	}
	if dir == graph.Both {
		all *= 2
	}
	return all
}

// sources estimates how often operators read the list of a vertex in a column: once for each distinct one in a batch of rows.
func (e *Estimator) sources(rows float64, from Col) float64 {
	rows *= e.skew
	batches := max(1, math.Ceil(rows/graph.BatchSize))
	return batches * distinct(rows/batches, e.o.Vertices(e.likely(from)))
}

// distinct is the expected number of different ones among some draws from all.
func distinct(draws, all float64) float64 {
	if all < 1 {
		return 0
	}
	return min(draws, all*-math.Expm1(-draws/all))
}

// follow notes that an edge of types leads from a column to another one, and returns by how much more edges are there than the mean: a vertex
// that was reached by an edge has long lists, since it was reached in proportion to their lengths.
func (e *Estimator) follow(from, to Col, types []string, dir graph.Direction) float64 {
	factor := 1.0
	e.ends[from] = e.o.narrower(e.ends[from], e.o.implied(types, dir.Reverse()))
	e.ends[to] = e.o.narrower(e.ends[to], e.o.implied(types, dir))
	if len(types) == 1 {
		for _, l := range e.lists[from] {
			if l == (list{types[0], dir}) {
				factor = max(factor, e.o.bias(types[0], dir, e.likely(from)))
			}
		}
		e.lists[from] = append(e.lists[from], list{types[0], dir})
		e.lists[to] = append(e.lists[to], list{types[0], dir.Reverse()})
	}
	return factor
}

// likely returns the labels of a column's vertices: those that the plan requires, or those that the edges which it has followed imply.
func (e *Estimator) likely(c Col) *LabelExpr { return e.o.narrower(e.Labels[c], e.ends[c]) }

// narrower returns the one of two label expressions that fewer vertices satisfy; nil is any vertex.
func (o *Statistics) narrower(a, b *LabelExpr) *LabelExpr {
	if b == nil || a != nil && o.Vertices(a) <= o.Vertices(b) {
		return a
	}
	return b
}

// implied returns the rarest label that all far ends of edges of the types have, or nil.
func (o *Statistics) implied(types []string, dir graph.Direction) (rarest *LabelExpr) {
	if len(types) == 0 {
		return nil
	}
	for name := range o.Counts.ByLabel {
		l := &LabelExpr{Name: name}
		if o.AllEnds(types, dir, l) && (rarest == nil || o.Vertices(l) < o.Vertices(rarest) || o.Vertices(l) == o.Vertices(rarest) && name < rarest.Name) {
			rarest = l
		}
	}
	return rarest
}

// bias returns by how much longer than the mean of the vertices with labels the list is that an edge is in, by the histograms of lengths: the mean
// of their squares over the square of their mean. Both directions together count as independent of each other.
func (o *Statistics) bias(typ string, dir graph.Direction, labels *LabelExpr) float64 {
	n, edges, squares, ways := max(1, o.Vertices(labels)), 0.0, 0.0, 0.0
	o.EachLists(typ, dir, func(_, e, s float64) { edges, squares, ways = edges+e, squares+s, ways+1 })
	if edges == 0 {
		return 1
	}
	if ways > 1 {
		squares += edges * edges / (2 * n)
	}
	return max(1, squares*n/(edges*edges))
}

// levels estimates the edges that paths of up to most edges from one vertex see, each vertex being read once.
func (e *Estimator) levels(types []string, dir graph.Direction, from *LabelExpr, skew float64, most int64) float64 {
	o := e.o
	all, fan := o.ofTypes(types, dir), o.Fanout(types, dir, from, nil)
	next := fan
	if dir == graph.Both && len(types) == 1 {
		next *= max(skew, o.bias(types[0], dir, o.narrower(from, o.implied(types, dir))))
	}
	seen, ends := 0.0, 1.0
	for k := range min(most, 64) {
		if k == 1 {
			fan = next
		}
		ends *= fan
		if seen += ends; seen >= all {
			return all
		}
	}
	return seen
}

// between estimates the edges that a search from both ends sees.
func (e *Estimator) between(types []string, dir graph.Direction, from, to *LabelExpr) float64 {
	o := e.o
	all := o.ofTypes(types, dir)
	fan := max(o.Fanout(types, dir, from, nil), 1.1)
	depth := int64(math.Ceil(math.Log(max(2, o.Vertices(to))) / math.Log(fan) / 2))
	return min(all, e.levels(types, dir, from, 1, depth)+e.levels(types, dir.Reverse(), to, 1, depth))
}

// frontier estimates what a FrontierCount reads.
func (e *Estimator) frontier(n *FrontierCount, in float64) float64 {
	o := e.o
	h := &n.Hops[0]
	e.begin(n.Input, n.From, h.Types, h.Dir, o.Fanout(h.Types, h.Dir, e.likely(n.From), nil))
	if n.Most > 0 {
		return in * e.skew * e.levels(h.Types, h.Dir, e.likely(n.From), 1, int64(min(n.Most, 64)))
	}
	seen, set, labels, at := 0.0, distinct(in*e.skew, o.Vertices(e.likely(n.From))), e.likely(n.From), n.From
	for i := range n.Hops {
		h := &n.Hops[i]
		edges := min(set*o.Fanout(h.Types, h.Dir, labels, nil)*e.follow(at, h.To, h.Types, h.Dir), o.ofTypes(h.Types, h.Dir))
		ends := edges
		if h.Labels != nil {
			ends = min(edges, set*o.Fanout(h.Types, h.Dir, labels, h.Labels)*edges/max(1e-9, set*o.Fanout(h.Types, h.Dir, labels, nil)))
		}
		seen += edges
		if n.Trail && i > 0 {
			seen += edges // and back, to tell which edges a walk has used
		}
		set, labels, at = distinct(ends*e.selectivity(h.Where), o.Vertices(h.Labels)), o.narrower(h.Labels, o.implied(h.Types, h.Dir)), h.To
	}
	return seen
}

// traversed estimates what a Traverse reads.
func (e *Estimator) traversed(n *Traverse, in float64) float64 {
	o := e.o
	seen, set, labels := 0.0, in*e.skew, e.likely(n.From)
	if len(n.Hops) > 0 {
		e.begin(n.Input, n.From, n.Hops[0].Types, n.Hops[0].Dir, o.Fanout(n.Hops[0].Types, n.Hops[0].Dir, labels, nil))
	}
	for i := range n.Hops {
		h := &n.Hops[i]
		fan := o.Fanout(h.Types, h.Dir, labels, nil)
		if h.MaxDegree > 0 {
			fan = min(fan, float64(h.MaxDegree))
		}
		if i > 0 && len(h.Types) == 1 && h.Dir == graph.Both {
			fan *= o.bias(h.Types[0], h.Dir, labels)
		}
		edges := min(set*fan, o.ofTypes(h.Types, h.Dir))
		seen += edges
		if h.Limit > 0 {
			edges = min(edges, float64(h.Limit))
		}
		if h.Sample > 0 {
			edges = min(edges, set*float64(h.Sample))
		}
		labels = o.implied(h.Types, h.Dir)
		set = distinct(edges*e.selectivity(h.Where), o.Vertices(labels))
	}
	return seen
}

// multiplied estimates what path multiplicities of in rows read: of the last branches only the degrees. Each vertex is read once.
func (e *Estimator) multiplied(m *Multiplicity, in float64) float64 {
	o := e.o
	var branches func(bs []Branch, set float64, labels *LabelExpr) float64
	branches = func(bs []Branch, set float64, labels *LabelExpr) float64 {
		seen := 0.0
		for i := range bs {
			b := &bs[i]
			if len(b.Branches) == 0 && o.AllEnds(b.Types, b.Dir, b.Labels) {
				seen += set
				continue
			}
			edges := set * o.Fanout(b.Types, b.Dir, labels, nil)
			seen += edges + branches(b.Branches, distinct(edges, o.Vertices(b.Labels)), o.narrower(b.Labels, o.implied(b.Types, b.Dir)))
		}
		return seen
	}
	return branches(m.Branches, distinct(in*e.skew, o.Vertices(e.likely(m.Col))), e.likely(m.Col))
}

// expressions estimates what the expressions of a node read for in rows.
func (e *Estimator) expressions(n Node, in float64) float64 {
	seen := 0.0
	var visit func(*Expr)
	visit = func(p *Expr) {
		switch x := (*p).(type) {
		case *Subquery:
			e.degrees(x.Kind, x.Sub)
		case *HasEdge:
			if c, ok := x.From.(*ColRef); ok {
				seen += e.sources(in, c.Col) * e.o.Fanout(x.Types, x.Dir, e.likely(c.Col), nil)
			}
		}
		Subexprs(*p, visit)
	}
	n.exprs(visit)
	if a, ok := n.(*Apply); ok {
		e.degrees(a.Kind, a.Sub)
	}
	return seen
}

// degrees notes a subplan of which operators read degrees only.
func (e *Estimator) degrees(kind ApplyKind, sub Node) {
	x, ok := sub.(*Expand)
	if !ok || kind != Exists && kind != CountRows || x.Labels != nil || x.Into || len(x.DistinctFrom) > 0 || len(x.Where) > 0 {
		return
	}
	if _, ok = x.Input.(*Argument); ok {
		e.byDegree[x] = true
	}
}

// streams reports whether a node returns rows before its input has ended, all the way down to the source.
func streams(n Node) bool {
	switch n.(type) {
	case *Sort, *Aggregate, *Eager, *Drain, *MultiplicityCount, *FrontierCount, *BlockAggregate, *EdgeGroups, *Fallback, *HashJoin, *Merge, *Create, *Set, *Delete:
		return false
	}
	ok := true
	n.inputs(func(c *Node) { ok = ok && streams(*c) })
	return ok
}

// limit scales the visits below a Slice, which were total, to the share of the input rows that it takes: at least a batch.
func (e *Estimator) limit(n *Slice, in, below float64) float64 {
	if n.Limit == nil || !streams(n.Input) {
		return below
	}
	rows := float64(Bound(n.Limit, guessLimit))
	if n.Skip != nil {
		rows += float64(Bound(n.Skip, guessLimit))
	}
	if rows >= in {
		return below
	}
	return max(below*rows/in, min(below, graph.BatchSize))
}

// Start is the first hop of a plan that begins at the vertices which an index has for keys that are known before the run, so that their degree
// is, too.
type Start struct {
	Index graph.Index
	Keys  []Expr // constants and parameters
	Types []string
	Dir   graph.Direction
	// Fixed are the visits that do not depend on the degree, Mean is the degree that Query.Cost supposes.
	Fixed, Mean float64
}

// begin notes the first hop from a vertex in a column of input's rows.
func (e *Estimator) begin(input Node, from Col, types []string, dir graph.Direction, mean float64) {
	if e.start != nil || mean <= 0 {
		return
	}
	for {
		switch n := input.(type) {
		case *Filter:
			input = n.Input
			continue
		case *Seek:
			_, first := n.Input.(*Unit)
			for _, k := range n.Keys {
				switch k.(type) {
				case *Const, *Param:
				default:
					first = false
				}
			}
			if first && !n.Each && n.Out == from {
				e.start = &Start{Index: n.Index, Keys: n.Keys, Types: types, Dir: dir, Fixed: e.seen, Mean: mean}
			}
		}
		return
	}
}

// Cost is the estimated cost of the whole plan.
func (e *Estimator) Cost(root Node) cost.Cost {
	return cost.Cost{Visits: cost.Whole(max(0, e.seen)), Rows: cost.Whole(max(0, e.Rows[root]*e.skewOf[root]))}
}

// Start returns the first hop, or nil.
func (e *Estimator) Start() *Start { return e.start }
