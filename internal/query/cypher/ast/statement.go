package ast

import "github.com/hopgate/hopgate/internal/graph"

// Node is any part of the tree.
type Node interface {
	// Position is the place where the part begins in the text; for an infix operator, the place of the operator.
	Position() graph.Pos
}

// At is embedded in every node and holds its place.
type At struct {
	Pos graph.Pos
}

// Position is the node's place.
func (a At) Position() graph.Pos { return a.Pos }

// Mode says what is to be done with a statement.
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
	Body  Body
	// Deprecated are the forms in it that have a newer one, which is how the tree prints.
	Deprecated []Deprecated
}

// Deprecated is a form of syntax that has a newer one.
type Deprecated struct {
	At
	What, Instead string
}

// Body is what a statement asks for: *Query, or one of the commands *CreateIndex, *DropIndex, *CreateConstraint,
// *DropConstraint, *AlterName, *CreateGraph, *DropGraph, *Show.
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

// Last is the query at the end of the NEXTs, whose rows are those of the whole.
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
