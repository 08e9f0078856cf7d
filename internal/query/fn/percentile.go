package fn

import (
	"math"

	"github.com/hopgate/hopgate/internal/graph"
)

// Percentile keeps a group's numbers for percentileCont and percentileDisc.
type Percentile struct {
	values []graph.Value // numbers
	p      float64       // the fraction of the rows, from 0 to 1
	asked  bool          // p is known
	sorted bool
}

// Add keeps a number. The percentile is that of the group's first row, but must be in bounds in every row.
func (a *Percentile) Add(name string, v, percentile graph.Value) error {
	p, err := numberArg(name, percentile)
	if err != nil {
		return err
	}
	if !(p >= 0 && p <= 1) {
		return badNumber(name, percentile, "a percentile from 0.0 to 1.0")
	}
	if !a.asked {
		a.p, a.asked = p, true
	}
	if v.IsNull() {
		return nil
	}
	if !v.IsNumber() {
		return badArgument(name, v, "a number")
	}
	a.values, a.sorted = append(a.values, v), false
	return nil
}

// Sort sorts the numbers, unless the run ends; Discrete and Continuous do it else.
func (a *Percentile) Sort(c *Context) error {
	if a.sorted {
		return nil
	}
	err := sortValues(c, a.values)
	a.sorted = err == nil
	return err
}

// discrete is the smallest value with at least that fraction of the values at or below it, or null of nothing.
func (a *Percentile) discrete() graph.Value {
	if len(a.values) == 0 {
		return null
	}
	_ = a.Sort(&Context{}) // a context that never ends
	at := int(math.Ceil(a.p*float64(len(a.values)))) - 1
	return a.values[max(0, min(at, len(a.values)-1))]
}

// continuous interpolates between the two values that the place falls between, or is null of nothing.
func (a *Percentile) continuous() graph.Value {
	if len(a.values) == 0 {
		return null
	}
	_ = a.Sort(&Context{}) // a context that never ends
	place := a.p * float64(len(a.values)-1)
	low := int(math.Floor(place))
	x := a.values[low].Number()
	if share := place - float64(low); share > 0 {
		x = x*(1-share) + a.values[low+1].Number()*share
	}
	return graph.FloatValue(x)
}

// Reset begins a new group and keeps the memory.
func (a *Percentile) Reset() { a.values, a.asked, a.sorted = a.values[:0], false, false }
