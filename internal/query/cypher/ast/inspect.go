package ast

// Inspect visits n and all parts below it, parents first and in the order of the text (of a slice, an index or a comprehension
// too). If visit returns false, the parts below the node are skipped.
func Inspect(n Node, visit func(Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	w := walker(visit)
	switch n := n.(type) {
	case *Statement:
		Inspect(n.Body, visit)
	case *Query:
		each(w, n.Parts)
		opt(w, n.Next)
	case *SingleQuery:
		each(w, n.Clauses)
	case Clause:
		w.clause(n)
	case Expr:
		w.expr(n)
	case LabelExpr:
		w.label(n)
	case PathElement:
		w.element(n)
	default:
		w.part(n)
	}
}

type walker func(Node) bool

// all visits parts, some of which may be nil interfaces.
func (w walker) all(parts ...Node) {
	for _, p := range parts {
		Inspect(p, w)
	}
}

func each[T Node](w walker, parts []T) {
	for _, p := range parts {
		Inspect(p, w)
	}
}

// opt visits a part that may be absent as a nil pointer.
func opt[T any, P interface {
	*T
	Node
}](w walker, p P) {
	if p != nil {
		Inspect(p, w)
	}
}

func (w walker) clause(c Clause) {
	switch c := c.(type) {
	case *Match:
		each(w, c.Pattern)
		each(w, c.Hints)
		if s := c.Search; s != nil {
			w.all(s.Variable, s.For, s.Where, s.Limit)
			opt(w, s.Score)
		}
		w.all(c.Where)
	case *Unwind:
		w.all(c.List, c.Variable)
	case *With:
		w.all(c.Projection, c.Where)
	case *Return:
		w.all(c.Projection)
	case *Create:
		each(w, c.Pattern)
	case *Merge:
		w.all(c.Path)
		each(w, c.OnCreate)
		each(w, c.OnMatch)
	case *Set:
		each(w, c.Items)
	case *Remove:
		each(w, c.Items)
	case *Delete:
		each(w, c.Exprs)
	case *Foreach:
		w.all(c.Variable, c.List)
		each(w, c.Clauses)
	case *CallProcedure:
		each(w, c.Args)
		opt(w, c.Yield)
	case *CallSubquery:
		each(w, c.Imports)
		w.all(c.Query)
		opt(w, c.InTransactions)
	case *Braces:
		w.all(c.Query)
	case *Conditional:
		each(w, c.Branches)
	case *LoadCSV:
		w.all(c.URL, c.Variable)
		opt(w, c.Terminator)
	}
}

func (w walker) expr(e Expr) {
	switch e := e.(type) {
	case *ListLit:
		each(w, e.Items)
	case *MapLit:
		each(w, e.Entries)
	case *Property:
		w.all(e.Subject)
	case *Index:
		w.all(e.Subject, e.Index)
	case *Slice:
		w.all(e.Subject, e.From, e.To)
	case *MapProjection:
		w.all(e.Subject)
		each(w, e.Items)
	case *ListComprehension:
		w.all(e.Variable, e.List, e.Where, e.Projection)
	case *PatternComprehension:
		w.all(e.Path, e.Where, e.Projection)
	case *PatternPredicate:
		w.all(e.Path)
	case *PathSearch:
		w.all(e.Path)
	case *Subquery:
		each(w, e.Pattern)
		w.all(e.Where)
		opt(w, e.Query)
	case *Case:
		w.all(e.Operand)
		each(w, e.Whens)
		w.all(e.Else)
	case *Quantifier:
		w.all(e.Variable, e.List, e.Where)
	case *Reduce:
		w.all(e.Accumulator, e.Init, e.Variable, e.List, e.Body, e.Where)
	case *Call:
		each(w, e.Args)
	case *Unary:
		w.all(e.Operand)
	case *Binary:
		w.all(e.Left, e.Right)
	case *Comparison:
		w.all(e.First)
		each(w, e.Steps)
	case *IsNull:
		w.all(e.Operand)
	case *IsNormalized:
		w.all(e.Operand)
	case *IsType:
		w.all(e.Operand, e.Type)
	case *HasLabels:
		w.all(e.Subject, e.Labels)
	}
}

func (w walker) label(l LabelExpr) {
	switch l := l.(type) {
	case *LabelOf:
		w.all(l.Expr)
	case *LabelNot:
		w.all(l.Operand)
	case *LabelAnd:
		each(w, l.Operands)
	case *LabelOr:
		each(w, l.Operands)
	}
}

func (w walker) element(e PathElement) {
	switch e := e.(type) {
	case *NodePattern:
		opt(w, e.Variable)
		w.all(e.Labels, e.Properties, e.Where)
	case *RelationshipPattern:
		opt(w, e.Variable)
		w.all(e.Types)
		opt(w, e.Length)
		w.all(e.Properties, e.Where)
		opt(w, e.Quantifier)
	case *SubpathPattern:
		w.all(e.Path, e.Where)
		opt(w, e.Quantifier)
	}
}

// part visits below the nodes that belong to no sum, and below the commands.
func (w walker) part(n Node) {
	switch n := n.(type) {
	case *Projection:
		each(w, n.Items)
		each(w, n.OrderBy)
		w.all(n.Skip, n.Limit)
	case *ProjectionItem:
		w.all(n.Expr)
		opt(w, n.Alias)
	case *SortItem:
		w.all(n.Expr)
	case *Hint:
		each(w, n.Variables)
	case *SetProperty:
		w.all(n.Target, n.Value)
	case *SetProperties:
		w.all(n.Variable, n.Value)
	case *SetLabels:
		w.all(n.Variable)
		each(w, n.Labels)
	case *RemoveProperty:
		w.all(n.Target)
	case *RemoveLabels:
		w.all(n.Variable)
		each(w, n.Labels)
	case *ConditionalBranch:
		w.all(n.When, n.Query)
	case *Yield:
		each(w, n.Items)
		w.all(n.Where)
	case *YieldItem:
		opt(w, n.Alias)
	case *InTransactions:
		w.all(n.Workers, n.Rows)
		opt(w, n.Report)
	case *PathPattern:
		opt(w, n.Variable)
		w.all(n.Count)
		each(w, n.Elements)
	case *Range:
		w.all(n.Min, n.Max)
	case *MapEntry:
		w.all(n.Value)
	case *MapProjectionItem:
		w.all(n.Value)
	case *CaseWhen:
		each(w, n.Tests)
		w.all(n.Then)
	case *CaseTest:
		w.all(n.Expr)
	case *CompareStep:
		w.all(n.Right)
	case *Type:
		opt(w, n.Element)
		each(w, n.Alternatives)
	case *CreateIndex:
		opt(w, n.NameParam)
		opt(w, n.Schema)
		w.all(n.Options)
	case *DropIndex:
		opt(w, n.NameParam)
		opt(w, n.Schema)
	case *DropConstraint:
		opt(w, n.NameParam)
	case *CreateConstraint:
		opt(w, n.NameParam)
		opt(w, n.Schema)
		opt(w, n.Type)
		w.all(n.Options)
	case *AlterName:
		w.all(n.Options)
	case *CreateGraph:
		w.all(n.Options)
	case *AlterGraph:
		w.all(n.Value)
	case *CreateSnapshot:
		opt(w, n.NameParam)
		w.all(n.Expires)
	case *DropSnapshot:
		opt(w, n.NameParam)
	case *Privilege:
		each(w, n.Resources)
		each(w, n.Names)
		w.all(n.Where)
		each(w, n.Roles)
	case *Show:
		each(w, n.Names)
		opt(w, n.Yield)
		w.all(n.Where)
		opt(w, n.Return)
	}
}
