package optimize

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// logical are the rules that run before patterns are planned, physical those that run after.
var (
	logical = []rule{
		{
			name:  "InOfOne",
			why:   "x IN [y] and x = y are the same, null for null included, and an equality is what look-ups, joins and estimates know best. Wrong for a list whose length is not known.",
			apply: inOfOne,
		},
		{
			name:  "EdgeExists",
			why:   "EXISTS of one plain edge between two vertices that the row has is a test of the row, which runs no subplan, can be negated and can close a cycle. Wrong where the pattern binds a vertex, or asks more of the edge or its ends than type and direction.",
			apply: edgeExists,
		},
		{
			name:  "LabelsIntoPattern",
			why:   "WHERE v:Label on a vertex that the pattern binds is a label of the pattern, which scans, indexes and estimates know. Wrong on a vertex that the input has, which may be null, and within a disjunction.",
			apply: labelsIntoPattern,
		},
		{
			name:  "DropProjection",
			why:   "WITH that only passes variables on, between a MATCH and another or a filter, leaves the rows as they are; without it the clauses are planned together. Wrong where it computes, removes repeats, orders or limits.",
			apply: dropProjection,
		},
		{
			name:  "MergeMatches",
			why:   "MATCH p MATCH q asks for the same rows as one query graph whose edges differ within each clause only; planned as one, either may start. Wrong across OPTIONAL, whose rows survive without a match.",
			apply: mergeMatches,
		},
		{
			name:  "FilterIntoMatch",
			why:   "WITH … WHERE and WHERE mean the same directly above a MATCH that is not optional. Wrong above an optional one, where it would decide what matches instead of which rows stay.",
			apply: filterIntoMatch,
		},
		{
			name:  "CountPushdown",
			why:   "A count of rows is a sum of products: a leaf of the pattern that nothing else reads multiplies the rows of its neighbour by the number of its edges, so it need not be enumerated; leaf by leaf, a tree becomes one vertex. A single inequality of two vertices is the count without it less the count with them equal, or, where that intersects two lists of a row, the pairs of their entries that differ; so are up to three edges that must differ, over their partitions. Wrong where an edge of a longer list or in two ways could be another edge of its clause, and where anything but the count is read.",
			apply: pushDownCount,
		},
		{
			name:  "AggregatePushdown",
			why:   "A leaf of the pattern that neither groups nor aggregates read makes each row repeat as often as its neighbour has such edges, which counts, sums and means take at once: by group, degrees are multiplied as well. Wrong for lists and percentiles, where an edge could be another edge of its clause, and expensive where the pattern is best found from the leaf.",
			apply: pushDownAggregate,
		},
	}
	physical = []rule{
		{
			name:  "TopK",
			why:   "ORDER BY … SKIP … LIMIT keeps the first rows of the order, which a heap of that size finds. Wrong when something between them changes the rows.",
			apply: topK,
		},
		{
			name:  "IndexOrder",
			why:   "ORDER BY one property of a label's vertices is the order of an index that begins with it, with those that lack it before or after, so the first rows need not wait for the last. Wrong where something changes the graph meanwhile, where rows come from more than one vertex, and expensive where few of them pass a condition.",
			apply: orderByIndex,
		},
		{
			name:  "LateProjection",
			why:   "What the order does not read is read and computed for the rows that a limit leaves, and what it reads is computed key by key, for the rows that the keys before leave. Wrong without a limit, where as many rows come out, and expensive for what a key reads that must be computed again.",
			apply: lateProjection,
		},
		{
			name:  "PathLength",
			why:   "length(p) of a shortest path is known once it is found, by sets of vertices; which edges it goes along need not be looked up. Wrong where the path or its edges are read.",
			apply: pathLength,
		},
		{
			name:  "CountStore",
			why:   "count(*) of all vertices of a label, or of all edges of a type, is a counter that every commit keeps. Wrong with any predicate, with a second label, or for edges of both directions.",
			apply: countStore,
		},
		{
			name:  "FrontierCount",
			why:   "A count of distinct ends depends on the set of vertices at each hop alone, so each hop turns one set into the next; where all edges must differ, one trail to each vertex of a set is kept as a witness. Conditions on a hop's edge and the vertex that it leads to are tested beside the list. Wrong where only some of the edges must differ, where a condition reads more of the row or runs a subplan, or where something else of the rows is read.",
			apply: frontierCount,
		},
		{
			name:  "DistinctBelow",
			why:   "Rows that are equal in all that is read above an expansion expand alike, so below DISTINCT one of them is enough. Not worth it where few rows repeat; wrong where rows are counted, and where edges that must differ are compared.",
			apply: distinctBelow,
		},
		{
			name:  "DistinctKey",
			why:   "Rows that belong to one vertex and differ in its unique key differ if their vertices do, so repeats of the vertex are removed before its properties are read, and nothing is compared where the key is there. Wrong where a row has more than one vertex, and where vertices without the key's label may come.",
			apply: distinctKey,
		},
		{
			name:  "AggregateBelow",
			why:   "Rows that are equal in all that is read above an expansion expand alike: they are counted below it, and counts, sums and means above take each as often. Not worth it where few rows repeat; wrong for lists and percentiles, and where edges that must differ are compared.",
			apply: aggregateBelow,
		},
		{
			name:  "DistinctGroups",
			why:   "Properties of the vertices of an expansion are grouped by codes, which read the property of a vertex once, however many rows it has. Not worth it where a key tells rows apart; slow where the first rows are enough.",
			apply: distinctGroups,
		},
		{
			name:  "EdgeGroups",
			why:   "Edges counted by properties of their ends need no rows: the groups of all vertices are numbered once, and each edge adds one to a cell of a matrix. What is computed from such properties is computed for each cell. Wrong with conditions, for lists and percentiles, without direction, with an end of several labels; slow where an end has many more vertices than there are edges, and by the numbering alone where the matrix is too large.",
			apply: edgeGroups,
		},
		{
			name:  "BlockAggregate",
			why:   "Counts, extremes, sums and means of properties of all edges of a type, or of the vertices of a label, need no rows: each shard adds them up from blocks of decoded values and their least and greatest value, number and sum, and a comparison with a constant skips blocks. For groups of vertices, texts of a block have codes. Wrong with other conditions, and with a label that an end of the edges may lack.",
			apply: blockAggregate,
		},
	}
)

func mergeMatches(_ *optimizer, n plan.Node) plan.Node {
	top, ok := n.(*plan.Match)
	if !ok || top.Optional {
		return nil
	}
	below, ok := top.Input.(*plan.Match)
	if !ok || below.Optional || size(&top.Pattern)+size(&below.Pattern) > maxMerged {
		return nil
	}
	p := plan.Pattern{
		Vertices: slices.Clone(below.Pattern.Vertices),
		Edges:    slices.Clone(below.Pattern.Edges),
		Paths:    append(slices.Clone(below.Pattern.Paths), top.Pattern.Paths...),
		Preds:    append(below.Pattern.Preds, top.Pattern.Preds...), // nobody else has those below
	}
	groups := 0
	for _, e := range p.Edges {
		groups = max(groups, e.Group+1)
		if e.Shortest != "" {
			return nil // its ends must be bound first, and its predicates stay with it
		}
	}
	for _, v := range top.Pattern.Vertices {
		i := slices.IndexFunc(p.Vertices, func(w plan.PatVertex) bool { return w.Col == v.Col })
		if i < 0 {
			p.Vertices = append(p.Vertices, v)
			continue
		}
		p.Vertices[i].Labels = plan.AndLabels(p.Vertices[i].Labels, v.Labels)
	}
	for _, e := range top.Pattern.Edges {
		if e.Shortest != "" {
			return nil
		}
		if e.Bound && slices.ContainsFunc(p.Edges, func(f plan.PatEdge) bool { return f.Col == e.Col }) {
			return nil // an edge occurs in both clauses
		}
		e.Group += groups
		p.Edges = append(p.Edges, e)
	}
	return &plan.Match{Input: below.Input, Pattern: p}
}

func filterIntoMatch(_ *optimizer, n plan.Node) plan.Node {
	f, ok := n.(*plan.Filter)
	if !ok {
		return nil
	}
	m, ok := f.Input.(*plan.Match)
	if !ok || m.Optional || slices.ContainsFunc(m.Pattern.Edges, func(e plan.PatEdge) bool { return e.Shortest != "" }) {
		return nil
	}
	c := *m
	c.Pattern.Preds = append(slices.Clone(m.Pattern.Preds), f.Preds...)
	return &c
}

func labelsIntoPattern(_ *optimizer, n plan.Node) plan.Node {
	m, ok := n.(*plan.Match)
	if !ok || !slices.ContainsFunc(m.Pattern.Preds, func(e plan.Expr) bool { _, ok := e.(*plan.HasLabels); return ok }) {
		return nil
	}
	c := *m
	c.Pattern.Vertices = slices.Clone(m.Pattern.Vertices)
	c.Pattern.Preds = slices.DeleteFunc(slices.Clone(m.Pattern.Preds), func(e plan.Expr) bool {
		has, ok := e.(*plan.HasLabels)
		if !ok {
			return false
		}
		ref, ok := has.X.(*plan.ColRef)
		if !ok {
			return false
		}
		i := slices.IndexFunc(c.Pattern.Vertices, func(v plan.PatVertex) bool { return v.Col == ref.Col && !v.Bound })
		if i < 0 {
			return false
		}
		v := &c.Pattern.Vertices[i]
		v.Labels = plan.AndLabels(v.Labels, has.Labels)
		return true
	})
	if len(c.Pattern.Preds) == len(m.Pattern.Preds) || slices.ContainsFunc(m.Pattern.Edges, func(e plan.PatEdge) bool { return e.Shortest != "" || e.Walk != nil }) {
		return nil
	}
	return &c
}

func dropProjection(_ *optimizer, n plan.Node) plan.Node {
	below := func(in plan.Node) plan.Node {
		p, ok := in.(*plan.Project)
		if !ok {
			return nil
		}
		if m, ok := p.Input.(*plan.Match); !ok || m.Optional {
			return nil
		}
		for _, it := range p.Items {
			if ref, ok := it.Expr.(*plan.ColRef); !ok || ref.Col != it.Col {
				return nil
			}
		}
		return p.Input
	}
	switch n := n.(type) {
	case *plan.Match:
		if in := below(n.Input); in != nil && !n.Optional {
			c := *n
			c.Input = in
			return &c
		}
	case *plan.Filter:
		if in := below(n.Input); in != nil {
			return &plan.Filter{Input: in, Preds: n.Preds}
		}
	}
	return nil
}

func topK(_ *optimizer, n plan.Node) plan.Node {
	s, ok := n.(*plan.Slice)
	if !ok || s.Limit == nil {
		return nil
	}
	sort, ok := s.Input.(*plan.Sort)
	if ok && sort.Limit == nil && sort.Skip == nil {
		return &plan.Sort{Input: sort.Input, Keys: sort.Keys, Skip: s.Skip, Limit: s.Limit}
	}
	// A projection maps rows one to one, so the slice may move below it; the expressions are then computed only for the
	// remaining rows.
	if p, ok := s.Input.(*plan.Project); ok {
		if sort, ok := p.Input.(*plan.Sort); ok && sort.Limit == nil && sort.Skip == nil {
			c := *p
			c.Input = &plan.Sort{Input: sort.Input, Keys: sort.Keys, Skip: s.Skip, Limit: s.Limit}
			return &c
		}
	}
	return nil
}

// lateProjection moves the items of a projection above a Top. Items that the order reads become keys or parts of keys, so keys
// after the first are computed only for the rows that the first leaves.
func lateProjection(o *optimizer, n plan.Node) plan.Node {
	s, ok := n.(*plan.Sort)
	if !ok || s.Limit == nil {
		return nil
	}
	p, ok := s.Input.(*plan.Project)
	if !ok {
		return nil
	}
	c := *s
	c.Keys = slices.Clone(s.Keys)
	readers, keyCols := map[plan.Col][]int{}, plan.NewColSet()
	var early, late []plan.Item
	for i, k := range s.Keys {
		o.Steps.Add(1)
		for c := range plan.Reads(k.Expr).All() {
			readers[c] = append(readers[c], i)
		}
		if keyCols.Add(k.Col); k.Col != 0 && !p.Keep {
			late = append(late, plan.Item{Col: k.Col, Expr: &plan.ColRef{Col: k.Col}})
		}
	}
	moved := false
	for _, it := range p.Items {
		ref, isRef := it.Expr.(*plan.ColRef)
		passing := isRef && ref.Col == it.Col
		stays, isKey := !passing && len(readers[it.Col]) > 0, false
		o.Steps.Add(1)
		if stays && intoKeys(c.Keys, readers[it.Col], it, keyCols) {
			stays, moved = false, true
			isKey = keyCols.Has(it.Col)
		}
		if stays {
			early = append(early, it)
		}
		switch {
		case !stays && !isKey:
			late = append(late, it)
			moved = moved || !passing
		case !p.Keep:
			late = append(late, plan.Item{Col: it.Col, Expr: &plan.ColRef{Col: it.Col}})
		}
	}
	if !moved {
		return nil
	}
	if c.Input = p.Input; len(early) > 0 {
		c.Input = &plan.Project{Input: p.Input, Items: early, Keep: true}
	}
	if p.Keep && len(late) == 0 {
		return &c
	}
	return &plan.Project{Input: &c, Items: late, Keep: p.Keep}
}

// intoKeys makes the keys that read an item compute it themselves, if possible: a key is just the item, and returns its column, which
// is added to cols, or the item is a property, which may be read again for the few remaining rows.
func intoKeys(keys []plan.SortKey, readers []int, it plan.Item, cols plan.ColSet) bool {
	if plan.Volatile(it.Expr) {
		return false
	}
	whole := slices.IndexFunc(readers, func(i int) bool {
		ref, ok := keys[i].Expr.(*plan.ColRef)
		return ok && ref.Col == it.Col && keys[i].Col == 0
	})
	x := it.Expr
	if p, ok := x.(*plan.Prop); ok {
		x = p.X
	}
	_, again := x.(*plan.ColRef)
	into := make([]plan.SortKey, len(readers))
	for n, i := range readers {
		into[n] = keys[i]
		if n == whole {
			into[n].Expr, into[n].Col = it.Expr, it.Col
			continue
		}
		e, ok := inline(keys[i].Expr, it)
		if !ok || !again {
			return false
		}
		into[n].Expr = e
	}
	if whole < 0 && !again {
		return false
	}
	for n, i := range readers {
		keys[i] = into[n]
	}
	if whole >= 0 {
		cols.Add(it.Col)
	}
	return true
}

// inline replaces an item's column by its expression; ok is false if the column occurs deeper than in operators and calls.
func inline(e plan.Expr, it plan.Item) (plan.Expr, bool) {
	args := func(in []plan.Expr) (out []plan.Expr, ok bool) {
		out = slices.Clone(in)
		for i := range out {
			if out[i], ok = inline(out[i], it); !ok {
				return nil, false
			}
		}
		return out, true
	}
	switch x := e.(type) {
	case *plan.ColRef:
		if x.Col == it.Col {
			return it.Expr, true
		}
	case *plan.Op:
		as, ok := args(x.Args)
		return &plan.Op{Op: x.Op, Args: as, Pos: x.Pos}, ok
	case *plan.Call:
		as, ok := args(x.Args)
		return &plan.Call{Func: x.Func, Args: as, Pos: x.Pos}, ok
	default:
		return e, !plan.Reads(e).Has(it.Col)
	}
	return e, true
}

// inOfOne is the rule InOfOne, on the expressions of a node.
func inOfOne(_ *optimizer, n plan.Node) plan.Node {
	fired := false
	var visit func(*plan.Expr)
	visit = func(p *plan.Expr) {
		plan.Subexprs(*p, visit)
		in, ok := (*p).(*plan.Op)
		if !ok || in.Op != plan.In {
			return
		}
		if l, ok := in.Args[1].(*plan.ListLit); ok && len(l.Elems) == 1 {
			*p, fired = &plan.Op{Op: plan.Eq, Args: []plan.Expr{in.Args[0], l.Elems[0]}, Pos: in.Pos}, true
		}
	}
	plan.EachExpr(n, visit)
	if !fired {
		return nil
	}
	return n
}

func countStore(o *optimizer, n plan.Node) plan.Node {
	if o.env.Features != nil && !o.env.Features.Has(shard.ExactCounts) {
		return nil
	}
	a, ok := n.(*plan.Aggregate)
	if !ok || len(a.Keys) > 0 || a.Times != nil || len(a.Aggs) != 1 || a.Aggs[0].Func != "count" || a.Aggs[0].Distinct {
		return nil
	}
	counted := plan.Col(0)
	switch args := a.Aggs[0].Args; len(args) {
	case 0:
	case 1:
		ref, ok := args[0].(*plan.ColRef)
		if !ok {
			return nil
		}
		counted = ref.Col
	default:
		return nil
	}
	switch in := a.Input.(type) {
	case *plan.Scan:
		if _, ok := in.Input.(*plan.Unit); !ok || counted != 0 && counted != in.Out {
			return nil
		}
		if in.Labels == nil {
			return &plan.CountStore{Out: a.Aggs[0].Col}
		}
		if in.Labels.Op == plan.LabelName {
			return &plan.CountStore{Out: a.Aggs[0].Col, Name: in.Labels.Name}
		}
	case *plan.Expand:
		scan, ok := in.Input.(*plan.Scan)
		if !ok || in.Dir == graph.Both || in.Into || in.Labels != nil || len(in.Where) > 0 || len(in.DistinctFrom) > 0 ||
			len(in.Types) > 1 || scan.Labels != nil || in.To == scan.Out ||
			counted != 0 && counted != in.Edge && counted != in.To && counted != scan.Out {
			return nil
		}
		if _, ok := scan.Input.(*plan.Unit); !ok {
			return nil
		}
		c := &plan.CountStore{Out: a.Aggs[0].Col, Edges: true}
		if len(in.Types) == 1 {
			c.Name = in.Types[0]
		}
		return c
	}
	return nil
}

// blockAggregate is the rule BlockAggregate.
func blockAggregate(o *optimizer, n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok || a.Times != nil || o.Query.Writes || !o.env.Features.Has(shard.Aggregates) {
		return nil
	}
	b := &plan.BlockAggregate{Input: a, Keys: a.Keys, Aggs: a.Aggs}
	var preds []plan.Expr
	in := a.Input
	if f, ok := in.(*plan.Filter); ok {
		if _, ok := f.Input.(*plan.Scan); ok {
			preds, in = f.Preds, f.Input
		}
	}
	if x, ok := in.(*plan.Expand); ok && len(a.Keys) == 0 && x.Dir != graph.Both && !x.Into && len(x.DistinctFrom) == 0 && len(x.Types) == 1 {
		b.Of, b.Labels, b.Type, b.Dir = x.Edge, x.Labels, x.Types[0], x.Dir
		preds, in = x.Where, x.Input
	}
	scan, ok := in.(*plan.Scan)
	if !ok {
		return nil
	}
	if _, ok := scan.Input.(*plan.Unit); !ok {
		return nil
	}
	if b.Type == "" {
		b.Of, b.Labels = scan.Out, scan.Labels
	} else {
		b.FromLabels = scan.Labels
	}
	for _, e := range preds {
		r, ok := plan.RangeOf(e, b.Of)
		if !ok {
			return nil
		}
		b.Where = append(b.Where, r)
	}
	for _, k := range a.Keys {
		if _, ok := b.PropOf(k.Expr); !ok {
			return nil
		}
	}
	if len(a.Keys) == 0 && len(preds) == 0 && !slices.ContainsFunc(a.Aggs, func(g plan.Agg) bool { return len(g.Args) > 0 }) {
		return nil
	}
	if b.Type != "" && !b.All(o.Counts) || b.Type == "" && b.Labels != nil && b.Labels.Op != plan.LabelName {
		return nil
	}
	for i := range a.Aggs {
		if !b.Takes(&a.Aggs[i]) {
			return nil
		}
	}
	return b
}

// distinctEnds is the rule DistinctEnds: a variable length expansion whose list of edges is not read returns each end once if
// repeated rows make no difference above: below DISTINCT, below aggregates that ignore repeats, in EXISTS. set says that the
// rows of n are used as a set.
func (o *optimizer) distinctEnds(n plan.Node, set bool) {
	o.Steps.Add(1)
	plan.EachPlan(n, func(c *plan.Node) { o.distinctEnds(*c, false) })
	if o.off("DistinctEnds") {
		return
	}
	switch n := n.(type) {
	case *plan.VarExpand:
		if set && n.Edges == 0 && len(n.DistinctFrom) == 0 {
			n.Ends = true
			o.fired("DistinctEnds")
		}
		o.distinctEnds(n.Input, set)
	case *plan.Distinct:
		o.distinctEnds(n.Input, true)
	case *plan.Aggregate:
		o.distinctEnds(n.Input, !slices.ContainsFunc(n.Aggs, func(a plan.Agg) bool {
			return !a.Distinct && a.Func != "min" && a.Func != "max"
		}))
	case *plan.Filter, *plan.Project, *plan.Expand, *plan.Intersect, *plan.Seek, *plan.SeekRange, *plan.SeekEdges, *plan.SeekEdgeRange, *plan.SeekID, *plan.Scan, *plan.Unwind, *plan.ShortestPath:
		plan.EachInput(n, func(c *plan.Node) { o.distinctEnds(*c, set) })
	case *plan.Apply:
		o.distinctEnds(n.Input, set)
		o.distinctEnds(n.Sub, n.Kind == plan.Exists || set && (n.Kind == plan.Inner || n.Kind == plan.Optional))
	case *plan.Union:
		for _, in := range n.Inputs {
			o.distinctEnds(in, set || !n.All)
		}
	case *plan.Sort:
		o.distinctEnds(n.Input, set && n.Limit == nil && n.Skip == nil)
	default:
		plan.EachInput(n, func(c *plan.Node) { o.distinctEnds(*c, false) })
	}
}

// The cost-based choices of pattern planning. Without one, patterns start where they are written, use scans and expansions, and test
// predicates at the end.
const (
	startPoint     = "StartPoint"     // start elsewhere than at the first vertex in the text
	seekIndex      = "IndexSeek"      // look vertices or edges up in an index, or by id
	ruleIndex      = "RuleIndex"      // scan a label by an index of what access rules compare
	hashJoin       = "HashJoin"       // hash the vertices of a disjoint part by the compared values
	intersection   = "Intersection"   // close a cycle by intersecting two lists
	orExpansion    = "OrExpansion"    // plan the branches of a disjunction by themselves
	pushPredicates = "PushPredicates" // test a predicate before the whole pattern is matched
)

// EagerRule makes a clause wait for all rows of those before it if one of them writes what the other reads or writes, so that
// no clause reads its own writes. The front end applies it, because it knows the clauses; it cannot be disabled, because
// results would change.
const EagerRule = "Eager"

// barriers records that EagerRule has fired.
func (o *optimizer) barriers(n plan.Node) {
	o.Steps.Add(1)
	if e, ok := n.(*plan.Eager); ok && e.Why != "" {
		o.fired(EagerRule)
	}
	plan.EachInput(n, func(c *plan.Node) { o.barriers(*c) })
	plan.EachPlan(n, func(c *plan.Node) { o.barriers(*c) })
}

// off reports whether a rule is disabled.
func (o *optimizer) off(rule string) bool { return slices.Contains(o.env.Disable, rule) }

// fired records that a rule has fired.
func (o *optimizer) fired(rule string) {
	if o.env.Fired != nil {
		o.env.Fired(rule)
	}
}

// Rules returns the names of the rules that can be disabled.
func Rules() []string {
	names := []string{"DistinctEnds", startPoint, seekIndex, ruleIndex, hashJoin, intersection, orExpansion, pushPredicates}
	for _, rs := range [][]rule{logical, physical} {
		for i := range rs {
			names = append(names, rs[i].name)
		}
	}
	return names
}
