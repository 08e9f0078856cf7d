package ast

import "github.com/hopgate/hopgate/internal/graph"

// Node is any part of the tree.
type Node interface {
	// Position is the position at which the part begins in the text; for an infix operator, that of the operator.
	Position() graph.Pos
}

// At is embedded in every node and holds its position.
type At struct {
	Pos graph.Pos
}

// Position returns the node's position.
func (a At) Position() graph.Pos { return a.Pos }

// Mode selects how a statement runs.
type Mode uint8

// The modes.
const (
	ModeRun     Mode = iota // run it
	ModeExplain             // EXPLAIN: show the plan
	ModeProfile             // PROFILE: run it and show the plan with counts
)

// Statement is a whole statement.
type Statement struct {
	At
	Mode  Mode
	Graph string // of USE, or ""
	AsOf  Expr   // a moment of Graph: a *StringLit, a *Parameter or a *Call of datetime; or nil
	// Snapshot says that AsOf is the name of a snapshot: a *StringLit or a *Parameter.
	Snapshot bool
	Body     Body
	// Deprecated are the forms in it that have a newer one; the tree prints the newer one.
	Deprecated []Deprecated
}

// Deprecated is a form of syntax that has a newer one.
type Deprecated struct {
	At
	What, Instead string
}

// Body is the content of a statement: *Query, or one of the commands *CreateIndex, *DropIndex, *CreateConstraint,
// *DropConstraint, *AlterName, *CreateGraph, *AlterGraph, *DropGraph, *CreateSnapshot, *DropSnapshot, *Privilege,
// *Show.
type Body interface {
	Node
	body()
}

// Query is one or more single queries joined by UNION, which drops duplicate rows unless All is set, and the query behind NEXT
// that continues with all its rows. It is also the body of CALL {…}, EXISTS {…}, COUNT {…} and COLLECT {…}.
type Query struct {
	At
	Parts []*SingleQuery // at least one
	All   bool           // UNION ALL
	Next  *Query         // behind NEXT, or nil
}

// Last returns the query after all NEXTs, whose rows are the result.
func (q *Query) Last() *Query {
	for q.Next != nil {
		q = q.Next
	}
	return q
}

// Returns reports whether a query ends in RETURN.
func (q *Query) Returns() bool {
	clauses := q.Last().Parts[0].Clauses
	switch c := clauses[len(clauses)-1].(type) {
	case *Return:
		return true
	case *Braces:
		return c.Query.Returns()
	case *Conditional:
		return c.Branches[0].Query.Returns()
	}
	return false
}

// SingleQuery is a chain of clauses; *Braces and *Conditional are each the only one of theirs.
type SingleQuery struct {
	At
	Clauses []Clause // at least one
}

func (*Query) body() {}
