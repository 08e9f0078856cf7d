package plan

import (
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
)

// Col names a column throughout one plan; 0 is none. Query.Cols describes them. A column means the same everywhere, so nodes
// can move without renaming.
type Col int

// ColInfo describes a column. Kind is the static type of its values: VertexKind for a column that holds vertices or nulls,
// EdgeKind likewise, PathKind likewise, List for a list of edges bound by a variable length pattern, else Null (anything).
type ColInfo struct {
	Name string
	Kind graph.ValueKind
}

// Query is a whole plan.
type Query struct {
	Root  Node
	Cols  []ColInfo // by Col; entry 0 is unused
	Out   []Col     // the result columns in order; none for a statement that returns nothing
	Names []string  // of the result columns
	// Writes says that the plan changes the graph.
	Writes bool
	// Calls says that the plan calls procedures that run statements.
	Calls bool
	// Graph is the graph of USE, or "". AsOf is a moment of it to be read: a constant or a parameter; nil: the present.
	Graph string
	AsOf  Expr
	// Snapshot says that AsOf is the name of a snapshot.
	Snapshot bool
	// Estimates are the estimated rows of the nodes, after optimization.
	Estimates map[Node]float64
	// Cost is the estimated cost of a run.
	Cost cost.Cost
	// Start makes it precise by the degree of one vertex; or nil.
	Start *Start
	// Prefix is "", "EXPLAIN" or "PROFILE".
	Prefix string
	// Mentions are the names that it reads by and does not create itself; Notifications do not depend on the graph.
	Mentions      []Mention
	Notifications []Notification
	// NoIndex are the missing indexes that Optimize would use, without repeats.
	NoIndex []MissingIndex
}

// NextCol returns the column that NewCol creates next.
func (q *Query) NextCol() Col { return Col(max(len(q.Cols), 1)) }

// NewCol creates a column.
func (q *Query) NewCol(name string, kind graph.ValueKind) Col {
	if len(q.Cols) == 0 {
		q.Cols = append(q.Cols, ColInfo{})
	}
	q.Cols = append(q.Cols, ColInfo{Name: name, Kind: kind})
	return Col(len(q.Cols) - 1)
}

// Node is an operator of the plan. A plan is a tree of pointers to node types; it holds no state of an execution and is
// immutable once prepared. Labels, types and properties are names that each execution resolves, because an unknown name may
// exist at the next run.
//
// Input produces the rows of a node; a node adds its columns to those of its input unless its comment says otherwise.
type Node interface {
	// inputs calls f with a pointer to each input and subplan, which f may read or replace.
	inputs(f func(*Node))
	// exprs calls f for each expression of the node itself.
	exprs(f exprVisitor)
	// describe returns the name and the arguments that EXPLAIN shows.
	describe(f *formatter) (name, args string)
	// rows estimates the rows of the node. in is the estimate of the input, if there is one; a node with several inputs asks e
	// for each.
	rows(e *Estimator, in float64) float64
}

// Nodes that only other packages create.
var _ = []Node{(*Aggregate)(nil), (*Distinct)(nil)}

// Leg is one side of an Intersect: the edges of the vertex in column From. Edge may be 0. Edges in columns of DistinctFrom are
// excluded; that of the second leg may name the first's Edge. With Exists, which only the second leg may have, all edges to one
// vertex count as one.
type Leg struct {
	From, Edge   Col
	Types        []string
	Dir          graph.Direction
	DistinctFrom []Col
	Exists       bool
}

// Multiplicity is, for the vertex in column Col, the product over Branches of the number of ways to expand each.
type Multiplicity struct {
	Col      Col
	Branches []Branch
}

// Branch is an expansion along edges of Types to vertices with Labels, continued along Branches. If Optional, no match counts as
// one, as in OPTIONAL MATCH.
type Branch struct {
	Types    []string
	Dir      graph.Direction
	Labels   *LabelExpr
	Optional bool
	Branches []Branch
}

// Hop is one step of a FrontierCount. Where reads only its Edge and the vertex To that it leads to.
type Hop struct {
	Types    []string
	Dir      graph.Direction
	Labels   *LabelExpr // of the far ends
	Edge, To Col
	Where    []Expr
}

// ApplyKind says what an Apply returns.
type ApplyKind uint8

// The kinds of Apply.
const (
	Inner     ApplyKind = iota // the outer row with each row of Sub
	Optional                   // likewise, or once with nulls in Cols
	Exists                     // the outer row with Out = whether Sub has rows
	CountRows                  // the outer row with Out = the number of Sub's rows
	Collect                    // the outer row with Out = the list of Expr over Sub's rows, in their order
)

// Item is a column and the expression that computes it.
type Item struct {
	Col  Col
	Expr Expr
}

// Agg is one aggregate: Func is count, sum, avg, min, max, collect, stdev, stdevp, percentilecont, percentiledisc, in
// lower case; count with no Args is count(*).
type Agg struct {
	Col      Col
	Func     string
	Distinct bool
	Args     []Expr
}

// SortKey is one key of an order. Col (or 0) is a column that the Sort adds, with the values of Expr.
type SortKey struct {
	Expr Expr
	Desc bool
	Col  Col
}

// Yield is one result of a procedure.
type Yield struct {
	Name string
	Col  Col
}

// NewVertex is a vertex that Create creates, with Labels and those that LabelsOf compute, each a string or a list of strings.
// Props is a map expression or nil.
type NewVertex struct {
	Out      Col
	Labels   []string
	LabelsOf []Expr
	Props    Expr
}

// NewEdge is an edge that Create creates from Src to Dst. Out may be 0. TypeOf, if not nil, computes the type, a string or a
// list of one.
type NewEdge struct {
	Out      Col
	Src, Dst Col
	Type     string
	TypeOf   Expr
	Props    Expr
}

// SetOp is a kind of SetItem.
type SetOp uint8

// The kinds of SetItem.
const (
	SetProperty  SetOp = iota // X.Key = Value (null removes it)
	SetMap                    // X = Value: all properties, from a map, vertex or edge
	AddMap                    // X += Value
	AddLabels                 // X:Labels
	RemoveLabels              // removes X:Labels
)

// SetItem is one change of SET or REMOVE.
type SetItem struct {
	Op     SetOp
	X      Expr // a vertex or an edge; null: nothing happens
	Key    string
	KeyOf  Expr // computes the key instead; nil: it is Key
	Value  Expr
	Labels []string
	// LabelsOf give more labels, each a string or a list of strings.
	LabelsOf []Expr
	// Then says that the item begins a clause of its own. Its expressions, and those of the items after it, read what the items
	// before it have changed; those of one clause read what was there before the clause.
	Then bool
}

// Pattern is a query graph: the pattern of one MATCH clause, or of several. All edges of one group differ from each other.
type Pattern struct {
	Vertices []PatVertex
	Edges    []PatEdge
	Paths    []PatPath
	// Preds are the conjuncts of WHERE and of the maps and predicates inside the pattern.
	Preds []Expr
}

// PatVertex is a vertex of a pattern. Bound says that the input provides it.
type PatVertex struct {
	Col    Col
	Labels *LabelExpr
	Bound  bool
}

// PatEdge is an edge of a pattern between the vertices with the columns Left and Right. Dir is Out if it leads from Left to
// Right.
type PatEdge struct {
	Col         Col // the edge, or the list of edges if Length is set
	Left, Right Col
	Types       []string
	Dir         graph.Direction
	Bound       bool // the input provides it
	Length      *Length
	// EdgeVar and Where are conditions on each edge of a variable length pattern.
	EdgeVar Col
	Where   []Expr
	// Shortest is "" or "single" or "all": the edge is that of a shortestPath or allShortestPaths.
	Shortest string
	// Walk describes the edges beyond Types and Where: Col is the list of all its edges, and Length and Types serve estimates.
	// nil: there is no more.
	Walk *Walk
	// Named says that Col is used outside the pattern; otherwise, only relationship uniqueness needs it.
	Named bool
	// Group numbers the clause of the edge: relationship uniqueness holds within a group.
	Group int
}

// Length is the bounds of a variable length pattern; Max nil is no bound.
type Length struct{ Min, Max Expr }

// PatPath names a path: its columns, vertex, edge, vertex and so on.
type PatPath struct {
	Col  Col
	Cols []Col
}

// LabelExpr is a condition on a vertex's labels, or on an edge's type.
type LabelExpr struct {
	Op   LabelOp
	Name string
	Args []*LabelExpr
}

// LabelOp is the operator of a LabelExpr.
type LabelOp uint8

// The label operators.
const (
	LabelName LabelOp = iota
	LabelAnd
	LabelOr
	LabelNot
	LabelAny // %: at least one label
)
