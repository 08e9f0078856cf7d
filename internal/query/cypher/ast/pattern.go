package ast

// Search selects among the paths that match a pattern.
type Search uint8

// The searches. The first two after SearchNone are the functions, the others the GQL selectors.
const (
	SearchNone             Search = iota // every path
	SearchShortestPath                   // shortestPath(…)
	SearchAllShortestPaths               // allShortestPaths(…)
	SearchShortest                       // SHORTEST k
	SearchAllShortest                    // ALL SHORTEST
	SearchShortestGroups                 // SHORTEST k GROUPS
	SearchAny                            // ANY [k]
)

// PathPattern is [variable =] [selector] element…. The elements alternate between *NodePattern and *RelationshipPattern and
// begin and end with a node, except for a *SubpathPattern, which may stand beside a node or another subpath.
//
//	p = (a)-[r]->(b)        NodePattern RelationshipPattern NodePattern
//	(a)((x)-->(y)){2}(b)    NodePattern SubpathPattern NodePattern
type PathPattern struct {
	At
	Variable *Variable // or nil
	Search   Search
	Count    Expr // k of SHORTEST k, SHORTEST k GROUPS and ANY k; nil is 1
	Elements []PathElement
}

// PathElement is one of *NodePattern, *RelationshipPattern, *SubpathPattern.
type PathElement interface {
	Node
	pathElement()
}

// NodePattern is (variable :labels {properties} WHERE …).
type NodePattern struct {
	At
	Variable   *Variable // or nil
	Labels     LabelExpr // or nil
	Properties Expr      // *MapLit, *Parameter or nil
	Where      Expr      // or nil
}

// Direction is a relationship's direction as seen from the element before it.
type Direction uint8

// The directions.
const (
	DirectionBoth Direction = iota // -[]- and <-[]->
	DirectionOut                   // -[]->
	DirectionIn                    // <-[]-
)

// RelationshipPattern is -[variable :types *length {properties} WHERE …]->.
type RelationshipPattern struct {
	At
	Variable   *Variable // or nil
	Direction  Direction
	Types      LabelExpr // or nil
	Length     *Range    // *, *2, *1..3; or nil: one relationship
	Quantifier *Range    // ->{1,3}, ->+, ->*; or nil
	Properties Expr      // *MapLit, *Parameter or nil
	Where      Expr      // or nil
}

// Range bounds a repetition. A bound is an *IntLit or a *Parameter. In a relationship's Length Min is nil where it was not
// written (which means 1); in a quantifier it is always set. Max nil is no bound.
type Range struct {
	At
	Min, Max Expr
}

// SubpathPattern is (path [WHERE …])quantifier, a parenthesised path pattern.
type SubpathPattern struct {
	At
	Path       *PathPattern
	Where      Expr   // or nil
	Quantifier *Range // or nil: once
}

// LabelExpr is a condition on the labels of a node or the type of a relationship: one of *LabelName, *LabelOf, *LabelAny,
// *LabelNot, *LabelAnd, *LabelOr.
type LabelExpr interface {
	Node
	labelExpr()
}

// LabelName is one label or relationship type.
type LabelName struct {
	At
	Name string
}

// LabelOf is $(expression) or $all(expression), all names in the expression's value, a string or a list of strings, or
// $any(expression), one of them.
type LabelOf struct {
	At
	Expr Expr
	Any  bool
}

// LabelAny is %, which holds if there is any label.
type LabelAny struct {
	At
}

// LabelNot is !operand.
type LabelNot struct {
	At
	Operand LabelExpr
}

// LabelAnd is A&B, also written A:B.
type LabelAnd struct {
	At
	Operands []LabelExpr // at least two
}

// LabelOr is A|B, also written A|:B.
type LabelOr struct {
	At
	Operands []LabelExpr // at least two
}

// Conjunction returns the names of a label expression that is one name or a conjunction of names, in their order. It returns
// false for any other, and no names and true for nil.
func Conjunction(l LabelExpr) ([]string, bool) {
	if and, ok := l.(*LabelAnd); ok {
		return names(and.Operands)
	}
	return single(l)
}

// Disjunction returns the names of a label expression that is one name or a disjunction of names, in their order. It returns
// false for any other, and no names and true for nil.
func Disjunction(l LabelExpr) ([]string, bool) {
	if or, ok := l.(*LabelOr); ok {
		return names(or.Operands)
	}
	return single(l)
}

func single(l LabelExpr) ([]string, bool) {
	if l == nil {
		return nil, true
	}
	return names([]LabelExpr{l})
}

// Constant returns the name of a label expression that is one name, written as it is or as $('name').
func Constant(l LabelExpr) (string, bool) {
	switch l := l.(type) {
	case *LabelName:
		return l.Name, true
	case *LabelOf:
		s, ok := l.Expr.(*StringLit)
		if ok && s.Value != "" {
			return s.Value, true
		}
	}
	return "", false
}

// Named splits the labels to create or set, one name or a conjunction of names, into constant names and expressions. It returns
// false for any other label expression, and nothing and true for nil.
func Named(l LabelExpr) (known []string, of []Expr, ok bool) {
	operands := []LabelExpr{l}
	switch and := l.(type) {
	case nil:
		return nil, nil, true
	case *LabelAnd:
		operands = and.Operands
	}
	for _, o := range operands {
		if name, ok := Constant(o); ok {
			known = append(known, name)
			continue
		}
		x, ok := o.(*LabelOf)
		if !ok || x.Any {
			return nil, nil, false
		}
		of = append(of, x.Expr)
	}
	return known, of, true
}

// Dynamic reports whether a label expression holds names that are computed at run time.
func Dynamic(l LabelExpr) (found bool) {
	Inspect(l, func(n Node) bool {
		if l, ok := n.(LabelExpr); ok {
			_, of := l.(*LabelOf)
			_, constant := Constant(l)
			found = found || of && !constant
			return !found
		}
		return false
	})
	return found
}

func names(operands []LabelExpr) ([]string, bool) {
	out := make([]string, 0, len(operands))
	for _, o := range operands {
		name, ok := Constant(o)
		if !ok {
			return nil, false
		}
		out = append(out, name)
	}
	return out, true
}

func (*NodePattern) pathElement()         {}
func (*RelationshipPattern) pathElement() {}
func (*SubpathPattern) pathElement()      {}

func (*LabelName) labelExpr() {}
func (*LabelOf) labelExpr()   {}
func (*LabelAny) labelExpr()  {}
func (*LabelNot) labelExpr()  {}
func (*LabelAnd) labelExpr()  {}
func (*LabelOr) labelExpr()   {}
