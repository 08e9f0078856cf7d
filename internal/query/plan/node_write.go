package plan

// Create makes vertices, then edges, for each row.
type Create struct {
	Input    Node
	Vertices []NewVertex
	Edges    []NewEdge
}

func (n *Create) inputs(f func(*Node)) {
	if n.Input != nil {
		f(&n.Input)
	}
}

func (n *Create) exprs(f exprVisitor) {
	for i := range n.Vertices {
		f.all(n.Vertices[i].LabelsOf)
		f.one(&n.Vertices[i].Props)
	}
	for i := range n.Edges {
		f.one(&n.Edges[i].TypeOf)
		f.one(&n.Edges[i].Props)
	}
}

func (n *Create) describe(f *formatter) (name, args string) {
	return "Create", f.create(n)
}

func (*Create) rows(_ *Estimator, in float64) float64 { return in }

// Merge returns, for each row, the matches of Match (a subplan over Argument) or, if there are none, the result of Create (whose
// Input is nil). The Set items apply to either. A row sees the vertices and edges that earlier rows created.
type Merge struct {
	Input             Node
	Match             Node
	Create            *Create
	Cols              []Col // the columns that Match and Create bind
	OnCreate, OnMatch []SetItem
	// Props are the map expressions of the pattern. None may contain a null.
	Props []Expr
}

func (n *Merge) inputs(f func(*Node)) {
	f(&n.Input)
	f(&n.Match)
}

func (n *Merge) exprs(f exprVisitor) {
	n.Create.exprs(f)
	f.sets(n.OnCreate)
	f.sets(n.OnMatch)
	f.all(n.Props)
}

func (n *Merge) describe(f *formatter) (name, args string) {
	args = f.create(n.Create)
	if len(n.OnCreate) > 0 {
		args += " ON CREATE SET " + f.sets(n.OnCreate)
	}
	if len(n.OnMatch) > 0 {
		args += " ON MATCH SET " + f.sets(n.OnMatch)
	}
	return "Merge", args
}

func (n *Merge) rows(e *Estimator, _ float64) float64 {
	in := e.of(n.Input)
	return max(in, e.sub(n.Match, in))
}

// Set changes properties and labels.
type Set struct {
	Input Node
	Items []SetItem
}

func (n *Set) inputs(f func(*Node)) { f(&n.Input) }

func (n *Set) exprs(f exprVisitor) { f.sets(n.Items) }

func (n *Set) describe(f *formatter) (name, args string) {
	return "Set", f.sets(n.Items)
}

func (*Set) rows(_ *Estimator, in float64) float64 { return in }

// Delete removes vertices, edges and paths; with Detach, vertices with their edges.
type Delete struct {
	Input  Node
	Exprs  []Expr
	Detach bool
}

func (n *Delete) inputs(f func(*Node)) { f(&n.Input) }

func (n *Delete) exprs(f exprVisitor) { f.all(n.Exprs) }

func (n *Delete) describe(f *formatter) (name, args string) {
	name = "Delete"
	if n.Detach {
		name = "DetachDelete"
	}
	return name, f.exprs(n.Exprs, ", ")
}

func (*Delete) rows(_ *Estimator, in float64) float64 { return in }
