package shard

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// Parts are parts of a graph, for which a Versioned tells when one of them last changed. A new vertex changes its labels and AnyVertex, but
// no property: who can find it reads one of the former. An edge that is created, changed or deleted changes its type.
type Parts struct {
	Labels []graph.LabelID // which vertices have them
	Types  []graph.TypeID  // their edges, with all properties
	Props  []graph.PropID  // of vertices
	Any    AnyPart
}

// AnyPart is a set of groups of parts.
type AnyPart uint8

// The groups.
const (
	AnyVertex AnyPart = 1 << iota // which vertices there are
	AnyLabel                      // the label sets of vertices
	AnyType                       // all edges
	AnyProp                       // all properties of vertices
	AnyOther                      // whatever else a commit writes
)

// Everything are all groups.
const Everything = AnyVertex | AnyLabel | AnyType | AnyProp | AnyOther

// Version is the state of some parts of a graph: where it is the same, so are they.
type Version struct {
	// Opened is a random number of each time that the graph is opened for writing, by whichever process: commits are numbered from then on.
	Opened uint64
	// Commit is the number of the last one that changed one of the parts; 0: none since the graph was opened.
	Commit uint64
}

// Versioned is a Tx that knows when parts of the graph last changed.
type Versioned interface {
	// Version returns the version of some parts in the transaction's snapshot. ok is false if it is not known: a commit that the snapshot
	// does not have changes them. What Check, where there is one, says of the snapshot holds for the version.
	Version(ctx context.Context, parts *Parts) (v Version, ok bool, err error)
}
