package fn

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Aggregate is a function over the rows of a group.
type Aggregate struct {
	Name             string
	MinArgs, MaxArgs int
	New              func() Accumulator
	Signature        string
	Description      string
}

// Accumulator gathers one group's rows. The executor drops duplicate arguments for DISTINCT before Add.
type Accumulator interface {
	// Add takes one row's arguments, which are valid during the call alone unless they are kept by Clone.
	Add(args []graph.Value) error
	// Result gives the group's value; rows may be added after it.
	Result() (graph.Value, error)
	// Reset begins a new group.
	Reset()
}

// LookupAggregate finds an aggregate by its name in any case.
func LookupAggregate(name string) (*Aggregate, bool) {
	i, ok := slices.BinarySearchFunc(aggregates, name, func(a *Aggregate, name string) int {
		return compareFold(a.Name, name)
	})
	if !ok {
		return nil, false
	}
	return aggregates[i], true
}

// Aggregates gives every aggregate, sorted by name without regard to case. It must not be changed.
func Aggregates() []*Aggregate { return aggregates }

// aggregates is sorted by compareFold.
var aggregates []*Aggregate
