package changelog

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Mode says how much of a change the log keeps.
type Mode uint8

// The modes, as Neo4j's txLogEnrichment names them.
const (
	// Off keeps nothing.
	Off Mode = iota
	// Diff keeps the properties that change, before and after, and all of an element that is created or deleted.
	Diff
	// Full keeps all properties before and after.
	Full
)

var modeNames = [...]string{"OFF", "DIFF", "FULL"}

// String returns the name of the mode.
func (m Mode) String() string { return modeNames[m] }

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	for m, n := range modeNames {
		if n == name {
			return Mode(m), nil
		}
	}
	return Off, fmt.Errorf("%q is not a mode of the commit log; use OFF, DIFF or FULL", name)
}

// Op is what happened to an element.
type Op uint8

// The operations. Skipped stands for changes that a load kept out of the log; see Change.Skipped.
const (
	Skipped Op = iota
	Created
	Changed
	Deleted
)

// Change is what a transaction did to a vertex or an edge at once.
type Change struct {
	Op     Op
	IsEdge bool
	// Full says that Before and After have all properties; else, if Op is Changed, only those that may differ.
	Full bool
	// Tx is the transaction's place among those of the commit.
	Tx     int
	Vertex graph.VertexID
	Edge   graph.Edge
	// Before and After are the states of the element: that before is empty if Op is Created, that after if it is Deleted. Labels are a
	// vertex's. Both have the same properties if Op is Changed; a null stands for none.
	Before, After State
	// Keys are the values of the properties that node keys are made of, after the change or, of a deleted element, before it.
	Keys []graph.Property
	// Src and Dst are an edge's ends.
	Src, Dst End
	// Counts are those of Skipped: created, changed and deleted vertices, and edges.
	Counts [6]uint64
}

// State is what a vertex or an edge has, properties in ascending order of their ids. A null stands for none.
type State struct {
	Labels graph.LabelSet
	Props  []graph.Property
}

// End is what the log keeps of an end of an edge: its labels, and the values of its node keys.
type End struct {
	Labels graph.LabelSet
	Keys   []graph.Property
}

// Origin says where a transaction came from. Times are in nanoseconds since 1970.
type Origin struct {
	Started int64
	// User is who the caller is, Protocol one of bolt, grpc and http, Client and Server are addresses.
	User, Protocol, Client, Server string
	// Metadata is what the caller said of the transaction: a map as JSON, or "".
	Metadata string
}

// Identical reports whether values are of the same type and stored alike.
func Identical(a, b graph.Value) bool { return keys.Identical(a, b) }
