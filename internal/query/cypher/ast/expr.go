package ast

import (
	"math"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Expr is one of *NullLit, *BoolLit, *IntLit, *FloatLit, *StringLit, *ListLit, *MapLit, *Variable, *Parameter, *Property,
// *Index, *Slice, *MapProjection, *ListComprehension, *PatternComprehension, *PatternPredicate, *PathSearch, *Subquery, *Case,
// *CaseOperand, *Quantifier, *Reduce, *Call, *CountStar, *Unary, *Binary, *Comparison, *IsNull, *IsType, *IsNormalized,
// *HasLabels.
type Expr interface {
	Node
	expr()
}

// NullLit is null.
type NullLit struct {
	At
}

// BoolLit is true or false.
type BoolLit struct {
	At
	Value bool
}

// IntLit is an integer; a minus sign directly before the digits is part of it.
type IntLit struct {
	At
	Value int64
}

// FloatLit is a float; a minus sign directly before the digits is part of it.
type FloatLit struct {
	At
	Value float64
}

// NamedFloat returns the float of a name that is not a variable: NaN, Inf or Infinity, in any case.
func NamedFloat(name string) (float64, bool) {
	switch strings.ToUpper(name) {
	case "NAN":
		return math.NaN(), true
	case "INF", "INFINITY":
		return math.Inf(1), true
	}
	return 0, false
}

// StringLit is a string, unescaped.
type StringLit struct {
	At
	Value string
}

// ListLit is [a, b].
type ListLit struct {
	At
	Items []Expr
}

// MapLit is {k: v}; a key may occur more than once, the last one counts.
type MapLit struct {
	At
	Entries []*MapEntry
}

// MapEntry is key: value.
type MapEntry struct {
	At
	Key   string
	Value Expr
}

// Variable is a name, at its definition or at a use.
type Variable struct {
	At
	Name string
}

// Parameter is $name or $1.
type Parameter struct {
	At
	Name string
}

// Property is subject.key.
type Property struct {
	At
	Subject Expr
	Key     string
	KeyPos  graph.Pos
}

// Index is subject[index].
type Index struct {
	At
	Subject, Index Expr
}

// Slice is subject[from..to].
type Slice struct {
	At
	Subject  Expr
	From, To Expr // or nil
}

// MapProjection is subject {.a, .*, b: expr, c}.
type MapProjection struct {
	At
	Subject Expr
	Items   []*MapProjectionItem
}

// MapProjectionKind is the form of an item of a map projection.
type MapProjectionKind uint8

// The forms.
const (
	ProjectProperty MapProjectionKind = iota // .name
	ProjectAll                               // .*
	ProjectEntry                             // name: value
	ProjectVariable                          // name
)

// MapProjectionItem is one item of a map projection.
type MapProjectionItem struct {
	At
	Kind  MapProjectionKind
	Name  string // except for ProjectAll
	Value Expr   // ProjectEntry: the value; ProjectVariable: the *Variable
}

// ListComprehension is [variable IN list WHERE … | projection].
type ListComprehension struct {
	At
	Variable   *Variable
	List       Expr
	Where      Expr // or nil
	Projection Expr // or nil: the variable
}

// PatternComprehension is [path WHERE … | projection]; the path variable is the path's.
type PatternComprehension struct {
	At
	Path       *PathPattern
	Where      Expr // or nil
	Projection Expr
}

// PatternPredicate is a path pattern used as a boolean.
type PatternPredicate struct {
	At
	Path *PathPattern
}

// PathSearch is shortestPath(…) or allShortestPaths(…) as a value: a path or null, or a list of paths.
type PathSearch struct {
	At
	Path *PathPattern
}

// SubqueryKind is the kind of a subquery expression.
type SubqueryKind uint8

// The kinds.
const (
	SubqueryExists  SubqueryKind = iota // whether there is a row
	SubqueryCount                       // the number of rows
	SubqueryCollect                     // the list of the values of the only column
)

// Subquery is EXISTS {…}, COUNT {…} or COLLECT {…}. The braces hold either a pattern with an optional WHERE or a query.
type Subquery struct {
	At
	Kind    SubqueryKind
	Pattern []*PathPattern // or empty
	Where   Expr           // of the pattern, or nil
	Query   *Query         // or nil
}

// Case is CASE [operand] WHEN … THEN … ELSE … END.
type Case struct {
	At
	Operand Expr // or nil
	Whens   []*CaseWhen
	Else    Expr // or nil: null
}

// CaseWhen is WHEN tests THEN value. Without an operand there is one test, a predicate. With an operand a test is a value that
// the operand must equal, or, written `> 5` or `IS NULL`, a predicate with a *CaseOperand in it.
type CaseWhen struct {
	At
	Tests []*CaseTest
	Then  Expr
}

// CaseTest is one test of WHEN.
type CaseTest struct {
	At
	Expr      Expr
	Predicate bool // Expr is a predicate on *CaseOperand
}

// CaseOperand is the value of the operand of the enclosing CASE.
type CaseOperand struct {
	At
}

// QuantifierKind is the kind of a quantified predicate over a list.
type QuantifierKind uint8

// The kinds.
const (
	QuantifierAll QuantifierKind = iota
	QuantifierAny
	QuantifierNone
	QuantifierSingle
)

// Quantifier is all, any, none or single(variable IN list WHERE …).
type Quantifier struct {
	At
	Kind     QuantifierKind
	Variable *Variable
	List     Expr
	Where    Expr // or nil: the variable itself
}

// Reduce is reduce(accumulator = init, variable IN list | body), or allReduce(…, where), whether a condition holds at every
// step.
type Reduce struct {
	At
	Accumulator *Variable
	Init        Expr
	Variable    *Variable
	List        Expr
	Body        Expr
	Where       Expr // nil: reduce
}

// Call is a function call; the name is as written, with dots.
type Call struct {
	At
	Name     string
	Distinct bool
	Args     []Expr
}

// CountStar is count(*).
type CountStar struct {
	At
}

// UnaryOp is a prefix operator.
type UnaryOp uint8

// The prefix operators.
const (
	OpNot UnaryOp = iota
	OpNeg
	OpPlus
)

// Unary is op operand.
type Unary struct {
	At
	Op      UnaryOp
	Operand Expr
}

// BinaryOp is an infix operator other than a comparison.
type BinaryOp uint8

// The infix operators.
const (
	OpOr BinaryOp = iota
	OpXor
	OpAnd
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	OpPow
	OpConcat // ||
	OpIn
	OpStartsWith
	OpEndsWith
	OpContains
	OpMatches // =~
)

// Binary is left op right.
type Binary struct {
	At
	Op          BinaryOp
	Left, Right Expr
}

// CompareOp is a comparison operator.
type CompareOp uint8

// The comparison operators.
const (
	OpEq CompareOp = iota
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
)

// Comparison is a chain first op right op right …: it means first op₁ right₁ AND right₁ op₂ right₂ …, where every operand is
// evaluated once. A plain comparison is a chain of one step.
type Comparison struct {
	At
	First Expr
	Steps []*CompareStep // at least one
}

// CompareStep is one link of a comparison.
type CompareStep struct {
	At
	Op    CompareOp
	Right Expr
}

// IsNull is operand IS [NOT] NULL.
type IsNull struct {
	At
	Operand Expr
	Not     bool
}

// IsType is operand IS [NOT] :: type.
type IsType struct {
	At
	Operand Expr
	Not     bool
	Type    *Type
}

// IsNormalized is operand IS [NOT] form NORMALIZED, with one of NFC, NFD, NFKC and NFKD as form.
type IsNormalized struct {
	At
	Operand Expr
	Not     bool
	Form    string
}

// Type is the name of a type of values: NAME [NOT NULL], LIST<Element>, or Alternatives joined by |.
type Type struct {
	At
	Name         string // in capitals, in its main spelling; empty if Alternatives is set
	Element      *Type  // of a LIST or a VECTOR, or nil
	Dimensions   int    // of a VECTOR, or 0
	NotNull      bool
	Alternatives []*Type // or empty
}

// HasLabels is subject:Labels.
type HasLabels struct {
	At
	Subject Expr
	Labels  LabelExpr
}

func (*NullLit) expr()              {}
func (*BoolLit) expr()              {}
func (*IntLit) expr()               {}
func (*FloatLit) expr()             {}
func (*StringLit) expr()            {}
func (*ListLit) expr()              {}
func (*MapLit) expr()               {}
func (*Variable) expr()             {}
func (*Parameter) expr()            {}
func (*Property) expr()             {}
func (*Index) expr()                {}
func (*Slice) expr()                {}
func (*MapProjection) expr()        {}
func (*ListComprehension) expr()    {}
func (*PatternComprehension) expr() {}
func (*PatternPredicate) expr()     {}
func (*PathSearch) expr()           {}
func (*Subquery) expr()             {}
func (*Case) expr()                 {}
func (*CaseOperand) expr()          {}
func (*Quantifier) expr()           {}
func (*Reduce) expr()               {}
func (*Call) expr()                 {}
func (*CountStar) expr()            {}
func (*Unary) expr()                {}
func (*Binary) expr()               {}
func (*Comparison) expr()           {}
func (*IsNull) expr()               {}
func (*IsType) expr()               {}
func (*IsNormalized) expr()         {}
func (*HasLabels) expr()            {}
