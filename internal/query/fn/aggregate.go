package fn

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// Accumulator gathers one group's rows. The executor drops duplicate arguments for DISTINCT before Add.
type Accumulator interface {
	// Add adds the arguments of one row. They are valid only during the call unless Clone keeps them.
	Add(args []graph.Value) error
	// Result returns the group's value; rows may be added after it.
	Result() (graph.Value, error)
	// Reset begins a new group.
	Reset()
}

// Repeater is an Accumulator that can take a row's one argument n times at once, n > 0.
type Repeater interface {
	AddN(v graph.Value, n int64) error
}

var aggregates = []Function{
	{
		Name: "avg", MinArgs: 1, MaxArgs: 1, Deterministic: true, Result: Any,
		New:         func() Accumulator { return &avg{} },
		Signature:   "avg(value :: INTEGER | FLOAT | DURATION) :: FLOAT | DURATION",
		Description: "The mean, or null of nothing.",
	},
	{
		Name: "collect", MinArgs: 1, MaxArgs: 1, Deterministic: true, Result: List,
		New:       func() Accumulator { return &collect{} },
		Signature: "collect(value :: ANY) :: LIST<ANY>", Description: "A list of the values that are not null.",
	},
	{
		Name: "count", MinArgs: 1, MaxArgs: 1, Deterministic: true, Result: Integer,
		New:       func() Accumulator { return &count{} },
		Signature: "count(value :: ANY) :: INTEGER", Description: "The number of values that are not null, or of rows.",
	},
	{
		Name: "max", MinArgs: 1, MaxArgs: 1, Deterministic: true, Result: Any,
		New:       func() Accumulator { return &largest{} },
		Signature: "max(value :: ANY) :: ANY", Description: "The last value in order, or null of nothing.",
	},
	{
		Name: "min", MinArgs: 1, MaxArgs: 1, Deterministic: true, Result: Any,
		New:       func() Accumulator { return &smallest{} },
		Signature: "min(value :: ANY) :: ANY", Description: "The first value in order, or null of nothing.",
	},
	{
		Name: "percentileCont", MinArgs: 2, MaxArgs: 2, Deterministic: true, Result: Any,
		New:         func() Accumulator { return &percentileOf{name: "percentileCont", result: (*Percentile).continuous} },
		Signature:   "percentileCont(value :: INTEGER | FLOAT, percentile :: FLOAT) :: FLOAT",
		Description: "The number below which that fraction of the values lies, interpolated between the two nearest.",
	},
	{
		Name: "percentileDisc", MinArgs: 2, MaxArgs: 2, Deterministic: true, Result: Any,
		New:         func() Accumulator { return &percentileOf{name: "percentileDisc", result: (*Percentile).discrete} },
		Signature:   "percentileDisc(value :: INTEGER | FLOAT, percentile :: FLOAT) :: INTEGER | FLOAT",
		Description: "The first value at or below which at least that fraction of the values lies.",
	},
	{
		Name: "stDev", MinArgs: 1, MaxArgs: 1, Deterministic: true, Result: Float,
		New:         func() Accumulator { return &deviation{name: "stDev", result: (*Deviation).Sample} },
		Signature:   "stDev(value :: INTEGER | FLOAT) :: FLOAT",
		Description: "The standard deviation of a sample.",
	},
	{
		Name: "stDevP", MinArgs: 1, MaxArgs: 1, Deterministic: true, Result: Float,
		New:         func() Accumulator { return &deviation{name: "stDevP", result: (*Deviation).population} },
		Signature:   "stDevP(value :: INTEGER | FLOAT) :: FLOAT",
		Description: "The standard deviation of a whole population.",
	},
	{
		Name: "sum", MinArgs: 1, MaxArgs: 1, Deterministic: true, Result: Any,
		New:         func() Accumulator { return &sum{} },
		Signature:   "sum(value :: INTEGER | FLOAT | DURATION) :: INTEGER | FLOAT | DURATION",
		Description: "The sum, 0 of nothing.",
	},
}

type count struct{ Count }

func (a *count) Add(args []graph.Value) error {
	if len(args) == 0 {
		a.AddN(1)
	} else {
		a.Count.Add(args[0])
	}
	return nil
}
func (a *count) Result() (graph.Value, error) { return a.Count.Result(), nil }
func (a *count) Reset()                       { *a = count{} }

type sum struct{ Sum }

func (a *sum) Add(args []graph.Value) error { return a.Sum.Add(args[0]) }
func (a *sum) Reset()                       { *a = sum{} }

type avg struct{ Avg }

func (a *avg) Add(args []graph.Value) error { return a.Avg.Add(args[0]) }
func (a *avg) Reset()                       { *a = avg{} }

type smallest struct{ Min }

func (a *smallest) Add(args []graph.Value) error {
	if a.Min.Add(args[0]) {
		a.v = a.v.Clone()
	}
	return nil
}
func (a *smallest) Result() (graph.Value, error) { return a.v, nil }
func (a *smallest) Reset()                       { *a = smallest{} }

type largest struct{ Max }

func (a *largest) Add(args []graph.Value) error {
	if a.Max.Add(args[0]) {
		a.v = a.v.Clone()
	}
	return nil
}
func (a *largest) Result() (graph.Value, error) { return a.v, nil }
func (a *largest) Reset()                       { *a = largest{} }

type collect struct{ values []graph.Value }

func (a *collect) Add(args []graph.Value) error {
	if !args[0].IsNull() {
		a.values = append(a.values, args[0].Clone())
	}
	return nil
}

func (a *collect) Result() (graph.Value, error) { return graph.ListValue(slices.Clip(a.values)), nil }
func (a *collect) Reset()                       { a.values = nil }

type deviation struct {
	Deviation
	name   string
	result func(*Deviation) float64
}

func (a *deviation) Add(args []graph.Value) error { return a.add(a.name, args[0]) }
func (a *deviation) Result() (graph.Value, error) {
	return graph.FloatValue(a.result(&a.Deviation)), nil
}
func (a *deviation) Reset() { a.Deviation = Deviation{} }

type percentileOf struct {
	Percentile
	name   string
	result func(*Percentile) graph.Value
}

func (a *percentileOf) Add(args []graph.Value) error {
	return a.Percentile.Add(a.name, args[0], args[1])
}
func (a *percentileOf) Result() (graph.Value, error) { return a.result(&a.Percentile), nil }
