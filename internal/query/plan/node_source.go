package plan

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Unit returns one row without columns.
type Unit struct{}

func (*Unit) inputs(func(*Node)) {}

func (*Unit) exprs(exprVisitor) {}

func (*Unit) describe(*formatter) (name, args string) {
	return "Unit", ""
}

func (*Unit) rows(_ *Estimator, _ float64) float64 {
	return 1
}

// Argument is the leaf of a subplan: it returns the outer row, with the columns Cols.
type Argument struct{ Cols []Col }

func (*Argument) inputs(func(*Node)) {}

func (*Argument) exprs(exprVisitor) {}

func (n *Argument) describe(f *formatter) (name, args string) {
	return "Argument", f.cols(n.Cols)
}

func (*Argument) rows(e *Estimator, _ float64) float64 {
	return e.outer
}

// Match is an unplanned graph pattern: the optimizer replaces it by scans, seeks and expansions. With Optional, an input row
// without a match is returned once, with nulls.
type Match struct {
	Input    Node
	Pattern  Pattern
	Optional bool
}

func (n *Match) inputs(f func(*Node)) { f(&n.Input) }

func (n *Match) exprs(f exprVisitor) {
	f.all(n.Pattern.Preds)
	for i := range n.Pattern.Edges {
		e := &n.Pattern.Edges[i]
		f.all(e.Where)
		if e.Length != nil {
			f.one(&e.Length.Min)
			f.one(&e.Length.Max)
		}
		if e.Walk != nil {
			e.Walk.exprs(f.one, f.all)
		}
	}
}

func (n *Match) describe(f *formatter) (name, args string) {
	name = "Match"
	if n.Optional {
		name = "OptionalMatch"
	}
	return name, f.pattern(&n.Pattern)
}

func (*Match) rows(_ *Estimator, in float64) float64 { return in }

// Scan joins each row with all vertices that satisfy Labels (nil: all).
type Scan struct {
	Input  Node
	Out    Col
	Labels *LabelExpr
	Rules  *RuleScan // nil: it reads all vertices with the labels
}

// RuleScan is how a Scan finds the vertices that access rules let the caller see, by indexes of what the rules compare.
type RuleScan struct {
	Label   string // one of the scan's labels
	Indexes []graph.IndexID
	Shown   []string // the names of the indexes that the caller may know
	Rows    float64  // in the parts of the indexes that are read
	Most    int      // intervals of the indexes; to read more takes longer than to scan the label
}

func (n *Scan) inputs(f func(*Node)) { f(&n.Input) }

func (*Scan) exprs(exprVisitor) {}

func (n *Scan) describe(f *formatter) (name, args string) {
	if n.Labels == nil {
		return "AllVerticesScan", f.vertex(n.Out, nil)
	}
	return "LabelScan", f.vertex(n.Out, n.Labels) + f.ruleScan(n.Rules)
}

func (n *Scan) rows(e *Estimator, in float64) float64 {
	o := e.o
	e.Labels[n.Out] = n.Labels
	if n.Rules != nil {
		return in * n.Rules.Rows
	}
	return in * o.Vertices(n.Labels)
}

// Seek joins each row with the vertices that an index holds for Keys, one expression for each property of the index. With Each,
// Keys[0] is a list whose distinct elements are keys.
type Seek struct {
	Input Node
	Out   Col
	Index graph.Index
	Keys  []Expr
	Each  bool
}

func (n *Seek) inputs(f func(*Node)) { f(&n.Input) }

func (n *Seek) exprs(f exprVisitor) { f.all(n.Keys) }

func (n *Seek) describe(f *formatter) (name, args string) {
	return indexSeek(&n.Index), "(" + f.col(n.Out) + ":" + n.Index.Label + ") WHERE " + f.equalities(n.Out, &n.Index, n.Keys, n.Each)
}

func (n *Seek) rows(e *Estimator, in float64) float64 {
	e.Labels[n.Out] = &LabelExpr{Name: n.Index.Label}
	return in * e.keys(&n.Index, n.Keys, n.Each)
}

// Area is how a SeekRange of a point index tests a point; NoArea compares values.
type Area uint8

// The areas.
const (
	NoArea    Area = iota
	AreaPoint      // the point equals Lo
	AreaBox        // point.withinBBox(point, Lo, Hi)
	AreaNear       // point.distance(point, Lo) <= Hi, or < if HiOpen is set
)

// SeekRange joins each row with the vertices whose first indexed properties equal Equal, and the next one lies between
// Lo and Hi (nil: open), or, of a point index, whose point lies in an area that Lo and Hi describe.
type SeekRange struct {
	Input          Node
	Out            Col
	Index          graph.Index
	Equal          []Expr
	Lo, Hi         Expr
	LoOpen, HiOpen bool
	Prefix         bool // strings that begin with Lo
	Area           Area
	// Down returns the greatest values first. Missing, without bounds, adds the vertices that lack the property.
	Down    bool
	Missing Missing
	// From are the values, which read no row, at which to begin in that order: of the properties after Equal, at least of the first one. With
	// FromID, one more follows, the id of a vertex, and the range begins behind that. Input is then one row.
	From   []Expr
	FromID bool
}

func (n *SeekRange) inputs(f func(*Node)) { f(&n.Input) }

func (n *SeekRange) exprs(f exprVisitor) {
	f.all(n.Equal)
	f.one(&n.Lo)
	f.one(&n.Hi)
	f.all(n.From)
}

func (n *SeekRange) describe(f *formatter) (name, args string) {
	return f.seekRange(n)
}

func (n *SeekRange) rows(e *Estimator, in float64) float64 {
	e.Labels[n.Out] = &LabelExpr{Name: n.Index.Label}
	return in * e.interval(n)
}

// SeekEdges is Seek for an index over edges: it finds edges, without their ends.
type SeekEdges struct {
	Input Node
	Out   Col
	Index graph.Index
	Keys  []Expr
	Each  bool
}

func (n *SeekEdges) inputs(f func(*Node)) { f(&n.Input) }

func (n *SeekEdges) exprs(f exprVisitor) { f.all(n.Keys) }

func (n *SeekEdges) describe(f *formatter) (name, args string) {
	return "Relationship" + indexSeek(&n.Index), "[" + f.col(n.Out) + ":" + n.Index.Type + "] WHERE " + f.equalities(n.Out, &n.Index, n.Keys, n.Each)
}

func (n *SeekEdges) rows(e *Estimator, in float64) float64 {
	return in * e.keys(&n.Index, n.Keys, n.Each)
}

// SeekEdgeRange is SeekRange for an index over edges.
type SeekEdgeRange SeekRange

func (n *SeekEdgeRange) inputs(f func(*Node)) { f(&n.Input) }

func (n *SeekEdgeRange) exprs(f exprVisitor) {
	f.all(n.Equal)
	f.one(&n.Lo)
	f.one(&n.Hi)
}

func (n *SeekEdgeRange) describe(f *formatter) (name, args string) {
	r := SeekRange(*n)
	return "Relationship" + rangeSeek(&r), "[" + f.col(n.Out) + ":" + n.Index.Type + "] WHERE " + f.interval(&r)
}

func (n *SeekEdgeRange) rows(e *Estimator, in float64) float64 {
	r := SeekRange(*n)
	return in * e.interval(&r)
}

// SeekID joins each row with the vertex whose id() or elementId() is Key, or with Edge with such an edge, without its ends.
// With Each, Key is a list and each distinct element of it is a key. Edges are of Types (none: all).
type SeekID struct {
	Input               Node
	Out                 Col
	Key                 Expr
	Element, Each, Edge bool
	Types               []string
}

func (n *SeekID) inputs(f func(*Node)) { f(&n.Input) }

func (n *SeekID) exprs(f exprVisitor) { f.one(&n.Key) }

func (n *SeekID) describe(f *formatter) (name, args string) {
	fn := "id"
	if n.Element {
		fn = "elementId"
	}
	is := " = "
	if n.Each {
		is = " IN "
	}
	if n.Edge {
		return "RelationshipByID", strings.Trim(f.edge(n.Out, n.Types, "", graph.Both), "-") + " WHERE " + fn + "(" + f.col(n.Out) + ")" + is + f.expr(n.Key)
	}
	return "VertexByID", fn + "(" + f.col(n.Out) + ")" + is + f.expr(n.Key)
}

func (n *SeekID) rows(e *Estimator, in float64) float64 {
	if n.Each {
		return in * e.elements(n.Key)
	}
	return in
}

// CountStore gives one row: the number of vertices with a label ("": all), or of edges of a type, from the counters.
type CountStore struct {
	Out   Col
	Edges bool
	Name  string
}

func (*CountStore) inputs(func(*Node)) {}

func (*CountStore) exprs(exprVisitor) {}

func (n *CountStore) describe(f *formatter) (name, args string) {
	switch {
	case n.Edges:
		return "EdgeCountFromStatistics", "[:" + n.Name + "] AS " + f.col(n.Out)
	}
	return "VertexCountFromStatistics", "(:" + n.Name + ") AS " + f.col(n.Out)
}

func (*CountStore) rows(e *Estimator, _ float64) float64 {
	return e.outer
}

// BlockAggregate returns the rows of Input, which aggregates all edges of Type, or the vertices of a label, that satisfy Where. The shards
// add them up from decoded blocks of properties and their statistics, by group of Keys, which are properties of the vertices; where
// they cannot, Input runs. The counters tell whether the labels of an edge's ends hold for all.
type BlockAggregate struct {
	Input  Node
	Keys   []Item
	Aggs   []Agg
	Of     Col        // the edge or the vertex
	Labels *LabelExpr // of the vertex, or of the edge's end in the direction Dir; FromLabels of its other end
	// Type is the edge's, Dir says whose lists are read; "" for a vertex.
	Type       string
	Dir        graph.Direction
	FromLabels *LabelExpr
	Where      []PropRange
}

func (n *BlockAggregate) inputs(f func(*Node)) { f(&n.Input) }

func (*BlockAggregate) exprs(exprVisitor) {}

func (n *BlockAggregate) describe(f *formatter) (name, args string) {
	if n.Type != "" {
		return "EdgeBlockAggregation", "[" + f.col(n.Of) + ":" + n.Type + "]"
	}
	by := ""
	if len(n.Keys) > 0 {
		by = " BY " + f.items(n.Keys)
	}
	return "VertexBlockAggregation", f.vertex(n.Of, n.Labels) + by
}

func (*BlockAggregate) rows(_ *Estimator, in float64) float64 { return in }

// Takes reports whether blocks can compute an aggregate: of rows, or of one property.
func (n *BlockAggregate) Takes(g *Agg) bool {
	switch g.Func {
	case "count", "min", "max", "sum", "avg":
	default:
		return false
	}
	_, ok := n.Prop(g)
	return !g.Distinct && (ok || n.CountsRows(g))
}

// CountsRows reports whether an aggregate counts rows.
func (n *BlockAggregate) CountsRows(g *Agg) bool {
	return g.CountsRows(func(e Expr) bool {
		ref, ok := e.(*ColRef)
		return ok && ref.Col == n.Of
	})
}

// Prop returns the name of the property that an aggregate reads, if it reads one.
func (n *BlockAggregate) Prop(g *Agg) (key string, ok bool) {
	if len(g.Args) != 1 {
		return "", false
	}
	return n.PropOf(g.Args[0])
}

// PropOf returns the name of the property that an expression is, if it is one.
func (n *BlockAggregate) PropOf(e Expr) (key string, ok bool) {
	p, ok := e.(*Prop)
	if !ok {
		return "", false
	}
	ref, ok := p.X.(*ColRef)
	return p.Key, ok && ref.Col == n.Of
}

// All reports whether, by the counters of a snapshot, the labels hold for the ends of all edges of the type.
func (n *BlockAggregate) All(c *graph.Counts) bool {
	types := []string{n.Type}
	return n.Labels.Implied(c, types, n.Dir) && n.FromLabels.Implied(c, types, n.Dir.Reverse())
}

// Missing is the position of vertices that lack an index's property in the order of the index.
type Missing uint8

// The positions of vertices without the property.
const (
	MissingNowhere Missing = iota
	MissingFirst
	MissingLast
)
