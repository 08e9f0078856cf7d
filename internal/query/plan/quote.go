package plan

import (
	"maps"
	"math"
	"math/bits"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// mostQuote is the greatest bound that Quote gives: what a number of a structured field holds (RFC 9651, section 3.3.1).
const mostQuote = 999_999_999_999_999

// Quote returns the most visits, as cost.Cost counts them, that a run of an optimized plan takes by the counters of o and with these parameters,
// unless an error of an expression is met by running parts of the plan again; or why there is no bound. Each operator is bound from above by
// what its input has at most: labels by their counts, lists by the longest one and by all edges of the type, as in the chain bound of Joglekar
// and Ré ("It's All a Matter of Degree", ICDT 2016).
func (o *Statistics) Quote(root Node, params map[string]graph.Value) (visits int64, why string) {
	b := &quoter{o: o, params: params, outer: 1, repeats: map[Col]int64{}}
	if b.of(root); b.why != "" {
		return 0, b.why
	}
	if b.visits > mostQuote {
		return 0, "the bound exceeds 10^15"
	}
	return b.visits, ""
}

// quoter bounds the rows and visits of a plan from above. Sums and products saturate.
type quoter struct {
	o      *Statistics
	params map[string]graph.Value
	visits int64
	why    string // there is no bound; the first reason
	// outer bounds the rows for which the current subplan runs. alone says that it may not read them.
	outer int64
	alone bool
	// repeats bounds the rows of the node at hand that have the same vertex or edge in a column; without an entry, all of its rows may.
	repeats map[Col]int64
}

// none notes that a node has no bound.
func (b *quoter) none(n Node, reason string) int64 {
	if b.why == "" {
		name, _ := Describe(b.o.Query, n)
		b.why = name + ": " + reason
	}
	return 1
}

func (b *quoter) visit(n int64) { b.visits = plus(b.visits, n) }

// repeat bounds how many of some rows have the same value in a column.
func (b *quoter) repeat(c Col, rows int64) int64 {
	if n, ok := b.repeats[c]; ok {
		return min(n, rows)
	}
	return rows
}

// multiply notes that each row has become up to n rows.
func (b *quoter) multiply(n int64) {
	for c, r := range b.repeats {
		b.repeats[c] = times(r, n)
	}
}

// of bounds the rows of a node, at least by 1, and adds the visits of it and of all below it.
func (b *quoter) of(n Node) int64 {
	b.o.Steps.Add(1)
	if b.why != "" {
		return 1
	}
	switch n := n.(type) {
	case *Unit:
		return b.outer
	case *Argument:
		if b.alone {
			return b.none(n, "it runs again for each batch of rows")
		}
		return b.outer
	case *CountStore:
		return b.outer
	case *Apply:
		in := b.of(n.Input)
		b.expressions(n, in)
		rows := b.sub(n.Sub, in)
		switch n.Kind {
		case Inner:
			clear(b.repeats)
			return rows
		case Optional:
			clear(b.repeats)
			return plus(in, rows)
		}
		return in
	case *HashJoin:
		return b.join(n)
	case *Product:
		return b.product(n)
	case *Fallback:
		return b.of(n.Rows)
	case *Union:
		rows := int64(0)
		for _, c := range n.Inputs {
			rows = plus(rows, b.of(c))
		}
		clear(b.repeats)
		return rows
	}
	in, count := int64(1), 0
	n.inputs(func(c *Node) {
		if count++; count == 1 {
			in = b.of(*c)
		}
	})
	if count != 1 {
		return b.none(n, "its rows have no bound")
	}
	if b.why != "" {
		return 1
	}
	b.expressions(n, in)
	return max(1, b.rows(n, in))
}

// join bounds the pairs of a HashJoin by how often one of its keys repeats on either side.
func (b *quoter) join(n *HashJoin) int64 {
	left := b.of(n.Left)
	repeats := make([]int64, len(n.LeftKeys))
	for i, c := range n.LeftKeys {
		repeats[i] = b.repeat(c, left)
	}
	right := b.of(n.Right)
	rows := times(left, right)
	for i, c := range n.RightKeys {
		rows = min(rows, times(right, repeats[i]), times(left, b.repeat(c, right)))
	}
	clear(b.repeats)
	return rows
}

// product bounds the pairs of a Product, whose right side is read for each batch of the left one.
func (b *quoter) product(n *Product) int64 {
	left := b.of(n.Left)
	repeats, outer, alone, visits := b.repeats, b.outer, b.alone, b.visits
	b.repeats, b.outer, b.alone, b.visits = map[Col]int64{}, 1, true, 0
	right := b.of(n.Right)
	visits = plus(visits, times(left, b.visits))
	of := b.repeats
	b.repeats, b.outer, b.alone, b.visits = repeats, outer, alone, visits
	b.multiply(right)
	for c, r := range of {
		b.repeats[c] = times(r, left)
	}
	return times(left, right)
}

// sub bounds the rows of a subplan that runs for some rows.
func (b *quoter) sub(n Node, outer int64) int64 {
	before, alone, repeats := b.outer, b.alone, b.repeats
	b.outer, b.alone, b.repeats = outer, false, maps.Clone(repeats)
	rows := b.of(n)
	b.outer, b.alone, b.repeats = before, alone, repeats
	return rows
}

// rows bounds the rows of a node by those of its only input, and adds its visits.
func (b *quoter) rows(n Node, in int64) int64 {
	o := b.o
	switch n := n.(type) {
	case *Scan:
		if n.Rules != nil {
			return b.none(n, "access rules hide a part of the graph")
		}
		return b.found(n.Out, in, int64(o.scanned(n.Labels)))
	case *Seek:
		return b.seek(n, n.Out, &n.Index, n.Keys, n.Each, in)
	case *SeekEdges:
		return b.seek(n, n.Out, &n.Index, n.Keys, n.Each, in)
	case *SeekRange:
		return b.interval(n, n, in)
	case *SeekEdgeRange:
		r := SeekRange(*n)
		return b.interval(n, &r, in)
	case *SeekID:
		if n.Edge && !n.Element {
			return b.none(n, "it searches lists for the edge")
		}
		keys := int64(1)
		if n.Each {
			var ok bool
			if keys, ok = b.elements(n.Key); !ok {
				return b.none(n, "the list has an unknown length")
			}
		}
		return b.found(n.Out, in, keys)
	case *Filter, *Eager, *PathMultiplicity, *PairMultiplicity, *Project, *Sort, *Slice, *Distinct, *Aggregate, *Drain:
		return b.passed(n, in)
	case *BlockAggregate:
		if n.Type != "" {
			b.visit(int64(o.Counts.ByType[n.Type]))
		} else {
			b.visit(int64(o.scanned(n.Labels)))
		}
		return in
	case *Unwind:
		elems, ok := b.elements(n.List)
		if !ok {
			return b.none(n, "the list has an unknown length")
		}
		b.multiply(elems)
		return times(in, elems)
	case *Expand:
		return b.expand(n, in)
	case *Intersect:
		return b.none(n, "the pattern has a cycle")
	case *VarExpand:
		return b.varExpand(n, in)
	case *FrontierCount:
		return b.frontier(n, in)
	case *MultiplicityCount:
		for i := range n.Multiplicities {
			b.multiplicity(&n.Multiplicities[i], in, b.outer == 1)
		}
		return b.outer
	case *ShortestPath, *CheapestPaths, *FindPaths, *Traverse:
		return b.none(n, "a search has no bound")
	case *CallProc:
		return b.none(n, "a procedure has no bound")
	case *LoadCSV:
		return b.none(n, "a file has an unknown length")
	case *Create, *Merge, *Set, *Delete, *Foreach, *Transactions:
		return b.none(n, "a statement that writes has no bound")
	}
	return b.none(n, "how it reads depends on what it finds")
}

// passed bounds the rows of a node that returns no more than its input.
func (b *quoter) passed(n Node, in int64) int64 {
	switch n := n.(type) {
	case *PathMultiplicity:
		b.multiplicity(&n.Multiplicity, in, false)
	case *PairMultiplicity:
		for i := range n.Ends {
			b.multiplicity(&n.Ends[i], in, false)
		}
	case *Project:
		for _, it := range n.Items {
			if c, ok := it.Expr.(*ColRef); ok {
				if r, known := b.repeats[c.Col]; known {
					b.repeats[it.Col] = r
				}
			}
		}
	case *Sort:
		return b.limit(in, n.Skip, n.Limit)
	case *Slice:
		return b.limit(in, n.Skip, n.Limit)
	case *Distinct:
		if len(n.Cols) == 1 {
			b.repeats[n.Cols[0]] = b.outer
		}
	case *Aggregate:
		for _, k := range n.Keys {
			if c, ok := k.Expr.(*ColRef); ok {
				b.repeats[k.Col] = b.repeat(c.Col, in)
			}
		}
		switch len(n.Keys) {
		case 0:
			return b.outer
		case 1:
			b.repeats[n.Keys[0].Col] = b.outer
		}
	}
	return in
}

// limit bounds rows by a limit, which holds for each outer row.
func (b *quoter) limit(in int64, _, limit Expr) int64 {
	if v, ok := b.value(limit); ok && v.Kind() == graph.Int {
		return min(in, times(b.outer, max(0, v.Int())))
	}
	return in
}

// value returns the value of a constant or a parameter.
func (b *quoter) value(e Expr) (graph.Value, bool) {
	switch e := e.(type) {
	case *Const:
		return e.Value, true
	case *Param:
		v, ok := b.params[e.Name]
		return v, ok
	}
	return graph.Value{}, false
}

// elements returns the most rows that a list gives; ok is false if it is unknown.
func (b *quoter) elements(list Expr) (n int64, ok bool) {
	switch e := list.(type) {
	case *ListLit:
		return int64(len(e.Elems)), true
	case *Call:
		return b.ranged(e)
	}
	v, ok := b.value(list)
	if ok && v.Kind() == graph.List {
		return int64(len(v.List())), true
	}
	return 1, ok
}

// ranged returns the length of range(lo, hi, step) of known values.
func (b *quoter) ranged(e *Call) (n int64, ok bool) {
	if e.Func != "range" || len(e.Args) < 2 {
		return 0, false
	}
	at := [3]int64{2: 1}
	for i, x := range e.Args {
		v, known := b.value(x)
		if !known || v.Kind() != graph.Int {
			return 0, false
		}
		at[i] = v.Int()
	}
	lo, hi, step := at[0], at[1], at[2]
	if step < 0 && step != math.MinInt64 {
		lo, hi, step = hi, lo, -step
	}
	if step <= 0 || hi < lo {
		return 0, step > 0
	}
	return plus(1, int64(min(uint64(hi-lo)/uint64(step), math.MaxInt64))), true
}

// found bounds the rows of a node that joins each row with up to n different vertices or edges, and visits them.
func (b *quoter) found(out Col, in, n int64) int64 {
	rows := times(in, n)
	b.visit(max(in, rows))
	b.multiply(n)
	b.repeats[out] = in
	return rows
}

// seek bounds a look-up in an index.
func (b *quoter) seek(n Node, out Col, ix *graph.Index, keys []Expr, each bool, in int64) int64 {
	all, looked := int64(b.o.All(ix)), int64(1)
	if each {
		var ok bool
		if looked, ok = b.elements(keys[0]); !ok {
			return b.none(n, "the list has an unknown length")
		}
	}
	entries := all
	if ix.Unique {
		entries = min(all, looked)
	}
	b.visit(times(in, max(0, looked-entries))) // keys without an entry
	return b.found(out, in, entries)
}

// interval bounds the scan of a range of an index.
func (b *quoter) interval(n Node, r *SeekRange, in int64) int64 {
	if r.Area != NoArea {
		return b.none(n, "the cells of an area have an unknown number of points")
	}
	entries := int64(b.o.All(&r.Index))
	if r.Missing != MissingNowhere {
		entries = plus(entries, int64(b.o.Counts.ByLabel[r.Index.Label]))
	}
	return b.found(r.Out, in, entries)
}

// longest bounds the edges of one vertex by the highest bars of the histograms, or by all edges.
func (b *quoter) longest(types []string, dir graph.Direction) int64 {
	most := int64(0)
	b.lists(types, dir, func(one, _ int64) { most = plus(most, one) })
	return most
}

// edges bounds the edges of all vertices.
func (b *quoter) edges(types []string, dir graph.Direction) int64 {
	n := int64(0)
	b.lists(types, dir, func(_, all int64) { n = plus(n, all) })
	return n
}

// lists calls f for each of the types (none: all) and each direction with the most edges of one vertex and of all.
func (b *quoter) lists(types []string, dir graph.Direction, f func(one, all int64)) {
	if len(types) == 0 {
		types = b.o.TypeNames
	}
	for _, t := range types {
		all := int64(b.o.Counts.ByType[t])
		for _, d := range []graph.Direction{graph.Out, graph.In} {
			if dir != d && dir != graph.Both {
				continue
			}
			one, counted := int64(0), int64(0)
			for i, n := range b.o.Counts.Degrees[graph.TypeDir{Type: t, Dir: d}] {
				if n > 0 {
					one = 1<<min(i+1, 62) - 1
					counted = plus(counted, times(int64(n), one))
				}
			}
			if one = min(one, all); counted < all {
				one = all // the histogram lags behind, or there is none
			}
			f(one, all)
		}
	}
}

// expand bounds the edges of one hop.
func (b *quoter) expand(n *Expand, in int64) int64 {
	reads := b.hop(n.From, n.Types, n.Dir, in)
	if !n.Into {
		b.visit(reads)
		b.step(n.From, n.To, n.Edge, n.Types, n.Dir, in)
		return min(reads, b.reached(n.From, n.Types, n.Dir, in))
	}
	// It reads the lists of the end that has fewer, after the degrees of both.
	back := b.hop(n.To, n.Types, n.Dir.Reverse(), in)
	b.visit(plus(times(3, in), max(reads, back)))
	rows := min(reads, back)
	b.multiply(b.longest(n.Types, n.Dir))
	return rows
}

// hop bounds the edges that the lists of a column's vertices have, or the degrees that are read of them.
func (b *quoter) hop(from Col, types []string, dir graph.Direction, in int64) int64 {
	return max(in, b.reached(from, types, dir, in))
}

// reached bounds the edges that lead from the vertices of a column, each counted for each row.
func (b *quoter) reached(from Col, types []string, dir graph.Direction, in int64) int64 {
	return min(times(in, b.longest(types, dir)), times(b.repeat(from, in), b.edges(types, dir)))
}

// step notes how often columns repeat after a hop.
func (b *quoter) step(from, to, edge Col, types []string, dir graph.Direction, in int64) {
	before := b.repeat(from, in)
	b.multiply(b.longest(types, dir))
	b.repeats[to] = times(before, b.longest(types, dir.Reverse()))
	if edge != 0 {
		if b.repeats[edge] = before; dir == graph.Both {
			b.repeats[edge] = times(2, before)
		}
	}
}

// varExpand bounds the edges of trails of a bounded length.
func (b *quoter) varExpand(n *VarExpand, in int64) int64 {
	most, ok := b.value(n.Max)
	if !ok || most.Kind() != graph.Int {
		return b.none(n, "the length has no upper bound")
	}
	if n.Into {
		return b.none(n, "it searches from both ends")
	}
	least := int64(1)
	if n.Min != nil {
		v, known := b.value(n.Min)
		if !known || v.Kind() != graph.Int {
			return b.none(n, "the length has no known bound")
		}
		least = v.Int()
	}
	if n.Ends && least > 1 {
		return b.none(n, "it searches for trails to vertices that are nearer")
	}
	longest, level, reads, rows := b.longest(n.Types, n.Dir), in, int64(0), int64(0)
	if n.Ends {
		ends := b.ends(n.Types, n.Dir, most.Int())
		b.visit(times(in, ends))
		rows = times(in, min(ends, plus(1, int64(b.o.Counts.Vertices))))
		clear(b.repeats)
		return rows
	}
	if least <= 0 {
		rows = in
	}
	for k := int64(1); k <= most.Int(); k++ {
		if level = times(level, longest); k == 1 {
			level = b.reached(n.From, n.Types, n.Dir, in)
		}
		if k >= least {
			rows = plus(rows, level)
		}
		if reads = plus(reads, level); level == 0 || reads > mostQuote {
			break
		}
	}
	b.visit(max(in, reads))
	clear(b.repeats)
	return rows
}

// ends bounds what a search for the ends of trails from one vertex reads, breadth first: each level either by its edges or as a step of whole
// sets, of which the second has all vertices found so far; and the branches again, to find a closed trail.
func (b *quoter) ends(types []string, dir graph.Direction, most int64) int64 {
	longest, all, vertices := b.longest(types, dir), b.edges(types, dir), int64(b.o.Counts.Vertices)
	set, seen, reads, edges := int64(1), int64(1), int64(0), int64(0)
	for range most {
		level := min(times(set, longest), all)
		seen = min(plus(seen, level), vertices)
		reads = plus(reads, max(level, plus(times(2, set), seen)))
		edges = min(plus(edges, level), all)
		if set = min(level, vertices); level == 0 || reads > mostQuote {
			break
		}
	}
	if dir == graph.Both {
		reads = plus(reads, edges)
	}
	return reads
}

// frontier bounds what a FrontierCount reads.
func (b *quoter) frontier(n *FrontierCount, in int64) int64 {
	switch {
	case n.Most == math.MaxInt:
		return b.none(n, "the length has no upper bound")
	case n.Most > 0:
		b.visit(times(in, b.ends(n.Hops[0].Types, n.Hops[0].Dir, int64(n.Most))))
		return b.outer
	}
	vertices := times(b.outer, int64(b.o.Counts.Vertices))
	set, ways := min(in, vertices), int64(0)
	for i := range n.Hops {
		h := &n.Hops[i]
		longest, back := b.longest(h.Types, h.Dir), b.longest(h.Types, h.Dir.Reverse())
		edges := min(times(set, longest), times(b.outer, b.edges(h.Types, h.Dir)))
		ends := min(edges, vertices)
		b.visit(max(edges, plus(times(2, set), ends)))
		if n.Trail && i > 0 {
			// An end to which an edge of the trail found first leads again has its list read back, and then the ways back to the start
			// until one repeats no edge.
			ways = plus(back, times(min(back, set), ways))
			b.visit(times(min(ends, times(set, int64(2*i))), plus(back, ways)))
		} else {
			ways = back
		}
		set = ends
	}
	return b.outer
}

// multiplicity bounds what path multiplicities of in rows read: the lists of all branches. once says that those of a vertex are computed once
// in the whole run.
func (b *quoter) multiplicity(m *Multiplicity, in int64, once bool) {
	var branches func(bs []Branch, set, repeat int64)
	branches = func(bs []Branch, set, repeat int64) {
		for i := range bs {
			c := &bs[i]
			if once {
				set, repeat = min(set, int64(b.o.Counts.Vertices)), 1
			}
			edges := min(times(set, b.longest(c.Types, c.Dir)), times(repeat, b.edges(c.Types, c.Dir)))
			b.visit(max(set, edges))
			branches(c.Branches, edges, times(repeat, b.longest(c.Types, c.Dir.Reverse())))
		}
	}
	branches(m.Branches, in, b.repeat(m.Col, in))
}

// expressions adds what the expressions of a node read for the rows of its input.
func (b *quoter) expressions(n Node, in int64) {
	perRow := false
	switch n.(type) {
	case *Filter, *Project, *Aggregate, *Sort, *Unwind, *Apply:
		perRow = true
	}
	var visit func(*Expr)
	visit = func(p *Expr) {
		once := perRow
		switch x := (*p).(type) {
		case *Subquery, *HasEdge:
			if !once {
				b.none(n, "its condition reads the graph for each edge or element")
				return
			}
			b.read(x, in)
		case *Call:
			if strings.HasPrefix(x.Func, "vector.") {
				b.none(n, "it compares vectors")
			}
		case *Comprehension, *Quantifier, *Reduce:
			perRow = false
		}
		if s, ok := (*p).(*Subquery); ok && s.Kind == Collect && s.Expr != nil {
			perRow = false
		}
		Subexprs(*p, visit)
		perRow = once
	}
	n.exprs(visit)
}

// read adds what one expression reads for some rows.
func (b *quoter) read(e Expr, in int64) {
	switch x := e.(type) {
	case *Subquery:
		b.sub(x.Sub, in)
	case *HasEdge:
		list := max(b.longest(x.Types, x.Dir), b.longest(x.Types, x.Dir.Reverse()))
		b.visit(times(in, plus(3, list))) // the degrees of both ends, and the list of one
	}
}

// plus adds numbers that are not negative, and saturates.
func plus(x, y int64) int64 {
	if x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}

// times multiplies numbers that are not negative, and saturates.
func times(x, y int64) int64 {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}
