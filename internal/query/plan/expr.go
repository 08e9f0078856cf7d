package plan

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Expr is an expression over the columns of a row.
type Expr interface{ expr() }

// The expressions.
type (
	// Const is a literal.
	Const struct{ Value graph.Value }

	// Param is a parameter by name.
	Param struct{ Name string }

	// ColRef is the value of a column.
	ColRef struct{ Col Col }

	// Prop is a property of a vertex, edge, map, temporal or null value.
	Prop struct {
		X   Expr
		Key string
	}

	// Op is an operator with its arguments.
	Op struct {
		Op   OpCode
		Args []Expr
		Pos  graph.Pos
	}

	// Call is a scalar function by its lower-case name.
	Call struct {
		Func string
		Args []Expr
		Pos  graph.Pos
	}

	// Case is the Then of the first When that is true, else Else (nil: null). `CASE x WHEN v` is bound to x = v, which null
	// never satisfies.
	Case struct {
		When, Then []Expr
		Else       Expr
	}

	// ListLit is a list of expressions.
	ListLit struct{ Elems []Expr }

	// MapLit is a map of expressions.
	MapLit struct {
		Keys  []string
		Elems []Expr
	}

	// MapProject is x {.*, …}: all properties of X (if All), then the entries; null if X is null.
	MapProject struct {
		X     Expr
		All   bool
		Keys  []string
		Elems []Expr
	}

	// Comprehension is [Var IN List WHERE Where | Map]; Where and Map may be nil.
	Comprehension struct {
		Var        Col
		List       Expr
		Where, Map Expr
	}

	// Quantifier is all, any, none or single (Kind) of List satisfying Pred.
	Quantifier struct {
		Kind string
		Var  Col
		List Expr
		Pred Expr
	}

	// Reduce folds List into Acc, from Init, by Body.
	Reduce struct {
		Acc  Col
		Init Expr
		Var  Col
		List Expr
		Body Expr
	}

	// HasLabels tests a vertex's labels, or an edge's type; null for null.
	HasLabels struct {
		X      Expr
		Labels *LabelExpr
	}

	// HasEdge tests for an edge of Types (none: any) from vertex From to vertex To, in direction Dir; it is false if an end is
	// null.
	HasEdge struct {
		From, To Expr
		Types    []string
		Dir      graph.Direction
	}

	// Subquery runs Sub for the row, which Sub sees through its Argument: Kind is Exists, CountRows or Collect (of
	// Expr over Sub's columns). Pattern predicates and pattern comprehensions are bound to it.
	Subquery struct {
		Kind ApplyKind
		Sub  Node
		Expr Expr
	}

	// MakePath joins columns to a path: vertex, edge or list of edges, vertex, …; it is null if one of them is null.
	MakePath struct{ Cols []Col }

	// IsType is X IS :: Type (Type in normal form, such as "INTEGER NOT NULL | STRING").
	IsType struct {
		X    Expr
		Type string
		Not  bool
	}
)

// OpCode is an operator.
type OpCode uint8

// The operators. And, Or and Xor take any number of arguments; the others one or two, Slice three (either bound may be a nil Expr).
const (
	And OpCode = iota
	Or
	Xor
	Not
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	Add
	Sub
	Mul
	Div
	Mod
	Pow
	Neg
	Pos
	In
	StartsWith
	EndsWith
	Contains
	Regexp
	IsNull
	IsNotNull
	Index   // list[i], map[key], entity[key]
	SliceOp // list[a..b]
	Concat  // of two strings or two lists
)

var opNames = [...]string{
	"AND", "OR", "XOR", "NOT", "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "^", "-", "+", "IN",
	"STARTS WITH", "ENDS WITH", "CONTAINS", "=~", "IS NULL", "IS NOT NULL", "[]", "[..]", "||",
}

// String returns the operator as openCypher writes it.
func (o OpCode) String() string { return opNames[o] }

func (*Const) expr()         {}
func (*Param) expr()         {}
func (*ColRef) expr()        {}
func (*Prop) expr()          {}
func (*Op) expr()            {}
func (*Call) expr()          {}
func (*Case) expr()          {}
func (*ListLit) expr()       {}
func (*MapLit) expr()        {}
func (*MapProject) expr()    {}
func (*Comprehension) expr() {}
func (*Quantifier) expr()    {}
func (*Reduce) expr()        {}
func (*HasLabels) expr()     {}
func (*HasEdge) expr()       {}
func (*Subquery) expr()      {}
func (*MakePath) expr()      {}
func (*IsType) expr()        {}

// PropRange is a conjunct that compares a property of a vertex or an edge with a constant or a parameter, so that the shards
// can test it while they read the property.
type PropRange struct {
	Key   string
	Op    OpCode // between the property and the bound
	Bound Expr
}

// mirrored swaps the sides of a comparison.
var mirrored = map[OpCode]OpCode{Eq: Eq, Lt: Gt, Le: Ge, Gt: Lt, Ge: Le}

// RangeOf converts a conjunct on the vertex or edge in a column to a range, if it is one. A parameter is a bound if its value
// can be one.
func RangeOf(e Expr, of Col) (PropRange, bool) {
	op, ok := e.(*Op)
	if !ok || len(op.Args) != 2 || of == 0 {
		return PropRange{}, false
	}
	other, ok := mirrored[op.Op]
	if !ok {
		return PropRange{}, false
	}
	for i, code := range [...]OpCode{op.Op, other} {
		p, ok := op.Args[i].(*Prop)
		if !ok {
			continue
		}
		if ref, ok := p.X.(*ColRef); !ok || ref.Col != of {
			continue
		}
		switch b := op.Args[1-i].(type) {
		case *Param:
			return PropRange{p.Key, code, b}, true
		case *Const:
			return PropRange{p.Key, code, b}, graph.Bounds(b.Value)
		}
	}
	return PropRange{}, false
}

// AllRanges reports whether conditions are only ranges of one vertex or edge.
func AllRanges(preds []Expr, of Col) bool {
	return !slices.ContainsFunc(preds, func(e Expr) bool {
		_, ok := RangeOf(e, of)
		return !ok
	})
}

// Conjuncts returns the operands of an AND, else the expression itself.
func Conjuncts(e Expr) []Expr {
	and, ok := e.(*Op)
	if !ok || and.Op != And {
		return []Expr{e}
	}
	var all []Expr
	for _, a := range and.Args {
		all = append(all, Conjuncts(a)...)
	}
	return all
}
