package ast

// Clause is one of *Match, *Unwind, *With, *Return, *Create, *Merge, *Set, *Remove, *Delete, *Foreach, *CallProcedure,
// *CallSubquery, *LoadCSV, *Finish, *Braces, *Conditional.
type Clause interface {
	Node
	clause()
}

// MatchMode says which elements one match of a pattern may repeat.
type MatchMode uint8

// The match modes.
const (
	MatchDefault    MatchMode = iota // no relationship
	MatchDifferent                   // DIFFERENT RELATIONSHIPS: likewise, in words
	MatchRepeatable                  // REPEATABLE ELEMENTS: anything
)

// Match is [OPTIONAL] MATCH [mode] pattern [hints] [WHERE].
type Match struct {
	At
	Optional bool
	Mode     MatchMode
	Pattern  []*PathPattern // at least one
	Hints    []*Hint
	Search   *IndexSearch // or nil
	Where    Expr         // or nil
}

// IndexSearch is SEARCH variable IN (VECTOR INDEX index FOR vector [WHERE …] LIMIT n) [SCORE AS score].
type IndexSearch struct {
	At
	Variable *Variable
	Index    string
	For      Expr
	Where    Expr // or nil
	Limit    Expr
	Score    *Variable // or nil
}

// HintKind is the kind of a planner hint.
type HintKind uint8

// The hint kinds.
const (
	HintIndex HintKind = iota // USING INDEX v:Label(properties)
	HintScan                  // USING SCAN v:Label
	HintJoin                  // USING JOIN ON v, …
)

// Hint is a USING part of MATCH.
type Hint struct {
	At
	Kind       HintKind
	Variables  []*Variable // one, except for HintJoin
	Label      string      // except for HintJoin
	Properties []string    // HintIndex
}

// Unwind is UNWIND list AS variable.
type Unwind struct {
	At
	List     Expr
	Variable *Variable
}

// Projection is the common part of WITH and RETURN.
type Projection struct {
	At
	Distinct bool
	Star     bool // the variables in scope whose names no item has, before the items
	Items    []*ProjectionItem
	OrderBy  []*SortItem
	Skip     Expr // or nil
	Limit    Expr // or nil
}

// Names returns the names of the items.
func (p *Projection) Names() map[string]bool {
	out := make(map[string]bool, len(p.Items))
	for _, i := range p.Items {
		out[i.Name()] = true
	}
	return out
}

// ProjectionItem is one column.
type ProjectionItem struct {
	At
	Expr  Expr
	Alias *Variable // or nil
	Text  string    // the exact source text of Expr
}

// Name is the column's name: the alias, the variable if the item is one, or the expression's source text.
func (i *ProjectionItem) Name() string {
	if i.Alias != nil {
		return i.Alias.Name
	}
	if v, ok := i.Expr.(*Variable); ok {
		return v.Name
	}
	return i.Text
}

// SortItem is one key of ORDER BY.
type SortItem struct {
	At
	Expr Expr
	Desc bool
}

// WithForm is how a With is written.
type WithForm uint8

// The forms. All but the first abbreviate a WITH *.
const (
	WithPlain  WithForm = iota // WITH projection [WHERE …]
	WithLet                    // LET variable = value, …
	WithFilter                 // FILTER [WHERE] condition
	WithOrder                  // ORDER BY, SKIP and LIMIT by themselves
)

// With is WITH projection [WHERE], or a clause that means one.
type With struct {
	At
	Form       WithForm
	Projection *Projection
	Where      Expr // or nil
}

// Return is RETURN projection.
type Return struct {
	At
	Projection *Projection
}

// Create is CREATE pattern.
type Create struct {
	At
	Pattern []*PathPattern
}

// Merge is MERGE path [ON CREATE SET …] [ON MATCH SET …]; several actions of one kind are joined.
type Merge struct {
	At
	Path     *PathPattern
	OnCreate []SetItem
	OnMatch  []SetItem
}

// Set is SET item, ….
type Set struct {
	At
	Items []SetItem
}

// SetItem is one of *SetProperty, *SetProperties, *SetLabels.
type SetItem interface {
	Node
	setItem()
}

// SetProperty is target = value, where Target is a *Property, or an *Index whose index is the key.
type SetProperty struct {
	At
	Target Expr
	Value  Expr
}

// SetProperties is variable = map, which replaces all properties, or variable += map, which adds to them.
type SetProperties struct {
	At
	Variable *Variable
	Value    Expr
	Add      bool // +=
}

// SetLabels is variable:A:$(b).
type SetLabels struct {
	At
	Variable *Variable
	Labels   []LabelExpr // *LabelName or *LabelOf
}

// Remove is REMOVE item, ….
type Remove struct {
	At
	Items []RemoveItem
}

// RemoveItem is one of *RemoveProperty, *RemoveLabels.
type RemoveItem interface {
	Node
	removeItem()
}

// RemoveProperty removes one property; Target is as in SetProperty.
type RemoveProperty struct {
	At
	Target Expr
}

// RemoveLabels is variable:A:$(b).
type RemoveLabels struct {
	At
	Variable *Variable
	Labels   []LabelExpr // *LabelName or *LabelOf
}

// Delete is [DETACH] DELETE expression, ….
type Delete struct {
	At
	Detach bool
	Exprs  []Expr
}

// Foreach is FOREACH (variable IN list | updating clauses).
type Foreach struct {
	At
	Variable *Variable
	List     Expr
	Clauses  []Clause
}

// CallProcedure is [OPTIONAL] CALL name[(args)] [YIELD …].
type CallProcedure struct {
	At
	Name       string // as written, with dots
	Args       []Expr
	Implicit   bool // no parentheses: parameters of the statement are the arguments
	Standalone bool // the statement consists of this clause
	Optional   bool
	Yield      *Yield // or nil
}

// Yield is YIELD * or YIELD items, with WHERE.
type Yield struct {
	At
	Star  bool
	Items []*YieldItem
	Where Expr // or nil
}

// YieldItem is field [AS alias].
type YieldItem struct {
	At
	Field string
	Alias *Variable // or nil
}

// Name is the variable's name in scope.
func (i *YieldItem) Name() string {
	if i.Alias != nil {
		return i.Alias.Name
	}
	return i.Field
}

// CallSubquery is [OPTIONAL] CALL [(imports)] { query } [IN TRANSACTIONS …]. Without a scope clause the first clause of each
// part may be an importing WITH.
type CallSubquery struct {
	At
	Optional       bool
	Scoped         bool        // has a scope clause (…)
	ImportAll      bool        // (*)
	Imports        []*Variable // (x, y)
	Query          *Query
	InTransactions *InTransactions // or nil
}

// OnError is the reaction to a failed inner transaction.
type OnError uint8

// The reactions to a failed inner transaction.
const (
	OnErrorFail OnError = iota
	OnErrorContinue
	OnErrorBreak
)

// InTransactions is IN [n CONCURRENT] TRANSACTIONS [OF n ROWS] [ON ERROR …] [REPORT STATUS AS v].
type InTransactions struct {
	At
	Rows       Expr // or nil: the default
	Concurrent bool
	Workers    Expr // number of concurrent transactions, or nil
	OnError    OnError
	Report     *Variable // or nil
}

// LoadCSV is LOAD CSV [WITH HEADERS] FROM url AS variable [FIELDTERMINATOR text].
type LoadCSV struct {
	At
	Headers    bool
	URL        Expr
	Variable   *Variable
	Terminator *StringLit // or nil
}

// Finish is FINISH: run and return no rows.
type Finish struct {
	At
}

// Braces is { query } in place of a single query.
type Braces struct {
	At
	Query *Query
}

// Conditional is WHEN condition THEN query … [ELSE query]: for each row the first branch whose condition is true.
type Conditional struct {
	At
	Branches []*ConditionalBranch // at least one
}

// ConditionalBranch is one branch of a Conditional.
type ConditionalBranch struct {
	At
	When  Expr // nil: ELSE, which is last
	Query *Query
}

func (*Braces) clause()        {}
func (*Conditional) clause()   {}
func (*Match) clause()         {}
func (*Unwind) clause()        {}
func (*With) clause()          {}
func (*Return) clause()        {}
func (*Create) clause()        {}
func (*Merge) clause()         {}
func (*Set) clause()           {}
func (*Remove) clause()        {}
func (*Delete) clause()        {}
func (*Foreach) clause()       {}
func (*CallProcedure) clause() {}
func (*CallSubquery) clause()  {}
func (*LoadCSV) clause()       {}
func (*Finish) clause()        {}

func (*SetProperty) setItem()   {}
func (*SetProperties) setItem() {}
func (*SetLabels) setItem()     {}

func (*RemoveProperty) removeItem() {}
func (*RemoveLabels) removeItem()   {}
