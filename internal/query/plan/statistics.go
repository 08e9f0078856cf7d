package plan

import (
	"maps"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// Guesses without statistics; they only have to order common plans correctly.
const (
	selEqual = 0.1
	selRange = 0.3
	selOther = 0.5
	selNot   = 0.9
	selArea  = 0.02 // a point lies within an area
	selSame  = 0.01 // two vertices are the same
	selRare  = 1e-6 // a condition that no vertex satisfies
)

// MinNewVertices is the least estimate for a scan in a statement that writes: the statement may create vertices first and scan
// them for each row that it creates.
const MinNewVertices = 100

// EdgeCost is the cost of reading an edge of a list, relative to that of a row.
const EdgeCost = 0.2

// Statistics are the statistics of a graph, for estimates about one query.
type Statistics struct {
	Query   *Query
	Counts  *graph.Counts
	Indexes []graph.Index
	Steps   *steps.Counter
	// TypeNames are the types that counts knows, sorted, so that one graph has one plan.
	TypeNames []string
	// EdgeTypes are the types of the edges of the patterns planned so far, none if they may have any.
	EdgeTypes map[Col][]string
}

// NewStatistics returns the statistics for estimates about q. count counts the steps of the work.
func NewStatistics(q *Query, counts *graph.Counts, indexes []graph.Index, count *steps.Counter) *Statistics {
	if counts == nil {
		counts = &graph.Counts{}
	}
	return &Statistics{
		Query: q, Counts: counts, Indexes: indexes, Steps: count, TypeNames: slices.Sorted(maps.Keys(counts.ByType)), EdgeTypes: map[Col][]string{},
	}
}

// Vertices estimates how many vertices satisfy a label expression.
func (o *Statistics) Vertices(l *LabelExpr) float64 {
	all := float64(max(1, o.Counts.Vertices))
	if l == nil {
		return all
	}
	switch l.Op {
	case LabelName:
		return float64(o.Counts.ByLabel[l.Name])
	case LabelAnd:
		n := all
		for _, a := range l.Args {
			n = min(n, o.Vertices(a))
		}
		return n
	case LabelOr:
		n := 0.0
		for _, a := range l.Args {
			n += o.Vertices(a)
		}
		return min(n, all)
	case LabelNot:
		return max(1, all-o.Vertices(l.Args[0]))
	}
	return all
}

// edges estimates how many edges of a type have an end with the labels: their source if out, else their target.
func (o *Statistics) edges(typ string, out bool, l *LabelExpr) float64 {
	n := float64(o.Counts.ByType[typ])
	for _, name := range l.Names() {
		key := graph.TypeEnds{Src: name, Type: typ}
		if !out {
			key = graph.TypeEnds{Type: typ, Dst: name}
		}
		if len(o.Counts.Ends) > 0 {
			n = min(n, float64(o.Counts.Ends[key]))
		} else {
			n = min(n, n*o.Vertices(l)/o.Vertices(nil))
		}
	}
	return n
}

// Fanout estimates the edges of one step from a vertex with labels from to vertices with labels to.
func (o *Statistics) Fanout(types []string, dir graph.Direction, from, to *LabelExpr) float64 {
	if len(types) == 0 {
		types = o.TypeNames
	}
	total := 0.0
	for _, t := range types {
		if dir != graph.In {
			total += o.edges(t, true, from) * o.Share(t, false, to)
		}
		if dir != graph.Out {
			total += o.edges(t, false, from) * o.Share(t, true, to)
		}
	}
	return total / max(1, o.Vertices(from))
}

// Share is the share of a type's edges whose end (the source if out) has the labels.
func (o *Statistics) Share(typ string, out bool, l *LabelExpr) float64 {
	all := float64(o.Counts.ByType[typ])
	if l == nil || all == 0 {
		return 1
	}
	return o.edges(typ, out, l) / all
}

// AllEnds reports whether, by the counters, all far ends of edges of the types (none: all) have the labels.
func (o *Statistics) AllEnds(types []string, dir graph.Direction, l *LabelExpr) bool {
	if l == nil {
		return true
	}
	if l.Op != LabelName || len(o.Counts.Ends) == 0 {
		return false
	}
	if len(types) == 0 {
		types = o.TypeNames
	}
	for _, t := range types {
		n := o.Counts.ByType[t]
		if dir != graph.In && o.Counts.Ends[graph.TypeEnds{Type: t, Dst: l.Name}] != n ||
			dir != graph.Out && o.Counts.Ends[graph.TypeEnds{Src: l.Name, Type: t}] != n {
			return false
		}
	}
	return true
}

// Selectivity estimates the share of rows that satisfy a predicate. labels are the labels of a pattern's vertices.
func (o *Statistics) Selectivity(e Expr, labels map[Col]*LabelExpr) float64 {
	if x, ok := e.(*HasEdge); ok {
		return o.hasEdge(x, labels)
	}
	op, ok := e.(*Op)
	if !ok {
		return selOther
	}
	switch op.Op {
	case And:
		s := 1.0
		for _, a := range op.Args {
			s *= o.Selectivity(a, labels)
		}
		return s
	case Or:
		s := 0.0
		for _, a := range op.Args {
			s += o.Selectivity(a, labels)
		}
		return min(1, s)
	case Not:
		return max(selNot, 1-o.Selectivity(op.Args[0], labels))
	case Eq:
		s := 1.0
		for i := range op.Args {
			s = min(s, o.equality(op.Args[i], labels))
		}
		if _, ok := op.Args[0].(*ColRef); ok {
			if _, ok := op.Args[1].(*ColRef); ok {
				return selSame
			}
		}
		return s
	case In:
		n := 3.0
		if l, ok := op.Args[1].(*ListLit); ok {
			n = float64(len(l.Elems))
		}
		return min(selOther, n*o.equality(op.Args[0], labels))
	case Lt, Le, Gt, Ge, StartsWith:
		return selRange
	case IsNotNull:
		if s, ok := o.present(op.Args[0], labels); ok {
			return s
		}
	case IsNull:
		if s, ok := o.present(op.Args[0], labels); ok {
			return max(selRare, 1-s)
		}
	case Ne:
		return selNot
	}
	return selOther
}

// hasEdge estimates the share of pairs of vertices that an edge connects.
func (o *Statistics) hasEdge(e *HasEdge, labels map[Col]*LabelExpr) float64 {
	from, ok := e.From.(*ColRef)
	to, ok2 := e.To.(*ColRef)
	if !ok || !ok2 {
		return selOther
	}
	return min(1, o.Fanout(e.Types, e.Dir, labels[from.Col], labels[to.Col])/max(1, o.Vertices(labels[to.Col])))
}

// present returns the share of the vertices or edges that have a property, at least one of them, so that an estimate does not fall
// below that of an index. ok is false without statistics.
func (o *Statistics) present(e Expr, labels map[Col]*LabelExpr) (part float64, ok bool) {
	p, c := o.propOfEntity(e)
	if p == nil || o.Counts.Props == nil {
		return 0, false
	}
	have, all := 0.0, 0.0
	if types, isEdge := o.EdgeTypes[c.Col]; isEdge {
		for _, t := range types {
			have += float64(o.Counts.Props[graph.PropOf{Type: t, Prop: p.Key}])
			all += float64(o.Counts.ByType[t])
		}
	} else {
		have, all = float64(o.Counts.Props[graph.PropOf{Prop: p.Key}]), o.Vertices(labels[c.Col])
		for _, name := range labels[c.Col].Names() {
			have = min(have, float64(o.Counts.Props[graph.PropOf{Label: name, Prop: p.Key}]))
		}
	}
	return min(1, max(1, have)/max(1, all)), true
}

// propOfEntity returns the parts of an expression that is a property of a vertex or an edge, but not of a map in a column;
// otherwise nil.
func (o *Statistics) propOfEntity(e Expr) (*Prop, *ColRef) {
	if p, ok := e.(*Prop); ok {
		if c, ok := p.X.(*ColRef); ok {
			if kind := o.Query.Cols[c.Col].Kind; kind == graph.VertexKind || kind == graph.EdgeKind {
				return p, c
			}
		}
	}
	return nil, nil
}

// equality is the share of the vertices that have one value of a property.
func (o *Statistics) equality(e Expr, labels map[Col]*LabelExpr) float64 {
	p, c := o.propOfEntity(e)
	if p == nil {
		return selEqual
	}
	some, known := o.present(p, labels)
	if !known {
		some = 1
	}
	for _, name := range labels[c.Col].Names() {
		for i := range o.Indexes {
			ix := &o.Indexes[i]
			if ix.Label == name && len(ix.Props) > 0 && ix.Props[0] == p.Key && ix.Ordered() {
				return some / max(1, min(o.Distinct(ix), o.All(ix)))
			}
		}
	}
	return some * selEqual
}

// Distinct estimates the number of distinct keys of an index.
func (o *Statistics) Distinct(ix *graph.Index) float64 {
	n := o.All(ix)
	if ix.Unique {
		return n
	}
	if d := float64(o.Counts.Distinct[ix.Name]); d > 0 {
		return d
	}
	return math.Sqrt(n)
}

// VarFanout estimates the trails of variable length from a vertex with labels from to vertices with labels to. There are as many
// from one end as from the other, so it is the lesser of what both suggest.
func (o *Statistics) VarFanout(types []string, dir graph.Direction, from, to *LabelExpr, l *Length) float64 {
	sources, targets := max(1, o.Vertices(from)), max(1, o.Vertices(to))
	trails := powers(o.Fanout(types, dir, from, to), l, targets)
	if to == nil {
		return trails // the average over all vertices says nothing of the ends
	}
	return min(trails, powers(o.Fanout(types, dir.Reverse(), to, from), l, sources)*targets/sources)
}

// powers is the sum of the powers of a fan-out over the bounds of a variable length, limited to a few scans of all vertices.
func powers(fan float64, l *Length, all float64) float64 {
	lo, hi := Bound(l.Min, 1), Bound(l.Max, 6)
	total := 0.0
	for k := lo; k <= min(hi, lo+8); k++ {
		total += math.Pow(fan, float64(k))
	}
	return min(total, 4*all+fan)
}

// Bound is a constant bound of a length, or a guess.
func Bound(e Expr, guess int64) int64 {
	if c, ok := e.(*Const); ok && c.Value.Kind() == graph.Int {
		return c.Value.Int()
	}
	return guess
}

// All estimates the entries of an index by the counters: the entities that have its first property.
func (o *Statistics) All(ix *graph.Index) float64 {
	if o.Counts.Props != nil && len(ix.Props) > 0 {
		return float64(o.Counts.Props[graph.PropOf{Label: ix.Label, Type: ix.Type, Prop: ix.Props[0]}])
	}
	if ix.Type != "" {
		return float64(o.Counts.ByType[ix.Type])
	}
	return o.Vertices(&LabelExpr{Name: ix.Label})
}

// RuleRows estimates the entries of an index whose first property equals one of some values or, without values, is in an interval with
// one bound or two.
func (o *Statistics) RuleRows(ix *graph.Index, values, bounds int) float64 {
	switch all := o.All(ix); {
	case values == 0:
		return all * math.Pow(selRange, float64(bounds))
	case ix.Unique && len(ix.Props) == 1:
		return min(all, float64(values))
	default:
		return min(all, float64(values)*max(1, all/max(1, o.Distinct(ix))))
	}
}

// InArea estimates how many of an index's points lie within an area.
func (o *Statistics) InArea(a Area, ix *graph.Index) float64 {
	if a == AreaPoint {
		return max(1, o.All(ix)/max(1, o.Distinct(ix)))
	}
	return o.All(ix) * selArea
}

// Unevenness is the mean of the squared lengths of a type's lists divided by the square of the mean, by their histogram, in the
// direction in which it is greater if both are followed.
func (o *Statistics) Unevenness(typ string, dir graph.Direction) float64 {
	most := 1.0
	o.EachLists(typ, dir, func(lists, edges, squares float64) { most = max(most, squares*lists/(edges*edges)) })
	return most
}

// EachLists calls f for each direction of dir with the number of lists of a type, the sum of their lengths and the sum of their
// squares, by their histogram.
func (o *Statistics) EachLists(typ string, dir graph.Direction, f func(lists, edges, squares float64)) {
	for _, d := range []graph.Direction{graph.Out, graph.In} {
		if dir != d && dir != graph.Both {
			continue
		}
		lists, edges, squares := 0.0, 0.0, 0.0
		for i, n := range o.Counts.Degrees[graph.TypeDir{Type: typ, Dir: d}] {
			size := 1.0
			if i > 0 {
				size = 1.5 * math.Exp2(float64(i)) // the middle of the bar
			}
			lists += float64(n)
			edges += float64(n) * size
			squares += float64(n) * size * size
		}
		if edges > 0 {
			f(lists, edges, squares)
		}
	}
}
