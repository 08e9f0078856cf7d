package plan

import "github.com/hopgate/hopgate/internal/graph"

// Col names a column throughout one plan; 0 is none. Query.Cols describes them. A column has one meaning wherever it
// stands, so nodes can be moved without renaming.
type Col int

// ColInfo describes a column. Kind is what is known of its values: VertexKind for a column that holds vertices or
// nulls, EdgeKind likewise, PathKind likewise, List for a list of edges bound by a variable length pattern, else Null
// (anything).
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
	// Graph is the graph of USE, or "".
	Graph string
	// Estimates are the numbers of rows that nodes are expected to give, once the plan is optimized.
	Estimates map[Node]float64
	// Prefix is "", "EXPLAIN" or "PROFILE".
	Prefix string
	// Mentions are the names that it reads by and does not make itself, and Notifications what is known without a graph.
	Mentions      []Mention
	Notifications []Notification
}

// NewCol makes a column.
func (q *Query) NewCol(name string, kind graph.ValueKind) Col {
	if len(q.Cols) == 0 {
		q.Cols = append(q.Cols, ColInfo{})
	}
	q.Cols = append(q.Cols, ColInfo{Name: name, Kind: kind})
	return Col(len(q.Cols) - 1)
}

// Node is an operator of the plan. A plan is a tree of pointers to the node types of this file; it holds no state of
// an execution and is never changed once it is prepared. Names of labels, types and properties are text: an execution
// resolves them, since a name that is unknown now may exist at the next run.
type Node interface{ node() }

// The nodes. Input is where the rows come from; a node adds its columns to those of its input unless it says
// otherwise.
type (
	// Unit gives one row without columns.
	Unit struct{}

	// Argument stands at the bottom of a subplan: it gives the outer row, with the columns Cols.
	Argument struct{ Cols []Col }

	// Match is a graph pattern that is not planned yet: the optimizer replaces it by scans, seeks and expansions. With
	// Optional, an input row without a match comes once, with nulls.
	Match struct {
		Input    Node
		Pattern  Pattern
		Optional bool
	}

	// Scan joins each row with all vertices that satisfy Labels (nil: all).
	Scan struct {
		Input  Node
		Out    Col
		Labels *LabelExpr
	}

	// Seek joins each row with the vertices that an index finds for Keys, one expression a property of the index. With
	// Each, Keys[0] is a list and each distinct element of it is a key.
	Seek struct {
		Input Node
		Out   Col
		Index graph.Index
		Keys  []Expr
		Each  bool
	}

	// SeekRange joins each row with the vertices whose first indexed properties equal Equal, and the next one lies between
	// Lo and Hi (nil: open).
	SeekRange struct {
		Input          Node
		Out            Col
		Index          graph.Index
		Equal          []Expr
		Lo, Hi         Expr
		LoOpen, HiOpen bool
		Prefix         bool // strings that begin with Lo
		// Down gives the greatest values first. Missing, where there are no bounds, adds the vertices without the property.
		Down    bool
		Missing Missing
	}

	// SeekEdges is Seek for an index over edges: it finds edges, without their ends.
	SeekEdges struct {
		Input Node
		Out   Col
		Index graph.Index
		Keys  []Expr
		Each  bool
	}

	// SeekEdgeRange is SeekRange for an index over edges.
	SeekEdgeRange SeekRange

	// SeekID joins each row with the vertex whose id() or elementId() is Key, or with Edge with such an edge, without its ends.
	// With Each, Key is a list and each distinct element of it is a key. Edges are of Types (none: all).
	SeekID struct {
		Input               Node
		Out                 Col
		Key                 Expr
		Element, Each, Edge bool
		Types               []string
	}

	// Expand joins each row with the edges of vertex From. With Into, To is bound already and only edges to it count.
	// Edge may be 0. An edge that stands in a column of Unlike (an edge or a list of edges) does not count. Edge or
	// vertex predicates that can be tested beside the list stand in Where and are about Edge and To alone. Rows whose
	// From is null are dropped.
	Expand struct {
		Input          Node
		From, Edge, To Col
		Types          []string
		Dir            graph.Direction
		Labels         *LabelExpr // of To
		Into           bool
		Unlike         []Col
		Where          []Expr
	}

	// Intersect joins each row with the vertices that edges of all Legs, of which there are two, lead to: with each pair
	// of such edges.
	Intersect struct {
		Input  Node
		To     Col
		Labels *LabelExpr // of To
		Legs   []Leg
	}

	// VarExpand joins each row with the trails of Min to Max edges (Max nil: no bound) from From: Edges (or 0) is the list of edges
	// in the order of the pattern, To the end. Where is about EdgeVar, and holds for every edge on the way. With
	// Ends set, every end comes once a row, and no list is made. Reversed says that From is the pattern's right end,
	// so that Edges is in the order from To to From. With Ends and a Min of 1, Depth (or 0) is the least number of edges
	// to the end and Last (or 0) the last edge of a way that short; From itself is then no end.
	VarExpand struct {
		Input           Node
		From, Edges, To Col
		Types           []string
		Dir             graph.Direction
		Min, Max        Expr
		Labels          *LabelExpr // of To
		Into            bool
		Unlike          []Col
		EdgeVar         Col
		Where           []Expr
		Ends            bool
		Reversed        bool
		Depth, Last     Col
	}

	// ShortestPath joins each row with the shortest path, or all of them, between From and To, both bound.
	ShortestPath struct {
		Input             Node
		From, To          Col
		Path, Edges, Edge Col // the path, its list of edges, or its one edge (a pattern without *); any may be 0
		Length            Col // the number of its edges; or 0
		Types             []string
		Dir               graph.Direction
		Min, Max          Expr
		All               bool
		EdgeVar           Col
		Where             []Expr // on every edge, through EdgeVar
		PathWhere         []Expr // on the path as a whole; the shortest that satisfies them
	}

	// Filter keeps the rows for which all of Preds are true.
	Filter struct {
		Input Node
		Preds []Expr
	}

	// Project gives the columns of Items and no others; with Keep, it adds them to the input's.
	Project struct {
		Input Node
		Items []Item
		Keep  bool
	}

	// Aggregate gives one row for each distinct combination of Keys, or one row if there are no Keys. Each row of the input
	// counts as often as Times says, an integer above 0 (nil: once); Aggs are then count, sum, avg and those that repeats make
	// no difference to.
	Aggregate struct {
		Input Node
		Keys  []Item
		Aggs  []Agg
		Times Expr
	}

	// Distinct keeps the first of the rows that are equivalent in Cols, and only these columns. With Key set, the input has one
	// row for each vertex that the key is of, so that rows whose key is not null differ.
	Distinct struct {
		Input Node
		Cols  []Col
		Key   *UniqueKey
	}

	// Sort orders the rows; with Limit set it keeps the first Limit (after Skip) rows. In a subplan it does so for each outer row by
	// itself, in the order of these, which is all that it does without Keys.
	Sort struct {
		Input       Node
		Keys        []SortKey
		Skip, Limit Expr // of no row; nil: none
	}

	// Slice drops the first Skip rows and ends after Limit rows; either may be nil. An Input that writes is run to its
	// end all the same.
	Slice struct {
		Input       Node
		Skip, Limit Expr
	}

	// Unwind joins each row with the elements of List; null gives no row, a value that is no list one row.
	Unwind struct {
		Input Node
		Out   Col
		List  Expr
	}

	// Apply runs Sub for each row, which Sub sees through its Argument. See ApplyKind for what comes out.
	Apply struct {
		Input, Sub Node
		Kind       ApplyKind
		Out        Col  // for Exists, CountRows and Collect
		Expr       Expr // for Collect: what is collected, over Sub's columns
		// Cols are the columns that Sub adds, for Inner and Optional.
		Cols []Col
		// Together says that a Sub that writes does for many rows at once what it does for one after the other.
		Together bool
	}

	// HashJoin joins the rows of Left and Right that are equal (never null) in LeftKeys and RightKeys.
	HashJoin struct {
		Left, Right         Node
		LeftKeys, RightKeys []Col
		// Once says that Right reads nothing of the rows around it and that nothing changes what it gives: a subplan reads
		// it once, not once for each outer row.
		Once      bool
		RightCols []Col
	}

	// Product pairs the rows of Left with all rows of Right, which reads nothing of the rows around it and is read once for
	// each batch of Left. The pairs of one row of Left stand in the order of Right.
	Product struct {
		Left, Right Node
		RightCols   []Col
	}

	// Union gives the rows of all Inputs, column Cols[i][j] of input i as Out[j]; without All, each row once.
	Union struct {
		Inputs []Node
		Cols   [][]Col
		Out    []Col
		All    bool
	}

	// Create makes vertices, then edges, for each row.
	Create struct {
		Input    Node
		Vertices []NewVertex
		Edges    []NewEdge
	}

	// Merge gives, for each row, the matches of Match (a subplan over Argument), or, when there is none, what Create
	// (whose Input is nil) makes. The Set items run on either. A later row sees what an earlier row made.
	Merge struct {
		Input             Node
		Match             Node
		Create            *Create
		Cols              []Col // the columns that Match and Create bind
		OnCreate, OnMatch []SetItem
		// Props are the map expressions of the pattern, each of which must hold no null.
		Props []Expr
	}

	// Set changes properties and labels.
	Set struct {
		Input Node
		Items []SetItem
	}

	// Delete removes vertices, edges and paths; with Detach, vertices with their edges.
	Delete struct {
		Input  Node
		Exprs  []Expr
		Detach bool
	}

	// Foreach runs Sub (a chain of writes over Argument) for each element of List and passes its input on. Together is as in Apply.
	Foreach struct {
		Input    Node
		Var      Col
		List     Expr
		Sub      Node
		Together bool
	}

	// CallProc joins each row with the rows of a procedure.
	CallProc struct {
		Input Node
		Proc  string
		Args  []Expr
		Yield []Yield
		Void  bool // the procedure gives no rows: the input row passes on
		// Writes says that the procedure changes the graph.
		Writes bool
	}

	// LoadCSV joins each row with the records of a file: Out is the record, Line the number of its first line, File the file's name.
	LoadCSV struct {
		Input           Node
		URL             Expr
		Headers         bool
		Delimiter       string
		Out, Line, File Col
	}

	// Eager takes in all rows before it gives the first, so that what is above cannot be seen by what is below. Why says what
	// could be seen, if the rule Eager put it there.
	Eager struct {
		Input Node
		Why   string
	}

	// Drain runs its input to the end and gives no row.
	Drain struct{ Input Node }

	// CountStore gives one row: the number of vertices with a label ("": all), or of edges of a type, from the counters.
	CountStore struct {
		Out   Col
		Edges bool
		Name  string
	}

	// FoldCount gives one row: the sum over the rows of Input of the product of their weights, which is a count of the
	// rows that Input would have with the trees of Weights expanded. No Weights: the number of rows.
	FoldCount struct {
		Input   Node
		Weights []Weight
		Out     Col
	}

	// Weigh adds Out to each row, which is the weight of its vertex Col, the product over Branches of the number of ways to
	// expand each: as many rows would come of expanding them. Rows of weight 0 are dropped.
	Weigh struct {
		Input Node
		Weight
		Out Col
	}

	// FrontierCount gives one row: the number of distinct vertices that are reached from the vertices From of all rows over
	// the hops. With Trail, the walks that lead there must not repeat an edge. Where Most is not 0, there is one hop, and
	// what counts are the ends of the trails that make it Least (0 or 1) to Most times.
	FrontierCount struct {
		Input Node
		From  Col
		Hops  []Hop
		Out   Col
		// Trail is true where no two hops may go along one edge.
		Trail       bool
		Least, Most int
	}
)

// Leg is one side of an Intersect: the edges of the vertex in column From. Edge may be 0; an edge that stands in a column of
// Unlike does not count, and the second leg's may name the first's Edge. With Exists, which only the second leg may have, all
// edges to one vertex count as one.
type Leg struct {
	From, Edge Col
	Types      []string
	Dir        graph.Direction
	Unlike     []Col
	Exists     bool
}

// Weight is, for the vertex in column Col, the product over Branches of the number of ways to expand each.
type Weight struct {
	Col      Col
	Branches []Branch
}

// Branch is an expansion along edges of Types to vertices with Labels, and on from there along Branches. Optional: no
// way counts as one, as in OPTIONAL MATCH.
type Branch struct {
	Types    []string
	Dir      graph.Direction
	Labels   *LabelExpr
	Optional bool
	Branches []Branch
}

// Hop is one step of a FrontierCount. Where is about its Edge and the vertex To that it leads to, and reads nothing else.
type Hop struct {
	Types    []string
	Dir      graph.Direction
	Labels   *LabelExpr // of the vertices that it leads to
	Edge, To Col
	Where    []Expr
}

// ApplyKind says what an Apply gives.
type ApplyKind uint8

// The kinds of Apply.
const (
	Inner     ApplyKind = iota // the outer row with each row of Sub
	Optional                   // likewise, or once with nulls in Cols
	Exists                     // the outer row with Out = whether Sub has rows
	CountRows                  // the outer row with Out = the number of Sub's rows
	Collect                    // the outer row with Out = the list of Expr over Sub's rows, in their order
)

// Item is a column and the expression that fills it.
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

// NewVertex is a vertex that Create makes, with Labels and those that LabelsOf give, each a string or a list of strings. Props is
// a map expression or nil.
type NewVertex struct {
	Out      Col
	Labels   []string
	LabelsOf []Expr
	Props    Expr
}

// NewEdge is an edge that Create makes from Src to Dst. Out may be 0. TypeOf, if it is not nil, gives the type, a string or a list
// of one.
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
}

// Pattern is a query graph: what one MATCH clause asks for. All edges of one
// group in it are different from each other.
type Pattern struct {
	Vertices []PatVertex
	Edges    []PatEdge
	Paths    []PatPath
	// Preds are the conjuncts of WHERE and of the maps and predicates inside the pattern.
	Preds []Expr
}

// PatVertex is a vertex of a pattern. Bound says that the input has it already.
type PatVertex struct {
	Col    Col
	Labels *LabelExpr
	Bound  bool
}

// PatEdge is an edge of a pattern between the vertices with the columns Left and Right. Dir is Out when it leads from
// Left to Right.
type PatEdge struct {
	Col         Col // the edge, or the list of edges when Length is set
	Left, Right Col
	Types       []string
	Dir         graph.Direction
	Bound       bool // the input has it already
	Length      *Length
	// EdgeVar and Where are conditions on each edge of a variable length pattern.
	EdgeVar Col
	Where   []Expr
	// Shortest is "" or "single" or "all": the edge is that of a shortestPath or allShortestPaths.
	Shortest string
	// Walk says more of the edges than Types and Where can: Col is the list of all its edges. Length and Types are for estimates
	// then. nil: there is no more.
	Walk *Walk
	// Named says that Col is used outside the pattern; if not, nothing need be kept but for uniqueness.
	Named bool
	// Group numbers the clause that the edge comes from: only edges of one group must differ from each other.
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

func (*Unit) node()          {}
func (*Argument) node()      {}
func (*Match) node()         {}
func (*Scan) node()          {}
func (*Seek) node()          {}
func (*SeekRange) node()     {}
func (*SeekEdges) node()     {}
func (*SeekEdgeRange) node() {}
func (*SeekID) node()        {}
func (*Intersect) node()     {}
func (*Expand) node()        {}
func (*VarExpand) node()     {}
func (*ShortestPath) node()  {}
func (*Filter) node()        {}
func (*Project) node()       {}
func (*Aggregate) node()     {}
func (*Distinct) node()      {}
func (*Sort) node()          {}
func (*Slice) node()         {}
func (*Unwind) node()        {}
func (*Apply) node()         {}
func (*HashJoin) node()      {}
func (*Product) node()       {}
func (*Union) node()         {}
func (*Create) node()        {}
func (*Merge) node()         {}
func (*Set) node()           {}
func (*Delete) node()        {}
func (*Foreach) node()       {}
func (*CallProc) node()      {}
func (*LoadCSV) node()       {}
func (*Eager) node()         {}
func (*Drain) node()         {}
func (*CountStore) node()    {}
func (*FoldCount) node()     {}
func (*Weigh) node()         {}
func (*FrontierCount) node() {}
