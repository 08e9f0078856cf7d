// Package traverse binds typed traversals, which name their starts, hops and results instead of using a statement, to plans.
package traverse

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// maxHops bounds the hops of a request that must hold each of them apart.
const maxHops = 1000

// Selector names vertices in one of three ways: those with a Label ("": any) of which Property has one of Values; those in the first
// column of Statement; or those with element ids IDs.
type Selector struct {
	Label, Property string
	Values          []graph.Value
	Statement       string
	IDs             []string
}

// Hop is one step; see plan.TraverseHop. Where is an expression over e, the edge, and v, the vertex it leads to.
type Hop struct {
	Field                                    string // its name in the request, with a point behind it, for errors
	Types                                    []string
	Direction                                graph.Direction
	Where                                    string
	SkipSupernodes, MaxDegree, Sample, Limit uint64
}

// Traversal goes from some vertices hop by hop and returns rows for Min to Max hops.
type Traversal struct {
	From Selector
	Hops []Hop // one for each hop, or one for all
	// Min is nil for Max, and Max 0 for as many as there are hops.
	Min  *uint32
	Max  uint32
	Mode plan.TraverseMode
	// Returns is count, ids, vertices, edges, paths, or items of RETURN over v (the vertex), e (the last edge), h (the number of
	// hops), s (the start) and p (the path); "" is ids.
	Returns  string
	Distinct bool // each row once
	ByHop    bool // the hop is the first column of every row
	Rank     *Rank
	Limit    uint64
	Seed     int64
	// Partial reports whether a budget may end the traversal early. A set then has to be counted through its members.
	Partial bool
}

// Modes are the modes of a traversal by name.
var Modes = map[string]plan.TraverseMode{
	"": plan.ModeFrontier, "frontier": plan.ModeFrontier, "walk": plan.ModeWalk, "trail": plan.ModeTrail,
	"acyclic": plan.ModeAcyclic, "nearest": plan.ModeNearest,
}

// Directions are the directions of a hop by name.
var Directions = map[string]graph.Direction{"": graph.Out, "out": graph.Out, "in": graph.In, "both": graph.Both}

// ParseHops reads the number of hops, n or m..n.
func ParseHops(s string) (lo *uint32, hi uint32, err error) {
	low, high, ranged := strings.Cut(s, "..")
	if !ranged {
		high = low
	}
	n, err := strconv.ParseUint(high, 10, 32)
	if err != nil {
		return nil, 0, invalid("hops", "must be a number or a range such as 1..3, is %q", s)
	}
	if n == 0 {
		return nil, 0, invalid("hops", "must be at least 1, or a range up to at least 1, is %q", s)
	}
	if ranged {
		m, err := strconv.ParseUint(low, 10, 32)
		if err != nil {
			return nil, 0, invalid("hops", "must be a number or a range such as 1..3, is %q", s)
		}
		m32 := uint32(m)
		lo = &m32
	}
	return lo, uint32(n), nil
}

// invalid is the error of a field of a request.
func invalid(field, format string, args ...any) error {
	return graph.RequestError(graph.KindInvalid, "InvalidField", "%s: %s", field, fmt.Sprintf(format, args...))
}

// after makes the position of an error relative to the end of the text before a request.
func after(before string, err error) error {
	if err == nil {
		return nil
	}
	e := *graph.AsError(err)
	if e.Pos.Line == 1 && e.Pos.Offset >= len(before) {
		e.Pos.Offset -= len(before)
		e.Pos.Column -= len(before)
	}
	return &e
}

// inField adds the name of the request's field to an error.
func inField(field string, err error) error {
	if err == nil {
		return nil
	}
	e := *graph.AsError(err)
	e.Msg = field + ": " + e.Msg
	return &e
}
