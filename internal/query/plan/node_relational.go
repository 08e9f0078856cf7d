package plan

import (
	"slices"
	"strings"
)

// Filter keeps the rows for which all of Preds are true.
type Filter struct {
	Input Node
	Preds []Expr
}

func (n *Filter) inputs(f func(*Node)) { f(&n.Input) }

func (n *Filter) exprs(f exprVisitor) { f.all(n.Preds) }

func (n *Filter) describe(f *formatter) (name, args string) {
	return "Filter", f.exprs(n.Preds, " AND ")
}

func (n *Filter) rows(e *Estimator, in float64) float64 {
	return in * e.selectivity(n.Preds)
}

// Project returns only the columns of Items; with Keep, it adds them to the input's.
type Project struct {
	Input Node
	Items []Item
	Keep  bool
}

func (n *Project) inputs(f func(*Node)) { f(&n.Input) }

func (n *Project) exprs(f exprVisitor) { f.items(n.Items) }

func (n *Project) describe(f *formatter) (name, args string) {
	if n.Keep {
		return "Extend", f.items(n.Items)
	}
	return "Projection", f.items(n.Items)
}

func (*Project) rows(_ *Estimator, in float64) float64 { return in }

// Aggregate returns one row for each distinct combination of Keys, or one row without Keys. Times is how often each input row
// counts, an integer above 0 (nil: once); Aggs are then count, sum, avg and those that ignore repeats.
type Aggregate struct {
	Input Node
	Keys  []Item
	Aggs  []Agg
	Times Expr
}

func (n *Aggregate) inputs(f func(*Node)) { f(&n.Input) }

func (n *Aggregate) exprs(f exprVisitor) {
	f.items(n.Keys)
	for i := range n.Aggs {
		f.all(n.Aggs[i].Args)
	}
	f.one(&n.Times)
}

func (n *Aggregate) describe(f *formatter) (name, args string) {
	aggs := make([]string, len(n.Aggs))
	for i, a := range n.Aggs {
		in := f.exprs(a.Args, ", ")
		if len(a.Args) == 0 {
			in = "*"
		}
		if a.Distinct {
			in = "DISTINCT " + in
		}
		aggs[i] = a.Func + "(" + in + ") AS " + f.col(a.Col)
	}
	if n.Times != nil {
		aggs[len(aggs)-1] += " TIMES " + f.expr(n.Times)
	}
	if len(n.Keys) == 0 {
		return "Aggregation", strings.Join(aggs, ", ")
	}
	if len(aggs) == 0 {
		return "Aggregation", "BY " + f.items(n.Keys)
	}
	return "Aggregation", strings.Join(aggs, ", ") + " BY " + f.items(n.Keys)
}

func (n *Aggregate) rows(e *Estimator, in float64) float64 {
	if len(n.Keys) == 0 {
		return e.outer
	}
	return max(1, in*guessGroups)
}

// Distinct keeps the first of the rows that are equivalent in Cols, and only these columns. With Key set, the input has one row
// for each vertex of the key, so rows with a key differ.
type Distinct struct {
	Input Node
	Cols  []Col
	Key   *UniqueKey
}

func (n *Distinct) inputs(f func(*Node)) { f(&n.Input) }

func (*Distinct) exprs(exprVisitor) {}

func (n *Distinct) describe(f *formatter) (name, args string) {
	if n.Key != nil {
		return "Distinct", f.cols(n.Cols) + " BY KEY " + f.col(n.Key.Col)
	}
	return "Distinct", f.cols(n.Cols)
}

func (*Distinct) rows(_ *Estimator, in float64) float64 {
	return max(1, in*selOther)
}

// Sort orders the rows; with Limit, it keeps the first Limit rows after Skip. In a subplan, it sorts the rows of each outer
// row, in the order of the outer rows. Without Keys, it only restores that order.
type Sort struct {
	Input       Node
	Keys        []SortKey
	Skip, Limit Expr // read no row; nil: none
	// Page says that the rows are a page of a longer result, with a Limit: those behind After, which are values of the keys and read no
	// row; nil: the first ones. It is at the top level.
	Page  bool
	After []Expr
	// Sorted is the number of the first keys in whose order the rows of a page arrive, so that it ends early.
	Sorted int
}

func (n *Sort) inputs(f func(*Node)) { f(&n.Input) }

func (n *Sort) exprs(f exprVisitor) {
	for i := range n.Keys {
		f.one(&n.Keys[i].Expr)
	}
	f.one(&n.Skip)
	f.one(&n.Limit)
	f.all(n.After)
}

func (n *Sort) describe(f *formatter) (name, args string) {
	keys := make([]string, len(n.Keys))
	for i, k := range n.Keys {
		if keys[i] = f.expr(k.Expr); k.Col != 0 {
			keys[i] += " AS " + f.col(k.Col)
		}
		if k.Desc {
			keys[i] += " DESC"
		}
	}
	if n.Page {
		args = strings.Join(keys, ", ")
		if n.After != nil {
			args += " AFTER"
		}
		if n.Sorted > 0 {
			args += " IN ORDER"
		}
		return "Page", args
	}
	if n.Limit != nil {
		args = strings.Join(keys, ", ") + " " + f.slice(n.Skip, n.Limit)
		if n.ranksVectors() {
			args += " (exact)"
		}
		return "Top", args
	}
	return "Sort", strings.Join(keys, ", ")
}

// ranksVectors reports whether the similarity of vectors orders the rows.
func (n *Sort) ranksVectors() bool {
	return slices.ContainsFunc(n.Keys, func(k SortKey) bool {
		c, ok := k.Expr.(*Call)
		return ok && strings.HasPrefix(c.Func, "vector.similarity.")
	})
}

func (n *Sort) rows(_ *Estimator, in float64) float64 {
	return limited(in, n.Limit)
}

// Slice drops the first Skip rows and ends after Limit rows; either may be nil. An Input that writes runs to its end
// regardless.
type Slice struct {
	Input       Node
	Skip, Limit Expr
}

func (n *Slice) inputs(f func(*Node)) { f(&n.Input) }

func (n *Slice) exprs(f exprVisitor) {
	f.one(&n.Skip)
	f.one(&n.Limit)
}

func (n *Slice) describe(f *formatter) (name, args string) {
	return "Slice", f.slice(n.Skip, n.Limit)
}

func (n *Slice) rows(_ *Estimator, in float64) float64 {
	return limited(in, n.Limit)
}

// Unwind joins each row with the elements of List. Null has no row, another value that is not a list has one.
type Unwind struct {
	Input Node
	Out   Col
	List  Expr
}

func (n *Unwind) inputs(f func(*Node)) { f(&n.Input) }

func (n *Unwind) exprs(f exprVisitor) { f.one(&n.List) }

func (n *Unwind) describe(f *formatter) (name, args string) {
	return "Unwind", f.expr(n.List) + " AS " + f.col(n.Out)
}

func (n *Unwind) rows(e *Estimator, in float64) float64 {
	return in * e.elements(n.List)
}

// Apply runs Sub for each row, which Sub reads through its Argument. ApplyKind describes the result.
type Apply struct {
	Input, Sub Node
	Kind       ApplyKind
	Out        Col  // for Exists, CountRows and Collect
	Expr       Expr // for Collect: the collected expression, over Sub's columns
	// Cols are the columns that Sub adds, for Inner and Optional.
	Cols []Col
	// Batched says that a writing Sub has the same effect for many rows at once as for one after another.
	Batched bool
}

func (n *Apply) inputs(f func(*Node)) {
	f(&n.Input)
	f(&n.Sub)
}

func (n *Apply) exprs(f exprVisitor) { f.one(&n.Expr) }

func (n *Apply) describe(f *formatter) (name, args string) {
	names := [...]string{"Apply", "OptionalApply", "LetExists", "LetCount", "RollUp"}
	if n.Expr != nil {
		args = f.expr(n.Expr)
	}
	if n.Out != 0 {
		args = strings.TrimSpace(args + " AS " + f.col(n.Out))
	}
	if n.Batched {
		args = strings.TrimSpace(args + " BATCHED")
	}
	return names[n.Kind], args
}

func (n *Apply) rows(e *Estimator, _ float64) float64 {
	in := e.of(n.Input)
	rows := e.sub(n.Sub, in)
	switch n.Kind {
	case Inner:
		return rows
	case Optional:
		return max(in, rows)
	}
	return in
}

// HashJoin joins the rows of Left and Right that are equal (never null) in LeftKeys and RightKeys.
type HashJoin struct {
	Left, Right         Node
	LeftKeys, RightKeys []Col
	// Once says that Right reads nothing of the outer rows and that nothing changes its result, so a subplan reads it once, not
	// once for each outer row.
	Once      bool
	RightCols []Col
}

func (n *HashJoin) inputs(f func(*Node)) {
	f(&n.Left)
	f(&n.Right)
}

func (*HashJoin) exprs(exprVisitor) {}

func (n *HashJoin) describe(f *formatter) (name, args string) {
	name = "HashJoin"
	keys := make([]string, len(n.LeftKeys))
	for i := range keys {
		keys[i] = f.col(n.LeftKeys[i]) + " = " + f.col(n.RightKeys[i])
	}
	return name, strings.Join(keys, ", ")
}

func (n *HashJoin) rows(e *Estimator, _ float64) float64 {
	return max(e.of(n.Left), e.of(n.Right))
}

// Product pairs the rows of Left with all rows of Right, which reads nothing of the outer rows and is read once for each batch
// of Left. The pairs of one row of Left keep the order of Right.
type Product struct {
	Left, Right Node
	RightCols   []Col
}

func (n *Product) inputs(f func(*Node)) {
	f(&n.Left)
	f(&n.Right)
}

func (*Product) exprs(exprVisitor) {}

func (*Product) describe(*formatter) (name, args string) {
	return "Product", ""
}

func (n *Product) rows(e *Estimator, _ float64) float64 {
	return e.of(n.Left) * e.of(n.Right)
}

// Union returns the rows of all Inputs, column Cols[i][j] of input i as Out[j]; without All, without repeats.
type Union struct {
	Inputs []Node
	Cols   [][]Col
	Out    []Col
	All    bool
}

func (n *Union) inputs(f func(*Node)) {
	for i := range n.Inputs {
		f(&n.Inputs[i])
	}
}

func (*Union) exprs(exprVisitor) {}

func (n *Union) describe(f *formatter) (name, args string) {
	if n.All {
		return "UnionAll", f.cols(n.Out)
	}
	return "Union", f.cols(n.Out)
}

func (n *Union) rows(e *Estimator, _ float64) float64 {
	rows := 0.0
	for _, c := range n.Inputs {
		rows += e.of(c)
	}
	return rows
}

// Foreach runs Sub (a chain of writes over Argument) for each element of List and passes its input on. Batched is as in Apply.
type Foreach struct {
	Input   Node
	Var     Col
	List    Expr
	Sub     Node
	Batched bool
}

func (n *Foreach) inputs(f func(*Node)) {
	f(&n.Input)
	f(&n.Sub)
}

func (n *Foreach) exprs(f exprVisitor) { f.one(&n.List) }

func (n *Foreach) describe(f *formatter) (name, args string) {
	args = f.col(n.Var) + " IN " + f.expr(n.List)
	if n.Batched {
		args += " BATCHED"
	}
	return "Foreach", args
}

func (n *Foreach) rows(e *Estimator, _ float64) float64 {
	in := e.of(n.Input)
	e.sub(n.Sub, in*e.elements(n.List))
	return in
}

// CallProc joins each row with the rows of a procedure.
type CallProc struct {
	Input Node
	Proc  string
	Args  []Expr
	Yield []Yield
	Void  bool // the procedure returns no columns: the input row passes through
	// Writes says that the procedure changes the graph, Own that it does so in transactions of its own.
	Writes, Own bool
}

func (n *CallProc) inputs(f func(*Node)) { f(&n.Input) }

func (n *CallProc) exprs(f exprVisitor) { f.all(n.Args) }

func (n *CallProc) describe(f *formatter) (name, args string) {
	y := make([]string, len(n.Yield))
	for i, v := range n.Yield {
		y[i] = v.Name + " AS " + f.col(v.Col)
	}
	args = n.Proc + "(" + f.exprs(n.Args, ", ") + ")"
	if len(y) > 0 {
		args += " YIELD " + strings.Join(y, ", ")
	}
	return "ProcedureCall", args
}

func (*CallProc) rows(_ *Estimator, in float64) float64 {
	return in * guessElems
}

// LoadCSV joins each row with the records of a file: Out is the record, Line the number of its first line, File the file's name.
type LoadCSV struct {
	Input           Node
	URL             Expr
	Headers         bool
	Delimiter       string
	Out, Line, File Col
}

func (n *LoadCSV) inputs(f func(*Node)) { f(&n.Input) }

func (n *LoadCSV) exprs(f exprVisitor) { f.one(&n.URL) }

func (n *LoadCSV) describe(f *formatter) (name, args string) {
	return "LoadCSV", f.expr(n.URL) + " AS " + f.col(n.Out)
}

func (*LoadCSV) rows(_ *Estimator, in float64) float64 {
	return in * guessLines
}

// Eager consumes all rows before it returns the first, so that operators below see nothing that operators above write. Why
// names the conflict, if the rule Eager added it.
type Eager struct {
	Input Node
	Why   string
}

func (n *Eager) inputs(f func(*Node)) { f(&n.Input) }

func (*Eager) exprs(exprVisitor) {}

func (n *Eager) describe(*formatter) (name, args string) {
	return "Eager", n.Why
}

func (*Eager) rows(_ *Estimator, in float64) float64 { return in }

// Drain runs its input to the end and returns no row.
type Drain struct{ Input Node }

func (n *Drain) inputs(f func(*Node)) { f(&n.Input) }

func (*Drain) exprs(exprVisitor) {}

func (*Drain) describe(*formatter) (name, args string) {
	return "EmptyResult", ""
}

func (*Drain) rows(_ *Estimator, _ float64) float64 {
	return 0
}

// UniqueKey says that a column holds a property that is unique among the vertices with a label.
type UniqueKey struct {
	Col   Col
	Label string
	// From binds the vertices without testing the label: they have it if the counters of its edges say so. nil: all have it.
	From *Expand
}

// Below translates an expression over the rows of a projection to one over its input's; nil if it is neither a column nor a
// property of one.
func (n *Project) Below(e Expr) Expr {
	switch e := e.(type) {
	case *ColRef:
		at := slices.IndexFunc(n.Items, func(i Item) bool { return i.Col == e.Col })
		if at >= 0 {
			return n.Items[at].Expr
		}
		if n.Keep {
			return e
		}
	case *Prop:
		if x, ok := n.Below(e.X).(*ColRef); ok {
			return &Prop{X: x, Key: e.Key}
		}
	}
	return nil
}

// Repeats reports whether all aggregates accept rows with a multiplicity, and whether at least one depends on it.
func (n *Aggregate) Repeats() (accept, depend bool) {
	for _, g := range n.Aggs {
		if slices.ContainsFunc(g.Args, Volatile) {
			return false, false
		}
		switch {
		case g.Distinct || g.Func == "min" || g.Func == "max":
		case g.Func == "count" || g.Func == "sum" || g.Func == "avg":
			depend = true
		default:
			return false, false
		}
	}
	return !slices.ContainsFunc(n.Keys, func(k Item) bool { return Volatile(k.Expr) }), depend
}

// Needs returns the columns that keys and aggregates read. Counts of values that are never null count rows and read nothing.
func (n *Aggregate) Needs(never func(Expr) bool) ColSet {
	s := n.keys()
	for _, g := range n.Aggs {
		if !g.CountsRows(never) {
			s.ReadsAll(g.Args)
		}
	}
	return s
}

// CountsRows reports whether an aggregate is equivalent to count(*).
func (g *Agg) CountsRows(never func(Expr) bool) bool {
	return g.Func == "count" && !g.Distinct && (len(g.Args) == 0 || never(g.Args[0]))
}

func (n *Aggregate) keys() ColSet {
	s := NewColSet()
	for _, k := range n.Keys {
		s.Reads(k.Expr)
	}
	return s
}

// Reads returns the columns that keys and aggregates read.
func (n *Aggregate) Reads() ColSet {
	s := n.keys()
	for _, g := range n.Aggs {
		s.ReadsAll(g.Args)
	}
	s.Reads(n.Times)
	return s
}

// Computes reports whether an argument of an aggregate is more than a column.
func (n *Aggregate) Computes() bool {
	for _, g := range n.Aggs {
		for _, x := range g.Args {
			if _, ok := x.(*ColRef); !ok {
				return true
			}
		}
	}
	return false
}
